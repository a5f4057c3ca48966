# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A sign convention for eigenvectors, so that two trainings compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


def fix_signs(vectors: Floats) -> Floats:
    """Return the (n, m) columns with the entry of largest magnitude positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0.0, 1.0, signs)
