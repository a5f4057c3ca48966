# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What anybody could predict without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Bools, Floats

LEAST_VARIANCE = 1e-4
"""m^2, so that the ellipse of a baseline without error (previous at horizon 0) exists."""


def mean_covariance(model: ModelHead) -> Floats:
    """Return the (2, 2) covariance of the training positions around their mean."""
    known = model.track[np.isfinite(model.track).all(axis=1)]
    spread = known - model.mean_position
    covariance: Floats = spread.T @ spread / len(spread)
    return covariance + LEAST_VARIANCE * np.eye(2)


def previous_covariance(model: ModelHead, horizon: int) -> Floats:
    """Return the (2, 2) mean square displacement of the training positions over a horizon."""
    known: Bools = np.all(np.isfinite(model.track), axis=1)
    # Equal counts: nothing unknown lies between, so both ends are of one segment.
    passed = np.cumsum(~known)
    ahead = model.track[horizon:]
    together: Bools = np.equal(passed[horizon:], passed[: len(ahead)])
    moved = (ahead - model.track[: len(ahead)])[together & known[: len(ahead)]]
    if not len(moved):
        return mean_covariance(model)
    covariance: Floats = moved.T @ moved / len(moved)
    return covariance + LEAST_VARIANCE * np.eye(2)
