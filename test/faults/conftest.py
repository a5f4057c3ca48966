# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A model and a healthy drive, to which the rows of the fault matrix are done."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from stream_faults import HealthyDrive, RATE_HZ

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

TRAINED_S, DRIVEN_S = 75.0, 50.0
PER_SAMPLE = ('stamps_ns', 'imu', 'positions', 'quaternions', 'distances', 'speeds')


@pytest.fixture(scope='session')
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, HealthyDrive]]:
    """A model of 10 Hz and windows of 20 ticks, and what was driven after its training."""
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    path = tmp_path_factory.mktemp('faults') / 'model.npz'
    samples = round((TRAINED_S + DRIVEN_S) * RATE_HZ)
    run = simulate(SlotCarSettings(seed=5, rate_hz=RATE_HZ), samples=samples)
    # One car on one day, which is followed more sharply than another day's drive would allow.
    settings = TrainingSettings(
        rate_hz=10.0, window=20, states=8, horizons=(0, 5, 10), sharpness=0.4, persistence=0.5
    )
    model = train_model([run_to_recording(run).between(None, TRAINED_S)], settings)
    save_model(model, path)
    rows = slice(round(TRAINED_S * RATE_HZ), None)
    after = replace(run, **{name: getattr(run, name)[rows] for name in PER_SAMPLE})
    machine = Filter(model)
    pairs = zip(after.stamps_ns.tolist(), after.imu, strict=True)
    estimates = [each for pair in pairs for each in machine.push(*pair)]
    with pytest.MonkeyPatch.context() as patch:
        # Processes start quickly in this environment.
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        patch.setenv('PYTHONUNBUFFERED', '1')
        yield path, HealthyDrive(after, estimates)
