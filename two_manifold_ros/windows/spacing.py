# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How far apart the training windows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.windows.window_set import WindowSet


def spacing_quantile(windows: WindowSet, quantile: float) -> float:
    """
    Return a quantile of the squared distance to the nearest window that does not overlap.

    Overlapping windows share observations, so they are near for no reason of the track. A window
    that all others overlap is compared with the nearest of them.
    """
    nearest = []
    for index, row in windows.distance_rows():
        apart = np.abs(windows.starts - windows.starts[index]) >= windows.width
        if not apart.any():
            apart = np.arange(len(windows)) != index
        nearest.append(float(row[apart].min()))
    return float(np.quantile(nearest, quantile))
