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
def sensed(tmp_path_factory):
    """Return models with sensors and without, and a bag with sensors and without."""
    pytest.importorskip('rosbags')
    from two_manifold_ros.__main__ import main  # noqa: PLC0415 - needs rosbags

    folder = tmp_path_factory.mktemp('sensed')
    first, second = (simulate(SlotCarSettings(seed, rate_hz=10.0), laps=10) for seed in (1, 2))
    for name, run, sensors in (
        ('first', first, SENSORS), ('second', second, SENSORS), ('without', second, ()),
    ):  # fmt: skip
        write_run(run, folder / name, sensors)
    models = [folder / 'with.npz', folder / 'without.npz']
    for model, given in zip(models, (NAMED, []), strict=True):
        arguments = [folder / 'first', '-o', model, '--window', '20', '--horizons', '0,5', *given]
        assert main(['train', *map(str, arguments)]) == 0
    return models, folder / 'second', folder / 'without'


def rmse(content: dict) -> float:
    """Return the error of the present position."""
    found: float = content['horizons']['0']['all']['rmse_m']
    return found


def test_a_model_knows_its_sensors_and_is_better_with_them(sensed, command, tmp_path):
    models, bag, without = sensed
    known, alone = map(load_model, models)
    fields = [f'/magnetometer:magnetic_field.{axis}' for axis in 'xyz']
    assert known.further_names == (*fields, '/wheel:twist.linear.x')
    assert alone.further_names == ()
    errors = [rmse(command.json('evaluate', each, bag)) for each in models]
    assert errors[0] < errors[1]
    # A bag without its sensors is filtered as if there were none.
    said = command('evaluate', models[0], without, '--json')
    assert 'The model goes on without this sensor.' in said.err
    assert rmse(json.loads(said.out)) == errors[1]
    assert rmse(command.json('evaluate', models[0], bag, *NAMED)) == errors[0]
    written = command.json('replay', models[0], bag, '-o', tmp_path / 'bag')
    assert written['messages']['position']
    assert command.json('info', models[0])['sensors'][1]['topic'] == '/wheel'


@pytest.mark.parametrize(
    ('topics', 'words'),
    [
        (['/wheel'], 'the model takes 2'),
        (['/wheel', '/wheel'], 'named as a sensor twice'),
        (['/magnetometer', '/wheel:x'], 'the model takes twist.linear.x there'),
    ],
)
def test_other_sensors_than_those_of_the_model_are_refused(topics, words, sensed, command):
    models, bag, _ = sensed
    named = [each for topic in topics for each in ('--sensor-topic', topic)]
    assert words in command.refused('evaluate', models[0], bag, *named)
