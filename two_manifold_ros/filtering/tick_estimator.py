# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the means of a tick to an estimate, with its status."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.signs import Signs
from two_manifold_ros.filtering.soundness import half_axis, sound
from two_manifold_ros.filtering.state_machine import StateMachine

if TYPE_CHECKING:
    from collections import Counter

    from two_manifold_ros.filtering.signs import EllipseLimits
    from two_manifold_ros.filtering.state_machine import Verdict
    from two_manifold_ros.filtering.step import Step
    from two_manifold_ros.filtering.tick_filter import TickFilter
    from two_manifold_ros.monitoring.finding import Finding
    from two_manifold_ros.typing import Floats


class TickEstimator:
    """
    A tick filter, and what is to be thought of it.

    Parameters
    ----------
    tick_filter
        What filters.
    limits
        Of the ellipse.
    window
        Ticks in a window.
    places_every
        Ticks after which an estimate has its ``places``; 0 for never.

    Attributes
    ----------
    machine
        What says which status it is.

    """

    def __init__(
        self, tick_filter: TickFilter, limits: EllipseLimits, window: int, places_every: int
    ) -> None:
        self._tracker = tick_filter
        self._window = window
        self._places_every = places_every
        self._tick = self._missed = 0
        self._recovering = False
        self.machine = StateMachine(limits, window)

    def forget(self) -> None:
        """Forget the stream."""
        self._tracker.start()
        self.machine.reset()
        self._tick = self._missed = 0
        self._recovering = False

    def coast(self, ticks: int) -> bool:
        """Move on over a gap if that is short enough; return whether it was."""
        # Gaps with less than a tick between them are one.
        self._missed += ticks
        if self._missed > self._window or not self._tick:
            return False
        self._recovering = self._recovering or self._tracker.window.full
        self._tracker.coast(ticks)
        self.machine.pause()
        self._tick += ticks
        return True

    def tell(
        self, stamp_ns: int, values: Floats, finding: Finding | None, counters: Counter[str]
    ) -> Estimate:
        """
        Take a tick.

        Parameters
        ----------
        stamp_ns
            Its end.
        values : (c,)
            Its means.
        finding
            What is wrong with the input.
        counters
            Of ticks, and of what happened to them.

        """
        step = self._tracker.update(values)
        counters['ticks'] += 1
        if not step.standing:
            counters['restarts'] += step.restarted
            counters['rejected_observations'] += not step.accepted
        means, covariances = self._tracker.read()
        state = self._tracker.belief.state.copy()
        ellipse_m = half_axis(covariances[0]) if sound(state, means, covariances) else math.nan
        judged = self._judge(step, ellipse_m, finding)
        tick = self._tick
        self._tick += 1
        self._missed = 0
        asked = self._places_every and tick % self._places_every == 0
        return Estimate(
            stamp_ns=stamp_ns,
            tick=tick,
            status=judged.status,
            cause=judged.cause,
            why=judged.why,
            state=state,
            positions=means[:-1],
            covariances=covariances[:-1],
            velocity=means[-1],
            velocity_covariance=covariances[-1],
            evidence=step.evidence,
            familiarity=step.familiarity,
            ellipse_m=ellipse_m,
            off_route=step.off_route,
            places=self._tracker.places() if asked else None,
        )

    def _judge(self, step: Step, ellipse_m: float, finding: Finding | None) -> Verdict:
        window = self._tracker.window
        self._recovering = self._recovering and not window.full
        return self.machine.step(
            Signs(
                window_full=window.full,
                recovering=self._recovering,
                accepted=step.accepted,
                restarted=step.restarted,
                familiarity=step.familiarity,
                ellipse_m=ellipse_m,
                finding=finding,
                seen=window.count,
                off_route=step.off_route,
                unlike=step.unlike,
                standing=step.standing,
            )
        )
