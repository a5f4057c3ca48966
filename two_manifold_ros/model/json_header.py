# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""JSON values out of bytes by anybody: small, flat, and nothing but what was written."""

from __future__ import annotations

import json
from typing import Any

from two_manifold_ros.model.refusing import UnfitError

LARGEST_HEADER = 4_000_000
"""Bytes; when it is read, a header takes some thirty times as many."""

DEEPEST = 50
"""Tables within tables."""


def parse_header(raw: bytes) -> dict[str, Any]:
    """
    Return the table that is written in some bytes.

    Raises
    ------
    UnfitError
        If they are too many, no table, nested too deeply, name something twice, or hold a whole
        number of more than 64 bits.
    ValueError, RecursionError
        If they are no JSON.

    """
    if len(raw) > LARGEST_HEADER:
        msg = f'its header has {len(raw)} bytes, more than {LARGEST_HEADER}'
        raise UnfitError(msg)
    content = json.loads(raw.decode(), object_pairs_hook=_table, parse_int=_whole)
    if not isinstance(content, dict):
        msg = 'its header is no table'
        raise UnfitError(msg)
    _check_depth(content, DEEPEST)
    return content


def _check_depth(value: object, left: int) -> None:
    """Refuse what the parser could follow and another reader perhaps not."""
    if not left:
        msg = f'its header is nested more than {DEEPEST} deep'
        raise UnfitError(msg)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            _check_depth(part, left - 1)


def _whole(digits: str) -> int:
    number = int(digits)
    if not -(2**63) <= number < 2**63:
        msg = 'its header holds a whole number that no array can hold'
        raise UnfitError(msg)
    return number


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        msg = 'its header names something twice'
        raise UnfitError(msg)
    return table
