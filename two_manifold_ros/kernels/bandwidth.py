# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The median trick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.kernels.samples import require_enough

if TYPE_CHECKING:
    from two_manifold_ros.kernels.samples import Samples

PAIRS = 20_000


def median_distance(samples: Samples) -> float:
    """
    Return the median distance between two different points, over randomly drawn pairs.

    Raises
    ------
    InputError
        If at least half of the points are identical, so that there is no scale.

    """
    bandwidth = float(np.sqrt(np.median(samples.pair_distances(PAIRS))))
    if not bandwidth > 0.0:
        msg = 'most points are identical; leave out the copies (of windows: record while driving)'
        raise InputError(msg)
    return bandwidth


def require_scale(samples: Samples, dimension: int, neighbours: int | None = None) -> float:
    """
    Refuse what no learner can embed; return the median distance, which not every learner needs.

    Raises
    ------
    InputError
        If there are too few points, see ``require_enough``, or most are identical.

    """
    require_enough(samples, dimension, neighbours)
    return median_distance(samples)
