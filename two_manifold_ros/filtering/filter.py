# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter: one IMU sample in, estimates out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.filtering.estimate import all_finite, half_axis, sound
from two_manifold_ros.filtering.input_watch import InputWatch
from two_manifold_ros.filtering.status import CAUSES as STATUS_CAUSES
from two_manifold_ros.filtering.status import NO_BETTER, Status, USABLE, WAITING
from two_manifold_ros.filtering.tick_estimator import limits_of, make_tick_filter, TickEstimator
from two_manifold_ros.ticks.averaging import TickAverager
from two_manifold_ros.ticks.segments import NO_LIMIT
from two_manifold_ros.ticks.stamps import JumpGate, Reordering, StampRule, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.state_machine import EllipseLimits
    from two_manifold_ros.filtering.status import Finding
    from two_manifold_ros.filtering.tick_estimator import TickFilter
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.ticks.stamps import Stamped
    from two_manifold_ros.typing import Floats


GOOD, NON_FINITE, OUT_OF_RANGE = 0, 1, 2
CAUSES = {NON_FINITE: 'non_finite', OUT_OF_RANGE: 'out_of_range'}


@compiled
def check_sample(sample: Floats, mean: Floats, limit: Floats) -> int:
    """
    Judge one sample.

    Parameters
    ----------
    sample, mean, limit : (6,)
        The sample, and the mean and largest believable distance from it of each channel. A
        channel without a limit is not used by the model, so it may hold anything, NaN too.

    Returns
    -------
    int
        ``GOOD``, ``NON_FINITE`` or ``OUT_OF_RANGE``.

    """
    verdict = 0
    for c in range(sample.size):
        if limit[c] >= NO_LIMIT:
            continue
        value = sample[c]
        if not np.isfinite(value):
            return 1
        if not abs(value - mean[c]) <= limit[c]:
            verdict = 2
    return verdict


_DROPPED = (Verdict.ZERO, Verdict.DUPLICATE, Verdict.OUT_OF_ORDER)


class Intake:
    """
    Tell wild stamps from jumps, sort what is late by little, refuse the rest.

    Nothing is lost uncounted: what was received is given out, counted under a cause, or
    ``waiting``.

    Parameters
    ----------
    channels
        Values per sample.
    max_gap_ns
        A longer step forward is a gap.
    reorder_ns
        How late a sample may come and still be used; everything is as much later for it.

    """

    def __init__(self, channels: int, max_gap_ns: int, reorder_ns: int) -> None:
        # What comes in disorder may be ahead of the others by a gap and all that is still late.
        self._gate: JumpGate[Floats] = JumpGate(max_gap_ns + reorder_ns)
        self._late = Reordering(channels, reorder_ns) if reorder_ns else None
        self._rule = StampRule(max_gap_ns)

    @property
    def waiting(self) -> int:
        """How many samples were neither given out nor dropped yet."""
        return self._gate.waiting + (0 if self._late is None else len(self._late))

    @property
    def jumped(self) -> bool:
        """Whether the newest sample jumped, so that any next one may bring about anything."""
        return self._gate.waiting > 0

    @property
    def aside_ns(self) -> int:
        """See ``StampRule``."""
        return self._rule.aside_ns

    def push(
        self, stamp: int, sample: Floats, counters: Counter[str]
    ) -> Iterator[tuple[Verdict, int, Floats]]:
        """
        Take a (c,) sample, which is not copied; yield those to use, each with what it means.

        Parameters
        ----------
        stamp
            Nanoseconds.
        sample
            As it is to be given out.
        counters
            Where samples that are dropped are counted, by cause.

        """
        for passed in self._gate.push(stamp, sample, counters):
            if self._late is None or passed[0] <= 0:
                yield from self._judged([passed], counters)
            else:
                yield from self._judged(self._late.push(*passed), counters)

    def drain(self, counters: Counter[str]) -> Iterator[tuple[Verdict, int, Floats]]:
        """Forget the stream, but yield first what only waited for others to come."""
        self._gate.drop(counters)
        if self._late is not None:
            yield from self._judged(self._late.flush(), counters)
        self._rule.forget()

    def _judged(
        self, stamped: Stamped, counters: Counter[str]
    ) -> Iterator[tuple[Verdict, int, Floats]]:
        for stamp, sample in stamped:
            verdict = self._rule.judge(stamp)
            if verdict in _DROPPED:
                counters[verdict.value] += 1
            else:
                yield verdict, stamp, sample


