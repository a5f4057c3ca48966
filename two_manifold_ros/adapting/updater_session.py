# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A learner fed with serialised messages, how parameters make it, and what it reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeAlias

from two_manifold_ros.adapting.prequential import USEFUL
from two_manifold_ros.adapting.stream_learner import StreamLearner
from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.adapting.training_material import Training
from two_manifold_ros.adapting.worker import Worker
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.estimate import Estimate, limits_of
from two_manifold_ros.inspection.lag import parse_position_lag
from two_manifold_ros.interface.assessment import Assessment, Level
from two_manifold_ros.interface.image_values import channel_names
from two_manifold_ros.interface.model_swap import check_input
from two_manifold_ros.interface.session import Arrivals, Durations
from two_manifold_ros.interface.status import capitalised
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.names import LEARNERS
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.interface.parameters import UpdaterParameters
    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.recordings.recording import GeodeticOrigin
    from two_manifold_ros.typing import Floats

    Values: TypeAlias = Sequence[float] | Floats
    Decode: TypeAlias = Callable[[bytes], tuple[int, str, Values]]


class UpdaterSession:
    """
    A learner, its two inputs and its counters, without ROS.

    ``decode`` returns stamp in nanoseconds, frame and sample of the bytes of a message.
    ``clock_ns`` stamps each message on arrival instead.
    """

    def __init__(
        self, learner: StreamLearner, decode: Decode, clock_ns: Callable[[], int] | None = None
    ) -> None:
        self.learner = learner
        self._decode, self._clock_ns = decode, clock_ns
        # True if messages are stamped on arrival, whatever their headers say.
        self.stamps_on_arrival = clock_ns is not None
        self.arrivals = Arrivals()
        # The newest message of the sensor.
        self.last_raw = b''
        # Why the decoder refused the newest unusable message, where it states that.
        self.fault = ''
        # Frame of the newest position that was refused because of it.
        self.other_frame = ''
        # Times to take one sample, learning included.
        self.durations = Durations()
        # Called with every sample, and what the filter says of it.
        self.on_sample: Callable[[int, Values, list[Estimate]], object] = lambda *_: None
        self._counters: Counter[str] = Counter()

    @property
    def head(self) -> ModelHead:
        """Head of the stream, with the frames that the first messages named."""
        return self.learner.head

    @head.setter
    def head(self, head: ModelHead) -> None:
        self.learner.head = head

    @property
    def origin(self) -> GeodeticOrigin | None:
        """Origin of the positions, if they came from satellites."""
        return self.head.origin

    @origin.setter
    def origin(self, origin: GeodeticOrigin | None) -> None:
        self.head = replace(self.head, origin=origin)

    @property
    def position_counts(self) -> Counter[str]:
        """How many positions were used, and how many were not by cause."""
        return self.learner.reference.counters

    def fits_origin(self, *, geodetic: bool) -> bool:
        """Return whether satellite fixes, or positions in metres, go with what is known."""
        known = self.head.frame_id or len(self.head.track)
        return not known or (self.head.origin is not None) == geodetic

    def take(self, raw: bytes) -> list[Estimate]:
        """Take one message of the sensor; return the estimates that may be published."""
        arrived_ns = perf_counter_ns()
        self.last_raw = raw
        self._counters['received'] += 1
        try:
            stamp_ns, frame_id, values = self._decode(raw)
        # Bytes that are no message of this type make a decoder raise almost anything.
        except Exception as error:  # noqa: BLE001 - counted, and reported in the diagnostics
            self.fault = str(error) if isinstance(error, InputError) else self.fault
            self._counters['malformed'] += 1
            self.arrivals.refuse()
            return []
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        if not self.head.imu_frame_id:
            self.head = replace(self.head, imu_frame_id=frame_id)
        estimates = self.learner.push(stamp_ns, values)
        self.on_sample(stamp_ns, values, estimates)
        live = self.learner.filter
        self.arrivals.take(stamp_ns, frame_id, arrived_ns, used=live.used, broke=live.broke)
        valid = [estimate for estimate in estimates if estimate.valid]
        broken = sum(estimate.cause == 'numerics' for estimate in estimates)
        self._counters.update(published=len(valid), estimates_not_finite=broken)
        self.durations.append(perf_counter_ns() - arrived_ns)
        return valid

    def take_position(self, stamp_ns: int, frame_id: str, x: float, y: float) -> bool:
        """
        Take one reference position in metres; return whether it, or one that waited, is used.

        In another frame than what is known the same numbers stand for another place.
        """
        head = self.head
        if head.frame_id not in {'', frame_id}:
            self.learner.reference.counters['other_frame'] += 1
            self.other_frame = frame_id
            return False
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        if not self.learner.add_reference(stamp_ns, x, y):
            return False
        if not head.frame_id:
            self.head = replace(head, frame_id=frame_id)
        return True

    def reset(self, cause: str) -> None:
        """Forget the stream and keep what was learned."""
        self.learner.reset(cause)
        self.arrivals.reset()

    def counts(self) -> Counter[str]:
        """Return all counters; ``received`` is used, ``waiting``, or rejected by a cause."""
        live = self.learner.filter
        return Counter({**live.counters, **self._counters, 'waiting': live.waiting})


def learner_name(chosen: UpdaterParameters) -> str:
    """Return the name of the learner: the chosen one, or the default for the input."""
    sees = chosen.input == 'image'
    if sees and chosen.learner == 'map':
        msg = 'a map is learned from an IMU: leave learner empty where images are learned'
        raise InputError(msg)
    return chosen.learner or ('tpsr' if sees else 'map')


