# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What anybody could predict without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.typing import Floats

LEAST_VARIANCE = 1e-4
"""m^2, so that the ellipse of a baseline without error (previous at horizon 0) exists."""


def mean_covariance(model: Model) -> Floats:
    """Return the (2, 2) covariance of the training positions around their mean."""
    known = model.track[np.isfinite(model.track).all(axis=1)]
    spread = known - model.mean_position
    covariance: Floats = spread.T @ spread / len(spread)
    return covariance + LEAST_VARIANCE * np.eye(2)


def previous_covariance(model: Model, horizon: int) -> Floats:
    """Return the (2, 2) mean square displacement of the training positions over a horizon."""
    ahead = model.track[horizon:]
    moved = ahead - model.track[: len(ahead)]
    moved = moved[np.isfinite(moved).all(axis=1)]
    if not len(moved):
        return mean_covariance(model)
    covariance: Floats = moved.T @ moved / len(moved)
    return covariance + LEAST_VARIANCE * np.eye(2)
