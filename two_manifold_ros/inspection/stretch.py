# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A stretch of time within a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Stretch:
    """
    A stretch of time.

    Parameters
    ----------
    start_s
        Seconds from the first IMU stamp, as in ``--from`` and ``--until``.
    length_s
        Seconds.

    """

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
