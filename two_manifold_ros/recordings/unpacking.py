# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Compressed bytes unpacked up to a bound, since few of them can stand for any number.

A bag that comes by mail may declare what it likes.
"""

from __future__ import annotations

import sys
from typing import Any, TYPE_CHECKING

from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]
from rosbags.rosbag2 import storage_mcap

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_PART = 256_000_000
"""Bytes of a chunk, or of a message, when it is unpacked."""

LARGEST_RATIO = 200
"""Of a whole file to what it is packed into; recordings of sensors come to ten or so."""

ALWAYS_ALLOWED = 100_000_000
"""Bytes of a whole file that its ratio does not matter for."""

_STEP = 1 << 20


def unpack(packed: bytes, compression: str, most: int = LARGEST_PART) -> bytes:
    """
    Return what some bytes stand for.

    Parameters
    ----------
    packed
        Cut off or not: what is there is unpacked.
    compression
        ``zstd``, ``lz4`` or an empty text.
    most
        Bytes to return at the most.

    Raises
    ------
    ValueError
        If the compression is not known, or there are more bytes.
    Exception
        Of any kind if they are damaged.

    """
    if not compression:
        return packed
    makers: dict[str, Any] = {'zstd': zstd.ZstdDecompressor, 'lz4': LZ4FrameDecompressor}
    if compression not in makers:
        msg = f'the compression {compression[:20]!r} is not known'
        raise ValueError(msg)
    parts, left = [], most + 1
    while packed and left > 0:
        # A stream may hold one frame after the other.
        frame = makers[compression]()
        parts.append(frame.decompress(packed, max_length=left))
        left -= len(parts[-1])
        packed = frame.unused_data if frame.eof else b''
    if left <= 0:
        msg = f'more than {most} bytes are packed into a part of it'
        raise ValueError(msg)
    return b''.join(parts)


def largest_unpacked(size: int) -> int:
    """Return how many bytes a file of so many may stand for."""
    return max(ALWAYS_ALLOWED, LARGEST_RATIO * size)


def unpack_file(source: Path, target: Path) -> None:
    """
    Write what a zstd file stands for, as far as it goes.

    Raises
    ------
    EOFError
        If it is cut off; what was there is written.
    ValueError
        If it is larger than any recording would be.

    """
    most = largest_unpacked(source.stat().st_size)
    with zstd.open(source, 'rb') as packed, target.open('wb') as unpacked:
        while part := packed.read(_STEP):
            unpacked.write(part)
            if unpacked.tell() > most:
                msg = f'more than {most} bytes are packed into it'
                raise ValueError(msg)


def bound_rosbags() -> None:
    """Have `rosbags` unpack chunks up to their declared size, which it looks at only later."""

    def unpacker(compression: str) -> Any:  # noqa: ANN401 - of the library's own type
        return lambda packed, size: unpack(packed, compression, min(size, LARGEST_PART))

    for compression in ('zstd', 'lz4'):
        storage_mcap.DECOMPRESSORS[compression] = unpacker(compression)