class Fed(NamedTuple):
    """
    What a filter did with a sample.

    Parameters
    ----------
    estimates
        Those that came of it, the oldest first.
    latest
        The newest estimate by now, ``None`` if the filter began anew since.
    used
        Whether a sample was used, this one or one that waited for it.
    broke
        Whether the filter began anew or coasted because of a stamp.

    """

    estimates: list[Estimate]
    latest: Estimate | None
    used: bool
    broke: bool


def feed(
    running: Filter,
    push: Callable[[int, Sequence[float] | Floats], list[Estimate]],
    stamp_ns: int,
    sample: Sequence[float] | Floats,
    latest: Estimate | None,
) -> Fed:
    """
    Push a sample.

    Parameters
    ----------
    running
        The filter.
    push
        Its ``push``, or that of what is around it.
    stamp_ns, sample
        See ``Filter.push``.
    latest
        The newest estimate until now.

    """
    counters = running.counters
    used, gaps, resets = counters['used'], counters['gaps'], counters['resets']
    estimates = push(stamp_ns, sample)
    reset = counters['resets'] != resets
    if estimates:
        latest = estimates[-1]
        # Where samples are sorted, it may come out together with the jump that ended its stream.
        outdated = reset and latest.status is not running.status
    else:
        outdated = reset
    return Fed(
        estimates,
        None if outdated else latest,
        counters['used'] != used,
        reset or counters['gaps'] != gaps,
    )


