# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The metric of the features: how much they differ between passes of one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

SHRINKAGE = 0.05
"""Of the correlations, so that few passes do not make a direction look free of noise."""

LEAST_VARIANCE = 1e-6
"""Of a feature, so that one which never differed does not outvote all others when it does."""

FEWEST_PAIRS = 100
"""Below this the scatter over the whole drive stands in: no place was passed twice."""


def whitening(features: Floats, passes: Ints, settled: Ints) -> Floats:
    """
    Learn the map in which the scatter between passes of one place is a unit sphere.

    Parameters
    ----------
    features : (N, f)
        Of the training ticks.
    passes : (N, p) int64
        From ``find_passes``.
    settled : (m,) int64
        Ticks whose slow means have settled.

    Returns
    -------
    (f, f)
        To be multiplied to the right of features.

    """
    usable = np.zeros(len(features), dtype=np.bool_)
    usable[settled] = True
    here, column = np.nonzero(passes >= 0)
    there = passes[here, column]
    both = usable[here] & usable[there]
    if np.count_nonzero(both) < FEWEST_PAIRS:
        rows = features[settled]
        centred = rows - rows.mean(axis=0)
        scatter: Floats = centred.T @ centred / len(rows)
    else:
        differences = features[here[both]] - features[there[both]]
        scatter = differences.T @ differences / (2.0 * len(differences))
    variances = np.maximum(np.diag(scatter), LEAST_VARIANCE)
    scatter *= 1.0 - SHRINKAGE
    np.fill_diagonal(scatter, variances)
    root = np.linalg.cholesky(scatter)
    # Triangular to the last digit, which a general inverse is only by luck of the rounding.
    inverse: Floats = solve_triangular(root, np.eye(len(root)), lower=True).T
    return inverse
