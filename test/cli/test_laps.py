# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold laps` as people and as machines see it."""

from command_runs import Command
import pytest

pytest.importorskip('rosbags')
pytest.importorskip('rich')


@pytest.fixture
def laps(command, model_file) -> Command:
    return command.with_arguments('laps', model_file)


def test_people_get_a_table_and_the_best_lap(laps, slot_car_bag):
    words = laps.words(slot_car_bag)
    for text in ('laps of', 'sector 3', 'to best', 'by positions', 'start line at'):
        assert text in words
    assert 'lap times differ from those by positions by 0.' in words


def test_machines_get_json(laps, slot_car_bag):
    content = laps.json(slot_car_bag)
    (times,) = content['recordings']
    assert times['bag'] == str(slot_car_bag)
    assert [lap['lap'] for lap in times['laps']] == list(range(1, len(times['laps']) + 1))


def test_another_start_line_and_other_sectors(laps, slot_car_bag):
    usual = laps.json(slot_car_bag)['recordings'][0]
    moved = laps.json(slot_car_bag, '--start-line', '0.5', '--sectors', '0.5')['recordings'][0]
    assert usual['start_line'] != moved['start_line']
    assert moved['length_m'] == usual['length_m']
    assert all(len(lap['sectors_s']) == 2 for lap in moved['laps'])
