# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a look at an IMU message tells."""

from types import SimpleNamespace
from typing import Any

import pytest

from two_manifold_ros.interface.input_checks import imu_complaints

MODEL: Any = SimpleNamespace(imu_frame_id='imu_link', live_channels=('linear_acceleration.x',))


def message(frame: str, force: float = 0.0, rate: float = 0.0) -> Any:  # noqa: ANN401 - a stand-in
    return SimpleNamespace(
        header=SimpleNamespace(frame_id=frame),
        linear_acceleration_covariance=[force] * 9,
        angular_velocity_covariance=[rate] * 9,
    )


@pytest.mark.parametrize('frame', ['imu_link', ''])
def test_nothing_to_complain_of(frame: str) -> None:
    assert imu_complaints(message(frame), MODEL, '/imu') == {}


def test_another_frame_is_named() -> None:
    (complaint,) = imu_complaints(message('camera_imu'), MODEL, '/imu').values()
    assert "'camera_imu'" in complaint
    assert "'imu_link'" in complaint


def test_only_what_the_model_needs_has_to_be_measured() -> None:
    complaints = imu_complaints(message('imu_link', force=-1.0, rate=-1.0), MODEL, '/imu')
    assert list(complaints) == ['linear_acceleration_not_measured']
