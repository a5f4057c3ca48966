# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The learned track as few enough points to draw."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats

MOST_POINTS = 4000
"""About how many points a drawn track has at most: a message of 100 kB once a second."""
FINEST = 1 / 500
"""Points nearer to each other than this share of the track's size add nothing to see."""


class DrawnTrack(NamedTuple):
    """
    What there is to draw of a track.

    Parameters
    ----------
    size
        As of `track_size`.
    runs
        As of `track_runs`.

    """

    size: float
    runs: list[Floats]


class _SameArray(NamedTuple):
    """An array as a key: the same object, not the same numbers."""

    array: Floats

    def __hash__(self) -> int:
        return id(self.array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameArray) and self.array is other.array


def drawn_track(track: Floats) -> DrawnTrack:
    """
    Return what to draw of (n, 2) positions with NaN rows, found once for each array.

    The array must not be changed afterwards; those of models are not.
    """
    return _drawn_track(_SameArray(track))


# As many as models are in use at once, in a process that compares two.
@lru_cache(maxsize=2)
def _drawn_track(track: _SameArray) -> DrawnTrack:
    return DrawnTrack(track_size(track.array), track_runs(track.array))


def track_size(track: Floats) -> float:
    """Return the longer side, in metres, of the box around (n, 2) positions with NaN rows."""
    finite = track[np.isfinite(track).all(axis=1)]
    if len(finite) == 0:
        return 1.0
    return max(float(np.ptp(finite, axis=0).max()), 1e-3)


def track_runs(track: Floats) -> list[Floats]:
    """
    Split (n, 2) positions at NaN rows into runs of at least two points, thinned for drawing.

    Every run keeps its ends; between them points are taken at even distances along it.
    """
    known = np.isfinite(track).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]])))
    runs = [track[start:end] for start, end in edges.reshape(-1, 2) if end - start > 1]
    lengths = [_arc_length(run) for run in runs]
    total = sum(float(length[-1]) for length in lengths)
    spacing = max(track_size(track) * FINEST, total / MOST_POINTS)
    return [run[_every(length, spacing)] for run, length in zip(runs, lengths, strict=True)]


def _arc_length(run: Floats) -> Floats:
    steps = np.hypot(*np.diff(run, axis=0).T)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _every(length: Floats, spacing: float) -> Bools:
    cell = np.floor(length / spacing)
    keep = np.diff(cell, prepend=-1.0) > 0
    keep[-1] = True
    return keep
