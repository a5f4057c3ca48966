# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The median trick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.windows.window_set import WindowSet

PAIRS = 20_000


def median_distance(windows: WindowSet) -> float:
    """
    Return the median distance between two different windows, over randomly drawn pairs.

    Raises
    ------
    InputError
        If at least half of the windows are identical, so that there is no scale.

    """
    bandwidth = float(np.sqrt(np.median(windows.pair_distances(PAIRS))))
    if not bandwidth > 0.0:
        msg = 'most windows are identical; record while the vehicle drives'
        raise InputError(msg)
    return bandwidth
