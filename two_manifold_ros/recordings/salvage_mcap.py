# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can still be read of a damaged MCAP file: all whole chunks, and parts of others."""

from __future__ import annotations

import mmap
from struct import Struct
from typing import TYPE_CHECKING

from two_manifold_ros.recordings.mcap_chunk import chunk_of, text_at
from two_manifold_ros.recordings.mcap_records import (
    CHANNEL,
    CHUNK,
    MESSAGE,
    Record,
    records,
    SCHEMA,
)
from two_manifold_ros.recordings.salvaged import Channel, Salvaged, salvaged_of, Saved
from two_manifold_ros.recordings.unpacking import LARGEST_PART, largest_unpacked, unpack

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.recordings.mcap_chunk import Chunk

_MESSAGE = Struct('<HIQQ')
_ID = Struct('<H')
_IDS = Struct('<HH')
_MAGIC = 8
_HEAD = 9


def salvage_mcap(file: Path) -> Salvaged:
    """
    Return what can still be read of an MCAP file, cut off or with wrong bytes in it.

    A chunk that is cut off gives the messages before the cut, and one that does not have its
    checksum gives none. One that never had a checksum gives those that are of its time.

    Raises
    ------
    OSError, ValueError
        If the file cannot be opened or is empty.

    """
    with file.open('rb') as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as all_:
        reader = _Reader(len(all_))
        for record in records(all_, _MAGIC, search=True):
            if reader.take(all_[record.begin : record.end], record):
                reader.known += _HEAD + record.end - record.begin
    return reader.finish()


class _Reader:
    """Gathers schemas, channels and messages of records and of chunks."""

    def __init__(self, size: int) -> None:
        self.known = _MAGIC
        self._size = size
        # All messages are kept until they are in order, so all chunks together have a bound too.
        self._left = largest_unpacked(size)
        self._schemas: dict[int, str] = {}
        self._channels: dict[int, tuple[int, str, str]] = {}
        self._messages: list[Saved] = []

    def take(self, content: bytes, record: Record) -> bool:
        """Take the content of a record; return whether all of it could be used."""
        try:
            if record.code == CHUNK:
                return self._take_chunk(content) and record.whole
            if record.whole:
                self._take_plain(record.code, content)
        # Damaged bytes make readers of compressed ones raise almost anything.
        except Exception:  # noqa: BLE001 - told as bytes that could not be read
            return False
        return record.whole

    def finish(self) -> Salvaged:
        channels = {
            number: Channel(topic, self._schemas[schema], encoding)
            for number, (schema, topic, encoding) in self._channels.items()
            if schema in self._schemas
        }
        damage = f'{self._size - self.known} of its {self._size} bytes cannot be read'
        return salvaged_of(channels, self._messages, damage)

    def _take_plain(self, code: int, content: bytes) -> None:
        if code == MESSAGE:
            channel, _, received, _ = _MESSAGE.unpack_from(content)
            self._messages.append(Saved(channel, received, content[_MESSAGE.size :]))
        elif code == SCHEMA:
            name, _ = text_at(content, _ID.size)
            self._schemas[_ID.unpack_from(content)[0]] = name
        elif code == CHANNEL:
            number, schema = _IDS.unpack_from(content)
            topic, end = text_at(content, _IDS.size)
            self._channels[number] = (schema, topic, text_at(content, end)[0])

    def _take_chunk(self, content: bytes) -> bool:
        chunk = chunk_of(content)
        if chunk.size > min(LARGEST_PART, self._left):
            return False
        plain = unpack(chunk.packed, chunk.compression, chunk.size)
        self._left -= len(plain)
        if len(plain) == chunk.size and not chunk.holds(plain):
            return False
        end, before = 0, len(self._messages)
        for record in records(plain):
            if record.whole and record.code != CHUNK:
                self._take_plain(record.code, plain[record.begin : record.end])
                end = record.end
        return self._in_time(chunk, before) and end == chunk.size

    def _in_time(self, chunk: Chunk, before: int) -> bool:
        """Leave out what cannot be of a chunk that nothing else vouches for."""
        taken = self._messages[before:]
        if not chunk.checksum:
            self._messages[before:] = [
                each for each in taken if chunk.first <= each.received <= chunk.last
            ]
        return len(self._messages) == before + len(taken)
