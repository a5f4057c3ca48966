# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A learner being fed with serialised messages, and what there is to report about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from time import perf_counter_ns
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.log import capitalised
from two_manifold_ros.interface.session import Arrivals, Durations
from two_manifold_ros.interface.status import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

    from two_manifold_ros.adapting.stream_learner import StreamLearner
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats

    Values: TypeAlias = Sequence[float] | Floats
    Decode: TypeAlias = Callable[[bytes], tuple[int, str, Values]]
    from two_manifold_ros.interface.assessment import Assessment


class UpdaterSession:
    """
    A learner, its two inputs and its counters; knows nothing of ROS.

    Parameters
    ----------
    head
        Of the stream.
    make
        Makes a learner of a stream that knows nothing yet.
    decode
        From the bytes of a message to its stamp in nanoseconds, its frame and the values of a
        sample.
    clock_ns
        Gives the stamp of each message on arrival instead of its header, where that is asked
        for.

    Attributes
    ----------
    head
        As given, with the frames that the first messages named.
    learner
        What filters and learns; another one after `forget`.
    arrivals
        When messages came, and what their headers say.
    last_raw
        Newest message of the sensor.
    fault
        Why the newest message that could not be used was none, where its decoder has said so.
    durations
        Of taking one sample, learning included.
    on_sample
        Called with stamp and values of every sample, before the filter takes it.
    on_position
        Called with stamp, x and y of every reference position that is used.

    """

    def __init__(
        self,
        head: ModelHead,
        make: Callable[[], StreamLearner],
        decode: Decode,
        clock_ns: Callable[[], int] | None = None,
    ) -> None:
        self._head = head
        self._make = make
        self.learner = make()
        self.arrivals = Arrivals()
        self.last_raw = b''
        self.fault = ''
        self.durations = Durations()
        self.on_sample: list[Callable[[int, Values], object]] = []
        self.on_position: list[Callable[[int, float, float], object]] = []
        self._counters: Counter[str] = Counter()
        self._decode = decode
        self._clock_ns = clock_ns

    @property
    def head(self) -> ModelHead:
        """What is known of the stream."""
        return self._head

    @head.setter
    def head(self, head: ModelHead) -> None:
        self._head = self.learner.head = head

    @property
    def filter(self) -> Filter:
        """What turns samples into estimates."""
        return self.learner.filter

    @property
    def latest(self) -> Estimate | None:
        """The newest estimate since the filter was last reset, if there is one."""
        return self.filter.latest

    def take(self, raw: bytes) -> list[Estimate]:
        """Take one message of the sensor; return the estimates that may be published."""
        begin = perf_counter_ns()
        estimates = self._take(raw, begin)
        self.durations.add(perf_counter_ns() - begin)
        return estimates

    def take_position(self, stamp_ns: int, frame_id: str, x: float, y: float) -> bool:
        """Take one reference position in metres; return whether it is used."""
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        used = self.learner.add_reference(stamp_ns, x, y)
        if used:
            if not self.head.frame_id:
                self.head = replace(self.head, frame_id=frame_id)
            for listener in self.on_position:
                listener(stamp_ns, x, y)
        return used

    def reset(self, cause: str) -> None:
        """Forget the stream, but nothing that was learned."""
        self.learner.reset(cause)
        self.arrivals.reset()

    def forget(self) -> None:
        """Forget everything that was learned and begin with the next sample."""
        self._go_on_with(self._make())

    def resume(
        self, head: ModelHead, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        """Go on with what was learned before of a stream, see ``StreamLearner.restore``."""
        learner = self._make()
        learner.head = head
        try:
            learner.restore(numbers, arrays)
        except InputError:
            # What trains for it would stay.
            learner.close()
            raise
        self._head = head
        self._go_on_with(learner)

    def _go_on_with(self, learner: StreamLearner) -> None:
        before, self.learner = self.learner, learner
        learner.head = self._head
        counters = learner.filter.counters = before.filter.counters
        counters['used'] += before.filter.waiting
        learner.reference.counters = before.reference.counters
        before.close()

    def counts(self) -> Counter[str]:
        """
        Return all counters of samples and estimates, and how many samples are ``waiting``.

        What was ``received`` was used, or is waiting, or was rejected by a cause.
        """
        waiting = {'waiting': self.filter.waiting}
        return Counter({**self.filter.counters, **self._counters, **waiting})

    def learned(self) -> Counter[str]:
        """Return what became of the samples, see ``StreamLearner.counters``."""
        return self.learner.counters

    def _take(self, raw: bytes, arrived_ns: int) -> list[Estimate]:
        self.last_raw = raw
        self._counters['received'] += 1
        try:
            stamp_ns, frame_id, values = self._decode(raw)
        # Bytes that are no message of this type make a decoder raise almost anything.
        except Exception as error:  # noqa: BLE001 - counted, and told in the diagnostics
            self.fault = str(error) if isinstance(error, InputError) else self.fault
            self._counters['malformed'] += 1
            self.arrivals.refuse()
            return []
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        if not self.head.imu_frame_id:
            self.head = replace(self.head, imu_frame_id=frame_id)
        for listener in self.on_sample:
            listener(stamp_ns, values)
        return self._filter(stamp_ns, frame_id, values, arrived_ns)

    def _filter(
        self, stamp_ns: int, frame_id: str, values: Values, arrived_ns: int
    ) -> list[Estimate]:
        estimates = self.learner.push(stamp_ns, values)
        live = self.filter
        self.arrivals.take(stamp_ns, frame_id, arrived_ns, used=live.used, broke=live.broke)
        valid = [estimate for estimate in estimates if estimate.valid]
        self._counters['published'] += len(valid)
        unsound = sum(estimate.cause == 'unsound' for estimate in estimates)
        self._counters['estimates_not_finite'] += unsound
        return valid


_UNUSED = (
    'malformed',
    'non_finite',
    'out_of_range',
    'no_fix',
    'zero_stamp',
    'out_of_order',
    'jumps_back',
)


def judge_learning(
    judgement: Assessment, session: UpdaterSession, reference_topic: str
) -> Assessment:
    """
    Return a reason that is nearer to the root than that of a filter whose model is ready.

    Parameters
    ----------
    judgement
        That of ``judge``.
    session
        That learns.
    reference_topic
        Full name.

    """
    if judgement.cause != 'filling':
        return judgement
    lacking = session.learner.lacking(reference_topic)
    return judgement if lacking is None else judgement._replace(**lacking._asdict())


def judge_keeping(judgement: Assessment, trouble: str) -> Assessment:
    """Return why no checkpoint can be written, where there is nothing else to warn of."""
    if judgement.level is not Level.OK or not trouble:
        return judgement
    why = f'{judgement.why}, but {trouble}'
    return judgement._replace(level=Level.WARN, cause='checkpoint', why=why)


def learning_causes(fresh: Counter[str], session: UpdaterSession, topic: str) -> dict[str, str]:
    """
    Return sentences by cause about what happened lately to learning.

    Parameters
    ----------
    fresh
        Counters of the session, and those of learning and of the reference that begin with
        ``samples_`` and ``reference_``, since the last time.
    session
        That learns.
    topic
        Full name of the reference's topic.

    """
    values = session.learner.values()
    sentences = {
        'failures': f'No newer model was learned: {values.get("learning_trouble")}',
    }
    causes = {name: words for name, words in sentences.items() if fresh[f'samples_{name}']}
    if fresh['reference_jumped']:
        causes['jumped'] = f'Positions on {topic} jumped and are not used'
    if fresh['reference_moved']:
        causes['moved'] = f'Positions on {topic} stay where they jumped to, and are used again'
    for cause in _UNUSED:
        if fresh[f'reference_{cause}']:
            count = fresh[f'reference_{cause}']
            causes[f'reference {cause}'] = f'Positions not used on {topic}: {cause} ({count})'
    if session.fault:
        causes['fault'] = capitalised(session.fault)
        session.fault = ''
    return causes
