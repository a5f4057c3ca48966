# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a filter node says about itself when it is configured."""

from types import SimpleNamespace
from typing import Any

import pytest

from two_manifold_ros.filtering.state_machine import EllipseLimits
from two_manifold_ros.interface.topics import Frames
from two_manifold_ros.nodes.health import wiring

MODEL: Any = SimpleNamespace(
    rate_hz=20.0,
    period_ns=50_000_000,
    window=60,
    states=12,
    horizons=(0, 10),
    summary={'seconds': 120.5, 'segments': 1, 'validation': {'much': 'more'}},
    live_channels=('angular_velocity.z',),
    imu_frame_id='',
    frame_id='odom',
)


def told(imu_topic: str, topics: dict[str, str], frames: Frames) -> str:
    limits = EllipseLimits(0.35, 0.7)
    return '\n'.join(wiring(MODEL, 'm.npz', limits, imu_topic, topics, frames, 2.0))


@pytest.mark.parametrize(('track', 'lines'), [('map', 1), ('odom', 0)])
def test_positions_trained_in_another_frame_are_told(track: str, lines: int) -> None:
    text = told('/imu', {}, Frames(track, 'car'))
    odd = "Positions were trained in 'odom' and are published in 'map'"
    assert text.count(odd) == text.count('were trained in') == lines


def test_topics_rates_frames_and_channels_in_force_are_named() -> None:
    topics = {'position': '/position', 'odometry': '/car/odom'}
    text = told('/driver/imu', topics, Frames('map', 'car'))
    for part in (
        'm.npz: 20 Hz, windows of 60 ticks (3 s), 12 states, horizons 0, 0.5 s',
        'seconds 120.5, segments 1',
        '/driver/imu (sensor_msgs/msg/Imu',
        'at least 20 Hz; uses angular_velocity.z',
        'Publishes position, odometry -> /car/odom',
        'positions in map, velocities in car; training used an IMU in an unnamed frame',
        'unsure above 0.35 m of half the 95 % ellipse, lost above 0.7 m; no data after 2 s',
    ):
        assert part in text
    assert 'much' not in text
