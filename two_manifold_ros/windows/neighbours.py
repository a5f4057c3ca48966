# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The nearest of many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


def nearest(distances: Floats, count: int) -> Ints:
    """Return the indices of the smallest entries of (n,) distances, smallest first."""
    if count < len(distances):
        candidates = np.argpartition(distances, count - 1)[:count]
    else:
        candidates = np.arange(len(distances))
    order = np.lexsort((candidates, distances[candidates]))
    return candidates[order].astype(np.int64)
