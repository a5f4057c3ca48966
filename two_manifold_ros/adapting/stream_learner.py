# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn models of a route while driving it: trained again as the drive gets longer."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from importlib import import_module
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP, Contest, Prequential
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
    Candidate,
    holds_all,
    lap_seconds,
    newest_part,
    Training,
    with_route,
    without,
)
from two_manifold_ros.adapting.training_process import Trainer
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.atlas import make_filter
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.inspection.lag import parse_position_lag
from two_manifold_ros.model.atlas import AtlasModel
from two_manifold_ros.model.model import RouteModel, TpsrModel
from two_manifold_ros.model.model_file import model_from, model_parts
from two_manifold_ros.names import LEARNERS
from two_manifold_ros.ticks.stamps import StampGate, USED
from two_manifold_ros.training.held_out import LOST_SHARE
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.tpsr import LearnedTpsr
    from two_manifold_ros.typing import Floats


JUDGED_LAPS = 2.0
"""Newest laps over which the error is reported, and estimates are withheld by."""

BETTER = 0.8
"""
Error over that of another one below which a model, or a filter, is better.

Of a learned model beside a given one; of one of what came since a change alone beside the one that
runs; of a withheld filter beside the mean position. At 1 they would come and go.
"""


MOST_CHANGES = 1000
"""Newest changes of the route that are remembered; one a minute fills half a day."""


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

    ``head`` is the model that runs until there is a better one, or what `make_head` makes, and
    ``trainer`` trains, in a thread of its own. ``position_lag`` is how late positions are, see
    ``put_in_step``. ``reorder_ns`` is how late samples may come, see `Filter`. ``ellipse_m`` are
    limits of the ellipse for a warning and an error, metres; 0 for what the model says. With
    ``at_once`` samples wait for trainings: then the same stream gives bit-equal estimates.
    """

    def __init__(
        self,
        head: ModelHead,
        settings: TrainingSettings,
        *,
        trainer: Trainer | None = None,
        position_lag: str = '',
        reorder_ns: int = 0,
        ellipse_m: tuple[float, float] = (0.0, 0.0),
        at_once: bool = False,
    ) -> None:
        # A trial of rates takes longer than a lap.
        self._settings = settings.at_one_rate()
        self._trainer = trainer or Trainer()
        self._at_once, self._reorder_ns, self._ellipse_m = at_once, reorder_ns, ellipse_m
        self._position_lag = position_lag
        asked_s = parse_position_lag(position_lag) if position_lag else 0.0
        self._lag_ns = round(1e9 * (asked_s or 0.0))
        self.head = head
        self.memory = StreamMemory(len(head.channels.names))
        self.schedule = Schedule()
        self._gate: StampGate[Floats] = StampGate(SEAM_NS, reorder_ns=reorder_ns)
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
        if isinstance(head, StreamHead):
            self.filter = Filter(head, tick_filter=NothingLearned(head), reorder_ns=reorder_ns)
        else:
            self._run(self._make_filter(head))
        self._candidate: Candidate | None = None
        # Begin and end, ns, of the newest times on each route, where several are known.
        self._driven: deque[tuple[int, int, str]] = deque(maxlen=MOST_CHANGES)
        # The TPSR that runs, if it was learned here.
        self._learned: LearnedTpsr | None = None

    @property
    def known_s(self) -> float:
        """Seconds of the stream with positions."""
        return self.schedule.known_s

    @property
    def running(self) -> ModelHead:
        """Model that the filter runs; before the first, the head of the stream."""
        return self.filter.running if self.has_model else self.head

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
        known = {'samples_learned': len(self.memory), 'models_learned': self.models}
        return Counter({**known, **ended})

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
                # Later no stamp would say any more that this is no longer true.
                self.memory.forget_before(self.schedule.epoch_ns)
                self.schedule.set_back()
                self._driven.clear()
                if self._learned is not None:
                    self._learned.restart_at(used_ns)
                if self._candidate is not None:
                    self._candidate.training.set_back_ns = used_ns
            self.memory.add(used_ns, used.tolist())
            self._look_for_end(used_ns)
        self._look_for_model()
        # A model knows which axes are not measured.
        known = values if self.has_model else self.memory.filled(values)
        estimates = self.filter.push(stamp_ns, known)
        for estimate in estimates:
            # Before the window is full there is no estimate, however good a model is.
            if estimate.status is not Status.FILLING:
                self.score.add(estimate)
                self._part.add(estimate)
            if estimate.valid and estimate.route:
                self._note_route(estimate)
        if self._candidate is not None:
            self._candidate.push(stamp_ns, sample, estimates)
        return estimates

    def _note_route(self, estimate: Estimate) -> None:
        """Note on which route the vehicle is now."""
        begin_ns = estimate.stamp_ns
        if self._driven and self._driven[-1][2] == estimate.route:
            begin_ns = self._driven.pop()[0]
        self._driven.append((begin_ns, estimate.stamp_ns, estimate.route))

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
        for settle in (self.score.settle, self._part.settle):
            settle(self.known_until_ns, self.position_at)
        if self._candidate is not None:
            self._candidate.settle(self.known_until_ns, self.position_at)
        for fix in kept:
            self.schedule.count(fix.stamp_ns, self._longest_step_ns)
        if BLOCKS_PER_LAP * self._part.seconds >= self.lap_s:
            self._end_part()
        if self.schedule.is_due:
            self._learn()
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
            self._candidate.successor.reset(cause)

    def close(self) -> None:
        """End a running training, if any; no sample may be pushed afterwards."""
        self._trainer.close()

    def model(self) -> ModelHead | None:
        """Return the model with what was learned here; ``None`` before the first."""
        return self.filter.model if self.models else None

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the stream that is kept, and the model, as JSON values and arrays."""
        lengths, arrays = self.memory.saved()
        numbers: dict[str, Any] = {
            'stretches': lengths,
            'models': self.models,
            'lag_ns': self._lag_ns,
            'withheld': self.filter.withheld,
            **self.schedule.saved(),
        }
        if self.models:
            numbers['model'], own = model_parts(self.filter.model)
            arrays |= {f'model.{name}': array for name, array in own.items()}
        return numbers, arrays

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore what ``saved`` returned; raises `InputError` if its parts do not match."""
        try:
            memory = StreamMemory(len(self.head.channels.names))
            memory.restore(numbers['stretches'], arrays)
            schedule = Schedule.restored(numbers)
            model = None
            if 'model' in numbers:
                own = {name[6:]: each for name, each in arrays.items() if name[:6] == 'model.'}
                model = model_from('the model', dict(numbers['model']), own)
            withheld = bool(numbers['withheld'])
            models, lag_ns = (int(numbers[name]) for name in ('models', 'lag_ns'))
        # Numbers of any size and arrays of any shape make Python and NumPy raise almost anything.
        except Exception as error:
            if isinstance(error, InputError):
                raise
            msg = (
                'what was learned before is refused: its numbers and arrays do not fit together '
                f'({error!r}); choose another checkpoint folder'
            )
            raise InputError(msg) from error
        self.memory, self.schedule, self._lag_ns = memory, schedule, lag_ns
        if model is not None:
            self._run(self._make_filter(model))
            self.models = models
        self.filter.withheld = withheld
        # What a TPSR goes on from is not saved, but learned again.
        if schedule.has_grown(self.lap_s) or isinstance(model, TpsrModel):
            self._learn()

    def _make_filter(self, model: ModelHead) -> Filter:
        live = make_filter(model, ellipse_m=self._ellipse_m, reorder_ns=self._reorder_ns)
        live.warm_up()
        return live

    def _run(self, live: Filter) -> None:
        self.filter = live
        self.score.span_s = JUDGED_LAPS * self.lap_s if self.lap_s > 0.0 else FIRST_S

    @property
    def _longest_step_ns(self) -> int:
        return max(self.reference.gap_ns, LONGEST_STEP_NS)

    def _look_for_end(self, stamp_ns: int) -> None:
        """Learn from the remaining laps when positions have ended."""
        schedule = self.schedule
        if not schedule.has_stopped(stamp_ns, self._longest_step_ns, self.lap_s):
            return
        due_s = schedule.due_s
        if schedule.has_grown(self.lap_s) and not self._learn():
            # A training runs; look again after it.
            return
        # If positions come back, the next training comes no later for it.
        schedule.due_s = min(due_s, schedule.due_s)
        schedule.ended = True

    def _end_part(self) -> None:
        """Judge the model by the last part of a lap."""
        score = self.score
        # Less than a lap is too little to judge by.
        if score.seconds >= self.lap_s:
            limit = BETTER if self.filter.withheld else 1.0
            self.filter.withheld = score.rmse_m > limit * score.mean_rmse_m
        error_m, rise_ns = self._part.rmse_m, self._part.rise_ns() + self._lag_ns
        contradiction = self._part.contradiction
        self._part.forget()
        end_ns = self.reference.newest_ns
        self.schedule.judge(error_m, contradiction, rise_ns, end_ns, self.lap_s)
        if self._learned is not None:
            self._go_on(self._learned)

    def _go_on(self, learned: LearnedTpsr) -> None:
        """Let a TPSR learn what a training would learn too, and filter by what it is then."""
        newer = self.memory.recordings(self.head, learned.ended_ns + 1)
        for drive in without(newer, self.schedule.outliers, self.lap_s / BLOCKS_PER_LAP):
            known = drive.imu.select(drive.imu.stamps <= self.known_until_ns)
            recording = replace(drive, imu=known).with_positions_earlier(self._lag_ns * 1e-9)
            move = learned.go_on(recording)
            self.filter.adopt(learned.model, move)

    def _learn(self) -> bool:
        """Start to train a model from the newest laps; return whether that can be done now."""
        # One that was judged just now is not to be lost.
        self._look_for_model()
        # It is in training, or beside a given model; any other one makes room.
        if self._candidate is not None and (
            self._runs_given or not self._candidate.successor.prepared
        ):
            return False
        if self._candidate is not None:
            self._end_training('lost', 'its model had no estimate yet when the next was due')
        self._trainings['tried'] += 1
        schedule = self.schedule
        lately = schedule.begin_training(self.lap_s, self.memory.seconds, self.memory.oldest_ns)
        error_m = self.score.capped_mean_m(LOST_SHARE, self.lap_s) if lately else 0.0
        # What was driven on other routes is known as theirs.
        elsewhere = [
            (begin_ns, end_ns)
            for begin_ns, end_ns, route in self._driven
            if route != self._driven[-1][2]
        ]
        before = self.known if self.has_model else None
        training = Training(
            # Copies of the newest drives.
            self.memory.recordings(self.head),
            self._trainer,
            self._settings,
            self._position_lag,
            lap_s=self.lap_s if self.models else math.nan,
            longest_step_ns=self._longest_step_ns,
            since_ns=schedule.since_ns,
            epoch_ns=schedule.epoch_ns,
            outliers=[*schedule.outliers, *elsewhere],
            counts_laps=not self.has_model,
            lately_below_m=BETTER * error_m,
        )
        beside_given = self._runs_given

        def make() -> tuple[ModelHead, Filter]:
            model = training.run()
            if beside_given:
                # For the test of their contest: no sample waits for that.
                import_module('scipy.stats')
            known: ModelHead = model
            if isinstance(before, (RouteModel, AtlasModel)):
                newest = newest_part(training.drives, lap_seconds(model), training.longest_step_ns)
                known = with_route(before, model, self._route_of(before, newest))
            return known, self._caught_up(known, training.drives[-1])

        self.failure = self.details = ''
        successor = Successor(make, at_once=self._at_once)
        self._candidate = Candidate(training, successor, BETTER)
        return True

    def _route_of(self, model: ModelHead, drives: Sequence[Recording]) -> str | None:
        """Return the route on which a model follows drives most of the time, if it does."""
        live, named = self._make_filter(model), list[str | None]()
        for each in drives:
            live.reset('another drive')
            for stamp, sample in zip(each.imu.stamps.tolist(), each.imu.samples, strict=True):
                named += [
                    estimate.route if estimate.valid else None
                    for estimate in live.push(stamp, sample)
                    if estimate.status is not Status.FILLING
                ]
        return Counter(named).most_common(1)[0][0] if named else None

    def _caught_up(self, model: ModelHead, drive: Recording) -> Filter:
        """Return a filter that has seen the newest lap."""
        live, imu = self._make_filter(model), drive.imu
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
        if candidate is None or not candidate.successor.prepared:
            return
        successor, training = candidate.successor, candidate.training
        successor.catch_up()
        self.failure, self.details = successor.failure, successor.details
        if training.laps is not None:
            self.schedule.count_laps(training.laps.count, training.laps.time_s)
        if successor.failure:
            # Before the first model there was just too little, unless it is a bug.
            failed = bool(self.models) or bool(successor.details)
            self._end_training('failed' if failed else '', f'no model: {successor.failure}')
        elif self._runs_given and candidate.contest.is_lost:
            self._end_training('lost', f'{_compared(candidate.contest)} stays')
        # Beside a model of less of the same drive there is no contest.
        elif not self.has_model or (
            successor.tracks
            and (
                not self._runs_given
                or candidate.contest.is_won
                # A route beside those that are known takes nothing away.
                or holds_all(successor.model, self.known)
            )
        ):
            won = self._runs_given and candidate.contest.is_won
            if not self.has_model or self.filter.withheld:
                # It says nothing of the new one.
                self.score.forget()
            successor.filter.take_over(self.filter)
            self._run(successor.filter)
            self._lag_ns, self._learned = training.lag_ns, training.learned
            if self._learned is not None and training.set_back_ns is not None:
                self._learned.restart_at(training.set_back_ns)
            self.schedule.end_training(training.since_ns, training.epoch_ns)
            self.models += 1
            apart = f'its model runs, and errs by {training.error_m:.2g} m on parts left out of it'
            self._end_training('', f'{_compared(candidate.contest)} makes room' if won else apart)

    def _end_training(self, end: str, how: str) -> None:
        """Count how a training ended, if it is ``lost`` or ``failed``, and put it into words."""
        self._candidate = None
        if end:
            self._trainings[end] += 1
        laps = self.known_s / self.lap_s
        driven = f'{laps:.1f} laps' if laps > 0.0 else f'{self.known_s:.0f} s'
        self.verdict = f'Training {self._trainings["tried"]}, after {driven} with positions: {how}'


def _compared(contest: Contest) -> str:
    running_m, own_m = contest.errors_m
    return (
        f'the new model errs by {own_m:.2g} m, the running one by {running_m:.2g} m (less than '
        f'{BETTER:g} times as much is needed), so the running one'
    )


def make_learner(name: str) -> StreamLearner:
    """Return a learner of ``LEARNERS`` for an evaluation: samples wait for its trainings."""
    return StreamLearner(make_head(), TrainingSettings(method=LEARNERS[name]), at_once=True)
