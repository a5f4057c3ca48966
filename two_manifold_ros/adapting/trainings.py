# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trainings beside a running filter, one after the other, and what each of them came to."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib import import_module
from typing import cast, TYPE_CHECKING

from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP, Contest
from two_manifold_ros.adapting.training_material import lap_seconds, Trained, Training, with_news
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.model.line_learning import carry_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.adapting.schedule import Schedule
    from two_manifold_ros.adapting.stream_memory import StreamMemory
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.filtering.tracker import TpsrTracker
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.tpsr import LearnedTpsr
    from two_manifold_ros.typing import Floats


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


class Trainings:
    """
    Run trainings one after the other, and say which model may run.

    ``train`` runs a training, in a thread of its own, and ``make_filter`` makes the filter of a
    model. With ``at_once`` samples wait for that.
    """

    def __init__(
        self,
        train: Callable[[Training], Trained],
        make_filter: Callable[[ModelHead], Filter],
        schedule: Schedule,
        *,
        at_once: bool,
    ) -> None:
        self._train, self._make_filter, self._at_once = train, make_filter, at_once
        self._schedule = schedule
        # In training, or does not run yet.
        self.candidate: Candidate | None = None
        # How many were tried, lost to the model that runs, or failed though there is a model.
        self.ended = Counter(tried=0, lost=0, failed=0)
        # Why the last one gave no model, and a traceback if that is a bug.
        self.failure = self.details = ''
        # How the last one ended, as a sentence.
        self.verdict = ''

    def make_room(self, lap_s: float) -> bool:
        """Drop a candidate that has no estimate yet; return whether the next one may start."""
        candidate = self.candidate
        if candidate is None:
            return True
        # It is in training, or beside a given model.
        if candidate.contest is not None or not candidate.prepared:
            return False
        self.end('lost', 'its model had no estimate yet when the next was due', lap_s)
        return True

    def start(self, training: Training, running: ModelHead | None, *, is_given: bool) -> None:
        """Start a training, beside a model that runs, if one does, and that may be given."""

        def make(candidate: Candidate) -> Filter:
            trained = candidate.trained = self._train(training)
            model = trained.model
            if model is None:
                raise InputError(trained.why)
            learned, known = model.route_model, running.route_model if running else None
            if learned and known:
                # Names of lines are not learned while driving.
                model = replace(learned, lines=carry_lines(known, learned))
            if is_given:
                # For the test of their contest: no sample waits for that.
                import_module('scipy.stats')
                candidate.contest = Contest(lap_seconds(model))
            return self._caught_up(model, training.drives[-1])

        self.ended['tried'] += 1
        self.failure = self.details = ''
        self.candidate = Candidate(training, make, at_once=self._at_once)

    def _caught_up(self, model: ModelHead, drive: Recording) -> Filter:
        """Return a filter that has seen the newest lap."""
        live, imu = self._make_filter(model), drive.imu
        span_s = max(lap_seconds(model), 2e-9 * model.window_ns)
        newest = imu.stamps >= imu.stamps[-1] - round(1e9 * span_s)
        for stamp, sample in zip(imu.stamps[newest].tolist(), imu.samples[newest], strict=True):
            live.push(stamp, sample)
        return live

    def look(self, lap_s: float, *, has_model: bool, has_learned: bool) -> Candidate | None:
        """Return the candidate that may run now, if there is one; drop it if it is no better."""
        candidate = self.candidate
        if candidate is None or not candidate.prepared:
            return None
        candidate.catch_up()
        trained, contest = candidate.trained, candidate.contest
        self.failure, self.details = candidate.failure, candidate.details
        if trained.laps is not None:
            self._schedule.count_laps(trained.laps.count, trained.laps.time_s)
            trained.laps = None
        if candidate.failure:
            # Before the first model there was just too little, unless it is a bug.
            failed = has_learned or bool(candidate.details)
            self.end('failed' if failed else '', f'no model: {candidate.failure}', lap_s)
        elif contest is not None and contest.is_lost:
            self.end('lost', f'{contest.in_words}, so the running one stays', lap_s)
        # Beside a model of less of the same drive there is no contest.
        elif not has_model or (candidate.tracks and (contest is None or contest.is_won)):
            return candidate
        return None

    def end(self, end: str, how: str, lap_s: float) -> None:
        """Count how a training ended, if it is ``lost`` or ``failed``, and put it into words."""
        self.candidate = None
        if end:
            self.ended[end] += 1
        known_s = self._schedule.known_s
        driven = f'{known_s / lap_s:.1f} laps' if lap_s > 0.0 else f'{known_s:.0f} s'
        self.verdict = f'Training {self.ended["tried"]}, after {driven} with positions: {how}'


class GrowingTpsr:
    """A trained TPSR that goes on learning between trainings, by the same equations."""

    def __init__(self, learned: LearnedTpsr, clock: int) -> None:
        self.learned, self._clock = learned, clock

    def skip_until(self, stamp_ns: int, clock: int) -> None:
        """Learn nothing up to a stamp, and nothing twice."""
        ended_ns = self.learned.ended_ns if clock == self._clock else 0
        self._clock = clock
        self.learned.restart_at(max(stamp_ns, ended_ns) + 1)

    def go_on(
        self, memory: StreamMemory, head: ModelHead, until_ns: int, lag_ns: int, live: Filter
    ) -> None:
        """Learn what came with positions up to a stamp, and let the filter use it."""
        learned = self.learned
        if self._clock != memory.clock:
            # The clock was set back: nothing reaches over the seam.
            self._clock = memory.clock
            learned.restart_at(0)
        newer = memory.recordings(head, learned.ended_ns + 1)
        for drive in with_news(newer, lap_seconds(learned.model) / BLOCKS_PER_LAP):
            known = drive.imu.select(drive.imu.stamps <= until_ns)
            recording = replace(drive, imu=known).with_positions_earlier(lag_ns * 1e-9)
            move = learned.go_on(recording)
            cast('TpsrTracker', live.ticks).adopt(learned.model, move)
            live.running = learned.model
