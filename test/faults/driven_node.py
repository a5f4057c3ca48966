# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter node in this process, on the clock of a drive, and one fault that is done to it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from raw_imu import raw_imu
from ros_talk import configured, numbers_of
from stream_faults import HealthyDrive, Look, Published, Sample, StreamFault, TICK_NS, Word

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.assessment import Publisher
from two_manifold_ros.interface.messages import PUBLISHED, Topics
from two_manifold_ros.nodes import callbacks
from two_manifold_ros.nodes.filter_node import FilterNode

SECOND_NS = 10**9
LATE_NS = 10 * SECOND_NS
"""Stamps are behind the clock of the node, as in a bag that is played."""

TOPICS = {topic.address: topic.name for topic in PUBLISHED.values()}


class DrivenNode(FilterNode):
    """
    What `play` drives.

    Attributes
    ----------
    words, looks, published
        Everything heard.
    not_finite
        Estimates with a number that is not finite.

    """

    def __init__(self, *, simulated: bool) -> None:
        self._simulated, self._now_ns, self._ros_ns = simulated, SECOND_NS, 1
        self._begin_ns: int | None = None
        self._drivers = 1
        self._passed = 0
        self.words: list[Word] = []
        self.looks: list[Look] = []
        self.published: list[Published] = []
        self.not_finite = 0
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
        assert topic is Topics.IMU
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
            self._take(sample.raw or raw_imu(sample.stamp_ns, sample.values, sample.frame))
            self._on_status()

    def listen_for(self, status: str, seconds: float) -> None:
        """Let time pass until it says a status, or for a while if it does not."""
        end_s = self.now_s + seconds
        while self.words[-1].status != status and self.now_s < end_s:
            self._begin_ns = (self._begin_ns or 0) - SECOND_NS // 10
            self._advance(self._begin_ns + self._now_ns + SECOND_NS // 10)
            self._on_status()

    def settle(self) -> None:
        """Let it take what waits."""
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
            numbers = numbers_of(message)
            self.looks.append(Look(int(np.nan_to_num(numbers['received'])), numbers))

    def remember(self, estimate: Estimate) -> None:
        """Keep an estimate that is published."""
        parts = estimate.positions, estimate.covariances, estimate.velocity, estimate.state
        self.not_finite += not all(np.isfinite(part).all() for part in parts)
        taken = self._counts()['received']
        place, covariance = estimate.positions[0], estimate.covariances[0]
        self.published.append(Published(taken, estimate.stamp_ns, place, covariance))


@contextmanager
def driven(
    fault: StreamFault, patch: pytest.MonkeyPatch, domain: int, model: Path
) -> Iterator[DrivenNode]:
    """Configure a node for a fault."""
    given = {'input_timeout_s': fault.timeout_s, 'reorder_s': fault.reorder_s}
    simulated = {'use_sim_time': 'true'} if fault.simulated else {}
    make = partial(DrivenNode, simulated=fault.simulated)
    with configured(make, str(domain), model=model, **given, **simulated) as node:
        publish = node._estimates.publish
        patch.setattr(
            node._estimates, 'publish', lambda each: (node.remember(each), publish(each))
        )
        node.begin(patch)
        yield node


BEGIN_S = 20.0
LEAD_S, AFTER_S = 5.0, 10.0
"""
Lead and recovery, seconds.

The window of two seconds, as long again until a status that is better is believed, and what is
left to measure errors.
"""


@dataclass(frozen=True)
class Trial:
    """Messages sent and received in one trial."""

    fault: StreamFault
    drive: HealthyDrive
    sent: list[Sample]  # the first `begin` are healthy, those from `end` on come after the fault
    begin: int
    end: int
    # Status of the node in words and in numbers; `received` counts the messages of this trial.
    # The first of each is from before it.
    words: list[Word]
    looks: list[Look]
    published: list[Published]
    silence_s: float  # when the faulty stretch had been sent, on the clock of the node
    not_finite: int  # messages that held a number that is not finite
    survived: bool  # whether the node still runs, without an error

    @property
    def numbers_before(self) -> Mapping[str, float]:
        """Numbers of its status before the fault."""
        return [look.numbers for look in self.looks if look.received <= self.begin][-1]

    def statuses(self, after: int) -> set[str]:
        """
        Return the statuses that may have held when a message had been taken.

        There are several where one message ended several ticks.
        """
        before = [word.status for word in self.words if word.received < after]
        return {*before[-1:], *(word.status for word in self.words if word.received == after)}

    def ticks_between(self, begin: int, received: int) -> int:
        """Return how many ticks of the drive lie between two counts of messages."""
        last = self.sent[min(received, len(self.sent)) - 1]
        return max(0, round((last.at_ns - self.sent[begin].at_ns) / TICK_NS))

    def seconds_after(self, received: int) -> float:
        """Return how long after the start of the fault so many messages are, on the drive."""
        last = self.sent[min(max(received, 1), len(self.sent)) - 1]
        return max(0.0, (last.at_ns - self.sent[self.begin].at_ns) / 1e9)


def play(fault: StreamFault, drive: HealthyDrive, node: DrivenNode) -> Trial:
    """Let a node hear a healthy stretch, the fault, and a healthy stretch again."""
    times = np.cumsum([BEGIN_S, LEAD_S, fault.seconds, AFTER_S]).tolist()
    lead, faulty, after = map(drive.between, times, times[1:])
    faulty = fault.change(faulty, drive) if faulty else faulty
    after = fault.after(after, drive)
    node.send(lead)
    node.settle()
    node.send(faulty, fault.batch)
    silence_s = node.now_s
    if fault.silent_s:
        node.listen_for(fault.says[0], fault.silent_s)
    else:
        node.settle()
    node.send(after)
    node.settle()
    begin, end = len(lead), len(lead) + len(faulty)
    heard = node.words, node.looks, node.published
    return Trial(
        fault, drive, [*lead, *faulty, *after], begin, end, *heard, silence_s,
        not_finite=node.not_finite, survived=node.errors == 0,
    )  # fmt: skip
