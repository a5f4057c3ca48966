# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter: one IMU sample in, estimates out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import math
import sys
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled, STORE
from two_manifold_ros.filtering.estimate import (
    ANYWHERE,
    Estimate,
    limits_of,
    make_tick_filter,
    region_of,
)
from two_manifold_ros.filtering.fixes import NEWEST
from two_manifold_ros.filtering.input_watch import InputWatch
from two_manifold_ros.filtering.status import (
    CAUSES,
    Finding,
    StateMachine,
    Status,
    USABLE,
)
from two_manifold_ros.filtering.status import Verdict as Said
from two_manifold_ros.filtering.tracker import half_axis
from two_manifold_ros.ticks.segments import NO_LIMIT, with_shakes
from two_manifold_ros.ticks.stamps import StampGate, TickAverager, USED, Verdict
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.filtering.fixes import Fix
    from two_manifold_ros.filtering.tracker import TickFilter
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.model.vehicle import Vehicle


_FAULTS = ('', 'non_finite', 'out_of_range')


@compiled
def _find_fault(sample: Floats, mean: Floats, limit: Floats) -> int:
    """Return the index in ``_FAULTS`` of a (c,) sample; ``limit`` bounds the distance to mean."""
    beyond = False
    for c in range(sample.size):
        # A channel without a limit is not used by the model: it may hold anything, NaN too.
        if limit[c] >= NO_LIMIT:
            continue
        value = sample[c]
        if not np.isfinite(value):
            return 1
        if not abs(value - mean[c]) <= limit[c]:
            beyond = True
    return 2 if beyond else 0


def is_compiled() -> bool:
    """Return whether a filter ran before and its loops are kept: the next one starts at once."""
    return STORE.folder is not None and any(STORE.folder.glob(f'{__name__}.*'))


MOST_FIXES = 100
"""Fixes that wait for their tick at most, the newest ones."""

LARGEST = 0.5 * math.sqrt(sys.float_info.max)
"""The product of two variances below it is finite, and so is the root of their sum of squares."""


@compiled
def judge_gaussian(
    state: Floats, means: Floats, covariances: Floats, region: Floats
) -> tuple[float, bool]:
    """
    Return `half_axis` of the first covariance, and whether a position is beyond a region.

    It is NaN unless all of ``state`` (k,), ``means`` (c, 2) of positions and at last of the
    velocity, and ``covariances`` (c, 2, 2) is finite, and covariances are positive definite.
    """
    sound, outside = True, False
    for i in range(len(means)):
        a, b, c = covariances[i, 0, 0], covariances[i, 0, 1], covariances[i, 1, 1]
        sound &= 0.0 < a < LARGEST and 0.0 < c < LARGEST and abs(b) < LARGEST and a * c > b * b
        sound &= b == covariances[i, 1, 0]
        for axis in range(2):
            at = means[i, axis]
            sound &= math.isfinite(at)
            # What is unknown is neither below nor above.
            outside |= i < len(means) - 1 and (at < region[0, axis] or at > region[1, axis])
    for value in state:
        sound &= math.isfinite(value)
    return half_axis(covariances[0]) if sound else math.nan, outside


_NOT_USEFUL = Said(Status.LOST, 'not_useful', f'lost: {CAUSES["not_useful"]}')


