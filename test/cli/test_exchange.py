# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold import` and `two-manifold export`."""

import json

from logger_files import drive, DRIVER, racechrono
import pytest

from two_manifold_ros.recordings.bag import Bag

pytest.importorskip('rosbags')
pytest.importorskip('rich')


@pytest.fixture
def session(tmp_path):
    """Return a file of a logger."""
    return racechrono(tmp_path / 'session.csv', drive(20.0))


def test_import_prints_what_was_assumed(session, tmp_path, command):
    output = command('import', session, '-o', tmp_path / 'bag')
    assert '/imu' in output.out
    assert 'RaceChrono CSV v3' in output.out
    assert str(tmp_path / 'bag') in output.out
    assert 'assumed: ' in output.out


@pytest.mark.parametrize('keep', [False, True])
def test_names_are_left_out_unless_asked_for(keep, session, tmp_path, command):
    options = ['--keep-header'] if keep else []
    content = command.json('import', session, '-o', tmp_path / 'bag', *options)
    with Bag(tmp_path / 'bag') as bag:
        texts = [topic for topic in bag.topics if topic.msgtype == 'std_msgs/msg/String']
        said = [bag.decode(raw, texts[0].msgtype).data for _, _, raw in bag.messages(texts)]
        raw = b''.join(raw for _, _, raw in bag.messages(bag.topics))
    assert (DRIVER.encode() in raw) == keep
    assert [json.loads(each)['Driver name'] for each in said] == [DRIVER] * keep
    assert DRIVER not in json.dumps(content['notes'])
    assert any('Driver name' in note for note in content['notes']) != keep


def test_a_bag_that_is_there_stays(session, tmp_path, command):
    (tmp_path / 'bag').mkdir()
    assert str(tmp_path / 'bag') in command.refused('import', session, '-o', tmp_path / 'bag')


def test_the_columns_of_a_table_are_an_option(tmp_path, command):
    table = tmp_path / 'table.csv'
    table.write_text('a,b\n0,1\n0.1,2\n0.2,3\n')
    command('import', table, '-o', tmp_path / 'bag', '--columns', 't=a,ax=b:g')
    assert command.refused('import', table, '-o', tmp_path / 'c', '--columns', 't=a,ax=c')


def test_export_writes_the_ticks_of_a_bag(slot_car_bag, model_file, tmp_path, command):
    content = command.json('export', model_file, slot_car_bag, '-o', tmp_path / 'a.csv')
    lines = (tmp_path / 'a.csv').read_text().splitlines()
    assert content['written'] == content['ticks'] == len(lines) - 1
    assert 0 < content['published'] < content['ticks']
    said = command.words('export', model_file, slot_car_bag, '-o', tmp_path / 'b.csv')
    assert str(content['published']) in said
    assert (tmp_path / 'b.csv').read_text().splitlines() == lines


def test_export_needs_satellite_fixes_for_a_map(slot_car_bag, model_file, tmp_path, command):
    line = command.refused('export', model_file, slot_car_bag, '-o', tmp_path / 'a.gpx')
    assert str(model_file) in line
    assert '.csv' in line
