# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A learner fed with serialised messages, how parameters make it, and what it reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING

from two_manifold_ros.adapting.stream_learner import StreamLearner
from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.adapting.training_material import check_one_route, Training
from two_manifold_ros.adapting.worker import Worker
from two_manifold_ros.filtering.estimate import Estimate, limits_of
from two_manifold_ros.inspection.lag import parse_position_lag
from two_manifold_ros.interface.assessment import Assessment, Level
from two_manifold_ros.interface.session import Arrivals, check_input, Durations
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.names import LEARNERS
from two_manifold_ros.recordings.decoding import ImuDecoder
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from two_manifold_ros.interface.parameters import UpdaterParameters
    from two_manifold_ros.recordings.recording import GeodeticOrigin


class UpdaterSession:
    """A learner and its inputs without ROS; a ``clock_ns`` stamps messages on arrival."""

    def __init__(self, learner: StreamLearner, clock_ns: Callable[[], int] | None = None) -> None:
        self.learner = learner
        self._decode, self._clock_ns = ImuDecoder(), clock_ns
        self.stamps_on_arrival = clock_ns is not None
        self.arrivals = Arrivals()
        # The newest message of the IMU.
        self.last_raw = b''
        # Frame of the newest position that was refused because of it.
        self.other_frame = ''
        # Times to take one sample, learning included.
        self.durations = Durations()
        # Called with every sample, and what the filter says of it.
        self.on_sample: Callable[[int, Sequence[float], list[Estimate]], object] = lambda *_: None
        self._counters: Counter[str] = Counter()

    @property
    def origin(self) -> GeodeticOrigin | None:
        """Origin of the positions, if they came from satellites."""
        return self.learner.head.origin

    @origin.setter
    def origin(self, origin: GeodeticOrigin | None) -> None:
        self.learner.head = replace(self.learner.head, origin=origin)

    @property
    def position_counts(self) -> Counter[str]:
        """How many positions were used, and how many were not by cause."""
        return self.learner.reference.counters

    def fits_origin(self, *, geodetic: bool) -> bool:
        """Return whether satellite fixes, or positions in metres, go with what is known."""
        head = self.learner.head
        known = head.frame_id or len(head.track)
        return not known or (head.origin is not None) == geodetic

    def take(self, raw: bytes) -> list[Estimate]:
        """Take one message of the IMU; return the estimates that may be published."""
        arrived_ns = perf_counter_ns()
        self.last_raw = raw
        self._counters['received'] += 1
        try:
            stamp_ns, frame_id, values = self._decode(raw)
        # Bytes that are no message of this type make a decoder raise almost anything.
        except Exception:  # noqa: BLE001 - counted, and reported in the diagnostics
            self._counters['malformed'] += 1
            self.arrivals.refuse()
            return []
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        learner = self.learner
        if not learner.head.imu_frame_id:
            learner.head = replace(learner.head, imu_frame_id=frame_id)
        estimates = learner.push(stamp_ns, values)
        self.on_sample(stamp_ns, values, estimates)
        live = learner.filter
        self.arrivals.take(stamp_ns, frame_id, arrived_ns, used=live.used, broke=live.broke)
        valid = [estimate for estimate in estimates if estimate.valid]
        broken = sum(estimate.cause == 'numerics' for estimate in estimates)
        self._counters.update(published=len(valid), estimates_not_finite=broken)
        self.durations.append(perf_counter_ns() - arrived_ns)
        return valid

    def take_position(self, stamp_ns: int, frame_id: str, x: float, y: float) -> bool:
        """Take a reference position, metres; return whether it, or one that waited, is used."""
        # In another frame than what is known the same numbers stand for another place.
        learner = self.learner
        if learner.head.frame_id not in {'', frame_id}:
            learner.reference.counters['other_frame'] += 1
            self.other_frame = frame_id
            return False
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        if not learner.add_reference(stamp_ns, x, y):
            return False
        learner.head = replace(learner.head, frame_id=frame_id)
        return True

    def reset(self, cause: str) -> None:
        """Forget the stream and keep what was learned."""
        self.learner.reset(cause)
        self.arrivals.reset()

    def counts(self) -> Counter[str]:
        """Return all counters; ``received`` is used, ``waiting``, or rejected by a cause."""
        live = self.learner.filter
        return Counter({**live.counters, **self._counters, 'waiting': live.waiting})


