# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A bag, and a model trained from it, for the commands that need them."""

from pathlib import Path

from command_runs import Command
import pytest

from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Keep progress from being printed however busy the machine is."""
    monkeypatch.setattr('two_manifold_ros.progress.PATIENCE_S', 600.0)
    return Command(capsys)


@pytest.fixture(scope='session')
def slot_car_bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag with other laps than the model was trained on, 46 s at 10 Hz."""
    pytest.importorskip('rosbags')
    path: Path = tmp_path_factory.mktemp('bags') / 'slot_car'
    write_run(simulate(SlotCarSettings(seed=2, rate_hz=10.0), laps=5), path)
    return path


@pytest.fixture(scope='session')
def model_file(slot_car_model: RouteModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp('models') / 'slot_car.npz'
    save_model(slot_car_model, path)
    return path