class Filter:
    """
    Estimate positions from samples of an IMU, or of the sensor that the model was trained on.

    The same samples give bit-equal estimates. A constant added to all stamps changes nothing but
    the stamps. A sample that cannot be used is counted by its cause and has no other effect.

    Several filters may share a model of any kind. Of many routes the estimates are of the
    likeliest, ``running``. They have ``places`` at ``places_hz`` at most, 0 for never. A
    ``tick_filter`` that is given in place of `make_tick_filter` judges its input by itself. The
    limits of the ellipse may be given as ``ellipse_m``, see `limits_of`. A sample may come
    ``reorder_ns`` late, below ``JUMP_BACK_NS``, by which all estimates are delayed. The
    ``correction``, kept over resets, is the difference between the IMU of this vehicle and those
    of the training.

    Attributes
    ----------
    ticks
        Its filter over ticks.
    running, limits
        The model of the route that the newest estimate is of, and the limits of its ellipse.
    withheld
        Whether no position may be used, because in the training, or later, the mean position had
        no larger error than the filter; without guards also if the training did not compare them.
    counters
        Samples received, used and set aside by cause (``non_finite``, ``out_of_range`` and those
        of `Verdict`), ``ticks``, ``gaps``, ``rejected_observations``, ``restarts`` of the belief
        and ``resets``. Each received sample was used, was set aside, or is ``waiting``.
    fixes
        Position fixes ``received``, and those that were ``agreeing``, ``contradicting``, ``late``
        or ``ahead`` by more than a window, of an ``other_frame``, or ``dropped`` by a reset; the
        rest waits for its tick. A node adds those that it refused itself.
    latest
        The newest estimate since the last reset, if there is one.
    used, broke
        Whether the last push used a sample, the pushed one or a waiting one; and whether the
        filter reset or coasted because of a stamp.

    """

    def __init__(
        self,
        model: ModelHead,
        places_hz: float = 0.0,
        ellipse_m: tuple[float, float] = (0.0, 0.0),
        reorder_ns: int = 0,
        tick_filter: TickFilter | None = None,
        correction: Vehicle | None = None,
    ) -> None:
        self._own = len(model.channels.mean)
        self._further = len(model.further_names)
        shakes = any(each.network for each in model.routes.values())
        self._before = np.zeros((2, self._own if shakes else 0))
        channels = self._own + self._further + self._before.shape[1]
        self._atlas = model if model.is_atlas else None
        self.ticks = tick_filter or make_tick_filter(model, with_places=places_hz > 0.0)
        self._known = [(each, limits_of(each, *ellipse_m)) for each in model.routes.values()]
        self.correction = correction
        self._averager = TickAverager(channels, model.period_ns, model.max_gap_ns)
        self._gate: StampGate[Floats] = StampGate(model.max_gap_ns, reorder_ns=reorder_ns)
        self._reorder_ns = reorder_ns
        self._places_every = math.ceil(model.rate_hz / places_hz) if places_hz else 0
        self._machine = StateMachine(self._known[0][1], model.window, self.ticks.steady)
        self._watch: InputWatch | None = None
        if tick_filter is None and (trained := model.input_model) is not None:
            self._watch = InputWatch(trained)
        self._follow(self.ticks.chosen)
        self._waits: Said | None = Said(
            Status.WAITING, 'waiting', 'waiting for the first IMU sample'
        )
        self._tick = self._missed = 0
        self._recovering = self._located = False
        self._fixes: list[Fix] = []
        self.fixes: Counter[str] = Counter()
        self.counters: Counter[str] = Counter()
        self.latest: Estimate | None = None
        self.used = self.broke = False

    @property
    def model(self) -> ModelHead:
        """The model with all the routes that it knows."""
        return self._atlas or self.running

    @property
    def said(self) -> Said:
        """The present status, ``WAITING`` before the first sample after a reset, and its cause."""
        verdict = self._waits or self._machine.verdict
        return _NOT_USEFUL if self.withheld and verdict.status in USABLE else verdict

    @property
    def finding(self) -> Finding | None:
        """The gravest thing that is wrong with the input, even if no tick ends any more."""
        return None if self._watch is None else self._watch.finding

    @property
    def tick_ends(self) -> int:
        """
        Earliest stamp (ns) that can complete the tick; 0 if unknown.

        A later sample with an older stamp than this gives no estimate, whatever its values.
        """
        if self._waits or self._gate.jumped:
            return 0
        return int(self._averager.clock[1]) + self._reorder_ns

    @property
    def waiting(self) -> int:
        """Number of samples that wait for a later one."""
        return self._gate.waiting

    def warm_up(self) -> None:
        """Compile every hot loop but of a tick filter that was given: its maker can warm it up."""
        model = self.model
        if model.is_atlas:
            # The loops of one kind of route are the same.
            for each in {each.network is None: each for each in model.routes.values()}.values():
                Filter(each).warm_up()
        own = np.array(model.channels.mean)
        sample = np.concatenate([own, *(each.channels.mean for each in model.sensors)])
        averager = TickAverager(len(sample), model.period_ns, model.max_gap_ns)
        averager.start(0, sample)
        averager.push(model.period_ns, sample)
        _find_fault(own, model.channels.mean, model.channels.limit)
        judge_gaussian(np.zeros(model.states), np.zeros((1, 2)), np.zeros((1, 2, 2)), self._region)
        if self._watch is None:
            return
        # Unlike enough to the training to be looked at more closely than usual input.
        swing = np.zeros(len(sample))
        swing[: len(own)] = 2.0 * np.where(model.channels.live, model.channels.scale, 0.0)
        spare = Filter(model)
        last = 2 * model.window + math.ceil(model.rate_hz)
        for tick in range(1, last):
            spare.push(tick * model.period_ns, sample + (-1) ** tick * swing)
        # And a gap that it coasts through.
        spare.push(last * model.period_ns + model.max_gap_ns, sample)
        spare.push((last + 1) * model.period_ns + model.max_gap_ns, sample)

    def take_over(self, previous: Filter) -> None:
        """Continue the counts of the filter that ran on the same stream before."""
        self.counters, self.fixes = previous.counters.copy(), previous.fixes.copy()
        # What only one of the two has used by now, the other has yet to count or has counted.
        self.counters['used'] += previous.waiting - self.waiting

    def reset(self, cause: str) -> None:
        """Forget everything but the counters; ``cause`` is shown until the next sample."""
        # What only waited is used all the same, so that no sample goes uncounted.
        for judged in self._gate.drain():
            self._use(*judged)
        self._reset()
        self._drop_fixes(len(self._fixes))
        self._waits = Said(Status.WAITING, 'waiting', f'reset: {cause}')

    def lose(self) -> None:
        """Know, after a reset, that no drive begins here: on a network nothing shows the place."""
        self.ticks.lose()

    def fix(self, fix: Fix) -> None:
        """
        Take a measured position as evidence, with the first tick that begins after its stamp.

        It may be as late as a window. A model without a map in its frame does not take it.
        """
        self.fixes['received'] += 1
        self._fixes.append(fix)
        # One of a person is not the oldest.
        self._fixes.sort(key=lambda each: each.stamp_ns or math.inf)
        self._drop_fixes(max(len(self._fixes) - MOST_FIXES, 0))

    def _drop_fixes(self, count: int) -> None:
        """Forget so many of the oldest fixes that wait."""
        # No count where there is nothing to count.
        self.fixes += Counter(dropped=count)
        del self._fixes[:count]

    def _take_fixes(self, began_ns: int) -> float:
        """Return how likely the newest fix before a tick is right; NaN if there is none."""
        agrees, period_ns = math.nan, self.running.period_ns
        waiting, self._fixes = self._fixes, []
        for each in waiting:
            # Less than no ticks ago: it waits for the next tick.
            ago = 0.0 if each.stamp_ns == NEWEST else (began_ns - each.stamp_ns) / period_ns
            if abs(ago) > self.running.window:
                self.fixes['late' if ago > 0.0 else 'ahead'] += 1
            elif ago < 0.0:
                self._fixes.append(each)
            elif math.isnan(right := self.ticks.fix(each, ago)):
                self.fixes['other_frame'] += 1
            else:
                if self._route != self.ticks.chosen:
                    self._follow(self.ticks.chosen)
                agrees, disagrees = right, right < StateMachine.likely
                self.fixes['contradicting' if disagrees else 'agreeing'] += 1
                self._located = self._located or not disagrees
        return agrees

    def push(self, stamp_ns: int, sample: Sequence[float] | Floats) -> list[Estimate]:
        """
        Take one sample; return an estimate for each tick that ended, usually none or one.

        The stamp is from the header; the sample (c,) is in the order of the model's channels,
        of an IMU specific force in m/s^2, then angular rate in rad/s, x y z each. Behind them may
        be those of further sensors, NaN where one is missing.
        """
        counters, channels = self.counters, self.model.channels
        self.used = self.broke = False
        counters['received'] += 1
        values = own = np.array(sample, dtype=np.float64)
        if self.correction is not None:
            values[: self._own] = self.correction.correct(values[: self._own])
        if self._further:
            own = values[: self._own]
            missing = np.full(self._own + self._further - len(values), np.nan)
            values = np.concatenate([values, missing])
        fault = _FAULTS[_find_fault(own, channels.mean, channels.limit)]
        if fault:
            counters[fault] += 1
            if fault == 'out_of_range' and self._watch is not None:
                # It cannot be filtered, but may show what is wrong with all of them.
                self._watch.sample_out_of_range(stamp_ns, own)
            return []
        estimates: list[Estimate] = []
        for judged in self._gate.push(stamp_ns, values):
            estimates += self._use(*judged)
        return estimates

    def _use(self, verdict: Verdict, stamp_ns: int, sample: Floats) -> list[Estimate]:
        if verdict not in USED:
            self.counters[verdict.value] += 1
            return []
        self.used = True
        self.counters['used'] += 1
        own = sample[: self._own]
        starts = verdict is not Verdict.ACCEPT
        if self._before.size:
            if starts:
                self._before[:] = own
            sample = with_shakes(sample, self._before[0], self._before[1])
            self._before[1], self._before[0] = self._before[0], own
        if verdict is Verdict.GAP:
            self.broke = True
            self.counters['gaps'] += 1
            period_ns = self.running.period_ns
            began = int(self._averager.clock[1]) - period_ns
            ticks = round((stamp_ns - began + self._gate.aside_ns) / period_ns)
            # Gaps with less than a tick between them are one.
            self._missed += ticks
            if self._missed > self.running.window or not self._tick:
                self._reset(stamp_ns)
                # Wherever it got to meanwhile.
                self.ticks.lose()
            else:
                self._recovering = self._recovering or self.ticks.seen >= self.running.window
                self.ticks.coast(ticks)
                self._machine.pause()
                self._tick += ticks
        elif verdict is Verdict.JUMP_BACK:
            self._reset()
            self._drop_fixes(len(self._fixes))
        # The sample behind a gap waited for the next one, while unusable ones may have come.
        watch = self._watch
        if watch is not None and not (verdict is Verdict.GAP and watch.newest_ns > stamp_ns):
            watch.sample(stamp_ns, own)
        if starts:
            # A new grid of ticks.
            self._waits = None
            self._averager.start(stamp_ns, sample)
            return []
        count, ends, means = self._averager.push(stamp_ns, sample)
        return [self._estimate(int(ends[tick]), means[tick]) for tick in range(count)]

    def _reset(self, stamp_ns: int | None = None) -> None:
        self.broke = True
        self.counters['resets'] += 1
        self.latest = None
        self.ticks.start()
        if self._route != self.ticks.chosen:
            self._follow(self.ticks.chosen)
        self._machine.reset()
        self._tick = self._missed = 0
        self._recovering = self._located = False
        # Unusable samples may have bridged the gap for the checks of the input.
        if self._watch is not None and not (
            stamp_ns and (self._watch.newest_ns > stamp_ns or self._watch.goes_on(stamp_ns))
        ):
            self._watch.clear()

    def _follow(self, route: int) -> None:
        """Judge by what is known of a route from now on."""
        self._route = route
        self.running, self.limits = self._known[route]
        trained = None if self._watch is None else self.running.trained_model
        self._region = region_of(trained, self.limits.error_m) if trained else ANYWHERE
        held_out = self.running.summary.get('validation')
        # A summary may be anything. Without guards nothing but its validation speaks for a belief.
        errors = held_out if isinstance(held_out, dict) else {}
        own_m, mean_m = errors.get('followed_m'), errors.get('mean_position_m')
        self.withheld = not getattr(self.running, 'guarded', True)
        if isinstance(own_m, float) and isinstance(mean_m, float):
            self.withheld = not own_m < mean_m
        self._machine.adopt(self.limits, self.running.window, self.ticks.steady)

    def _estimate(self, stamp_ns: int, values: Floats) -> Estimate:
        """Return the estimate of a tick that ended at a stamp with these means (c,)."""
        ticks, tick, counters = self.ticks, self._tick, self.counters
        agrees = self._take_fixes(stamp_ns - self.running.period_ns) if self._fixes else math.nan
        result = ticks.update(values)
        if self._route != ticks.chosen:
            self._follow(ticks.chosen)
        counters['ticks'] += 1
        if not result.standing:
            counters['restarts'] += result.restarted
            counters['rejected_observations'] += not result.accepted
        means, covariances = ticks.read()
        state = ticks.belief.state.copy()
        # The one check of all numbers: without an ellipse no estimate is valid.
        ellipse_m, outside = judge_gaussian(state, means, covariances, self._region)
        full = ticks.seen >= self.running.window
        self._recovering = self._recovering and not full
        self._machine.step(
            result._replace(
                window_full=full,
                recovering=self._recovering,
                located=self._located,
                fix_agrees=agrees,
                seen=ticks.seen,
                outside=outside,
                ellipse_m=ellipse_m,
                finding=None if self._watch is None else self._watch.finding,
            )
        )
        self._tick += 1
        self._missed = 0
        said, lines = self.said, ticks.lines
        asked = self._places_every and tick % self._places_every == 0
        self.latest = Estimate(
            stamp_ns=stamp_ns,
            tick=tick,
            status=said.status,
            cause=said.cause,
            why=said.why,
            state=state,
            positions=means[:-1],
            covariances=covariances[:-1],
            velocity=means[-1],
            velocity_covariance=covariances[-1],
            evidence=result.evidence,
            novelty=result.novelty,
            ellipse_m=ellipse_m,
            off_route=result.off_route,
            places=ticks.places() if asked else None,
            route=lines.route,
            line=lines.name,
            chances=lines.chances,
            branches=lines.branches,
            fork=lines.fork,
        )
        return self.latest
