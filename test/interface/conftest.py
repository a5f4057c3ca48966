# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""An estimate, a model and frames to publish; a drive and a model to filter it with."""

from types import SimpleNamespace

import driven_model
from filter_runs import estimate_with
import numpy as np
import pytest

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.interface.messages import Scene

drive, model_path = driven_model.drive, driven_model.model_path
sensed_path = driven_model.sensed_path


@pytest.fixture
def model() -> SimpleNamespace:
    track = [[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [np.nan, np.nan], [0.0, 2.0], [0.0, 0.0]]
    return SimpleNamespace(
        route_model=None, frame_id='arena', imu_frame_id='imu_link', horizons=(0, 10, 50),
        period_ns=50_000_000, rate_hz=20.0, track=np.array(track), routes={}, origin=None,
    )  # fmt: skip


@pytest.fixture
def scene(model: SimpleNamespace) -> Scene:
    return Scene(model, track='arena', child='base_link')


@pytest.fixture
def estimate() -> Estimate:
    return estimate_with(
        stamp_ns=1_700_000_000_123_456_789,
        tick=61,
        state=np.array([1.0, -0.25, 0.125]),
        positions=np.array([[1.0, 2.0], [1.0, 3.0], [0.0, 3.0]]),
        covariances=np.array([[[0.04, 0.01], [0.01, 0.09]]] * 3)
        * np.array([1, 4, 9])[:, None, None],
        velocity=np.array([0.0, 2.0]),
        velocity_covariance=np.array([[0.16, 0.0], [0.0, 0.25]]),
        places=np.array([[1.0, 2.0, 0.75], [-3.5, 0.25, 0.125]]),
    )
