# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a command cannot do is refused in one sentence with the cause, and nothing is written."""

import shlex

import pytest

pytest.importorskip('rosbags')

LONG = '(File name too long); a name has 255 bytes at most'
TRAINING = [
    ('--horizons 0,a', "--horizons '0,a' must be whole numbers of ticks such as 0,10,50"),
    ('--horizons 5', "horizons '5' must start with 0 and increase"),
    ('--horizons 0,9999', 'no position is known 9999 ticks after any training tick'),
    ('--rate 500', 'runs at 10.0 Hz, slower than the 500 Hz asked for'),
    ('--rate nan', 'rate_hz is nan, but with method route it must be 0.1 to 1000 Hz'),
    ('--window 400', 'training needs more than two windows of 400 ticks (80.0 s)'),
    ('--until 3 --window 20', 'the longest stretch without a gap is 2.9 s'),
    ('--until 0', '--until 0 must be more than 0'),
    ('--readout ridge', 'must be one of sharpened, mkdr'),
    ('--observation raw --features 9', 'method route has no features, observation: leave it out'),
    ('--states 1', 'states is 1, but with method route it must be 2 to 1000'),
    ('--method best', "argument --method: invalid choice: 'best'"),
    ('--imu-topic /wheel', '/wheel'),
    ('--sensor-topic /imu', 'sensor messages on /imu'),
    ('--sensor-topic /wheel --method tpsr', 'takes no --sensor-topic'),
]
COMPARISON = [
    ('--share 1.5', 'between 0 and 1'),
    ('--share 0.99', 'training needs more than two windows'),
    ('--share 0.02', 'the part to follow has no stretch longer than a window'),
    ('--test {none}', '{none} does not exist'),
    ('{again} --share 0.5', '--share cuts a single bag'),
    ('--test {bag}', 'learned from and followed'),
]
LAGGED = ['train {none} -o {new}', 'compare {none}', 'evaluate {none} {none} --fleet']
REFUSED = [
    ('inspect {bag} --imu-topic /none', '/none, which is not there'),
    ('inspect {bag} --imu-topic /reference:pose.x', 'pose.x.linear_acceleration.x'),
    ('inspect {bag} --position-topic /imu', 'name a topic of type '),
    ('simulate -o {new} --laps 0', 'laps'),
    ('simulate -o {new} --noise -1', 'noise'),
    ('simulate -o {new} --seed -1', 'seed'),
    ('replay {model} {none} -o {new}', '{none} does not exist'),
    ('replay {model} {bag} -o {new} --imu-topic /reference', '--imu-topic'),
    ('laps {model} {bag} --start-line here', "start line 'here': write X,Y in metres"),
    ('laps {model} {bag} --sectors "0.6 0.3"', 'in the order driven'),
    # Before a bag is read.
    ('laps {model} {none} --start-line 7', "start line '7'"),
    ('evaluate {model} {bag} --from 900 --until 950', 'no IMU sample --from 900 --until 950: it'),
    ('evaluate {model} {bag} --from 20 --until 10', '--until 10 must be more than --from 20'),
    ('evaluate {model} {bag} --from -1', '--from -1 must be at least 0'),
    ('evaluate {model} {bag} --until 1', 'no estimate has a true position to compare with'),
    ('evaluate {model} {bag} --from nan', "argument --from: 'nan' is no number of seconds"),
    ('evaluate {model} {bag} --imu-topic /reference', '--imu-topic'),
    ('evaluate {none} {bag}', '{none}: there is no such model file'),
    ('evaluate {model} {bag} --sensor-topic /wheel', 'the model takes none'),
    ('evaluate {bag}/metadata.yaml {bag}', '{bag}/metadata.yaml: the model is refused'),
    # Before anything is done.
    ('evaluate {none} {bag} --report {none}/a.html', 'The folder of {none}/a.html does not exist'),
    ('inspect {none} --report {none}/page.html', 'The folder of {none}/page.html does not exist'),
    ('inspect {none} --report {new}.npz', '{new}.npz: a report is a page for a browser'),
    ('evaluate {none} {none} --report {new}', '{new}: a report is a page for a browser'),
    *((f'{line} --position-lag soon', "a position lag of 'soon' is neither") for line in LAGGED),
    ('inspect {none} --report {new}.html --workers 1', '--report draws recordings'),
    ('train {none} -o {none}/m.npz', 'does not exist: make it before'),
    ('train {none} -o {empty}', 'exists and is no model'),
    ('train {none} -o /', 'is a folder'),
    ('evaluate {model} {bag} --fleet --from 3', '--from does not go with --fleet: leave out one'),
    ('learn {bag} --from 1000', 'it lasts 46.5 s'),
    ('learn --learner hmm {bag}', "argument --learner: invalid choice: 'hmm'"),
    ('learn {bag} --positions-until 5000', 'below the 46 s driven'),
    ('evaluate {model}', 'required: BAG'),
    ('evaluate {model} {bag} --vehicle {empty}', 'two-manifold vehicle'),
    ('evaluate {model} {bag} --fleet --vehicle {empty}', '--fleet'),
    ('reproduce hamster', 'there is no experiment hamster'),
    ('reproduce video --seed -1', 'counts sets of draws from 0 on'),
    ('reproduce video {bag}', 'video takes no recordings; leave out the bags'),
    ('reproduce all {bag}', 'takes no recordings; leave out the bags'),
    ('reproduce video -o {bag}/metadata.yaml', 'the system refuses it (File exists)'),
    ('view', 'name MODEL and BAG'),
    ('view {model} bag --port 70000', 'port'),
    ('view {model} b --live', 'at most a MODEL before --live'),
    ('train {none} {none}2 -o {new} --routes a', '1 names of routes for 2 bags'),
    ('train {none} {none}2 -o {new} --routes a/,b', 'write MAP/LINE'),
    ('train {none} {none}2 -o {new} --routes a,', "'' is no name of a route"),
    ('info {long}', LONG),
    ('train bag -o {long}', LONG),
    ('simulate -o {long}/name --laps 1', LONG),
    ('view {long} bag', LONG),
    *((f'train {{bag}} -o {{new}} {given}', words) for given, words in TRAINING),
    *((f'compare {{bag}} {given} --methods mean,previous', words) for given, words in COMPARISON),
]  # fmt: skip


@pytest.mark.parametrize(('line', 'words'), REFUSED)
def test_it_is_refused_with_the_cause(line, words, slot_car_bag, model_file, tmp_path, command):
    if '--live' in line:
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    given = {each: tmp_path / each for each in ('none', 'new', 'empty')}
    given |= {'bag': slot_car_bag, 'again': slot_car_bag, 'model': model_file, 'long': 'ä' * 128}
    given['empty'].write_text('{}')
    said = command.refused(*(each.format(**given) for each in shlex.split(line)))
    assert words.format(**given) in said
    assert 'None' not in said
    assert list(tmp_path.iterdir()) == [given['empty']]
