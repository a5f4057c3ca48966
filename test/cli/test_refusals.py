# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a command cannot do is refused in one sentence with the cause, and nothing is written."""

import shlex

import pytest

pytest.importorskip('rosbags')

REFUSED = [
    ('simulate -o {new} --laps 0', 'laps'),
    ('simulate -o {new} --noise -1', 'noise'),
    ('simulate -o {new} --rate inf', 'rate'),
    ('simulate -o {new} --seed -1', 'seed'),
    ('replay {model} {none} -o {new}', '{none} does not exist'),
    ('replay {model} {bag} -o {new} --imu-topic /reference', '--imu-topic'),
    ('laps {model} {bag} --start-line here', "start line 'here': write X,Y in metres"),
    ('laps {model} {bag} --sectors "0.6 0.3"', 'in the order driven'),
    ('laps {model} {bag} --csv /none/x.csv', '/none/x.csv: the table cannot be written'),
    # Before a bag is read.
    ('laps {model} {none} --start-line 7', "start line '7'"),
    ('export {model} {bag} -o {new}.gpx', '{model}'),
    ('evaluate {model} {bag} --from 900', 'it lasts 46.5 s, so choose a part of 0 to 46.5'),
    ('evaluate {model} {bag} --from 900 --until 950', 'no IMU sample --from 900 --until 950: it'),
    ('evaluate {model} {bag} --from 20 --until 10', '--until 10 must be more than --from 20'),
    ('evaluate {model} {bag} --from -1', '--from -1 must be at least 0'),
    ('evaluate {model} {bag} --until -3', '--until -3 must be more than 0'),
    ('evaluate {model} {bag} --until 1', 'no estimate has a true position to compare with'),
    ('evaluate {model} {bag} --from nan', "argument --from: 'nan' is no number of seconds"),
    ('evaluate {model} {bag} --until inf', "argument --until: 'inf' is no number of seconds"),
    ('evaluate {model} {bag} --position-topic /imu', '--position-topic'),
    ('evaluate {model} {bag} --imu-topic /reference', '--imu-topic'),
    ('evaluate {none} {bag}', '{none}: there is no such model file'),
    ('evaluate {model} {none}', '{none} does not exist'),
    ('evaluate {bag}/metadata.yaml {bag}', '{bag}/metadata.yaml: the model is refused'),
    # Before anything is done.
    ('evaluate {none} {bag} --report {new}.docx', 'ends in .html'),
    ('evaluate --online {bag} --from 1000', 'it lasts 46.5 s'),
    ('evaluate --online {bag} --report {new}.html', 'not with --online: leave out one of both'),
    ('evaluate {model} {bag} --learners map', '--learners goes with --online, not with a model'),
    ('evaluate {model} {bag} --fleet --from 3', '--from goes with a model alone or --online, not'),
    ('evaluate --online {bag} --learners hmm', "no learner named 'hmm'; choose among map, tpsr"),
    ('evaluate --online {bag} --positions-until 5000', 'below the 46 s driven'),
    ('evaluate --online {bag} --positions-until 0', '--positions-until 0 must be above 0'),
    ('evaluate --online {none}', '{none}'),
    ('evaluate {model}', 'Name the bags'),
    ('evaluate {model} {bag} --vehicle {empty}', 'two-manifold vehicle'),
    ('evaluate {model} {bag} --fleet --vehicle {empty}', '--fleet'),
    ('view', 'name MODEL and BAG'),
    ('view {model} a b', 'name MODEL and BAG'),
    ('view {none}', '{none}'),
    ('view {model} {none}', '{none}'),
    ('view {model}', 'is a model: name a bag after it'),
    ('view bag --port 70000', 'port'),
    ('view --live {model}', 'name a model before --live'),
]  # fmt: skip


@pytest.mark.parametrize(('line', 'words'), REFUSED)
def test_it_is_refused_with_the_cause(line, words, slot_car_bag, model_file, tmp_path, command):
    if '--live' in line:
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    given = {'bag': slot_car_bag, 'model': model_file, 'none': tmp_path / 'none'}
    given |= {'new': tmp_path / 'new', 'empty': tmp_path / 'empty.json'}
    given['empty'].write_text('{}')
    said = command.refused(*(each.format(**given) for each in shlex.split(line)))
    assert words.format(**given) in said
    assert 'None' not in said
    assert list(tmp_path.iterdir()) == [given['empty']]
