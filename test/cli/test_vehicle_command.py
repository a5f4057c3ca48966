# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold vehicle`, and `evaluate --vehicle` with what it wrote."""

from dataclasses import replace
import re

import numpy as np
import pytest

from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.model.vehicle import load_vehicle
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate, write_run
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

pytest.importorskip('rosbags')
pytest.importorskip('rich')


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    """Return a bag of a vehicle whose gyroscope is scaled, and whose accelerometer is biased."""
    path = tmp_path_factory.mktemp('vehicle') / 'bag'
    run = simulate(SlotCarSettings(seed=2, rate_hz=10.0), laps=12)
    imu = run.imu * [1.0, 1.0, 1.0, 1.0, 1.0, 1.12] + [0.0, 0.6, 0.0, 0.0, 0.0, 0.0]
    write_run(replace(run, imu=imu), path)
    return path


def test_a_vehicle_is_measured_and_evaluated(command, model_file, bag, tmp_path):
    found = tmp_path / 'vehicle.json'
    said = command.json('vehicle', model_file, bag, '-o', found)
    written = load_vehicle(str(found))
    assert said['counted'] > 0.5 * said['ticks']
    np.testing.assert_allclose(np.degrees(written.angles), said['angles_deg'])
    assert written.scales[5] == pytest.approx(0.12, abs=4.0 * written.deviations[8])
    words = command.words('vehicle', model_file, bag)
    assert f'turned about x, degrees {said["angles_deg"][0]:.4f} ' in words
    assert 'not measured' not in words
    errors_m = [
        command.json('evaluate', model_file, bag, *more)['horizons']['0']['all']['rmse_m']
        for more in ((), ('--vehicle', found))
    ]
    assert errors_m[1] < errors_m[0]


def test_what_a_drive_does_not_show_is_not_measured(command, tmp_path):
    """A prior is no result: three channels are dead."""
    run = simulate(SlotCarSettings(seed=1, rate_hz=10.0), laps=12)
    planar = replace(run, imu=run.imu * [1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    write_run(planar, tmp_path / 'planar')
    settings = TrainingSettings(window=20, horizons=(0, 5), sharpness=0.2)
    save_model(train_model([run_to_recording(planar)], settings), tmp_path / 'planar.npz')
    words = command.words('vehicle', tmp_path / 'planar.npz', tmp_path / 'planar')
    for name in ('linear_acceleration.z', 'angular_velocity.x', 'angular_velocity.y'):
        assert f'scale error of {name} not measured - ' in words
        assert re.search(rf'bias of {name}, \S+ not measured -', words)
    assert not re.search(r'angular_velocity.z(, \S+)? not measured', words)
