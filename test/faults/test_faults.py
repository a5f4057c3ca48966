# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix: what the messages of a driver bring about, in a node of this process."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from raw_imu import raw_imu
from ros_talk import configured, numbers_of
from stream_faults import FAULTS, HealthyDrive, Sample, StreamFault, TICK_NS, TRACKING, Word

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.assessment import Publisher, REJECTIONS
from two_manifold_ros.interface.messages import PUBLISHED, Topics
from two_manifold_ros.nodes import callbacks
from two_manifold_ros.nodes.filter_node import FilterNode
from two_manifold_ros.processes import free_domains

SECOND_NS = 10**9
LATE_NS = 10 * SECOND_NS
"""Stamps are behind the clock of the node, as in a bag that is played."""

TOPICS = {topic.address: topic.name for topic in PUBLISHED.values()}


class DrivenNode(FilterNode):
    """A node that is called as ROS would, by the clock of a drive, and all that it says."""

    def __init__(self, *, simulated: bool) -> None:
        self._simulated, self._now_ns, self._ros_ns = simulated, SECOND_NS, 1
        self._begin_ns: int | None = None
        self._drivers = 1
        self._passed = 0
        self.words: list[Word] = []
        # The newest numbers of its status, and what was published after how many messages.
        self.numbers: dict[str, float] = {}
        self.published: list[tuple[int, Estimate]] = []
        super().__init__()

    @property
    def now_ns(self) -> int:
        return self._ros_ns

    @property
    def now_s(self) -> float:
        return self._now_ns / SECOND_NS

    def create_publisher(self, kind: type, name: str, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as rclpy
        if name not in TOPICS:
            return super().create_publisher(kind, name, *given, **named)
        take = partial(self._hear, TOPICS[name])
        return SimpleNamespace(topic_name=name, publish=take, get_subscription_count=lambda: 1)

    create_lifecycle_publisher = create_publisher

    def subscribe(self, topic: object, take: Callable[[bytes], object], *_: object) -> Any:  # noqa: ANN401
        if topic is Topics.IMU:
            self._take = self.guard(take)

    def count_publishers(self, name: str) -> int:
        return self._drivers if name == '/imu' else 1

    def find_publishers(self, _: object, name: str) -> tuple[Publisher, ...]:
        of_imu = range(self._drivers) if name == '/imu' else ()
        return tuple(Publisher(Topics.IMU.msgtype, f'/driver{each}') for each in of_imu)

    def begin(self, patch: pytest.MonkeyPatch) -> None:
        """Go by the clock of the drive from now on."""
        clocks = {'monotonic': lambda: self.now_s, 'perf_counter_ns': lambda: self._now_ns}
        for name, module in sorted(sys.modules.items()):
            for clock, read in clocks.items():
                if name.startswith('two_manifold_ros.') and clock in vars(module):
                    patch.setattr(module, clock, read)
        patch.setattr(callbacks, 'find_publishers', self.find_publishers)
        self._imu.wait()
        self.settle()

    def send(self, samples: Sequence[Sample], batch: int = 1) -> None:
        """Let it take all, each at its time, or so many at once."""
        two = any(sample.source for sample in samples)
        for count, sample in enumerate(samples):
            # The second driver is found once it sends.
            self._drivers = 1 + (two and count > 0)
            self._advance(samples[min(count - count % batch + batch, len(samples)) - 1].at_ns)
            if not self._simulated:
                self._ros_ns = sample.at_ns + LATE_NS
            elif sample.clock_ns is not None:
                self._ros_ns = max(sample.stamp_ns + sample.clock_ns, 1)
            self._take(raw_imu(sample.stamp_ns, sample.values, sample.frame))
            self._on_status()

    def listen_for(self, status: str, seconds: float) -> None:
        """Let time pass until it says a status, or for a while if it does not."""
        end_s = self.now_s + seconds
        while self.words[-1].status != status and self.now_s < end_s:
            self._begin_ns = (self._begin_ns or 0) - SECOND_NS // 10
            self._advance(self._begin_ns + self._now_ns + SECOND_NS // 10)
            self._on_status()

    def settle(self) -> None:
        if self._session is not None:
            self._session.counts()
        self._on_status()

    def _advance(self, at_ns: int) -> None:
        if self._begin_ns is None:
            self._begin_ns = at_ns - SECOND_NS
        self._now_ns = max(self._now_ns, at_ns - self._begin_ns)
        if self._now_ns // SECOND_NS > self._passed:
            self._passed = self._now_ns // SECOND_NS
            self._on_second()

    def _hear(self, name: str, message: Any) -> None:  # noqa: ANN401 - of its topic
        if name == Topics.DIAGNOSTICS.name:
            (status,) = message.status
            values = {each.key: each.value for each in status.values}
            said = values['status'], values['cause'], status.message
            if not self.words or said != self.words[-1][1:4]:
                self.words.append(Word(int(values.get('received', 0)), *said, self.now_s))
        elif name == Topics.STATUS.name:
            self.numbers = numbers_of(message)

    def remember(self, estimate: Estimate) -> None:
        self.published.append((self._heard()[0]['received'], estimate))


BEGIN_S = 20.0
LEAD_S, AFTER_S = 5.0, 10.0
"""Before and after: twice the window until a better status is believed, and a rest to measure."""


@dataclass(frozen=True)
class Trial:
    """Messages sent in one trial, and the node that heard them."""

    fault: StreamFault
    drive: HealthyDrive
    node: DrivenNode
    sent: list[Sample]  # the first `begin` are healthy, those from `end` on come after the fault
    begin: int
    end: int
    numbers_before: dict[str, float]  # of its status before the fault
    silence_s: float  # when the faulty stretch had been sent, on the clock of the node

    def statuses(self, after: int) -> set[str]:
        """Return the statuses that may have held after a message, which may end several ticks."""
        words = self.node.words
        before = [word.status for word in words if word.received < after]
        return {*before[-1:], *(word.status for word in words if word.received == after)}

    def ticks_between(self, begin: int, received: int) -> int:
        """Return how many ticks of the drive lie between two counts of messages."""
        last = self.sent[min(received, len(self.sent)) - 1]
        return max(0, round((last.at_ns - self.sent[begin].at_ns) / TICK_NS))


def play(fault: StreamFault, drive: HealthyDrive, node: DrivenNode) -> Trial:
    times = np.cumsum([BEGIN_S, LEAD_S, fault.seconds, AFTER_S]).tolist()
    lead, faulty, after = map(drive.between, times, times[1:])
    faulty = fault.change(faulty, drive) if faulty else faulty
    after = fault.after(after, drive)
    node.send(lead)
    node.settle()
    before = node.numbers
    node.send(faulty, fault.batch)
    silence_s = node.now_s
    if fault.silent_s:
        node.listen_for(fault.says[0], fault.silent_s)
    else:
        node.settle()
    node.send(after)
    node.settle()
    begin, end = len(lead), len(lead) + len(faulty)
    sent = [*lead, *faulty, *after]
    return Trial(fault, drive, node, sent, begin, end, before, silence_s)


@pytest.fixture(scope='module')
def domain() -> int:
    (free,) = free_domains(1)
    return free


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.name)
def test_fault(fault, trained, domain, monkeypatch):
    path, drive = trained
    given = {'input_timeout_s': fault.timeout_s, 'reorder_s': fault.reorder_s}
    simulated = {'use_sim_time': 'true'} if fault.simulated else {}
    make = partial(DrivenNode, simulated=fault.simulated)
    with configured(make, str(domain), model=path, **given, **simulated) as node:
        publish = node._estimates.publish
        monkeypatch.setattr(
            node._estimates, 'publish', lambda each: (node.remember(each), publish(each))
        )
        node.begin(monkeypatch)
        trial = play(fault, drive, node)
        parts = _soundness(trial), _naming(trial), _recovery(trial), _counts(trial)
        assert [complaint for part in parts for complaint in part] == []


MOST_ERROR = 1.2
"""After a fault the error may be this many times what it would have been without."""

LEAST_ERROR_M = 0.03
"""Errors are compared as if they were at least this: below lies the noise of the IMU."""

FAR_M = 0.35
"""An error that the filter has now and then on a healthy drive; the track is 4.9 m long."""

SURE = 3.0
"""Times the 95 % ellipse and the usual error, from which on a smaller error is wrong as well."""

CHI_SQUARE = 5.991
"""Of two dimensions at 95 %."""


def _soundness(trial: Trial) -> Iterator[str]:
    """Complain where something else was wrong before, or of what may never be published."""
    before = [word.status for word in trial.node.words if word.received < trial.begin]
    if before[-1] != TRACKING:
        yield f'before the fault it said {before[-1]!r}'
    published = trial.node.published
    for _, each in published:
        parts = each.positions, each.covariances, each.velocity, each.state
        if not all(np.isfinite(part).all() for part in parts):
            yield f'at {each.stamp_ns} a number is published that is not finite'
    sure = [each for each in published if trial.statuses(each[0]) == {TRACKING}]
    unnoticed = sum(not _right(trial, *each) for each in sure)
    if unnoticed > trial.fault.blind:
        yield f'{unnoticed} positions are published as sure and wrong, not {trial.fault.blind}'
    for after, _ in published:
        statuses = trial.statuses(after)
        if not statuses & {TRACKING, 'unsure'}:
            yield f'an estimate was published while it said {" and ".join(map(repr, statuses))}'
            return


def _right(trial: Trial, after: int, estimate: Estimate) -> bool:
    taken = _taken(trial.sent, after, estimate.stamp_ns)
    if taken is None:
        return False
    error = estimate.positions[0] - trial.drive.places(np.array([taken]))[0]
    error_m = np.linalg.norm(error)
    ellipses = np.sqrt(error @ np.linalg.solve(estimate.covariances[0], error) / CHI_SQUARE)
    if ellipses > SURE and error_m > SURE * trial.drive.usual_error:
        return False
    return bool(ellipses <= 1.0 or error_m < FAR_M)


def _taken(sent: list[Sample], after: int, stamp_ns: int) -> int | None:
    """Return the time on the drive of the newest sample that an estimate may have used."""
    for sample in reversed(sent[: after - 1]):
        if sample.refused or sample.stamp_ns > stamp_ns:
            continue
        if sample.taken_ns is None:
            return None
        return sample.taken_ns + min(stamp_ns - sample.stamp_ns, 20_000_000)
    return None


def _detected_s(trial: Trial) -> float | None:
    """Return how long it took until the fault was named."""
    fault = trial.fault
    status, cause = fault.says
    for word in trial.node.words:
        alike = status in {'', word.status} and cause in {'', word.cause}
        if not (alike and fault.words in word.why):
            continue
        if fault.silent_s and word.heard_s > trial.silence_s:
            return word.heard_s - trial.silence_s
        if not fault.silent_s and word.received > trial.begin:
            last = trial.sent[min(word.received, len(trial.sent)) - 1]
            return max(0.0, (last.at_ns - trial.sent[trial.begin].at_ns) / 1e9)
    return None


def _naming(trial: Trial) -> Iterator[str]:
    """Complain where the fault was not named in time, or where it should do no harm and did."""
    fault = trial.fault
    said = [word for word in trial.node.words if word.received > trial.begin]
    others = [word for word in said if word.status != TRACKING]
    if fault.says[0] == TRACKING:
        for word in others[:1]:
            yield f'it said {word.status!r} because of {word.cause!r}: {word.why}'
        if not fault.within_s:
            return
    elif any(not word.cause or not word.why for word in others):
        yield 'it did not say why'
    detected_s = _detected_s(trial)
    if detected_s is None:
        causes = Counter((word.status, word.cause) for word in said)
        yield f'it never said {fault.says} {fault.words!r}, but {dict(causes)}'
    elif detected_s > fault.within_s:
        yield f'it said so after {detected_s:.2f} s, not within {fault.within_s:g} s'


def _recovery(trial: Trial) -> Iterator[str]:
    """Complain where it does not track again in time, and as well as without the fault."""
    since = None
    for word in trial.node.words:
        if word.received <= trial.end and word.status == TRACKING:
            since = trial.end
        elif word.status != TRACKING:
            since = None
        elif since is None:
            since = word.received
    if since is None:
        yield f'it did not track again; its last word was {trial.node.words[-1].why!r}'
        return
    recovered = trial.ticks_between(trial.end, since)
    if recovered > trial.fault.recovers:
        yield f'it tracked again after {recovered} ticks, not within {trial.fault.recovers}'
    # Errors are compared once it has to be recovered, or from the fault on where it was harmless.
    since = trial.begin if trial.fault.says[0] == TRACKING else trial.end
    published = [
        (each.positions[0], taken_ns)
        for after, each in trial.node.published
        if after > since
        and trial.ticks_between(since, after) >= trial.fault.recovers
        and (taken_ns := _taken(trial.sent, after, each.stamp_ns)) is not None
    ]
    if not published:
        yield 'it published nothing afterwards'
        return
    places, taken = (np.array(each) for each in zip(*published, strict=True))
    errors = places - trial.drive.places(taken)
    error = float(np.sqrt(np.mean(np.sum(np.square(errors), axis=1))))
    ratio = max(error, LEAST_ERROR_M) / max(trial.drive.error(taken), LEAST_ERROR_M)
    if ratio > MOST_ERROR:
        yield f'its error afterwards is {ratio:.2f} times that without the fault'


def _counts(trial: Trial) -> Iterator[str]:
    """Complain of counters that do not say what became of the messages."""
    first, last = trial.numbers_before, trial.node.numbers
    if trial.node.errors:
        yield 'the node survived an exception'
    if last['received'] != sum(last[key] for key in ('used', 'waiting', *REJECTIONS)):
        yield f'the counters do not add up: {last}'
    refused = Counter(each.refused for each in trial.sent if each.refused)
    expected = {**{cause: refused[cause] for cause in REJECTIONS}, **trial.fault.counts}
    for key, count in expected.items():
        fresh = last[key] - first.get(key, 0.0)
        if fresh != count:
            yield f'{key} was counted {fresh:g} times, not {count}'