_NO_BETTER = f'{Status.LOST.value}: {STATUS_CAUSES[NO_BETTER]}'


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
        `make_tick_filter` makes of the model. One that is given judges its input by itself.
    limits
        Of the ellipse; by default those of `limits_of`.
    reorder_ns
        How late a sample may come and still be used, nanoseconds; all estimates come as much
        later for it. Less than ``JUMP_BACK_NS``.

    Attributes
    ----------
    limits
        Of the ellipse, in force.
    withheld
        Whether no position may be used, whatever the filter thinks of it, because whoever has
        compared them with the truth knows that the mean position errs no more.
    counters
        Samples received, used and set aside by cause (``non_finite``, ``out_of_range``,
        ``zero_stamp``, ``duplicate_stamp``, ``out_of_order``, ``wild_stamp``), ``ticks``,
        ``gaps``, ``rejected_observations``, ``restarts`` of the belief and ``resets``. What was
        received was used, or set aside, or is ``waiting``.

    """

    def __init__(
        self,
        model: ModelHead,
        places_hz: float = 0.0,
        tick_filter: TickFilter | None = None,
        limits: EllipseLimits | None = None,
        reorder_ns: int = 0,
    ) -> None:
        channels = len(model.channels.mean)
        self._model = model
        self._given = tick_filter is not None
        self._averager = TickAverager(channels, model.period_ns, model.max_gap_ns)
        self._intake = Intake(channels, model.max_gap_ns, reorder_ns)
        self._reorder = reorder_ns
        self.limits = limits or limits_of(model)
        self._estimator = TickEstimator(
            tick_filter or make_tick_filter(model, with_places=places_hz > 0.0),
            self.limits,
            model.window,
            math.ceil(model.rate_hz / places_hz) if places_hz else 0,
        )
        self._watch = None if self._given else InputWatch(model)
        self._since = 'waiting for the first IMU sample'
        self.withheld = False
        self.counters: Counter[str] = Counter()

    @property
    def status(self) -> Status:
        """The present status; ``WAITING`` before the first sample, also after a reset."""
        if self._since:
            return Status.WAITING
        return Status.LOST if self._withholds else self._estimator.machine.status

    @property
    def cause(self) -> str:
        """The present cause as a short key, see ``Verdict``."""
        if self._since:
            return WAITING
        return NO_BETTER if self._withholds else self._estimator.machine.cause

    @property
    def why(self) -> str:
        """The present state in plain words."""
        return self._since or (_NO_BETTER if self._withholds else self._estimator.machine.why)

    @property
    def _withholds(self) -> bool:
        return self.withheld and self._estimator.machine.status in USABLE

    @property
    def finding(self) -> Finding | None:
        """The gravest that is wrong with the input, even if no tick ends any more."""
        return None if self._watch is None else self._watch.finding

    @property
    def tick_ends(self) -> int:
        """
        When the running tick can end, nanoseconds; 0 if that may be with any next sample.

        A later sample with an older stamp than this gives no estimate, whatever its values.
        """
        if self._since or self._intake.jumped:
            return 0
        return self._averager.tick_began + self._model.period_ns + self._reorder

    @property
    def waiting(self) -> int:
        """How many samples wait for later ones to show what is to be done with them."""
        return self._intake.waiting

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
        half_axis(np.eye(2))
        state, means, covariances = np.zeros(model.states), np.zeros((1, 2)), np.zeros((1, 2, 2))
        sound(state, means, covariances)
        all_finite(state, means, covariances, means[0], covariances[0])
        if self._given:
            return
        # Strange enough to be looked at more closely than usual input.
        swing = 2.0 * np.where(model.channels.live, model.channels.scale, 0.0)
        spare = Filter(model)
        for tick in range(1, 2 * model.window + math.ceil(model.rate_hz)):
            spare.push(tick * model.period_ns, sample + (-1) ** tick * swing)

    def reset(self, cause: str) -> None:
        """Forget everything but the counters; ``cause`` is shown until the next sample."""
        # What only waited is used all the same, so that no sample goes uncounted.
        for used in self._intake.drain(self.counters):
            self._use(*used)
        self._forget()
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
        values = np.array(sample, dtype=np.float64)
        channels = self._model.channels
        fault = check_sample(values, channels.mean, channels.limit)
        if fault != GOOD:
            counters[CAUSES[fault]] += 1
            if fault == OUT_OF_RANGE and self._watch is not None:
                # It cannot be filtered, but may show what is wrong with all of them.
                self._watch.sample_out_of_range(stamp_ns, values)
            return []
        estimates: list[Estimate] = []
        for used in self._intake.push(stamp_ns, values, counters):
            estimates += self._use(*used)
        return estimates

    def _use(self, verdict: Verdict, stamp_ns: int, sample: Floats) -> list[Estimate]:
        self.counters['used'] += 1
        begins = verdict is not Verdict.ACCEPT
        if begins:
            self._begin(verdict, stamp_ns, sample)
        if self._watch is not None:
            self._watch.sample(stamp_ns, sample)
        if begins:
            return []
        count, ends, means = self._averager.push(stamp_ns, sample)
        tell, finding = self._estimator.tell, self.finding
        told = [tell(int(ends[i]), means[i], finding, self.counters) for i in range(count)]
        return [_unusable(each) for each in told] if self.withheld else told

    def _begin(self, verdict: Verdict, stamp_ns: int, sample: Floats) -> None:
        """Start a new grid of ticks: at the first sample, after a gap or after a jump back."""
        if verdict is Verdict.GAP:
            self.counters['gaps'] += 1
            elapsed = stamp_ns - self._averager.tick_began + self._intake.aside_ns
            missed = round(elapsed / self._model.period_ns)
            if not self._estimator.coast(missed):
                self.counters['resets'] += 1
                self._forget(stamp_ns)
        elif verdict is Verdict.JUMP_BACK:
            self.counters['resets'] += 1
            self._forget()
        self._since = ''
        self._averager.start(stamp_ns, sample)

    def _forget(self, stamp_ns: int | None = None) -> None:
        self._estimator.forget()
        # Where samples came that could not be used, they have told what is wrong.
        if self._watch is not None and (stamp_ns is None or not self._watch.goes_on(stamp_ns)):
            self._watch.clear()


def _unusable(estimate: Estimate) -> Estimate:
    """Return an estimate that may not be used; what it would have told stays in it."""
    if not estimate.valid:
        return estimate
    return replace(estimate, status=Status.LOST, cause=NO_BETTER, why=_NO_BETTER)
