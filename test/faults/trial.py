# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One fault done to a node that was healthy before: what was sent, and what was heard."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from fault import HealthyDrive, Look, Published, RATE_HZ, Sample, StreamFault, TICK_NS, Word
import numpy as np

IN_FLIGHT = 40
"""Messages that may be on their way: their ticks are fewer than what publishers keep."""

CLOSE = 20
"""The same where it matters after how many of them something is published."""

BEGIN_S = 20.0
LEAD_S, AFTER_S = 5.0, 10.0
"""
Lead and recovery, seconds.

The window of two seconds, as long again until a status that is better is believed, and what is
left to measure errors.
"""

EPOCH_NS = 6 * 3600 * 10**9
"""From one trial of a node to the next, later than whatever the first did to the stamps."""


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
    silence_s: float  # when the faulty stretch had been sent, on the clock of `monotonic`
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


def play(
    fault: StreamFault,
    drive: HealthyDrive,
    node: Any,  # noqa: ANN401 - a ServedNode or a SessionNode
    index: int = 0,
) -> Trial:
    """Let a node hear a healthy stretch, the fault, and a healthy stretch again."""
    stretches = _stretches(fault, drive, index)
    node.forget()
    before = node.received
    lead, faulty, after = stretches
    node.send(lead)
    node.settle()
    node.send(faulty, CLOSE, fault.pace_hz, fault.batch)
    silence_s = monotonic()
    if fault.silent_s:
        node.listen_for(fault.says[0], fault.silent_s)
    else:
        node.settle()
    node.send(after, IN_FLIGHT, 3.0 * RATE_HZ if fault.pace_hz else 0.0)
    node.settle()
    sent = [*lead, *faulty, *after]
    return Trial(
        fault,
        drive,
        sent,
        len(lead),
        len(lead) + len(faulty),
        [word._replace(received=word.received - before) for word in node.words],
        [look._replace(received=look.received - before) for look in node.looks],
        node.published(sent),
        silence_s,
        node.not_finite,
        node.alive and node.callback_errors == '0',
    )


def _stretches(fault: StreamFault, drive: HealthyDrive, index: int) -> list[list[Sample]]:
    times = np.cumsum([BEGIN_S, LEAD_S, fault.seconds, AFTER_S]).tolist()
    lead, faulty, after = map(drive.between, times, times[1:])
    faulty = fault.change(faulty, drive) if faulty else faulty
    parts = [lead, faulty, fault.after(after, drive)]
    return [[_at_epoch(each, index * EPOCH_NS) for each in part] for part in parts]


def _at_epoch(sample: Sample, shift: int) -> Sample:
    return sample._replace(stamp_ns=sample.stamp_ns + shift) if sample.stamp_ns else sample
