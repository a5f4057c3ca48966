# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""MCAP files as recorders write them, and a walk through their records, to damage some."""

from __future__ import annotations

from io import BytesIO
import struct
from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA, CHANNEL, MESSAGE, CHUNK = 3, 4, 5, 6
MAGIC = b'\x89MCAP0\r\n'


class Record(NamedTuple):
    """A record: its code, and where its content is."""

    code: int
    begin: int
    end: int


def records(content: bytes, begin: int = 0) -> Iterator[Record]:
    """Yield the records of a whole file behind its magic bytes, or of an unpacked chunk."""
    while begin + 9 <= len(content):
        code, length = struct.unpack_from('<BQ', content, begin)
        yield Record(code, begin + 9, begin + 9 + length)
        begin += 9 + length


def add_checksums(file: Path, chunk_size: int) -> None:
    """Write a file again by the library of the format: with checksums, in chunks of that size."""
    from mcap.reader import make_reader  # noqa: PLC0415 - walks need no library
    from mcap.writer import Writer  # noqa: PLC0415

    content = BytesIO(file.read_bytes())
    with file.open('wb') as stream:
        writer = Writer(stream, chunk_size=chunk_size)
        writer.start('ros2', 'test')
        numbers: dict[str, int] = {}
        for schema, channel, message in make_reader(content).iter_messages():
            if channel.topic not in numbers:
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                numbers[channel.topic] = writer.register_channel(channel.topic, 'cdr', kind)
            number, received = numbers[channel.topic], message.log_time
            writer.add_message(number, received, message.data, message.publish_time)
        writer.finish()
