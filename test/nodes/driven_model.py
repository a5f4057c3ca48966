# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fixtures: laps of the slot car, and a small model of them."""

from pathlib import Path

import pytest

from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate, SlotCarRun
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model


@pytest.fixture(scope='session')
def drive() -> SlotCarRun:
    """Laps of the slot car: six for training, one more to drive live."""
    return simulate(SlotCarSettings(seed=5, rate_hz=50.0), laps=7)


# One car on one day, which is followed more sharply than another day's drive would allow.
SETTINGS = TrainingSettings(rate_hz=10.0, window=20, states=8, horizons=(0, 5, 10), sharpness=0.4)


@pytest.fixture(scope='session')
def model_path(drive: SlotCarRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('model') / 'model.npz'
    save_model(train_model([run_to_recording(drive)], SETTINGS), path)
    return path


@pytest.fixture(scope='session')
def sensed_path(drive: SlotCarRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('model') / 'sensed.npz'
    save_model(train_model([run_to_recording(drive, ('magnetometer',))], SETTINGS), path)
    return path
