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


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (
            'train {bag} -o {out} --sensor-topic /wheel --sensor-topic /wheel',
            'named as a sensor twice',
        ),
        ('evaluate {without} {bag} --sensor-topic /wheel', 'the model takes 0'),
        ('evaluate {with} {bag} --sensor-topic /wheel', 'the model takes 2'),
        (
            'evaluate {with} {bag} --sensor-topic /magnetometer --sensor-topic /wheel:x',
            'the model takes twist.linear.x there',
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    arguments, words, models, bags, command, tmp_path
):
    places = {'bag': bags[1], 'out': tmp_path / 'm', 'with': models[0], 'without': models[1]}
    assert words in command.refused(*(each.format(**places) for each in arguments.split()))
