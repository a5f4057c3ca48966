# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings that several tests read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

RATE_HZ = 100
LAP_S = 8.0
RADIUS_M = 2.0


def imu_message(stamp_ns: int, sample: np.ndarray) -> dict:
    """Return an Imu as a nested dict: specific force, then angular rate."""
    return {
        'header': header(stamp_ns, 'imu_link'),
        'linear_acceleration': dict(zip('xyz', sample[:3], strict=True)),
        'angular_velocity': dict(zip('xyz', sample[3:], strict=True)),
    }


def pose_message(stamp_ns: int, position: np.ndarray) -> dict:
    """Return a PoseStamped as a nested dict."""
    return {
        'header': header(stamp_ns, 'map'),
        'pose': {'position': dict(zip('xy', position, strict=True)), 'orientation': {'w': 1.0}},
    }


def header(stamp_ns: int, frame_id: str) -> dict:
    """Return a header as a nested dict."""
    return {
        'stamp': {'sec': stamp_ns // 10**9, 'nanosec': stamp_ns % 10**9},
        'frame_id': frame_id,
    }


def circle(seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return samples (N, 6) and positions (N, 2) of laps whose speed varies within each lap."""
    # Angle of the lap, its rate and its acceleration.
    base = 2 * np.pi / LAP_S
    angle = base * seconds + 0.3 * np.sin(2 * base * seconds)
    rate = base + 0.6 * base * np.cos(2 * base * seconds)
    change = -1.2 * base**2 * np.sin(2 * base * seconds)
    zeros = np.zeros_like(seconds)
    wobble = 0.05 * np.sin(7.3 * seconds)
    samples = np.stack(
        [RADIUS_M * change, RADIUS_M * rate**2, 9.81 + wobble, wobble, -wobble, rate + zeros],
        axis=1,
    )
    return samples, RADIUS_M * np.stack([np.cos(angle), np.sin(angle)], axis=1)


@pytest.fixture(scope='session')
def recordings_folder() -> Path:
    """Real recordings beside the checkout."""
    folder = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'
    if not folder.is_dir():
        pytest.skip('real recordings are not beside the checkout')
    return folder


@pytest.fixture(scope='session')
def circle_bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six laps of a circle: ``/imu`` at 100 Hz, ``/pose`` at 25 Hz, a bag of 48 s."""
    writer = pytest.importorskip('two_manifold_ros.recordings.bag_writer')
    path = tmp_path_factory.mktemp('bags') / 'circle'
    stamps = 1_700_000_000_000_000_000 + np.arange(6 * LAP_S * RATE_HZ).astype(int) * 10_000_000
    samples, positions = circle((stamps - stamps[0]) / 1e9)
    with writer.BagWriter(path) as bag:
        for index, (stamp, sample, position) in enumerate(
            zip(stamps.tolist(), samples, positions, strict=True)
        ):
            bag.write('/imu', 'sensor_msgs/msg/Imu', stamp, imu_message(stamp, sample))
            if index % 4 == 0:
                message = pose_message(stamp, position)
                bag.write('/pose', 'geometry_msgs/msg/PoseStamped', stamp, message)
    return path
