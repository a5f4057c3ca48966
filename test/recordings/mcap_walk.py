# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Walk the records of an MCAP file, to damage some of them."""

from __future__ import annotations

import struct
from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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
