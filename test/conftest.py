# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings and models that several tests read, and which tests stay in one process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from two_manifold_ros.model.model import Model, RouteModel
from two_manifold_ros.threads import one_blas_thread

# As in every program of the package, and before anything imports NumPy.
one_blas_thread()

import hypothesis
import numpy as np
from other_models import small_tpsr
import pytest

from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

# The same examples every time, and no deadline: the first example compiles loops.
hypothesis.settings.register_profile('repeatable', derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile('repeatable')

IMU_TYPE = 'sensor_msgs/msg/Imu'
POSE_TYPE = 'geometry_msgs/msg/PoseStamped'
START_NS = 1_700_000_000_000_000_000

TOGETHER = ('test/adapting/', 'test/faults/', 'test/promises/', 'test/real/')
"""Folders that one process takes as a whole: what their files share is expensive."""

FIRST = ('test/training/test_time_scales.py', 'test/benchmarks/')
"""What has to start early, or it would be left over at the end, when no other process has work."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each of several processes a file at a time, under `--dist loadgroup`."""
    if hasattr(config, 'workerinput'):
        items.sort(key=lambda item: not item.nodeid.startswith(FIRST))
        for item in items:
            whole = (folder for folder in TOGETHER if item.nodeid.startswith(folder))
            item.add_marker(pytest.mark.xdist_group(next(whole, item.nodeid.split('::')[0])))


@pytest.fixture(scope='session')
def recordings_folder() -> Path:
    """Return the folder of real recordings beside the checkout."""
    folder = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'
    if not folder.is_dir():
        pytest.skip('real recordings are not beside the checkout')
    return folder


@pytest.fixture(scope='session')
def drive() -> Callable[..., Recording]:
    """Return a function that drives laps of an ellipse: IMU at 100 Hz, positions at 25 Hz."""
    return _drive


@pytest.fixture(scope='session')
def write_bag() -> Callable[..., Path]:
    """Return a function that writes a recording into a bag."""
    pytest.importorskip('rosbags')
    return _write_bag


@pytest.fixture(scope='session')
def ellipse_bag(tmp_path_factory: pytest.TempPathFactory, write_bag: Callable[..., Path]) -> Path:
    """Return a bag of 48 s, six laps, with ``/imu`` and ``/pose``."""
    return write_bag(tmp_path_factory.mktemp('bags') / 'ellipse', _drive())


@pytest.fixture(scope='session')
def slot_car_laps() -> tuple[Recording, Recording]:
    """Return laps of the slot car at 10 Hz: 16 to train on, and the next 4 to test on."""
    run = simulate(SlotCarSettings(seed=1, rate_hz=10.0), laps=20)
    seconds = 0.8 * float(np.ptp(run.stamps_ns)) / 1e9
    recording = run_to_recording(run)
    return recording.between(None, seconds), recording.between(seconds, None)


@pytest.fixture(scope='session')
def slot_car_model(slot_car_laps: tuple[Recording, Recording]) -> RouteModel:
    """Return a model of the slot car: 10 Hz, windows of 20 ticks, horizons 0, 5 and 20."""
    return train_model([slot_car_laps[0]], TrainingSettings(window=20, horizons=(0, 5, 20)))


@pytest.fixture(scope='session')
def spectral_model(slot_car_laps: tuple[Recording, Recording]) -> Model:
    """Return the same, but with the spectral filter."""
    settings = TrainingSettings(window=20, horizons=(0, 5, 20), method='spectral')
    return train_model([slot_car_laps[0]], settings)


@pytest.fixture(scope='session')
def tpsr_model(slot_car_laps: tuple[Recording, Recording]) -> Model:
    """Return a TPSR of the same laps, windows and horizons."""
    return small_tpsr(slot_car_laps[0], (0, 5, 20))


def _drive(seconds: float = 48.0, lap_s: float = 8.0, late_s: float = 0.0) -> Recording:
    """Drive an ellipse of 4 m x 2 m; the stamps of the positions are late by ``late_s``."""
    elapsed_ns = np.arange(round(seconds * 100)) * 10_000_000
    omega = 2 * np.pi / lap_s
    angle = omega * elapsed_ns / 1e9
    position = np.stack([2 * np.cos(angle), np.sin(angle)], axis=1)
    velocity = omega * np.stack([-2 * np.sin(angle), np.cos(angle)], axis=1)
    acceleration = -(omega**2) * position
    speed = np.linalg.norm(velocity, axis=1)
    forward = velocity / speed[:, None]
    left = np.stack([-forward[:, 1], forward[:, 0]], axis=1)
    noise = np.random.default_rng(0).normal(scale=0.02, size=(len(angle), 6))
    samples = noise + np.stack(
        [
            (acceleration * forward).sum(axis=1),
            (acceleration * left).sum(axis=1),
            np.full(len(angle), 9.81),
            np.zeros(len(angle)),
            np.zeros(len(angle)),
            (acceleration * left).sum(axis=1) / speed,
        ],
        axis=1,
    )
    stamps = START_NS + elapsed_ns
    return Recording(
        name='ellipse',
        imu=ImuStream('/imu', 'imu_link', stamps, samples, stamps),
        positions=PositionStream(
            '/pose', 'map', POSE_TYPE, stamps[::4] + round(late_s * 1e9), position[::4]
        ),
    )


def _write_bag(path: Path, recording: Recording, **options: Any) -> Path:  # noqa: ANN401 - passed on
    """Write with the `BagWriter`, which takes the options; receive times are the stamps."""
    from two_manifold_ros.recordings.bag_writer import BagWriter  # noqa: PLC0415 - an extra

    imu, positions = recording.imu, recording.positions
    rows = [
        (stamp, imu.topic, IMU_TYPE, _imu_message(stamp, imu.frame_id, sample))
        for stamp, sample in zip(imu.stamps.tolist(), imu.samples.tolist(), strict=True)
    ]
    if positions is not None:
        rows += [
            (stamp, positions.topic, POSE_TYPE, _pose_message(stamp, positions.frame_id, xy))
            for stamp, xy in zip(
                positions.stamps.tolist(), positions.positions.tolist(), strict=True
            )
        ]
    with BagWriter(path, **options) as bag:
        for stamp, topic, msgtype, message in sorted(rows, key=lambda row: row[0]):
            bag.write(topic, msgtype, stamp, message)
    return path


def _imu_message(stamp: int, frame_id: str, sample: list[float]) -> dict[str, Any]:
    return {
        'header': _header(stamp, frame_id),
        'linear_acceleration': dict(zip('xyz', sample[:3], strict=True)),
        'angular_velocity': dict(zip('xyz', sample[3:], strict=True)),
    }


def _pose_message(stamp: int, frame_id: str, xy: list[float]) -> dict[str, Any]:
    return {
        'header': _header(stamp, frame_id),
        'pose': {'position': dict(zip('xy', xy, strict=True)), 'orientation': {'w': 1.0}},
    }


def _header(stamp: int, frame_id: str) -> dict[str, Any]:
    seconds, nanoseconds = divmod(stamp, 1_000_000_000)
    return {'stamp': {'sec': seconds, 'nanosec': nanoseconds}, 'frame_id': frame_id}
