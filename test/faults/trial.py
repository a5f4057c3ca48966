# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One fault done to a node that was healthy before: what was sent, and what was heard."""

from collections.abc import Mapping
from dataclasses import dataclass

from driven_node import DrivenNode
from fault import HealthyDrive, Look, Published, Sample, StreamFault, TICK_NS, Word
import numpy as np

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
