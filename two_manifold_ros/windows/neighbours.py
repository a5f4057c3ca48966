# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours among the windows of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints
    from two_manifold_ros.windows.window_set import WindowSet


def nearest(distances: Floats, count: int) -> Ints:
    """Return the indices of the smallest entries of (n,) distances, smallest first."""
    if count < len(distances):
        candidates = np.argpartition(distances, count - 1)[:count]
    else:
        candidates = np.arange(len(distances))
    order = np.lexsort((candidates, distances[candidates]))
    return candidates[order].astype(np.int64)


def nearest_neighbours(windows: WindowSet, count: int) -> tuple[Ints, Floats]:
    """
    Find the nearest other windows of every window, exactly.

    Returns
    -------
    indices : (n, count) int64, squared : (n, count)
        Smallest distance first.

    """
    count = min(count, len(windows) - 1)
    indices = np.empty((len(windows), count), dtype=np.int64)
    squared = np.empty((len(windows), count))
    for index, row in windows.distance_rows():
        row[index] = np.inf
        found = nearest(row, count)
        indices[index] = found
        squared[index] = row[found]
    return indices, squared
