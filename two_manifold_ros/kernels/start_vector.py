# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where iterative eigensolvers start, so that two trainings compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


def start_vector(count: int) -> Floats:
    """
    Return (count,) fixed irregular numbers.

    A constant vector will not do: where it is itself an eigenvector the solver goes on at
    random, and where it shares a symmetry of the matrix the solver finds no mode without it.
    """
    return np.random.default_rng(0).standard_normal(count)
