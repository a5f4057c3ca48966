# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn models of a route while driving it: when to train, and again as the drive grows."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
import math
from typing import cast, TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.prequential import BETTER, BLOCKS_PER_LAP, Prequential
from two_manifold_ros.adapting.references import LONGEST_STEP_NS, ReferenceMonitor
from two_manifold_ros.adapting.stream_memory import (
    make_head,
    NothingLearned,
    SEAM_NS,
    StreamHead,
    StreamMemory,
)
from two_manifold_ros.adapting.training_material import lap_seconds, Trained, Training, with_news
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.inspection.lag import parse_position_lag
from two_manifold_ros.model.line_learning import carry_lines
from two_manifold_ros.names import LEARNERS
from two_manifold_ros.ticks.stamps import StampGate, USED
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.tracker import TpsrTracker
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.training.tpsr import LearnedTpsr


FIRST_S = 10.0
"""Seconds with positions before the first attempt, which counts laps: no lap is as short."""

GROWTH = 1.3
"""Growth of the drive between two attempts while no lap is known."""

USUAL_PARTS = 2 * BLOCKS_PER_LAP
"""Newest parts that are usual, and those between two unlike ones of a change: two laps."""


@dataclass
class Schedule:
    """
    Schedule of the trainings from a stream, and what of the stream is learned.

    The length of the drive is the time with positions. A training is due after 2, 3, 5, 8, 13 laps
    and so on, and once more when positions end. If errors have risen for two laps, a new drive
    starts: what has changed is learned as soon as a new route would be.
    """

    known_s: float = 0.0  # seconds with positions
    due_s: float = FIRST_S  # seconds with positions at which the next training is due
    since_ns: int = 0  # stamp of a change that no model was learned of yet; 0 for none
    newest_ns: int | None = None  # stamp of the newest position
    ended: bool = False  # whether positions have ended
    # Seconds with positions at which laps started to count, and at the newest training.
    _since_s: float = 0.0
    _last_s: float = 0.0
    # Errors of the newest usual parts, metres.
    _parts: deque[float] = field(default_factory=lambda: deque(maxlen=USUAL_PARTS))
    # Whether parts were unlike since the first that was, and the stamp at which that started. It
    # is over after a lap of usual ones: a stretch that was rebuilt is unlike once in each lap.
    _unlike: list[bool] = field(default_factory=list)
    _began_ns: int = 0

    @property
    def is_due(self) -> bool:
        """Return whether the drive has become long enough for a training."""
        return self.known_s >= self.due_s

    def count(self, stamp_ns: int, longest_step_ns: int) -> None:
        """Count the time since the position before, unless the step between is longer."""
        if self.newest_ns is not None and 0 < stamp_ns - self.newest_ns <= longest_step_ns:
            self.known_s += (stamp_ns - self.newest_ns) * 1e-9
        self.newest_ns, self.ended = stamp_ns, False

    def look_for_end(self, stamp_ns: int, longest_step_ns: int, lap_s: float) -> None:
        """Note in ``ended`` if no position came for a lap; what is not learned yet is due."""
        has_lap, newest_ns = lap_s > 0.0, self.newest_ns
        if self.ended or newest_ns is None:
            return
        if stamp_ns - newest_ns > max(longest_step_ns, round(1e9 * lap_s) if has_lap else 0):
            self.ended = True
            if self.known_s - self._last_s >= (lap_s / BLOCKS_PER_LAP if has_lap else FIRST_S):
                self.due_s = min(self.due_s, self.known_s)

    def begin_training(self, lap_s: float, kept_s: float) -> None:
        """Note that a training starts, of drives that last ``kept_s``."""
        driven_s = min(self.known_s - self._since_s, kept_s)
        self.due_s = self.known_s + _left_s(driven_s, lap_s)
        self._last_s = self.known_s

    def count_laps(self, laps: float, lap_s: float) -> None:
        """Note how many laps were driven when the last training started, and how long one is."""
        # A start from rest or a stop make a drive longer, but not more laps.
        self._since_s = self._last_s - laps * lap_s
        self.due_s = self._last_s + _left_s(laps * lap_s, lap_s)

    def judge(self, error_m: float, rise_ns: int, end_ns: int, lap_s: float) -> bool:
        """Take the error of a part, and since when errors rose; return if it is like others."""
        # Unlike those before is half as much error again as in the largest usual one.
        rises = len(self._parts) == USUAL_PARTS and error_m > 1.5 * max(self._parts)
        if not rises:
            self._parts.append(error_m)
        if rises and not self._unlike:
            self._began_ns = rise_ns
        if rises or self._unlike:
            self._unlike.append(rises)
        if not any(self._unlike[-BLOCKS_PER_LAP:]):
            self._unlike.clear()
        if rises and len(self._unlike) >= USUAL_PARTS:
            # What came since the first unlike part is learned alone: something has changed.
            self._parts.clear()
            self._unlike.clear()
            self.since_ns = self._began_ns
            self._since_s = self.known_s - max(end_ns - self._began_ns, 0) * 1e-9
            self.due_s = min(self.due_s, self._since_s + _left_s(0.0, lap_s))
        return not rises

    def interrupt(self) -> None:
        """Count unlike parts again from here: what follows is not the next one."""
        self._unlike.clear()

    def set_back(self) -> None:
        """Count the whole stream as recent: earlier stamps have lost their meaning."""
        self.since_ns, self.newest_ns = 0, None
        self.interrupt()


