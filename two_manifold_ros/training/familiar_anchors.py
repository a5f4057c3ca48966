# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What is familiar, learned from the training windows alone.

Each window of an even sample is compared with those that begin at least ``APART`` windows before
or after it, as if its surroundings had not been driven. So every lap is held out once, which
tells more than one or a few held-out blocks. The same windows with their halves swapped stand
for another route: bends that occur, in an order that does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.windows.familiarity import contrast, FamiliarAnchors
from two_manifold_ros.windows.stillness import longest_stillness

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints
    from two_manifold_ros.windows.window_set import WindowSet

MOST_WINDOWS = 200
"""More of them change the medians by less than one lap differs from the next."""

APART = 2


SEED = 0


def familiar_anchors(windows: WindowSet, *, spliced: bool = False) -> FamiliarAnchors:
    """
    Return what is typical for unseen windows of the route, and of another with its bends.

    Parameters
    ----------
    windows
        Of the training.
    spliced
        Whether windows whose second half is that of any other stand for another route too, if
        they are less alike: where a window is nearly a lap, swapped halves are the route itself.

    """
    count = min(len(windows), MOST_WINDOWS)
    chosen = np.linspace(0, len(windows) - 1, count).astype(np.int64)
    rows = windows.rows(chosen)
    half = windows.width // 2 * len(windows.series)
    swapped = np.concatenate([rows[:, half:], rows[:, :half]], axis=1)
    squared, own = _nearest_and_contrast(windows, chosen, rows)
    _, other = _nearest_and_contrast(windows, chosen, swapped)
    if spliced:
        drawn = np.random.default_rng(SEED).permutation(count)
        mixed = np.concatenate([rows[:, :half], rows[drawn, half:]], axis=1)
        other = max(other, _nearest_and_contrast(windows, chosen, mixed)[1])
    return FamiliarAnchors(squared, own, other, longest_stillness(windows.series))


def _nearest_and_contrast(windows: WindowSet, chosen: Ints, rows: Floats) -> tuple[float, float]:
    """Return the medians over the rows, which are made of the chosen windows."""
    distances = windows.distances_from(rows)
    nearest, contrasts = [], []
    for index, row in zip(chosen, distances.T, strict=True):
        away = np.abs(windows.starts - windows.starts[index])
        # Where the drive is too short for that, the farthest is all there is.
        kept = row[away >= min(APART * windows.width, int(away.max()))]
        nearest.append(float(kept.min()))
        contrasts.append(contrast(nearest[-1], float(kept.mean())))
    return float(np.median(nearest)), float(np.median(contrasts))
