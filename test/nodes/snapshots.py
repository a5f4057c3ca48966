# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An estimate with fields given by name."""

from typing import Any

import numpy as np

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.status import Status


def estimate_with(**known: Any) -> Estimate:  # noqa: ANN401 - its fields
    """Return an estimate of now and one moment later, which is tracking."""
    usual = {
        'stamp_ns': 10**9,
        'tick': 0,
        'status': Status.TRACKING,
        'cause': '',
        'why': 'tracking',
        'state': np.ones(1),
        'positions': np.zeros((2, 2)),
        'covariances': np.stack([np.eye(2)] * 2),
        'velocity': np.zeros(2),
        'velocity_covariance': np.eye(2),
        'evidence': 1.0,
        'novelty': 1.0,
        'ellipse_m': 0.1,
    }
    return Estimate(**usual | known)