def learner_of(chosen: UpdaterParameters, topic: str) -> StreamLearner:
    """Return a learner of the IMU on a topic, which trains in a process of its own."""
    horizons, path = tuple(chosen.horizons), chosen.model
    ellipse_m = chosen.ellipse_warn_m, chosen.ellipse_error_m
    head = load_model(path) if path else make_head(horizons, imu_topic=topic)
    if path:
        check_input(head, path)
        check_one_route(head, path)
    # What makes no sense is refused at the start, and not with the first model.
    limits_of(head, *ellipse_m)
    if chosen.position_lag:
        parse_position_lag(chosen.position_lag)
    settings = TrainingSettings(horizons=horizons, **LEARNERS[chosen.learner])
    worker = Worker(settings.method)
    return StreamLearner(
        head,
        settings,
        train=partial(worker.run, Training.run),
        close=worker.close,
        position_lag=chosen.position_lag,
        reorder_ns=round(1e9 * chosen.reorder_s),
        ellipse_m=ellipse_m,
    )


def learning_values(learner: StreamLearner) -> dict[str, float | str]:
    """Return how much was learned, and how much the filter errs, for diagnostics."""
    values: dict[str, float | str] = {
        'learned_s': round(learner.schedule.known_s, 1),
        'learning': describe_learning(learner),
    }
    if learner.models:
        values['learned_laps'] = round(learned_seconds(learner) / learner.lap_s, 2)
    if len(learner.score):
        errors = learner.score.errors()
        values['error_m'], values['mean_error_m'] = errors.rmse_m, errors.mean_m
        values['published_share'], values['judged_s'] = errors.published, learner.score.seconds
    if learner.failure:
        values['learning_trouble'] = learner.failure
    if learner.verdict:
        values['last_training'] = learner.verdict
    return values


def learned_seconds(learner: StreamLearner) -> float:
    """Return the seconds of driving that the model that runs was learned from by now."""
    return float(learner.filter.running.summary['seconds'])


def describe_learning(learner: StreamLearner) -> str:
    """Return a sentence on the model, its error, and what would improve it."""
    score, known_s = learner.score, learner.schedule.known_s
    learned = f'{known_s:.0f} s with positions seen'
    if not learner.has_model:
        return f'no model yet, {learned}'
    learned = f'the given model, and {learned}'
    if learner.models:
        seconds = learned_seconds(learner)
        learned = f'model of {seconds / learner.lap_s:.1f} laps ({seconds:.0f} s of driving)'
    if len(score):
        error_m, mean_m, *_ = score.errors()
        learned += f'; over the last {score.seconds:.0f} s with positions it erred by '
        learned += f'{error_m:.2g} m, the mean position by {mean_m:.2g} m'
    if learner.filter.withheld:
        return f'{learned}, so nothing is published: more laps with positions would help'
    if learner.schedule.ended:
        return f'{learned}; no positions come any more, the learned model stays in use'
    return learned


def assess_learning(
    assessment: Assessment, learner: StreamLearner, reference_topic: str, trouble: str = ''
) -> Assessment:
    """Return what a learner lacks while the filter is filling, or its trouble if all is well."""
    level, _, cause, why = assessment
    if trouble and level is Level.OK:
        level, cause, why = Level.WARN, 'checkpoint', f'{why}, but {trouble}'
    elif cause == 'filling' and not learner.has_model:
        cause, known_s = 'learning', learner.schedule.known_s
        why = f'learning the route: {known_s:.0f} s with positions seen'
        if learner.failure:
            why += f'; {learner.failure}'
        if not known_s:
            cause = 'no_reference'
            why = f'no position came on {reference_topic} yet: give positions for some laps'
    return assessment._replace(level=level, cause=cause, why=why)


WORDS = {
    'trainings_failed': 'No newer model was learned: {session.learner.failure}',
    'reference_used': '',
    'reference_duplicate_stamp': '',
    'reference_jumped': 'Positions on {topic} jumped and are not used',
    'reference_moved': 'Positions on {topic} stay where they jumped to, and are used again',
    'reference_other_frame': (
        'Positions on {topic} are in frame {session.other_frame!r} and not used, because what was '
        'learned, or the given model, is in {session.learner.head.frame_id!r}: publish them in '
        'that frame, or call the service forget'
    ),
    'reference_far_from_samples': (
        'Positions on {topic} are not used, because no sample of the IMU has a stamp within 10 s '
        'of theirs: set the clocks of both machines, or look at the IMU'
    ),
}
"""Sentences about counters that have grown; of others of the reference the name is said."""


def learning_events(fresh: Counter[str], session: UpdaterSession, topic: str) -> dict[str, str]:
    """Return sentences by cause about counters of learning, and of the reference, that grew."""
    events = {}
    for name, count in (+fresh).items():
        other = f'Positions not used on {topic}: {name.removeprefix("reference_")} ({count})'
        words = WORDS.get(name, other if name.startswith('reference_') else '')
        events[name] = words.format(topic=topic, session=session)
    return {name: each for name, each in events.items() if each}
