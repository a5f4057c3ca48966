# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The ellipse of a 2 x 2 covariance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

CHI_SQUARE_95 = -2.0 * math.log(0.05)
"""95 % quantile of the chi-square distribution with two degrees of freedom."""


def ellipse95(covariance: Floats) -> tuple[float, float, float]:
    """
    Return the full lengths of the long and the short axis (metres) and the long axis' yaw.

    The ellipse of a (2, 2) covariance that holds a normal variable with probability 0.95.
    """
    variances, axes = np.linalg.eigh(covariance)
    short, long = 2.0 * np.sqrt(CHI_SQUARE_95 * np.maximum(variances, 0.0))
    return float(long), float(short), math.atan2(axes[1, 1], axes[0, 1])
