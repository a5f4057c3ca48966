# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What stands before the records in a chunk of an MCAP file, and its checksum."""

from __future__ import annotations

import mmap
from struct import Struct
from typing import NamedTuple, TYPE_CHECKING
from zlib import crc32

from two_manifold_ros.recordings.mcap_records import CHUNK, MAGIC, records
from two_manifold_ros.recordings.unpacking import unpack

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = Struct('<QQQI')
_LENGTH = Struct('<I')
_SIZE = Struct('<Q')
_CHECKSUM_AT = 24


class Chunk(NamedTuple):
    """
    A chunk that was not yet unpacked.

    Parameters
    ----------
    first, last
        Receive times between which its messages are, ns.
    size
        Of its records in bytes, unpacked.
    checksum
        Of its records, or 0 where there is none.
    compression
        ``zstd``, ``lz4`` or an empty text.
    packed
        Its records as they are in the file.

    """

    first: int
    last: int
    size: int
    checksum: int
    compression: str
    packed: bytes

    def holds(self, plain: bytes) -> bool:
        """Return whether these are its records, as far as its checksum tells."""
        return not self.checksum or crc32(plain) == self.checksum


def chunk_of(content: bytes) -> Chunk:
    """
    Read the content of a record that is a chunk.

    Raises
    ------
    ValueError, struct.error
        If it makes no sense.

    """
    compression, at = text_at(content, _HEAD.size)
    (length,) = _SIZE.unpack_from(content, at)
    begin = at + _SIZE.size
    first, last, size, checksum = _HEAD.unpack_from(content)
    return Chunk(first, last, size, checksum, compression, content[begin : begin + length])


def text_at(content: bytes, at: int) -> tuple[str, int]:
    """
    Return the text at a place, and where it ends.

    Raises
    ------
    ValueError, struct.error
        If it is no text, or reaches beyond its record.

    """
    (length,) = _LENGTH.unpack_from(content, at)
    begin = at + _LENGTH.size
    if begin + length > len(content):
        msg = 'a text reaches beyond its record'
        raise ValueError(msg)
    return content[begin : begin + length].decode(), begin + length


def add_checksums(file: Path) -> None:
    """Give the chunks of a whole file their checksums: the writer of `rosbags` has none."""
    with file.open('r+b') as stream, mmap.mmap(stream.fileno(), 0) as content:
        for record in records(content, len(MAGIC)):
            if record.code == CHUNK:
                chunk = chunk_of(content[record.begin : record.end])
                plain = unpack(chunk.packed, chunk.compression, chunk.size)
                begin = record.begin + _CHECKSUM_AT
                content[begin : begin + _LENGTH.size] = _LENGTH.pack(crc32(plain))
