# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands as actions of `train --method tpsr`, and of what is done with such a model."""

import pytest

from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, write_run

SMALL = ['--rate', '10', '--window', '20', '--states', '30', '--horizons', '0,5']


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    pytest.importorskip('rosbags')
    folder = tmp_path_factory.mktemp('bags')
    for seed in (1, 2):
        run = simulate(SlotCarSettings(seed, rate_hz=50.0, driver='random'), laps=6)
        write_run(run, folder / str(seed))
    return [folder / '1', folder / '2']


@pytest.fixture(scope='module')
def models(bags, tmp_path_factory):
    from two_manifold_ros.__main__ import main  # noqa: PLC0415 - needs rosbags

    folder = tmp_path_factory.mktemp('models')
    for name, given in (('with', ['--command-topic', 'auto']), ('without', [])):
        arguments = [bags[0], '-o', folder / name, '--method', 'tpsr', *SMALL, *given]
        assert main(['train', *map(str, arguments)]) == 0
    return folder / 'with', folder / 'without'


def test_a_model_has_the_command_as_a_channel_and_knows_its_topic(models):
    model, other = map(load_model, models)
    assert model.channels.names == (*IMU_CHANNELS, 'command.data')
    assert model.channels.live[-1]
    assert model.summary['command_topic'] == '/throttle:data'
    assert other.channels.of_imu
    assert 'command_topic' not in other.summary


def test_evaluate_and_replay_read_the_topic_of_the_training(models, bags, command, tmp_path):
    own = command.json('evaluate', models[0], bags[1])
    named = command.json('evaluate', models[0], bags[1], '--command-topic', '/throttle')
    alone = command.json('evaluate', models[1], bags[1])
    assert own['horizons'] == named['horizons'] != alone['horizons']
    written = command.json('replay', models[0], bags[1], '-o', tmp_path / 'bag')
    assert written['messages']['position']


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ('train {bag} -o {out} --command-topic auto', 'method route has no actions'),
        ('train {bag} -o {out} --method tpsr --command-topic /imu', 'command messages on /imu'),
        ('evaluate {without} {bag} --command-topic auto', 'trained without commands'),
        ('evaluate {with} {bag} --command-topic /throttle:x', 'the model takes data'),
        ('evaluate --online {bag} --command-topic auto', 'leave it out'),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    arguments, words, models, bags, command, tmp_path
):
    places = {'bag': bags[1], 'out': tmp_path / 'm', 'with': models[0], 'without': models[1]}
    assert words in command.refused(*(each.format(**places) for each in arguments.split()))
