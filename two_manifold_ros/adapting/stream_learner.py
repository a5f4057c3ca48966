# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn models of a route while driving it: trained again as the drive gets longer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib import import_module
import math
from typing import Any, cast, TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.prequential import BETTER, BLOCKS_PER_LAP, Contest, Prequential
from two_manifold_ros.adapting.references import LONGEST_STEP_NS, ReferenceMonitor
from two_manifold_ros.adapting.schedule import FIRST_S, Schedule
from two_manifold_ros.adapting.stream_memory import (
    make_head,
    NothingLearned,
    SEAM_NS,
    StreamHead,
    StreamMemory,
)
from two_manifold_ros.adapting.training_material import (
    holds_all,
    lap_seconds,
    Trained,
    Training,
    with_route,
    without,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.atlas import make_filter
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.inspection.lag import parse_position_lag
from two_manifold_ros.model.model_file import model_from, model_parts
from two_manifold_ros.names import LEARNERS
from two_manifold_ros.ticks.stamps import StampGate, USED
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.tracker import TpsrTracker
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.tpsr import LearnedTpsr
    from two_manifold_ros.typing import Floats


JUDGED_LAPS = 2.0
"""Newest laps over which the error is reported, and estimates are withheld by."""


class Candidate(Successor):
    """A model in training, then its filter, until it runs or has lost the contest."""

    def __init__(
        self, training: Training, make: Callable[[Candidate], Filter], *, at_once: bool
    ) -> None:
        self.training = training
        self.trained = Trained()
        # Contest with the model that runs, if that was given.
        self.contest: Contest | None = None

        super().__init__(lambda: make(self), at_once=at_once)

    def push(
        self, stamp_ns: int, sample: Sequence[float] | Floats, running: Sequence[Estimate]
    ) -> None:
        """Take a sample, and the estimates of the model that runs."""
        own = self.take(stamp_ns, tuple(sample))
        if self.contest is not None and self.prepared and not self.failure:
            self.contest.add(0, running)
            self.contest.add(1, own)


class StreamLearner:
    """
    A filter whose model of the route is learned while it filters.

    Samples and reference positions are kept, and a model is trained from the newest laps, as
    ``two-manifold train`` does, whenever `Schedule` makes one due. Shown the newest lap, it
    replaces the previous one as soon as it has an estimate. A TPSR goes on learning in between, by
    the same equations, after each quarter of a lap that is like those before. After a change a
    model is trained on what came since alone, if it errs less on its own parts. One of which no
    part could be followed on the others, because no place was met twice, is not used. One that was
    given makes room only for one that wins a `Contest` beside it. A filter that errs no less than
    the mean position is withheld.

    The filter itself never sees reference positions.

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
        asked_s = parse_position_lag(position_lag) if position_lag else 0.0
        self._asked_lag_ns = round(1e9 * (asked_s or 0.0))
        self._given = head
        self._begin()

    def _begin(self) -> None:
        """Start with nothing learned."""
        head = self.head = self._given
        self._lag_ns = self._asked_lag_ns
        self.memory = StreamMemory(len(head.channels.names))
        self.schedule = Schedule()
        self._gate: StampGate[Floats] = StampGate(SEAM_NS, reorder_ns=self._reorder_ns)
        self.reference = ReferenceMonitor()
        # Errors of the estimates, and of those in the part of a lap that is not over.
        self.score, self._part = Prequential(FIRST_S), Prequential(math.inf)
        # How many models that were learned here have run.
        self.models = 0
        # Why the last training gave no model, and a traceback if that is a bug.
        self.failure = self.details = ''
        # How the last training ended, as a sentence, and since the start how many were tried, lost
        # to the model that runs, or failed though there is a model.
        self.verdict = ''
        self._trainings = Counter(tried=0, lost=0, failed=0)
        self._candidate: Candidate | None = None
        # Ticks on each known route since the newest training, None for those on no such route.
        self._followed: Counter[str | None] = Counter()
        # The TPSR that runs, if it was learned here.
        self._learned: LearnedTpsr | None = None
        if isinstance(head, StreamHead):
            ticks = NothingLearned(head)
            self.filter = Filter(head, tick_filter=ticks, reorder_ns=self._reorder_ns)
        else:
            self._run(self.make_filter(head))

    def forget(self) -> None:
        """Forget everything that was learned, frames too; counts of samples and positions stay."""
        before, counts = self.filter, self.reference.counters
        self._begin()
        self.filter.take_over(before)
        self.reference.counters = counts

    @property
    def known_s(self) -> float:
        """Seconds of the stream with positions."""
        return self.schedule.known_s

    @property
    def running(self) -> ModelHead:
        """Model that the filter runs; before the first, the head of the stream."""
        return self.filter.running

    @property
    def known(self) -> ModelHead:
        """Model of all known routes; before the first, the head of the stream."""
        return self.filter.model if self.has_model else self.head

    @property
    def has_model(self) -> bool:
        """True if a model runs, learned here or given."""
        return not isinstance(self.filter.running, StreamHead)

    @property
    def has_candidate(self) -> bool:
        """True if a model is in training, or does not run yet."""
        return self._candidate is not None

    @property
    def lap_s(self) -> float:
        """Duration of a lap, s; NaN without a model."""
        return lap_seconds(self.filter.running)

    @property
    def counters(self) -> Counter[str]:
        """Samples that are kept, models that ran, and how trainings ended."""
        ended = {f'trainings_{how}': count for how, count in self._trainings.items()}
        return Counter(samples_learned=len(self.memory), models_learned=self.models, **ended)

    @property
    def news(self) -> tuple[int, float]:
        """Number of trainings whose model ran, and seconds that it was learned from by now."""
        return self.models, float(self.filter.running.summary['seconds']) if self.models else 0.0

    def push(self, stamp_ns: int, sample: Sequence[float] | Floats) -> list[Estimate]:
        """Take one sample, see ``Filter.push``."""
        values = np.array(sample, dtype=np.float64)
        # As the filter judges stamps: a wild one neither ends a drive nor positions.
        for verdict, used_ns, used in self._gate.push(stamp_ns, values):
            if verdict not in USED:
                continue
            if used_ns <= self.memory.newest_ns - SEAM_NS:
                self.schedule.set_back()
            self.memory.add(used_ns, used.tolist())
            self.schedule.look_for_end(used_ns, self._longest_step_ns, self.lap_s)
        self._look_for_model()
        if self.schedule.is_due:
            self._learn()
        # A model knows which axes are not measured.
        known = values if self.has_model else self.memory.filled(values)
        estimates = self.filter.push(stamp_ns, known)
        for estimate in estimates:
            # Before the window is full there is no estimate, however good a model is.
            if estimate.status is not Status.FILLING:
                self.score.add(estimate)
                self._part.add(estimate)
                self._followed[estimate.route if estimate.valid else None] += 1
        if self._candidate is not None:
            self._candidate.push(stamp_ns, sample, estimates)
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
        contest = self._candidate.contest if self._candidate is not None else None
        for judge in (self.score, self._part, contest):
            if judge is not None:
                judge.settle(self.known_until_ns, self.position_at)
        for fix in kept:
            self.schedule.count(fix.stamp_ns, self._longest_step_ns)
        if BLOCKS_PER_LAP * self._part.seconds >= self.lap_s:
            self._end_part()
        return True

    @property
    def known_until_ns(self) -> int:
        """Stamp of the sensor up to which reference positions are known."""
        return self.reference.newest_ns - self._lag_ns

    def position_at(self, stamp_ns: int) -> tuple[float, float] | None:
        """Return the reference position at a stamp of the sensor; ``None`` where unknown."""
        return self.reference.at(stamp_ns + self._lag_ns)

    def reset(self, cause: str) -> None:
        """Forget the stream and keep what was learned; see ``Filter.reset``."""
        self.filter.reset(cause)
        self.filter.withheld = False
        self.schedule.interrupt()
        self.score.forget()
        self._part.forget()
        if self._candidate is not None:
            self._candidate.reset(cause)

    def model(self) -> ModelHead | None:
        """Return the model with what was learned here; ``None`` before the first."""
        return self.filter.model if self.models else None

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the newest drives, and the model, as JSON values and arrays."""
        lengths, arrays = self.memory.saved()
        numbers: dict[str, Any] = {
            'stretches': lengths,
            'lag_ns': self._lag_ns,
            'withheld': self.filter.withheld,
        }
        if self.models:
            numbers['model'], own = model_parts(self.filter.model)
            arrays |= {f'model.{name}': array for name, array in own.items()}
        return numbers, arrays

    def restore(
        self,
        numbers: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        head: ModelHead | None = None,
    ) -> None:
        """
        Run the model that ``saved`` returned, and train again on its drives, with their head.

        Raises `InputError` if they do not match.
        """
        try:
            memory = StreamMemory(len(self.head.channels.names))
            memory.restore(numbers['stretches'], arrays)
            model = None
            if 'model' in numbers:
                own = {name[6:]: each for name, each in arrays.items() if name[:6] == 'model.'}
                model = model_from('the model', dict(numbers['model']), own)
            withheld, lag_ns = bool(numbers['withheld']), int(numbers['lag_ns'])
            # Limits of ellipses may refuse it: then nothing has changed.
            live = None if model is None else self.make_filter(model)
        # Numbers of any size and arrays of any shape make Python and NumPy raise almost anything.
        except Exception as error:
            if isinstance(error, InputError):
                raise
            msg = (
                'what was learned before is refused: its numbers and arrays do not fit together '
                f'({error!r}); choose another checkpoint folder'
            )
            raise InputError(msg) from error
        self.memory, self._lag_ns, self.schedule = memory, lag_ns, Schedule()
        self.head = head or self.head
        for stamp_ns in memory.fixes_ns:
            self.schedule.count(stamp_ns, LONGEST_STEP_NS)
        self.schedule.newest_ns = None
        if live is not None:
            self._run(live)
            self.models = 1
        self.filter.withheld = withheld
        if self.schedule.known_s >= FIRST_S:
            self._learn()

    def make_filter(self, model: ModelHead) -> Filter:
        """Return a filter with the options of this one, compiled."""
        live = make_filter(model, ellipse_m=self._ellipse_m, reorder_ns=self._reorder_ns)
        live.warm_up()
        return live

    def _run(self, live: Filter) -> None:
        self.filter = live
        self.score.span_s = JUDGED_LAPS * self.lap_s if self.lap_s > 0.0 else FIRST_S

    @property
    def _longest_step_ns(self) -> int:
        return max(self.reference.gap_ns, LONGEST_STEP_NS)

    def _end_part(self) -> None:
        """Judge the model by the last part of a lap."""
        score = self.score
        # Less than a lap is too little to judge by.
        if score.seconds >= self.lap_s:
            limit = BETTER if self.filter.withheld else 1.0
            self.filter.withheld = score.rmse_m > limit * score.mean_rmse_m
        error_m, lost = self._part.rmse_m, self._part.lost > 0.5
        rise_ns = self._part.rise_ns() + self._lag_ns
        self._part.forget()
        end_ns = self.reference.newest_ns
        self.schedule.judge(error_m, rise_ns, end_ns, self.lap_s, lost=lost)
        if self._learned is not None:
            self._go_on(self._learned)

    def _go_on(self, learned: LearnedTpsr) -> None:
        """Let a TPSR learn what a training would learn too, and filter by what it is then."""
        if learned.ended_ns > self.memory.newest_ns:
            # The clock was set back.
            learned.restart_at(self.memory.drive_ns)
        newer = self.memory.recordings(self.head, learned.ended_ns + 1)
        for drive in without(newer, self.schedule.outliers, self.lap_s / BLOCKS_PER_LAP):
            known = drive.imu.select(drive.imu.stamps <= self.known_until_ns)
            recording = replace(drive, imu=known).with_positions_earlier(self._lag_ns * 1e-9)
            move = learned.go_on(recording)
            cast('TpsrTracker', self.filter.ticks).adopt(learned.model, move)
            self.filter.running = learned.model

    def _learn(self) -> None:
        """Start to train a model from the newest laps, unless one is in training."""
        # One that was judged just now is not to be lost.
        self._look_for_model()
        # It is in training, or beside a given model; any other one makes room.
        if self._candidate is not None:
            if self._runs_given or not self._candidate.prepared:
                return
            self._end_training('lost', 'its model had no estimate yet when the next was due')
        self._trainings['tried'] += 1
        schedule, memory = self.schedule, self.memory
        schedule.begin_training(self.lap_s, memory.seconds, memory.oldest_ns)
        training = Training(
            # Copies of the newest drives.
            memory.recordings(self.head),
            self._settings,
            self._position_lag,
            lap_s=self.lap_s if self.models else math.nan,
            longest_step_ns=self._longest_step_ns,
            outliers=list(schedule.outliers),
            counts_laps=not self.has_model,
            since_ns=schedule.since_ns,
            below_m=BETTER * self.score.rmse_m,
        )
        before, given = (self.known if self.has_model else None), self._runs_given
        followed = self._followed.most_common(1)[0][0] if self._followed else None
        self._followed.clear()

        def make(candidate: Candidate) -> Filter:
            trained = candidate.trained = self._train(training)
            if trained.model is None:
                raise InputError(trained.why)
            known: ModelHead = trained.model
            if before is not None and before.holds_maps:
                known = with_route(before, trained.model, followed)
            if given:
                # For the test of their contest: no sample waits for that.
                import_module('scipy.stats')
                candidate.contest = Contest(lap_seconds(known))
            return self._caught_up(known, training.drives[-1])

        self.failure = self.details = ''
        self._candidate = Candidate(training, make, at_once=self._at_once)

    def _caught_up(self, model: ModelHead, drive: Recording) -> Filter:
        """Return a filter that has seen the newest lap."""
        live, imu = self.make_filter(model), drive.imu
        span_s = max(lap_seconds(model), 2e-9 * model.window_ns)
        newest = imu.stamps >= imu.stamps[-1] - round(1e9 * span_s)
        for stamp, sample in zip(imu.stamps[newest].tolist(), imu.samples[newest], strict=True):
            live.push(stamp, sample)
        return live

    @property
    def _runs_given(self) -> bool:
        return self.has_model and not self.models

    def _look_for_model(self) -> None:
        """Let a candidate take over if it may, or drop it if it is no better."""
        candidate = self._candidate
        if candidate is None or not candidate.prepared:
            return
        candidate.catch_up()
        trained, contest = candidate.trained, candidate.contest
        self.failure, self.details = candidate.failure, candidate.details
        if trained.laps is not None:
            self.schedule.count_laps(trained.laps.count, trained.laps.time_s)
            trained.laps = None
        if candidate.failure:
            # Before the first model there was just too little, unless it is a bug.
            failed = bool(self.models) or bool(candidate.details)
            self._end_training('failed' if failed else '', f'no model: {candidate.failure}')
        elif contest is not None and contest.is_lost:
            self._end_training('lost', f'{contest.in_words}, so the running one stays')
        # Beside a model of less of the same drive there is no contest. A route beside those that
        # are known takes nothing away.
        elif not self.has_model or (
            candidate.tracks
            and (
                contest is None or contest.is_won or holds_all(candidate.filter.model, self.known)
            )
        ):
            self._take_over(candidate)

    def _take_over(self, candidate: Candidate) -> None:
        """Run what was trained."""
        trained, contest = candidate.trained, candidate.contest
        if not self.has_model or self.filter.withheld:
            # It says nothing of the new one.
            self.score.forget()
        candidate.filter.take_over(self.filter)
        self._run(candidate.filter)
        self._lag_ns, self._learned = trained.lag_ns, trained.learned
        # Another one if the clock was set back, or there was another change.
        if trained.alone and self.schedule.since_ns == candidate.training.since_ns:
            # What was before the change is over, and is not learned again.
            self.memory.forget_before(self.schedule.since_ns)
            self.schedule.since_ns = 0
        self.models += 1
        how = f'its model runs, and errs by {trained.error_m:.2g} m on parts left out of it'
        if contest is not None and contest.is_won:
            how = f'{contest.in_words}, so the new one runs'
        self._end_training('', how)

    def _end_training(self, end: str, how: str) -> None:
        """Count how a training ended, if it is ``lost`` or ``failed``, and put it into words."""
        self._candidate = None
        if end:
            self._trainings[end] += 1
        laps = self.known_s / self.lap_s
        driven = f'{laps:.1f} laps' if laps > 0.0 else f'{self.known_s:.0f} s'
        self.verdict = f'Training {self._trainings["tried"]}, after {driven} with positions: {how}'


def make_learner(name: str) -> StreamLearner:
    """Return a learner of ``LEARNERS`` for an evaluation: samples wait for its trainings."""
    return StreamLearner(make_head(), TrainingSettings(method=LEARNERS[name]), at_once=True)
