# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of predicted positions, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.readout.calibration import CHI_SQUARE, squared_mahalanobis

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Score:
    """
    How far predictions were off.

    Parameters
    ----------
    rmse_m, median_m
        Root mean square and median distance, metres.
    coverage68, coverage95
        Share of true positions inside the 68 % and 95 % ellipse; ``None`` without ellipses.
    n
        Predictions whose truth is known. With none, the other numbers are ``None``.

    """

    rmse_m: float | None
    median_m: float | None
    coverage68: float | None
    coverage95: float | None
    n: int


def score(errors: Floats, covariances: Floats) -> Score:
    """
    Score predictions.

    Parameters
    ----------
    errors : (T, 2)
        Predicted minus true, NaN where the truth is not known.
    covariances : (T, 2, 2)
        NaN where there is no ellipse.

    """
    known = np.isfinite(errors).all(axis=1)
    count = int(np.count_nonzero(known))
    if not count:
        return Score(None, None, None, None, 0)
    distances = np.linalg.norm(errors[known], axis=1)
    rmse, median = float(np.sqrt(np.mean(np.square(distances)))), float(np.median(distances))
    if not np.isfinite(covariances[known]).all():
        return Score(rmse, median, None, None, count)
    squared = squared_mahalanobis(errors[known], covariances[known])
    inside68, inside95 = (float(np.mean(squared <= limit)) for limit in CHI_SQUARE)
    return Score(rmse, median, inside68, inside95, count)
