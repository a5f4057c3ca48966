# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold import` and `two-manifold export`."""

from dataclasses import replace
import json

from logger_files import drive, DRIVER, racechrono
import pytest

from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.bag import Bag

pytest.importorskip('rosbags')
pytest.importorskip('rich')


@pytest.fixture
def session(tmp_path):
    """Return a file of a logger."""
    return racechrono(tmp_path / 'session.csv', drive(20.0))


def test_names_of_people_are_left_out(session, tmp_path, command):
    content = command.json('import', session, '-o', tmp_path / 'bag')
    with Bag(tmp_path / 'bag') as bag:
        raw = b''.join(raw for _, _, raw in bag.messages(bag.topics))
    assert DRIVER.encode() not in raw
    assert DRIVER not in json.dumps(content)


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


def test_a_model_of_laps_has_no_positions_to_export(slot_car_bag, model_file, tmp_path, command):
    laps = tmp_path / 'laps.npz'
    save_model(replace(load_model(model_file), frame_id=LAP_FRAME), laps)
    assert 'two-manifold laps' in command.refused(
        'export', laps, slot_car_bag, '-o', tmp_path / 'a.csv'
    )
    assert not (tmp_path / 'a.csv').exists()
