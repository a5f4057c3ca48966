# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Health of a node, and an estimate, with fields given by name."""

from dataclasses import fields
from typing import Any

import numpy as np

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.interface.assessment import Health, InputHealth


def snapshot(**known: Any) -> Health:  # noqa: ANN401 - fields of two classes
    names = {each.name for each in fields(InputHealth)} & known.keys()
    return Health(InputHealth(**{name: known.pop(name) for name in names}), **known)


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
