# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A damaged file read as if it were a sound one, and what of a bag is lost."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
)

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.salvage_mcap import salvage_mcap
from two_manifold_ros.recordings.salvage_sqlite import salvage_sqlite

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from two_manifold_ros.recordings.metadata import Metadata


class SalvagedFile:
    """
    What can still be read of a file, in the form of a reader of `rosbags`.

    Parameters
    ----------
    file
        Not compressed.
    kind
        ``.mcap`` or ``.db3``.
    reason
        Why it cannot be read as it should be.

    Attributes
    ----------
    connections
        Its topics.
    message_count, start_time, end_time
        How many messages there are, and from when to when they were received, ns.

    """

    def __init__(self, file: Path, kind: str, reason: str) -> None:
        self.salvaged = salvage_mcap(file) if kind == '.mcap' else salvage_sqlite(file)
        self.reason = reason
        counts = self.salvaged.counts()
        self.connections = [
            Connection(
                number,
                channel.name,
                channel.msgtype,
                MessageDefinition(MessageDefinitionFormat.NONE, ''),
                '',
                counts[number],
                ConnectionExtRosbag2(channel.serialisation, []),
                self,
            )
            for number, channel in self.salvaged.channels.items()
        ]
        messages = self.salvaged.messages
        self.message_count = len(messages)
        self.start_time = messages[0].received if messages else 0
        self.end_time = messages[-1].received + 1 if messages else 0

    def messages(
        self, connections: Collection[Connection] = ()
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield the messages of some topics, or of all, in the order received."""
        wanted = {each.id: each for each in connections or self.connections}
        for topic, received, raw in self.salvaged.messages:
            if topic in wanted:
                yield wanted[topic], received, raw


def loss_notes(
    path: Path, readers: Sequence[tuple[Path, Any]], metadata: Metadata | None
) -> list[str]:
    """
    Return a sentence for each damaged file, and one on what is lost of the whole bag.

    Raises
    ------
    InputError
        If all is lost.

    """
    notes = [
        f'{file} is damaged ({reader.reason}): {reader.salvaged.damage}, and '
        f'{reader.message_count} messages of {_seconds(reader):.1f} s are used.'
        for file, reader in readers
        if isinstance(reader, SalvagedFile)
    ]
    filled = [reader for _, reader in readers if reader.message_count]
    if notes and not filled:
        msg = f'Nothing is left of {path}, choose another recording: {notes[0]}'
        raise InputError(msg)
    found = sum(reader.message_count for reader in filled)
    said = metadata.messages if metadata else None
    # Metadata that count too few know nothing of what else there was.
    if metadata is None or said is None or said < found or metadata.seconds is None:
        return [*notes, *([f'{path}: how many messages are lost is not known.'] if notes else [])]
    begin = min((reader.start_time for reader in filled), default=0)
    end = max((reader.end_time for reader in filled), default=0)
    lost, gone_s = said - found, metadata.seconds - (end - begin) / 1e9
    if lost or notes:
        notes.append(
            f'{path}: {lost} of {said} messages and {max(gone_s, 0.0):.1f} of '
            f'{metadata.seconds:.1f} s are lost.'
        )
    return notes


def _seconds(reader: SalvagedFile) -> float:
    return (reader.end_time - reader.start_time) / 1e9
