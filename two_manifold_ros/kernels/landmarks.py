# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training points that stand for all where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Ints


def spread_landmarks(count: int, most: int) -> Ints:
    """Return evenly spread indices of ``count`` points, all of them if there are few."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))
