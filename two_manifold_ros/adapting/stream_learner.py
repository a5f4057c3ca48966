# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn models of a route while driving it: trained again as the drive gets longer."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.followed_laps import FollowedLaps
from two_manifold_ros.adapting.outlier_laps import without_outliers
from two_manifold_ros.adapting.prequential import Prequential, Reference
from two_manifold_ros.adapting.schedule import FIRST_S, NEAR, PART_LAPS, RISE, Schedule, TURNS
from two_manifold_ros.adapting.stream_memory import (
    known_seconds,
    make_head,
    newest_part,
    NothingLearned,
    SEAM_NS,
    since,
    StreamHead,
    StreamMemory,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter, SampleGate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.inspection.lag import parse_position_lag, put_in_step
from two_manifold_ros.inspection.motion import count_laps, put_together
from two_manifold_ros.model.model_file import model_from, model_parts
from two_manifold_ros.training.cross_validation import LOST_SHARE
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.inspection.motion import Laps
    from two_manifold_ros.model.head import ModelHead, TrainedModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

    Train = Callable[[Sequence[Recording], TrainingSettings], TrainedModel]

LEARNERS = {'map': 'route', 'tpsr': 'tpsr'}
"""Methods of training by the names of the learners, in the order of tables."""

MOST_NEWEST_LAPS = 16.0
"""
Newest laps that a model is trained on; what was not driven on any of them is forgotten.

So later trainings of a route cost the same however long it was driven. On f1tenth_ipz20 and two
seeds each of slot_car, rc_car, kart and figure_eight, driven for 20 to 27 laps, maps of the newest
16 err by 0.7 to 1.15 times as much as those of all laps; of 12 laps up to 1.4 times, and of 10 one
of the kart's is lost for a while (9 times). It is the least of 4, 6, 8, 10, 12 and 16 that stays
within 1.15, whichever of the five is left out.
"""

RELEASED = 0.9
"""
Error over that of the mean position below which positions are told again that were withheld: at
the limit itself they would come and go.
"""

ABSENT_NS = 2_000_000_000
"""
Time without a position, or three usual steps of them if these are longer, after which they are
taken for absent: it does not count as driven with positions, and what the filter tells is kept.
"""

CATCH_UP_LAPS = 1.0
"""Newest laps that a new model is shown before it is believed: a lap tells where it is."""

JUDGED_LAPS = 2.0
"""Newest laps over which its error is told."""

BETTER = 0.8
"""
Error, on parts that were left out, of a model of what came since a rise alone over that of the
model that runs, below which it is better: a model of few laps has to show its worth.
"""

LEAST_GIVEN_LAPS = 2.0
"""
Laps with references without which nothing is learned from followed ones.

With all of the route met twice it is judged all along. They are forgotten after some time without
references, see `StreamMemory`: then the model stays as it is.
"""

NO_BETTER_ALONE = 'what was followed without positions gives no model that errs as little'

MET_ONCE = 'no place of the route was met twice yet: drive another lap'

USEFUL = 0.25
"""Share of the error of the mean position below which a model is of use."""


class Lacking(NamedTuple):
    """
    What a learner lacks to tell positions.

    Parameters
    ----------
    cause
        A short key.
    why
        One sentence.

    """

    cause: str
    why: str


@dataclass
class _Candidate:
    """
    A model that is being trained or does not run yet; its thread writes into nothing else.

    Parameters
    ----------
    since_ns
        Since when the stream was as it is now, when the training began.
    epoch_ns
        Stamp from which on it was trained, 0 for all that is kept.
    lag_ns
        How late positions were found to be.
    followed_s
        Seconds of what it is trained on for which only the filter told positions.
    laps
        That were driven, if that was looked for and found.
    running, own
        Errors of what runs and of this model, over the same time.

    """

    since_ns: int
    epoch_ns: int
    lag_ns: int = 0
    followed_s: float = 0.0
    laps: Laps | None = None
    running: Prequential = field(default_factory=lambda: Prequential(math.inf))
    own: Prequential = field(default_factory=lambda: Prequential(math.inf))


class StreamLearner:
    """
    A filter whose model of the route is learned while it filters.

    Samples and reference positions are kept. After some first laps, and later each time that the
    drive has become twice as long, see `Schedule`, a model is trained from the newest laps, as
    ``two-manifold train`` does, shown the newest one, and takes the place of the one before as
    soon as it tells a position. Where errors rise for a lap, laps count from there: what has
    changed is learned as soon as a new route would be, and from what came since alone if that
    errs less on its own parts. A lap that is like no other one, because a sensor was stuck or
    positions were wrong, is not learned until a second one is like it. A model of which no part
    could be followed on the others, because no place was met twice, is not used. A model that was
    given makes room only for one that errs less beside it over a whole lap. What errs no less than
    the mean position is not told.

    Without references it learns how the vehicle moves now from laps that the filter followed
    without a doubt, at the positions that it told: from no more of them than of the newest laps
    with references, which alone judge and calibrate. With the next reference they are forgotten.

    Positions are never told to the filter: what it tells is what it would tell without them.

    Parameters
    ----------
    head
        Of the stream: a model that is run until there is a better one, or what `make_head` makes,
        which is shown before the first.
    settings
        Of the trainings, of any method.
    train
        What trains, in a thread of its own.
    make
        Makes the filter of a model.
    position_lag
        How late positions are, see ``put_in_step``.
    reorder_ns
        How late samples may come, see `Filter`; for those that are kept.
    close
        Called when nothing is to be trained any more.
    at_once
        Whether samples wait for trainings: then the same stream gives bit-equal estimates.

    Attributes
    ----------
    filter
        What runs now; it tells nothing before the first model.
    reference
        What refuses positions; its ``counters``.
    memory
        What is kept of the stream.
    models
        How many models that were learned here have run.
    failure, details
        Why the last training gave no model, empty if it did; a traceback if that is a bug.
    score
        Errors of what was told.

    Raises
    ------
    InputError
        If the position lag is no number.

    """

    def __init__(
        self,
        head: ModelHead,
        settings: TrainingSettings | None = None,
        *,
        train: Train = train_model,
        make: Callable[[ModelHead], Filter] = Filter,
        position_lag: str = '',
        reorder_ns: int = 0,
        at_once: bool = False,
        close: Callable[[], object] = lambda: None,
    ) -> None:
        self._settings = settings or TrainingSettings()
        self._train, self._make, self._at_once = train, make, at_once
        self._position_lag = position_lag
        asked_s = parse_position_lag(position_lag) if position_lag else 0.0
        self._lag_ns = round(1e9 * (asked_s or 0.0))
        self._close = close
        self.head = head
        self.memory = StreamMemory(len(head.channels.names))
        self._gate = SampleGate(len(head.channels.names), SEAM_NS, reorder_ns)
        self.reference = Reference()
        self.score = Prequential(FIRST_S)
        self.models = 0
        self.failure = self.details = ''
        self._model = head
        if isinstance(head, StreamHead):
            self.filter = Filter(head, tick_filter=NothingLearned(head), reorder_ns=reorder_ns)
        else:
            self._run(head, make(head))
            self.filter.warm_up()
        self._coming: tuple[Successor, _Candidate] | None = None
        self._failures = 0
        self._refused = ''
        self._schedule = Schedule()
        self._part = Prequential(math.inf)
        self._followed = FollowedLaps()
        # Of what the model was learned from, seconds without references.
        self._followed_s = 0.0

    @property
    def known_s(self) -> float:
        """Seconds of the stream with positions."""
        return self._schedule.known_s

    @property
    def running(self) -> ModelHead:
        """The model that the filter runs; before the first, what is known of the stream."""
        return self._model if self.has_model else self.head

    @property
    def has_model(self) -> bool:
        """Whether a model runs, learned here or given."""
        return not isinstance(self._model, StreamHead)

    @property
    def lap_s(self) -> float:
        """How long a lap takes, s; NaN without a model."""
        return _lap_s(self._model)

    @property
    def _seconds(self) -> float:
        """How long the drives were that the model was learned from, s; 0 before the first."""
        return float(self._model.summary['seconds']) if self.models else 0.0

    @property
    def counters(self) -> Counter[str]:
        """
        Samples that are kept as ``learned``, ``models``, and ``failures`` of trainings.

        That too little was seen for a first model is no failure.
        """
        return Counter(learned=len(self.memory), models=self.models, failures=self._failures)

    @property
    def news(self) -> tuple[int, float]:
        """How many models were learned, and of how many seconds the newest one."""
        return self.models, self._seconds

    def push(self, stamp_ns: int, sample: Sequence[float] | Floats) -> list[Estimate]:
        """Take one sample, see ``Filter.push``."""
        values = np.array(sample, dtype=np.float64)
        # As the filter judges stamps: a wild one neither ends a drive nor positions.
        for _, used_ns, used in self._gate.push(stamp_ns, values, Counter()):
            if used_ns <= self.memory.newest_ns - SEAM_NS:
                self._schedule.set_back()
            self.memory.add(used_ns, used.tolist())
            self._look_for_end(used_ns)
        self._look_for_model()
        estimates = self.filter.push(stamp_ns, sample)
        for estimate in estimates:
            # Before a whole window was seen nothing can be told, however good a model is.
            if estimate.status is not Status.FILLING:
                self.score.tell(estimate)
                self._part.tell(estimate)
        if self.models:
            self._follow(estimates)
        if self._coming is not None:
            self._go_on_beside(*self._coming, stamp_ns, sample, estimates)
        return estimates

    def add_reference(self, stamp_ns: int, x: float, y: float) -> bool:
        """Take a reference position in metres; return whether it is used, see `Reference`."""
        reference = self.reference
        if not reference.add(stamp_ns, x, y):
            return False
        is_kept = self.memory.add_position(stamp_ns, x, y)
        lag_ns = self._lag_ns
        for score in self._scores():
            score.settle(
                reference.newest_ns - lag_ns, lambda told_ns: reference.at(told_ns + lag_ns)
            )
        if is_kept:
            # What the filter told is worth nothing beside what is.
            self.memory.forget_followed()
            self._followed = FollowedLaps()
            self._schedule.count(stamp_ns, self._longest_step_ns)
        if self._part.seconds >= PART_LAPS * self.lap_s:
            self._end_part()
        if self._schedule.is_due:
            self._learn()
        return True

    def reset(self, cause: str) -> None:
        """Forget the stream, but nothing that was learned; see ``Filter.reset``."""
        self.filter.reset(cause)
        self.filter.withheld = False
        self._schedule.interrupt()
        self._followed.stop()
        for each in self._scores():
            each.forget()
        if self._coming is not None:
            self._coming[0].reset(cause)

    def model(self) -> ModelHead | None:
        """Return the model that was learned here; ``None`` before the first."""
        return self._model if self.models else None

    def lacking(self, reference_topic: str) -> Lacking | None:
        """Return what it lacks to tell positions; ``None`` once a model runs."""
        if self.has_model:
            return None
        if not self.known_s:
            why = f'no position came on {reference_topic} yet: give positions for some laps'
            return Lacking('no_reference', why)
        why = f'learning the route: {self.known_s:.0f} s with positions seen'
        if self._coming is not None:
            return Lacking('learning', f'{why}, a model is being learned of them')
        return Lacking('learning', f'{why}; {self.failure}' if self.failure else why)

    def values(self) -> dict[str, float | str]:
        """Return how many laps were learned, and how much the filter errs, for diagnostics."""
        score = self.score
        values: dict[str, float | str] = {'learned_s': round(self.known_s, 1)}
        if self.models:
            values['learned_laps'] = round(self._seconds / self.lap_s, 2)
        if len(score):
            values['error_m'], values['mean_error_m'] = score.rmse_m, score.mean_rmse_m
            values['told'], values['judged_s'] = score.told, score.seconds
        values['learning'] = self._sentence()
        if self.failure:
            values['learning_trouble'] = self.failure
        return values

    def _sentence(self) -> str:
        """Return what it is worth, and what would help."""
        score = self.score
        if not self.has_model:
            return f'no model yet, {self.known_s:.0f} s with positions seen'
        if self.models:
            laps = self._seconds / self.lap_s
            learned = f'model of {laps:.1f} laps ({self._seconds:.0f} s of driving'
            if self._followed_s:
                learned += f', {self._followed_s:.0f} s of it without positions'
            learned += ')'
        else:
            learned = f'the given model, and {self.known_s:.0f} s with positions to learn from'
            learned += self._refused
        if len(score):
            learned += (
                f'; over the last {score.seconds:.0f} s with positions it erred by '
                f'{score.rmse_m:.2g} m, the mean position by {score.mean_rmse_m:.2g} m'
            )
        if self._schedule.ended and not self.filter.withheld:
            return f'{learned}; no positions come any more, it goes on with what it has learned'
        if self.filter.withheld:
            return f'{learned}, so nothing is told: more laps with positions would help'
        if len(score) and score.rmse_m > USEFUL * score.mean_rmse_m:
            return f'{learned}: more laps with positions would help'
        return learned

    def progress(self) -> dict[str, float]:
        """Return seconds and models learned, and the errors, where they are known, for plots."""
        score = self.score
        numbers = {'learned_s': self.known_s, 'models': float(self.models)}
        if len(score):
            numbers |= {'error_m': score.rmse_m, 'mean_error_m': score.mean_rmse_m}
            numbers['told'] = score.told
        return numbers

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the stream that is kept, and the model, as JSON values and copies of arrays."""
        lengths, arrays = self.memory.saved()
        numbers: dict[str, Any] = {
            'stretches': lengths,
            'models': self.models,
            'lag_ns': self._lag_ns,
            'followed_s': self._followed_s,
            'withheld': self.filter.withheld,
            **self._schedule.saved(),
        }
        if self.models:
            numbers['model'], own = model_parts(self._model)
            arrays |= {f'model.{name}': array for name, array in own.items()}
        return numbers, arrays

    def restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """
        Go on with what ``saved`` gave.

        Raises
        ------
        InputError
            If anything is missing or does not fit together.

        """
        try:
            memory = StreamMemory(len(self.head.channels.names))
            memory.restore(numbers['stretches'], arrays)
            schedule, followed_s = Schedule.restored(numbers), float(numbers['followed_s'])
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
                f'({error!r}); begin anew in another folder'
            )
            raise InputError(msg) from error
        self.memory, self._schedule, self._lag_ns = memory, schedule, lag_ns
        if model is not None:
            live = self._make(model)
            live.warm_up()
            self._run(model, live)
            self.models, self._followed_s = models, followed_s
        self.filter.withheld = withheld
        if schedule.has_grown and not followed_s:
            self._learn()

    def close(self) -> None:
        """End the training that runs beside, if one does; nothing may be pushed any more."""
        self._close()

    def _run(self, model: ModelHead, live: Filter) -> None:
        self._model, self.filter = model, live
        self.score.span_s = JUDGED_LAPS * self.lap_s if self.lap_s > 0.0 else FIRST_S

    def _scores(self) -> list[Prequential]:
        coming = [] if self._coming is None else [self._coming[1].running, self._coming[1].own]
        return [self.score, self._part, *coming]

    @property
    def _longest_step_ns(self) -> int:
        return max(self.reference.hole_ns, ABSENT_NS)

    def _look_for_end(self, stamp_ns: int) -> None:
        if not self._schedule.has_stopped(stamp_ns, self._longest_step_ns, self.lap_s):
            return
        schedule = self._schedule
        due_s = schedule.due_s
        if schedule.has_grown and not self._learn():
            # One runs; once more after it.
            return
        # If they come back, the next training comes no later for it.
        schedule.due_s = min(due_s, schedule.due_s)
        schedule.ended = True

    def _follow(self, estimates: Sequence[Estimate]) -> None:
        """Learn how the vehicle moves where no references say where it is."""
        for estimate in estimates:
            if not self._schedule.is_silent(estimate.stamp_ns, self._longest_step_ns):
                return
            for each in self._followed.take(estimate, self.lap_s):
                self.memory.add_followed(*each)
        if self._coming is None and self._followed.is_due(self.lap_s):
            self._learn_followed()

    def _learn_followed(self) -> None:
        """Begin to train from the newest laps with references, and some without."""
        self._followed.learned()
        # At most half as many laps as with references, and no longer than these: what is wrong
        # would grow from one training to the next. With eight laps of these, not sixteen, ipz20
        # errs by .39 m (.34).
        lap_s, step_ns = self.lap_s, self._longest_step_ns
        candidate = _Candidate(self._schedule.since_ns, self._schedule.epoch_ns)
        kept = self._kept()
        given_s = sum(known_seconds(each, step_ns) for each in kept)
        if given_s < LEAST_GIVEN_LAPS * lap_s:
            return
        most_s = min(0.5 * MOST_NEWEST_LAPS * lap_s, given_s)
        followed = newest_part(self.memory.followed(self.head), most_s, step_ns)
        candidate.followed_s = sum(known_seconds(each, step_ns) for each in followed)
        least_m = RISE * _held_m(self._model)

        def make() -> tuple[ModelHead, Filter]:
            counting = _that_count(kept, lap_s, step_ns)
            counting = since(counting, candidate.epoch_ns)
            model = self._trained(counting, least_m, candidate, followed)
            if model is None:
                raise InputError(NO_BETTER_ALONE)
            return model, self._caught_up(model, followed[-1])

        self.failure = self.details = ''
        self._coming = Successor(make, at_once=self._at_once), candidate

    def _end_part(self) -> None:
        """Judge what the last half of a lap says of the model and of what is learned."""
        score = self.score
        # Of less than a lap too little is known.
        if score.seconds >= self.lap_s:
            limit = RELEASED if self.filter.withheld else 1.0
            self.filter.withheld = score.rmse_m > limit * score.mean_rmse_m
        error_m, rise_ns = self._part.rmse_m, self._part.rise_ns() + self._lag_ns
        self._part.forget()
        self._schedule.judge(error_m, rise_ns, self.lap_s)

    def _learn(self) -> bool:
        """Begin to train a model from the newest laps; return whether that can be done now."""
        # One that was judged just now is not to be lost.
        self._look_for_model()
        if self._coming is not None and not self._is_judged(*self._coming):
            return False
        schedule = self._schedule
        lately = schedule.begin_training(self.lap_s, self.memory.seconds)
        kept = self._kept()
        lap_s, step_ns = self.lap_s if self.models else math.nan, self._longest_step_ns
        candidate = _Candidate(schedule.since_ns, schedule.epoch_ns)
        first = not self.has_model
        least_m = BETTER * self.score.capped_mean_m(LOST_SHARE, self.lap_s)

        def make() -> tuple[ModelHead, Filter]:
            if not kept:
                msg = 'no drive with positions is kept any more'
                raise InputError(msg)
            if first and len(kept) == 1:
                # It takes far less time to see than to train.
                candidate.laps = _laps(kept[0])
                _check_enough(candidate.laps)
            counting = _that_count(kept, lap_s, step_ns)
            model = None
            if lately:
                # Too little for a model of its own, perhaps.
                with suppress(InputError):
                    model = self._trained(since(counting, candidate.since_ns), least_m, candidate)
            if model is not None:
                candidate.epoch_ns = candidate.since_ns
            else:
                model = self._trained(since(counting, candidate.epoch_ns), math.inf, candidate)
            if model is None:
                raise InputError(MET_ONCE)
            return model, self._caught_up(model, kept[-1])

        self.failure = self.details = ''
        self._coming = Successor(make, at_once=self._at_once), candidate
        return True

    def _kept(self) -> list[Recording]:
        """Return copies of the newest drives with references, of so many laps if known."""
        kept = self.memory.recordings(self.head)
        if not self.models:
            return kept
        # One lap more, because where they begin no other lap can be disagreed with.
        return newest_part(kept, (MOST_NEWEST_LAPS + 1.0) * self.lap_s, self._longest_step_ns)

    def _trained(
        self,
        recordings: Sequence[Recording],
        least_m: float,
        candidate: _Candidate,
        followed: Sequence[Recording] = (),
    ) -> TrainedModel | None:
        """Return a model, if one that errs less on parts that were left out can be trained."""
        if not recordings:
            msg = 'no drive with positions is left to learn from'
            raise InputError(msg)
        stepped = put_in_step(recordings, self._position_lag)
        model = self._train([*stepped, *followed], self._settings)
        # Without, no part of the drives could be followed on the model of the others.
        if model.summary['validation'] is None or not _lap_s(model) > 0.0:
            return None
        candidate.lag_ns = max(_lag_ns(each) for each in stepped)
        # Means of errors, each at most as large as one who is lost errs, as of what runs.
        return model if _held_m(model) < least_m else None

    def _caught_up(self, model: TrainedModel, drive: Recording) -> Filter:
        """Return a filter that has seen the newest lap."""
        live = self._make(model)
        live.warm_up()
        imu = drive.imu
        span_s = max(CATCH_UP_LAPS * _lap_s(model), 2.0 * model.window / model.rate_hz)
        newest = imu.stamps >= imu.stamps[-1] - round(1e9 * span_s)
        for stamp, sample in zip(imu.stamps[newest].tolist(), imu.samples[newest], strict=True):
            live.push(stamp, sample)
        return live

    @property
    def _runs_given(self) -> bool:
        return self.has_model and not self.models

    def _go_on_beside(
        self,
        coming: Successor,
        candidate: _Candidate,
        stamp_ns: int,
        sample: Sequence[float] | Floats,
        estimates: Sequence[Estimate],
    ) -> None:
        """Let a model that does not run yet see what the one that runs has seen."""
        before = coming.latest
        coming.take(stamp_ns, tuple(sample))
        # Beside a model of less of the same drive there is nothing to compare.
        if not self._runs_given or not coming.prepared:
            return
        for estimate in estimates:
            candidate.running.tell(estimate)
        if coming.latest is not None and coming.latest is not before:
            candidate.own.tell(coming.latest)

    def _is_judged(self, coming: Successor, candidate: _Candidate) -> bool:
        """Return whether a model was made, and beside a given model for a lap if there is one."""
        if not coming.prepared:
            return False
        if coming.failure or not self._runs_given:
            return True
        return candidate.own.seconds >= _lap_s(coming.model)

    def _look_for_model(self) -> None:
        """Let a new model take over if it may, or go if it is no better than a given model."""
        if self._coming is None:
            return
        coming, candidate = self._coming
        if not coming.prepared:
            return
        coming.catch_up()
        self.failure, self.details = coming.failure, coming.details
        if candidate.laps is not None:
            self._schedule.count_laps(candidate.laps.count, candidate.laps.time_s)
        if candidate.followed_s and not self._is_of_use(coming):
            # It goes on with the model that it has.
            self.failure = coming.failure if coming.details else ''
            self._failures += bool(coming.details)
            self._coming = None
        elif coming.failure:
            # Before the first model there was just too little, unless it is a bug.
            self._failures += bool(self.models) or bool(coming.details)
            self._coming = None
        elif not self._is_judged(coming, candidate):
            return
        elif self._runs_given and not candidate.own.rmse_m < candidate.running.rmse_m:
            self._refused = (
                f', of which a model erred by {candidate.own.rmse_m:.2g} m over a lap beside it, '
                f'where it erred by {candidate.running.rmse_m:.2g} m'
            )
            self._coming = None
        elif coming.tracks or not self.has_model:
            self._take_over(coming, candidate)

    def _is_of_use(self, coming: Successor) -> bool:
        """Return whether a model of followed laps tracks at once, and no references came since."""
        if coming.failure or not self._followed.seconds:
            return False
        return coming.filter.status is Status.TRACKING

    def _take_over(self, coming: Successor, candidate: _Candidate) -> None:
        if not self.has_model or self.filter.withheld:
            # It says nothing of the new one.
            self.score.forget()
        # The same object, so that whoever holds the counters sees them go on. What only one of
        # the two has used by now, the other has yet to count or has counted.
        counters = self.filter.counters
        counters['used'] += self.filter.waiting - coming.filter.waiting
        coming.filter.counters = counters
        self._run(coming.model, coming.filter)
        self._lag_ns, self._followed_s = candidate.lag_ns, candidate.followed_s
        self._schedule.end_training(candidate.since_ns, candidate.epoch_ns)
        # What another filter tells has to be sure for a lap as well.
        self._followed.stop()
        self.models += 1
        self._coming = None


def make_learner(
    name: str, horizons: tuple[int, ...] = TrainingSettings.horizons
) -> StreamLearner:
    """
    Return a learner that knows nothing, as an evaluation wants it: samples wait for its trainings.

    Parameters
    ----------
    name
        One of ``LEARNERS``.
    horizons
        Ticks ahead at which positions are told, 0 first.

    """
    settings = TrainingSettings(horizons=horizons, method=LEARNERS[name])
    return StreamLearner(make_head(horizons), settings, at_once=True)


def _lap_s(model: ModelHead) -> float:
    """Return how long a lap takes, as positions show it; s, NaN where no lap was driven."""
    # Not the time to visit all of the model once: one that knows two ways would take longer.
    return float(model.summary.get('lap_s') or math.nan)


def _that_count(kept: Sequence[Recording], lap_s: float, longest_step_ns: int) -> list[Recording]:
    """Return the newest laps of drives without what agrees with no other lap."""
    counting = without_outliers(kept, lap_s)
    if not lap_s > 0.0:
        return counting
    return newest_part(counting, MOST_NEWEST_LAPS * lap_s, longest_step_ns)


def _held_m(model: ModelHead) -> float:
    """Return the mean error on parts that were left out, none larger than of one who is lost."""
    return float(min(each['score_m'] for each in model.summary['validation']['compared']))


def _lag_ns(recording: Recording) -> int:
    return round(1e9 * recording.positions.earlier_s) if recording.positions is not None else 0


def _laps(recording: Recording) -> Laps | None:
    """Return the laps that were driven, if the positions come by a place twice."""
    together = put_together(recording.positions, recording.imu) if recording.positions else None
    return None if together is None else count_laps(together.motion)


def _check_enough(laps: Laps | None) -> None:
    if laps is None or laps.count < TURNS[0] - NEAR:
        raise InputError(MET_ONCE)