def stream_head(chosen: UpdaterParameters, topic: str) -> ModelHead:
    """Return the head of the stream on a topic: the given model, if there is one."""
    horizons, path = tuple(chosen.horizons), chosen.model
    if chosen.input == 'image':
        if path:
            msg = f'{path}: a model trained on an IMU cannot filter images; leave model empty'
            raise InputError(msg)
        names = channel_names(chosen.image_width, chosen.image_height)
        return make_head(horizons, names=names, imu_topic=topic)
    if not path:
        return make_head(horizons, imu_topic=topic)
    model = load_model(path)
    check_input(model, path)
    return model


def learner_of(chosen: UpdaterParameters, head: ModelHead) -> StreamLearner:
    """Return a learner of a stream, see `stream_head`, that trains in a process of its own."""
    ellipse_m = chosen.ellipse_warn_m, chosen.ellipse_error_m
    # What makes no sense is refused at the start, and not with the first model.
    limits_of(head, *ellipse_m)
    if chosen.position_lag:
        parse_position_lag(chosen.position_lag)
    settings = TrainingSettings(
        horizons=tuple(chosen.horizons), method=LEARNERS[learner_name(chosen)]
    )
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
    score, values = learner.score, {'learning': describe_learning(learner)}
    numbers: dict[str, float | str] = {'learned_s': round(learner.known_s, 1)}
    if learner.models:
        numbers['learned_laps'] = round(learner.news[1] / learner.lap_s, 2)
    if len(score):
        numbers['error_m'], numbers['mean_error_m'] = score.rmse_m, score.mean_rmse_m
        numbers['published_share'], numbers['judged_s'] = score.published, score.seconds
    values |= {'learning_trouble': learner.failure, 'last_training': learner.verdict}
    return numbers | {name: each for name, each in values.items() if each}


def describe_learning(learner: StreamLearner) -> str:
    """Return a sentence on the model, its error, and what would improve it."""
    score = learner.score
    if not learner.has_model:
        return f'no model yet, {learner.known_s:.0f} s with positions seen'
    if learner.models:
        seconds = learner.news[1]
        learned = f'model of {seconds / learner.lap_s:.1f} laps ({seconds:.0f} s of driving)'
        if not len(score):
            compared = learner.running.summary['validation']['compared']
            error_m = min(each['score_m'] for each in compared)
            learned += f', which erred by {error_m:.2g} m on parts that were left out of it'
    else:
        learned = f'the given model, and {learner.known_s:.0f} s with positions to learn from'
    if len(score):
        learned += (
            f'; over the last {score.seconds:.0f} s with positions it erred by '
            f'{score.rmse_m:.2g} m, the mean position by {score.mean_rmse_m:.2g} m'
        )
    if learner.filter.withheld:
        return f'{learned}, so nothing is published: more laps with positions would help'
    if learner.schedule.ended:
        return f'{learned}; no positions come any more, the learned model stays in use'
    if len(score) and score.rmse_m > USEFUL * score.mean_rmse_m:
        return f'{learned}: more laps with positions would help'
    return learned


def assess_learning(
    assessment: Assessment, learner: StreamLearner, reference_topic: str, trouble: str = ''
) -> Assessment:
    """
    Return what a learner lacks for estimates where the filter is only said to be filling.

    Where there is nothing else to warn of: the ``trouble`` with checkpoints.
    """
    if trouble and assessment.level is Level.OK:
        why = f'{assessment.why}, but {trouble}'
        return assessment._replace(level=Level.WARN, cause='checkpoint', why=why)
    if assessment.cause != 'filling' or learner.has_model:
        return assessment
    cause, why = 'learning', f'learning the route: {learner.known_s:.0f} s with positions seen'
    if not learner.known_s:
        cause = 'no_reference'
        why = f'no position came on {reference_topic} yet: give positions for some laps'
    elif learner.has_candidate:
        why += ', a model is being trained on them'
    elif learner.failure:
        why += f'; {learner.failure}'
    return assessment._replace(cause=cause, why=why)


WORDS = {
    'trainings_failed': 'No newer model was learned: {session.learner.failure}',
    'reference_jumped': 'Positions on {topic} jumped and are not used',
    'reference_moved': 'Positions on {topic} stay where they jumped to, and are used again',
    'reference_other_frame': (
        'Positions on {topic} are in frame {session.other_frame!r} and not used, because what was '
        'learned, or the given model, is in {session.head.frame_id!r}: publish them in that '
        'frame, or call the service forget'
    ),
    'reference_far_from_samples': (
        'Positions on {topic} are not used, because no sample of the sensor has a stamp within '
        '10 s of theirs: set the clocks of both machines, or look at the sensor'
    ),
}
"""Sentences about counters that have grown; those of a position that is used say nothing."""

SILENT = 'reference_used', 'reference_duplicate_stamp'


def learning_events(fresh: Counter[str], session: UpdaterSession, topic: str) -> dict[str, str]:
    """
    Return sentences by cause about what happened to the learning since the last time.

    ``fresh`` holds increments of the counters of learning and of the reference
    (``reference_``); ``topic`` is the reference's. A ``fault`` of the session is reported once.
    """
    events = {}
    for name, count in (+fresh).items():
        if name in WORDS:
            events[name] = WORDS[name].format(topic=topic, session=session)
        elif name.startswith('reference_') and name not in SILENT:
            events[name] = f'Positions not used on {topic}: {name[10:]} ({count})'
    if session.fault:
        events['fault'] = capitalised(session.fault)
        session.fault = ''
    return events
