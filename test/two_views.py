# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two noisy views of one hidden signal, for the tests of what couples them."""

import numpy as np

from two_manifold_ros.hse_hmm.tables import RIDGE


def coupled_features(n: int = 60, future: int = 7, past: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Make centred features of two noisy views of one hidden signal."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 5)) * [1.5, 1.3, 1.0, 0.8, 0.6]
    views = [
        hidden @ np.linalg.qr(rng.normal(size=(size, 5)))[0].T + 0.2 * rng.normal(size=(n, size))
        for size in (future, past)
    ]
    return tuple(view - view.mean(axis=0) for view in views)


def ridged_covariance(features: np.ndarray) -> np.ndarray:
    """Return the covariance with the ridge of the couplings that whiten."""
    covariance = features.T @ features / len(features)
    return covariance + RIDGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
