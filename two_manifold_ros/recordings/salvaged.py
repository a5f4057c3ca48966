# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What could still be read of a damaged file of a bag."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Saved(NamedTuple):
    """One message: the identity of its topic, when it was received (ns), and its bytes."""

    topic: int
    received: int
    raw: bytes


class Channel(NamedTuple):
    """A topic of a file: its name, its type in the ROS 2 spelling, and its serialisation."""

    name: str
    msgtype: str
    serialisation: str


class Salvaged(NamedTuple):
    """
    What could still be read of one file.

    Parameters
    ----------
    channels
        The topics by a number of their own.
    messages
        In the order of their receive times.
    damage
        What is the matter with the file, as a part of a sentence.

    """

    channels: dict[int, Channel]
    messages: list[Saved]
    damage: str

    def counts(self) -> dict[int, int]:
        """Return how many messages of each topic there are."""
        found = Counter(message.topic for message in self.messages)
        return {number: found[number] for number in self.channels}


def salvaged_of(channels: dict[int, Channel], messages: Iterable[Saved], damage: str) -> Salvaged:
    """Return the messages whose topic is known, in order."""
    known = [each for each in messages if each.topic in channels]
    return Salvaged(channels, sorted(known, key=lambda each: each.received), damage)
