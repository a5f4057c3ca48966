# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold vehicle`, and `evaluate --vehicle` with what it wrote."""

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.model.vehicle import load_vehicle
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

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
    assert 'turned about x, degrees' in command.words('vehicle', model_file, bag)
    errors_m = [
        command.json('evaluate', model_file, bag, *more)['horizons']['0']['all']['rmse_m']
        for more in ((), ('--vehicle', found))
    ]
    assert errors_m[1] < errors_m[0]


def test_what_goes_with_no_vehicle_is_refused(command, model_file, bag, tmp_path):
    found = tmp_path / 'vehicle.json'
    found.write_text('{}')
    refused = command.refused('evaluate', model_file, bag, '--vehicle', found)
    assert 'two-manifold vehicle' in refused
    assert '--fleet' in command.refused('evaluate', model_file, bag, '--fleet', '--vehicle', found)
