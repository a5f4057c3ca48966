# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of the chosen topics, gathered into arrays in one pass over a bag."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from two_manifold_ros.recordings.bag import Bag, Topic
    from two_manifold_ros.recordings.decoding import Decode
    from two_manifold_ros.typing import Floats, Ints

_PROGRESS_EVERY = 5000
_MOST_FRAMES = 10


class Collected:
    """What was gathered of one topic."""

    def __init__(self, path: Path, topic: Topic, decode: Decode) -> None:
        self.path = path
        self.topic = topic
        self.frames: list[str] = []
        self.passed_over = 0
        self._decode = decode
        self._stamps = array('q')
        self._received = array('q')
        self._numbers = array('d')

    def add(self, received: int, raw: bytes) -> None:
        """Decode one message that the bag received at that time, in nanoseconds."""
        try:
            stamp, frame_id, numbers = self._decode(raw)
            # Neither has taken it yet if the other cannot.
            times = array('q', (stamp, received))
        except InputError:
            raise
        # Damaged bytes make a decoder raise almost anything.
        except Exception as error:
            msg = (
                f'A message on {self.topic.name} in {self.path} cannot be decoded ({error}): '
                f'the bag is damaged, copy it again or read what is left of it with --salvage.'
            )
            raise InputError(msg) from error
        self._stamps.append(times[0])
        self._received.append(times[1])
        self._numbers.extend(numbers)
        # A longer list would take time and say no more.
        if len(self.frames) < _MOST_FRAMES and frame_id not in self.frames:
            self.frames.append(frame_id)

    @property
    def stamps(self) -> Ints:
        """Header stamps (N,), nanoseconds."""
        return np.array(self._stamps, dtype=np.int64)

    @property
    def received(self) -> Ints:
        """Receive times (N,), nanoseconds."""
        return np.array(self._received, dtype=np.int64)

    @property
    def numbers(self) -> Floats:
        """Decoded numbers (N, c)."""
        return np.array(self._numbers, dtype=np.float64).reshape(len(self._stamps), -1)

    @property
    def notes(self) -> list[str]:
        """Sentences on what was passed over, and on frames that do not belong together."""
        notes = []
        if self.passed_over:
            note = f'{self.passed_over} messages on {self.topic.name} are damaged and left out.'
            notes.append(note)
        if len(self.frames) < 2:
            return notes
        names = ', '.join(repr(frame) for frame in self.frames)
        note = (
            f'{self.topic.name} changes its frame_id ({names}): its messages are read as if '
            f'they were all in the first.'
        )
        return [*notes, note]


def collect(
    bag: Bag,
    decoders: Mapping[Topic, Decode],
    progress: Callable[[float], None],
    *,
    salvage: bool = False,
) -> list[Collected]:
    """
    Read the messages of these topics and no others; one result per topic, in their order.

    ``progress`` is called now and then with the share of messages read, in [0, 1]. Where asked to
    ``salvage``, messages that cannot be decoded are passed over and counted.

    Raises
    ------
    InputError
        If the bag is damaged, or nothing of a topic can be decoded.

    """
    collected = {
        topic.name: Collected(bag.path, topic, decode) for topic, decode in decoders.items()
    }
    total = sum(topic.count for topic in decoders)
    for number, (name, received, raw) in enumerate(bag.messages(list(decoders))):
        try:
            collected[name].add(received, raw)
        except InputError:
            if not salvage:
                raise
            collected[name].passed_over += 1
        if number % _PROGRESS_EVERY == 0:
            progress(number / total)
    for each in collected.values():
        if not each.frames:
            msg = (
                f'{bag.path} holds no whole message on {each.topic.name}: choose another topic or '
                f'recording.'
            )
            raise InputError(msg)
    return list(collected.values())
