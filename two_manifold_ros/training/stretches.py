# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stretches of the training drives that are kept: few, but from all along the route."""

from __future__ import annotations

import itertools
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.merging import Places
    from two_manifold_ros.typing import Ints

MOST_TICKS = 3_000
"""
Ticks that a model of a route keeps, and whose windows are embedded, however long the recordings.

Of a window above a sixth of them six windows, of which some have to be whole.
"""

STRETCHES = 10
"""In which they come, unless six windows are longer: what is next to a seam is in no window."""

LEAST_WINDOWS = 6


class Stretch(NamedTuple):
    """
    Ticks of a segment.

    Parameters
    ----------
    segment
        Which one.
    begin, end
        Its first tick, and that after its last.

    """

    segment: int
    begin: int
    end: int


def choose_stretches(
    lengths: Sequence[int], places: Places, window: int, ticks: int = MOST_TICKS
) -> list[Stretch]:
    """
    Choose stretches that visit as many places as they can, then all once more, and so on.

    Parameters
    ----------
    lengths
        Ticks of each segment.
    places
        Of the route.
    window
        Ticks in a window.
    ticks
        Of all stretches together, unless six windows are longer.

    Returns
    -------
    list of Stretch
        In order, none beside another; all of the drives where those are short.

    """
    most = max(ticks, LEAST_WINDOWS * window)
    if sum(lengths) <= most:
        return [Stretch(segment, 0, length) for segment, length in enumerate(lengths)]
    parts = _parts(lengths, max(most // STRETCHES, LEAST_WINDOWS * window))
    visits = [_visited(part, places, window) for part in parts]
    chosen: list[int] = []
    left = most
    seen: set[int] = set()
    while True:
        open_ = [
            index
            for index, part in enumerate(parts)
            if index not in chosen and part.end - part.begin <= left
        ]
        if not open_:
            return _joined(sorted(parts[index] for index in chosen))
        best = max(open_, key=lambda index: len(visits[index] - seen))
        if not visits[best] - seen:
            # All that can be seen was: begin another round.
            seen = set()
            best = max(open_, key=lambda index: len(visits[index]))
        chosen.append(best)
        seen |= visits[best]
        left -= parts[best].end - parts[best].begin


def _parts(lengths: Sequence[int], length: int) -> list[Stretch]:
    parts = []
    for segment, ticks in enumerate(lengths):
        edges = np.linspace(0, ticks, 1 + max(-(-ticks // length), 1)).round().astype(int).tolist()
        parts += [Stretch(segment, *pair) for pair in itertools.pairwise(edges)]
    return parts


def _visited(part: Stretch, places: Places, window: int) -> set[int]:
    """Return which places are visited where there is a window before and after."""
    inside: Ints = np.flatnonzero(
        (places.segments == part.segment)
        & (places.times >= part.begin + window)
        & (places.times < part.end - window)
    )
    return set(places.visited[inside].tolist())


def _joined(parts: Sequence[Stretch]) -> list[Stretch]:
    joined: list[Stretch] = []
    for part in parts:
        if joined and joined[-1].segment == part.segment and joined[-1].end == part.begin:
            joined[-1] = joined[-1]._replace(end=part.end)
        else:
            joined.append(part)
    return joined
