# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Findings: what the user should know about a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Stretch:
    """A stretch of time: its start, seconds from the first IMU stamp, and its length."""

    start_s: float
    length_s: float

    def __str__(self) -> str:
        return f'{self.length_s:.2f} s from {self.start_s:.1f} s on'


def listed(stretches: Sequence[Stretch], most: int = 5) -> str:
    """Return the longest few as words, in the order of time."""
    longest = sorted(stretches, key=lambda stretch: -stretch.length_s)[:most]
    text = ', '.join(str(each) for each in sorted(longest, key=lambda each: each.start_s))
    more = len(stretches) - len(longest)
    return f'{text} and {more} shorter' if more else text


Severity: TypeAlias = Literal['info', 'warning']


@dataclass(frozen=True)
class Finding:
    """A stable code for machines, and a sentence: what was found and what to do about it."""

    severity: Severity
    code: str
    sentence: str


def info(code: str, sentence: str) -> Finding:
    """Return a finding that cannot spoil a model."""
    return Finding('info', code, sentence)


def warning(code: str, sentence: str) -> Finding:
    """Return a finding that can spoil a model."""
    return Finding('warning', code, sentence)
