# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Read what is left of a damaged MCAP file of a bag (``--salvage``).

The library `mcap` reads it record by record, up to the first one that makes no sense; a chunk that
is damaged in itself, or cut off, is left out.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from rosbags import rosbag1, rosbag2
from rosbags.interfaces import (
    Connection,
    ConnectionExtRosbag2,
    MessageDefinition,
    MessageDefinitionFormat,
)

from two_manifold_ros.errors import rosbags_wanted
from two_manifold_ros.recordings.storage_files import LARGEST_PART, largest_unpacked, unpack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from mcap.records import Chunk, McapRecord


class SalvagedFile:
    """
    Readable part of a damaged MCAP file, in the form of a reader of `rosbags`.

    Parameters
    ----------
    file
        An ``.mcap`` file, not compressed.
    reason
        Why it cannot be read as a whole, as part of a sentence.

    Attributes
    ----------
    lost, size
        Bytes that cannot be read, and of the file.
    connections
        Its topics.
    message_count, start_time, end_time
        How many messages there are, and from when to when they were received, ns.

    """

    def __init__(self, file: Path, reason: str) -> None:
        # Sound bags need no mcap: rosbags has a reader of its own.
        with rosbags_wanted():
            from mcap.records import Channel, Message, Schema  # noqa: PLC0415

        self.reason, self.size = reason, file.stat().st_size
        records, self.lost = _readable_records(file, self.size)
        schemas = {each.id: each.name for each in records if isinstance(each, Schema)}
        channels = {
            each.id: each
            for each in records
            if isinstance(each, Channel) and each.schema_id in schemas
        }
        known = [
            each for each in records if isinstance(each, Message) and each.channel_id in channels
        ]
        self._messages = sorted(known, key=lambda each: each.log_time)
        counts = Counter(each.channel_id for each in known)
        self.connections = [
            Connection(
                number,
                channel.topic,
                schemas[channel.schema_id],
                MessageDefinition(MessageDefinitionFormat.NONE, ''),
                '',
                counts[number],
                ConnectionExtRosbag2(channel.message_encoding, []),
                self,
            )
            for number, channel in channels.items()
        ]
        self.message_count = len(known)
        self.start_time = self._messages[0].log_time if known else 0
        self.end_time = self._messages[-1].log_time + 1 if known else 0

    def messages(
        self, connections: Collection[Connection] = ()
    ) -> Iterator[tuple[Connection, int, bytes]]:
        """Yield the messages of some topics, or of all, in the order received."""
        wanted = {each.id: each for each in connections or self.connections}
        for each in self._messages:
            if each.channel_id in wanted:
                yield wanted[each.channel_id], each.log_time, each.data


Reader: TypeAlias = rosbag1.Reader | rosbag2.Reader | SalvagedFile
"""What reads one file of a bag, sound or damaged."""


def _readable_records(file: Path, size: int) -> tuple[list[McapRecord], int]:
    """Return the records of an MCAP file up to the first damaged one, and the bytes lost."""
    from mcap.records import Chunk  # noqa: PLC0415 - as above
    from mcap.stream_reader import StreamReader  # noqa: PLC0415

    found: list[McapRecord] = []
    lost, end = 0, 0
    # All messages are kept until they are in order, so all chunks together have a bound.
    left = largest_unpacked(size)
    with file.open('rb') as stream:
        reader = StreamReader(stream, emit_chunks=True, record_size_limit=LARGEST_PART)
        # Damaged bytes make readers raise almost anything; what came before them is used.
        with suppress(Exception):
            for record in reader.records:
                end = stream.tell()
                if not isinstance(record, Chunk):
                    found.append(record)
                elif inside := _records_of(record, min(LARGEST_PART, left)):
                    found += inside
                    left -= record.uncompressed_size
                else:
                    lost += len(record.data)
    return found, lost + size - end


def _records_of(chunk: Chunk, most: int) -> list[McapRecord]:
    """Return the records of a chunk of at ``most`` so many bytes; none if it is damaged."""
    from mcap.stream_reader import breakup_chunk  # noqa: PLC0415 - as above

    # Damaged bytes make unpackers and readers raise almost anything.
    with suppress(Exception):
        if chunk.uncompressed_size <= most:
            # The library would unpack as much as there is.
            content = unpack(chunk.data, chunk.compression, chunk.uncompressed_size)
            plain = replace(chunk, compression='', data=content)
            return breakup_chunk(plain, validate_crc=True)
    return []
