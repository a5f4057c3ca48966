# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the means of a tick to an estimate, with its status."""

from __future__ import annotations

import math
from typing import Protocol, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.estimate import Estimate, half_axis, sound
from two_manifold_ros.filtering.route_tracker import RouteTracker
from two_manifold_ros.filtering.state_machine import EllipseLimits, Signs, StateMachine
from two_manifold_ros.filtering.tracker import Tracker
from two_manifold_ros.hse_hmm.readout import RidgeReadout
from two_manifold_ros.model.model import Model
from two_manifold_ros.model.route_model import RouteModel

if TYPE_CHECKING:
    from collections import Counter

    from two_manifold_ros.filtering.state_machine import Verdict
    from two_manifold_ros.filtering.status import Finding
    from two_manifold_ros.filtering.tracker import Step
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats


class HasState(Protocol):
    """A belief."""

    @property
    def state(self) -> Floats:
        """Latent state (k,) after the last observation."""


class CountsTicks(Protocol):
    """The newest observations."""

    @property
    def count(self) -> int:
        """Ticks in a row that were seen."""

    @property
    def full(self) -> bool:
        """Whether a whole window was seen."""


class TickFilter(Protocol):
    """A filter over ticks, whatever the stamps."""

    @property
    def belief(self) -> HasState:
        """What is believed."""

    @property
    def window(self) -> CountsTicks:
        """What was seen."""

    def start(self) -> None:
        """Forget everything but what was learned."""

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations; the window has to fill anew."""

    def update(self, values: Floats) -> Step:
        """Take the (c,) means of one tick, in the units of the samples."""

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) of positions and velocity."""

    def places(self) -> Floats | None:
        """Return the (m, 3) places where the vehicle may be; ``None`` if they cannot be told."""


def make_tick_filter(model: ModelHead, *, with_places: bool = False) -> TickFilter:
    """
    Return a fresh filter of the kind that the model is for.

    Parameters
    ----------
    model
        Of a kind that has a file.
    with_places
        Whether ``places`` will be asked for; only a belief about places can tell them.

    """
    if isinstance(model, RouteModel):
        return RouteTracker(model, with_places=with_places)
    if isinstance(model, Model):
        return Tracker(model)
    msg = f'no filter runs a {type(model).__name__}'
    raise TypeError(msg)


WARN_SHARE, ERROR_SHARE = 0.35, 0.7
"""
Shares of the ellipse of one who knows nothing but the route.

Above the second, hardly more is known. Held-out drives of three slot cars and two real cars stay
below the first but for stretches where they are indeed wrong.
"""


def limits_of(model: ModelHead, warn_m: float = 0.0, error_m: float = 0.0) -> EllipseLimits:
    """
    Return the limits for a model.

    Parameters
    ----------
    model
        Any; without positions there are no limits but those that are given.
    warn_m, error_m
        In metres; 0 for what the model says.

    Raises
    ------
    InputError
        If a limit is negative or no number, or the first is above the second.

    """
    whole_m = _knowing_nothing_m(model)
    error = error_m or ERROR_SHARE * whole_m
    warn = warn_m or min(WARN_SHARE * whole_m, error)
    if not 0.0 < warn <= error:
        msg = (
            f'ellipse_warn_m is {warn:.3g} m and ellipse_error_m {error:.3g} m, where 0 takes '
            f'what fits the model: set both so that the first is above 0 and not above the second'
        )
        raise InputError(msg)
    return EllipseLimits(warn, error)


def _knowing_nothing_m(model: ModelHead) -> float:
    """Return how far the ellipse of one who knows nothing but the route reaches, metres."""
    known = model.track[np.isfinite(model.track).all(axis=1)]
    whole = half_axis(np.cov(known.T, bias=True)) if len(known) > 1 else math.nan
    told = math.nan
    # The ridge read-out says the same of every belief, also of one that knows.
    if isinstance(model, RouteModel) or (
        isinstance(model, Model) and not isinstance(model.readout, RidgeReadout)
    ):
        # The calibration may well say less than the spread: a belief may lie but seldom far.
        told = half_axis(make_tick_filter(model).read()[1][0])
    sizes = [each for each in (whole, told) if each > 0.0]
    return min(sizes, default=math.inf)


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
