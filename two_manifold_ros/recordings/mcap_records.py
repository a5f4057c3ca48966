# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The records of an MCAP file, one after the other, as far as they go.

A record is a code (one byte), its length (eight) and that many bytes. Where lengths make no sense
any more, the next place is looked for from which three records follow one another.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 1, 2, 3, 4, 5, 6, 15
MAGIC = b'\x89MCAP0\r\n'

_HEAD = 9
_LEAST = {
    HEADER: 8, FOOTER: 20, SCHEMA: 14, CHANNEL: 16, MESSAGE: 22, CHUNK: 40, 7: 6, 8: 60, 9: 46,
    10: 44, 11: 46, 12: 8, 13: 20, 14: 17, DATA_END: 4,
}  # fmt: skip
_IN_A_ROW = 3
# Code, then a length of less than 2^40.
_CANDIDATE = re.compile(rb'(?=[\x01-\x0f].{5}\x00{3})', re.DOTALL)


class Record(NamedTuple):
    """A record: its code, where its content is, and whether all of it is there."""

    code: int
    begin: int
    end: int
    whole: bool


def records(content: bytes | mmap, begin: int = 0, *, search: bool = False) -> Iterator[Record]:
    """
    Yield the records of a file or of a chunk; the last one may be cut off.

    Parameters
    ----------
    content
        That holds them.
    begin
        Where the first one is.
    search
        Whether to go on behind what makes no sense, else it ends there.

    """
    at: int | None = begin
    while at is not None and at + _HEAD <= len(content):
        record = _record(content, at)
        if record is None or not (record.whole or _is_tail(content, record, search)):
            at = _next(content, at + 1) if search else None
            continue
        yield record
        at = record.end


def _record(content: bytes | mmap, at: int) -> Record | None:
    code = content[at]
    length = int.from_bytes(content[at + 1 : at + _HEAD], 'little')
    if length < _LEAST.get(code, len(content)):
        return None
    end = at + _HEAD + length
    return Record(code, at + _HEAD, min(end, len(content)), end <= len(content))


def _is_tail(content: bytes | mmap, record: Record, search: bool) -> bool:
    """Return whether a record ends with the file, and not for a wrong length."""
    return not search or _next(content, record.begin) is None


def _next(content: bytes | mmap, begin: int) -> int | None:
    """Return where some records follow one another again."""
    candidates = (each.start() for each in _CANDIDATE.finditer(content, begin))
    return next((at for at in candidates if _follow(content, at)), None)


def _follow(content: bytes | mmap, at: int) -> bool:
    for _ in range(_IN_A_ROW):
        if content[at : at + len(MAGIC)] == MAGIC and at + len(MAGIC) == len(content):
            return True
        if at + _HEAD > len(content):
            return False
        record = _record(content, at)
        if record is None or not record.whole:
            return False
        at = record.end
    return True
