# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter: one IMU sample in, estimates out."""

from __future__ import annotations

from collections import Counter
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.estimate import Estimate, Status
from two_manifold_ros.filtering.sample_check import CAUSES, check_sample, GOOD
from two_manifold_ros.filtering.step import REJECTED_BEFORE_RESTART
from two_manifold_ros.filtering.tick_filter import make_tick_filter
from two_manifold_ros.ticks.averaging import TickAverager
from two_manifold_ros.ticks.stamps import StampRule, Verdict
from two_manifold_ros.windows.familiarity import UNFAMILIAR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.filtering.step import Step
    from two_manifold_ros.filtering.tick_filter import TickFilter
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats

_DROPPED = (Verdict.ZERO, Verdict.DUPLICATE, Verdict.OUT_OF_ORDER)


class Filter:
    """
    Tell positions from samples of an IMU, or of whatever the model was learned from.

    The same samples give bit-equal estimates, and adding a constant to all stamps changes
    nothing but the stamps. A sample that cannot be used is counted under its cause and otherwise
    has no effect.

    Parameters
    ----------
    model
        Any; several filters may share it.
    places_hz
        How often in a second, at most, an estimate has its ``places``; 0 for never.
    tick_filter
        What runs below, where the model alone does not say it; by default what
        `make_tick_filter` makes of the model.

    Attributes
    ----------
    counters
        Samples received, used and set aside by cause (``non_finite``, ``out_of_range``,
        ``zero_stamp``, ``duplicate_stamp``, ``out_of_order``), ``ticks``, ``gaps``,
        ``rejected_observations``, ``restarts`` of the belief and ``resets``.

    """

    def __init__(
        self, model: ModelHead, places_hz: float = 0.0, tick_filter: TickFilter | None = None
    ) -> None:
        channels = len(model.channels.mean)
        self._model = model
        self._places_every = math.ceil(model.rate_hz / places_hz) if places_hz else 0
        self._given = tick_filter is not None
        self._tracker = tick_filter or make_tick_filter(model, with_places=places_hz > 0.0)
        self._averager = TickAverager(channels, model.period_ns, model.max_gap_ns)
        self._rule = StampRule(model.max_gap_ns)
        self._sample = np.zeros(channels)
        self._tick = 0
        self._recovering = False
        self._contradictions = 0
        self._status: Status | None = None
        self._since = 'waiting for the first IMU sample'
        self.counters: Counter[str] = Counter()

    @property
    def why(self) -> str:
        """The present state in plain words."""
        if self._status is None:
            return self._since
        if self._status in {Status.FILLING, Status.RECOVERING}:
            seen = self._tracker.window.count
            return f'{self._status.value}: {seen} of {self._model.window} ticks'
        return str(self._status.value)

    @property
    def tick_ends(self) -> int:
        """
        When the running tick ends, nanoseconds; 0 before the first sample.

        A later sample with an older stamp than this gives no estimate, whatever its values.
        """
        if self._status is None:
            return 0
        return self._averager.tick_began + self._model.period_ns

    def warm_up(self) -> None:
        """
        Compile every hot loop, so that the first real sample is as quick as the others.

        A tick filter that was given is left alone: who made it can warm it up.
        """
        model = self._model
        sample = np.array(model.channels.mean)
        check_sample(sample, model.channels.mean, model.channels.limit)
        averager = TickAverager(len(sample), model.period_ns, model.max_gap_ns)
        averager.start(0, sample)
        averager.push(model.period_ns, sample)
        if self._given:
            return
        spare = make_tick_filter(model)
        for _ in range(model.window + 2):
            spare.update(sample)
            spare.read()

    def reset(self, cause: str) -> None:
        """Forget everything but the counters; ``cause`` is shown until the next sample."""
        self._forget()
        self._rule.forget()
        self._since = f'reset: {cause}'
        self.counters['resets'] += 1

    def push(self, stamp_ns: int, sample: Sequence[float] | Floats) -> list[Estimate]:
        """
        Take one sample.

        Parameters
        ----------
        stamp_ns
            Header stamp in nanoseconds.
        sample : (c,)
            As the model's channels; of an IMU specific force in m/s^2, then angular rate in
            rad/s, x y z each.

        Returns
        -------
        list of Estimate
            One for each tick that ended with this sample; usually none or one.

        """
        counters = self.counters
        counters['received'] += 1
        self._sample[:] = sample
        channels = self._model.channels
        fault = check_sample(self._sample, channels.mean, channels.limit)
        if fault != GOOD:
            counters[CAUSES[fault]] += 1
            return []
        verdict = self._rule.judge(stamp_ns)
        if verdict in _DROPPED:
            counters[verdict.value] += 1
            return []
        counters['used'] += 1
        if verdict is not Verdict.ACCEPT:
            self._begin(verdict, stamp_ns)
            return []
        count, ends, means = self._averager.push(stamp_ns, self._sample)
        return [self._estimate(int(ends[i]), means[i]) for i in range(count)]

    def _begin(self, verdict: Verdict, stamp_ns: int) -> None:
        """Start a new grid of ticks: at the first sample, after a gap or after a jump back."""
        if verdict is Verdict.GAP:
            self.counters['gaps'] += 1
            elapsed = stamp_ns - self._averager.tick_began
            missed = round(elapsed / self._model.period_ns)
            if missed <= self._model.window and self._tracker.window.count:
                self._recovering = self._recovering or self._tracker.window.full
                self._tracker.coast(missed)
                self._tick += missed
            else:
                self.counters['resets'] += 1
                self._forget()
        elif verdict is Verdict.JUMP_BACK:
            self.counters['resets'] += 1
            self._forget()
        self._status = Status.RECOVERING if self._recovering else Status.FILLING
        self._averager.start(stamp_ns, self._sample)

    def _forget(self) -> None:
        self._tracker.start()
        self._tick = 0
        self._recovering = False
        self._contradictions = 0
        self._status = None

    def _judge(self, step: Step) -> Status:
        self._contradictions = 0 if step.accepted else self._contradictions + 1
        if not self._tracker.window.full:
            return Status.RECOVERING if self._recovering else Status.FILLING
        self._recovering = False
        if step.familiarity > UNFAMILIAR:
            return Status.UNFAMILIAR
        lost = self._contradictions >= REJECTED_BEFORE_RESTART
        return Status.LOST if lost else Status.TRACKING

    def _estimate(self, stamp_ns: int, values: Floats) -> Estimate:
        step = self._tracker.update(values)
        self.counters['ticks'] += 1
        self.counters['restarts'] += step.restarted
        self.counters['rejected_observations'] += not step.accepted
        self._status = self._judge(step)
        means, covariances = self._tracker.read()
        tick = self._tick
        self._tick += 1
        asked = self._places_every and tick % self._places_every == 0
        return Estimate(
            stamp_ns=stamp_ns,
            tick=tick,
            status=self._status,
            state=self._tracker.belief.state.copy(),
            positions=means[:-1],
            covariances=covariances[:-1],
            velocity=means[-1],
            velocity_covariance=covariances[-1],
            evidence=step.evidence,
            familiarity=step.familiarity,
            places=self._tracker.places() if asked else None,
        )
