# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Refuse single samples before they reach any recursion, where they would linger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.ticks.channels import NO_LIMIT

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

GOOD, NON_FINITE, OUT_OF_RANGE = 0, 1, 2
CAUSES = {NON_FINITE: 'non_finite', OUT_OF_RANGE: 'out_of_range'}


@compiled
def check_sample(sample: Floats, mean: Floats, limit: Floats) -> int:
    """
    Judge one sample.

    Parameters
    ----------
    sample, mean, limit : (6,)
        The sample, and the mean and largest believable distance from it of each channel. A
        channel without a limit is not used by the model, so it may hold anything, NaN too.

    Returns
    -------
    int
        ``GOOD``, ``NON_FINITE`` or ``OUT_OF_RANGE``.

    """
    verdict = 0
    for c in range(sample.size):
        if limit[c] >= NO_LIMIT:
            continue
        value = sample[c]
        if not np.isfinite(value):
            return 1
        if not abs(value - mean[c]) <= limit[c]:
            verdict = 2
    return verdict