def _left_s(driven_s: float, lap_s: float) -> float:
    """Return how much longer a drive is to become until its model is trained again."""
    if not lap_s > 0.0:
        return (GROWTH - 1.0) * driven_s
    # Laps vary: a training a little early is the one of its lap. A place is to be met twice. From
    # training to training the drive grows by 1.6: all together take 2.6 times as long as the last.
    laps, before, due = round(driven_s / lap_s), 1, 2
    while due <= laps:
        before, due = due, before + due
    return due * lap_s - driven_s


class StreamLearner:
    """
    A filter whose model of the route is learned while it filters.

    Samples and reference positions are kept, and a model is trained from the newest laps, as
    ``two-manifold train`` does, whenever `Schedule` makes one due. Shown the newest lap, it
    replaces the previous one as soon as it has an estimate. A TPSR goes on learning in between, by
    the same equations, after each quarter of a lap that is like those before, and so does an
    HSE-HMM, whose eigenmap stays as it was trained. After a change a
    model is trained on what came since alone, if it errs less on its own parts. One of which no
    part could be followed on the others, because no place was met twice, is not used. One that was
    given makes room only for one that errs less. A filter that errs no less than the mean position
    is withheld. The filter itself never sees reference positions.

    ``head`` is the model that runs until there is a better one, or what `make_head` makes.
    ``train`` runs a training, in a thread of its own, until ``close``. ``position_lag`` is how
    late positions are, see ``put_in_step``, and ``reorder_ns`` how late samples may come, see
    `Filter`. ``ellipse_m`` are limits of the ellipse for a warning and an error, metres; 0 for
    what the model says. With ``at_once`` samples wait for trainings: then the same stream gives
    bit-equal estimates.
    """

    def __init__(
        self,
        head: ModelHead,
        settings: TrainingSettings,
        *,
        train: Callable[[Training], Trained] = Training.run,
        close: Callable[[], object] = lambda: None,
        position_lag: str = '',
        reorder_ns: int = 0,
        ellipse_m: tuple[float, float] = (0.0, 0.0),
        at_once: bool = False,
    ) -> None:
        # A trial of rates takes longer than a lap.
        self._settings = settings.at_one_rate()
        # Ends a running training, if any; no sample may be pushed afterwards.
        self.close = close
        self._train = train
        self._at_once, self._reorder_ns, self._ellipse_m = at_once, reorder_ns, ellipse_m
        self._position_lag = position_lag
        self._given = head
        self._begin()

    def _begin(self) -> None:
        """Start with nothing learned."""
        head = self.head = self._given
        self.memory = StreamMemory()
        # Axes of which any number was finite: some drivers leave the others unset.
        self._measured = np.zeros(len(head.channels.names), dtype=np.bool_)
        self._gate: StampGate[Floats] = StampGate(SEAM_NS, reorder_ns=self._reorder_ns)
        self.reference = ReferenceMonitor()
        asked_s = parse_position_lag(self._position_lag) if self._position_lag else 0.0
        self.reference.lag_ns = round(1e9 * (asked_s or 0.0))
        # Errors of the estimates, and of those in the part of a lap that is not over.
        self.score, self._part = Prequential(FIRST_S), Prequential(math.inf)
        # How many models that were learned here have run.
        self.models = 0
        self.schedule = Schedule()
        # A model in training, or that does not run yet, its training, and what that gave.
        self.candidate: Successor | None = None
        self._training = Training([], self._settings, '', math.nan, 0)
        self._trained: list[Trained] = []
        # How many trainings were tried, lost to the model that runs, or failed beside one.
        self.ended = Counter(tried=0, lost=0, failed=0)
        # Why the last one gave no model, and how it ended, as sentences.
        self.failure = self.verdict = ''
        # The TPSR that runs, if it was learned here since the clock was set back.
        self._growing: LearnedTpsr | None = None
        if isinstance(head, StreamHead):
            ticks = NothingLearned(head)
            self.filter = Filter(head, tick_filter=ticks, reorder_ns=self._reorder_ns)
        else:
            self.filter = self.make_filter(head)

    def forget(self) -> None:
        """Forget everything that was learned, frames too; counts of samples and positions stay."""
        before, counts = self.filter, self.reference.counters
        self._begin()
        self.filter.take_over(before)
        self.reference.counters = counts

    @property
    def has_model(self) -> bool:
        """True if a model runs, learned here or given."""
        return not isinstance(self.filter.running, StreamHead)

    @property
    def lap_s(self) -> float:
        """Duration of a lap, s; NaN without a model."""
        return lap_seconds(self.filter.running)

    @property
    def counters(self) -> Counter[str]:
        """Samples that are kept, models that ran, and how trainings ended."""
        ended = {f'trainings_{how}': count for how, count in self.ended.items()}
        return Counter(samples_learned=len(self.memory), models_learned=self.models, **ended)

    def push(self, stamp_ns: int, sample: Sequence[float] | Floats) -> list[Estimate]:
        """Take one sample, see ``Filter.push``; an axis that is never measured counts as zero."""
        values = np.array(sample, dtype=np.float64)
        finite = np.isfinite(values)
        self._measured |= finite
        filled = np.where(self._measured | ~finite.any(), values, 0.0)
        # As the filter judges stamps: a wild one neither ends a drive nor positions.
        for verdict, used_ns, used in self._gate.push(stamp_ns, filled):
            if verdict not in USED:
                continue
            clock = self.memory.clock
            self.memory.add(used_ns, used.tolist())
            if self.memory.clock != clock:
                self.schedule.set_back()
                self._growing = None
            self.schedule.look_for_end(used_ns, self.reference.longest_step_ns, self.lap_s)
        self._look_for_model()
        if self.schedule.is_due:
            self._learn()
        # A model knows which axes are not measured.
        estimates = self.filter.push(stamp_ns, values if self.has_model else filled)
        for estimate in estimates:
            # Before the window is full there is no estimate, however good a model is.
            if estimate.status is not Status.FILLING:
                self.score.add(estimate)
                self._part.add(estimate)
        if self.candidate is not None:
            self.candidate.take(stamp_ns, tuple(sample))
        return estimates

    def add_reference(self, stamp_ns: int, x: float, y: float) -> bool:
        """Take a reference position in metres; return whether it is used."""
        reference = self.reference
        if len(self.memory) and not self.memory.is_near(stamp_ns):
            # A clock that was not set, as of another machine, or there is no sensor.
            reference.counters['far_from_samples'] += 1
            return False
        if not reference.add(stamp_ns, x, y):
            return False
        kept = [fix for fix in reference.taken if self.memory.add_position(*fix)]
        if len(self.memory):
            # Before the first sample there is nothing that they could be learned with.
            reference.counters['not_learned'] += len(reference.taken) - len(kept)
        # Over the newest laps the error is reported, and by it estimates are withheld.
        self.score.span_s = 2.0 * self.lap_s if self.lap_s > 0.0 else FIRST_S
        self.score.settle(reference)
        self._part.settle(reference)
        for fix in kept:
            self.schedule.count(fix.stamp_ns, reference.longest_step_ns)
        if BLOCKS_PER_LAP * self._part.seconds >= self.lap_s:
            self._end_part()
        return True

    def reset(self, cause: str) -> None:
        """Forget the stream and keep what was learned; see ``Filter.reset``."""
        self.filter.reset(cause)
        self.filter.withheld = False
        self.schedule.interrupt()
        self.score.forget()
        self._part.forget()
        if self.candidate is not None:
            self.candidate.reset(cause)

    def model(self) -> ModelHead | None:
        """Return the model with what was learned here; ``None`` before the first."""
        return self.filter.model if self.models else None

    def resume(
        self,
        memory: StreamMemory,
        model: ModelHead | None,
        head: ModelHead,
        lag_ns: int = 0,
        withheld: bool = False,
    ) -> None:
        """Run a model learned before, and train again on drives with the frames of ``head``."""
        # Limits of ellipses may refuse the model: nothing is changed before.
        live = None if model is None else self.make_filter(model)
        self.memory, self.head, self.reference.lag_ns = memory, head, lag_ns
        for drive in memory.recordings(head):
            for stamp_ns in drive.positions.stamps.tolist() if drive.positions else ():
                self.schedule.count(stamp_ns, LONGEST_STEP_NS)
        self.schedule.newest_ns = None
        if live is not None:
            self.filter = live
            self.models = 1
        self.filter.withheld = withheld
        if self.schedule.known_s >= FIRST_S:
            self._learn()

    def make_filter(self, model: ModelHead) -> Filter:
        """Return a filter with the options of this one, compiled."""
        live = Filter(model, ellipse_m=self._ellipse_m, reorder_ns=self._reorder_ns)
        live.warm_up()
        return live

    def _end_part(self) -> None:
        """Judge the model by the last part of a lap, and let a TPSR learn that part."""
        reference = self.reference
        # Less than a lap is too little to judge by.
        if self.score.seconds >= self.lap_s:
            errors = self.score.errors()
            limit = BETTER if self.filter.withheld else 1.0
            self.filter.withheld = errors.rmse_m > limit * errors.mean_m
        errors, rise_ns = self._part.errors(), self._part.rise_ns() + reference.lag_ns
        self._part.forget()
        is_usual = self.schedule.judge(errors.rmse_m, rise_ns, reference.newest_ns, self.lap_s)
        growing, until_ns = self._growing, reference.known_until_ns
        if growing is None:
            return
        # What was spoiled is not learned. A filter that knows that it is lost has something to.
        if not (is_usual or errors.lost > 0.5):
            growing.restart_at(max(until_ns, growing.ended_ns) + 1)
            return
        newer = self.memory.recordings(self.head, growing.ended_ns + 1)
        for drive in with_news(newer, lap_seconds(growing.model) / BLOCKS_PER_LAP):
            known = drive.imu.select(drive.imu.stamps <= until_ns)
            late_s = reference.lag_ns * 1e-9
            move = growing.go_on(replace(drive, imu=known).with_positions_earlier(late_s))
            cast('TpsrTracker', self.filter.ticks).adopt(growing.model, move)
            self.filter.running = growing.model

    def _learn(self) -> None:
        """Start to train a model from the newest laps, unless one is in training."""
        # One that was judged just now is not to be lost.
        self._look_for_model()
        if self.candidate is not None:
            if not self.candidate.prepared:
                return
            self._end_training('lost', 'its model had no estimate yet when the next was due')
        schedule, memory = self.schedule, self.memory
        schedule.begin_training(self.lap_s, memory.seconds)
        training = self._training = Training(
            # Copies of the newest drives.
            memory.recordings(self.head),
            self._settings,
            self._position_lag,
            lap_s=self.lap_s if self.models else math.nan,
            longest_step_ns=self.reference.longest_step_ns,
            counts_laps=not self.has_model,
            since_ns=schedule.since_ns,
            below_m=BETTER * self.score.errors().rmse_m,
            clock=memory.clock,
        )
        found = self._trained = []
        running = self.filter.running.route_model if self.has_model else None

        def make() -> Filter:
            trained = self._train(training)
            found.append(trained)
            if trained.model is None:
                raise InputError(trained.why)
            model: ModelHead = trained.model
            if running is not None and (learned := model.route_model) is not None:
                # Names of lines are not learned while driving.
                model = replace(learned, lines=carry_lines(running, learned))
            live, imu = self.make_filter(model), training.drives[-1].imu
            # It is shown the newest lap.
            span_ns = round(1e9 * max(lap_seconds(model), 2e-9 * model.window_ns))
            newest = imu.stamps >= imu.stamps[-1] - span_ns
            for stamp, each in zip(imu.stamps[newest].tolist(), imu.samples[newest], strict=True):
                live.push(stamp, each)
            return live

        self.ended['tried'] += 1
        self.failure = ''
        self.candidate = Successor(make, at_once=self._at_once)

    def _look_for_model(self) -> None:
        """Run what was trained if it may; drop it if it is no better."""
        candidate, training = self.candidate, self._training
        if candidate is None or not candidate.prepared:
            return
        candidate.catch_up()
        trained = self._trained[0] if self._trained else Trained()
        self.failure = candidate.failure
        if trained.laps is not None:
            self.schedule.count_laps(trained.laps.count, trained.laps.time_s)
            trained.laps = None
        if candidate.failure:
            # Before the first model there was just too little, unless it is a bug.
            failed = bool(self.models or candidate.details)
            self._end_training('failed' if failed else '', f'no model: {candidate.failure}')
            return
        errs = f'errs by {trained.error_m:.2g} m on parts left out of it'
        # Of the same kind as the other; not known after a reset or gap.
        before_m = self.score.mean_error_m()
        if self.has_model and not self.models and not trained.error_m < BETTER * before_m:
            given = f'by {before_m:.2g} m' if before_m > 0.0 else 'by how much is not known yet'
            how = f'its model {errs}, and the given one {given}, so that stays'
            self._end_training('lost', how)
            return
        if self.has_model and not candidate.tracks:
            return
        if not self.has_model or self.filter.withheld:
            # It says nothing of the new one.
            self.score.forget()
        candidate.filter.take_over(self.filter)
        self.filter = candidate.filter
        self.reference.lag_ns = trained.lag_ns
        # What it learned before the clock was set back it cannot go on from.
        self._growing = trained.learned if training.clock == self.memory.clock else None
        # Another one if the clock was set back, or there was another change.
        if trained.alone and self.schedule.since_ns == training.since_ns:
            # What was before the change is over, and is not learned again.
            self.memory.forget_before(self.schedule.since_ns)
            self.schedule.since_ns = 0
        self.models += 1
        self._end_training('', f'its model runs, and {errs}')

    def _end_training(self, end: str, how: str) -> None:
        """Count how a training ended, if it is ``lost`` or ``failed``, and put it into words."""
        self.candidate = None
        if end:
            self.ended[end] += 1
        known_s, lap_s = self.schedule.known_s, self.lap_s
        driven = f'{known_s / lap_s:.1f} laps' if lap_s > 0.0 else f'{known_s:.0f} s'
        self.verdict = f'Training {self.ended["tried"]}, after {driven} with positions: {how}'


def make_learner(name: str) -> StreamLearner:
    """Return a learner of ``LEARNERS`` for an evaluation: samples wait for its trainings."""
    return StreamLearner(make_head(), TrainingSettings(**LEARNERS[name]), at_once=True)
