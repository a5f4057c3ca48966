# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The nearest matrix that manifold kernel dimension reduction allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


def onto_simplex(values: Floats) -> Floats:
    """
    Return the numbers nearest to the given ones that are not negative and sum to one.

    All are lowered by as much, and those that would be negative become zero.

    Parameters
    ----------
    values : (m,)
        In any order.

    """
    falling = np.sort(values)[::-1]
    lowered = (np.cumsum(falling) - 1.0) / np.arange(1, len(values) + 1)
    level = lowered[np.flatnonzero(falling > lowered)[-1]]
    nearest: Floats = np.maximum(values - level, 0.0)
    return nearest


def onto_unit_trace(matrix: Floats) -> Floats:
    """Return the positive semidefinite matrix of trace one nearest to a symmetric (m, m) one."""
    values, vectors = np.linalg.eigh(matrix)
    nearest: Floats = (vectors * onto_simplex(values)) @ vectors.T
    return nearest
