# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sensors beside the IMU of `train`, and of what is done with such a model."""

import json

import pytest

from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

SENSORS = ('magnetometer', 'wheel')
NAMED = ['--sensor-topic', '/magnetometer', '--sensor-topic', '/wheel:twist.linear.x']


@pytest.fixture(scope='module')
def runs():
    return [simulate(SlotCarSettings(seed, rate_hz=10.0), laps=10) for seed in (1, 2)]


@pytest.fixture(scope='module')
def bags(runs, tmp_path_factory):
    pytest.importorskip('rosbags')
    folder = tmp_path_factory.mktemp('bags')
    for index, run in enumerate(runs):
        write_run(run, folder / str(index), SENSORS)
    write_run(runs[1], folder / 'without')
    return [folder / '0', folder / '1', folder / 'without']


@pytest.fixture(scope='module')
def models(bags, tmp_path_factory):
    from two_manifold_ros.__main__ import main  # noqa: PLC0415 - needs rosbags

    folder = tmp_path_factory.mktemp('models')
    for name, given in (('with', NAMED), ('without', [])):
        arguments = [bags[0], '-o', folder / name, '--window', '20', '--horizons', '0,5', *given]
        assert main(['train', *map(str, arguments)]) == 0
    return folder / 'with', folder / 'without'


def rmse(content: dict) -> float:
    """Return the error of the present position."""
    found: float = content['horizons']['0']['all']['rmse_m']
    return found


def test_a_model_knows_its_sensors_and_is_better_with_them(models, bags, command):
    model, alone = map(load_model, models)
    assert model.further_names == (
        '/magnetometer:magnetic_field.x',
        '/magnetometer:magnetic_field.y',
        '/magnetometer:magnetic_field.z',
        '/wheel:twist.linear.x',
    )
    assert alone.further_names == ()
    errors = [rmse(command.json('evaluate', each, bags[1])) for each in models]
    assert errors[0] < errors[1]
    # A bag without its sensors is filtered as if there were none.
    said = command('evaluate', models[0], bags[2], '--json')
    assert 'The model goes on without this sensor.' in said.err
    assert rmse(json.loads(said.out)) == errors[1]
    named = command.json('evaluate', models[0], bags[1], *NAMED)
    assert rmse(named) == errors[0]


def test_replay_and_info_take_them(models, bags, command, tmp_path):
    written = command.json('replay', models[0], bags[1], '-o', tmp_path / 'bag')
    assert written['messages']['position']
    assert command.json('info', models[0])['sensors'][1]['topic'] == '/wheel'


def test_other_sensors_than_those_of_the_model_are_refused(models, bags, command):
    evaluate = command.with_arguments('evaluate', models[0], bags[1], '--sensor-topic', '/wheel')
    assert 'the model takes 2' in evaluate.refused()
    again = evaluate.refused('--sensor-topic', '/wheel')
    assert 'named as a sensor twice' in again
    other = command.with_arguments(
        'evaluate', models[0], bags[1], '--sensor-topic', '/magnetometer'
    )
    words = other.refused('--sensor-topic', '/wheel:x')
    assert 'the model takes twist.linear.x there' in words
