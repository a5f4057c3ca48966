# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold laps` as people and as machines see it."""

import csv

from command_runs import Command
import pytest

pytest.importorskip('rosbags')
pytest.importorskip('rich')


@pytest.fixture
def laps(command, model_file) -> Command:
    return command.with_arguments('laps', model_file)


def rows_of(path) -> list[dict[str, str]]:
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


def test_people_get_a_table_and_the_best_lap(laps, slot_car_bag):
    words = laps.words(slot_car_bag)
    for text in ('laps of', 'sector 3', 'to best', 'by positions', 'start line at', 'Best of '):
        assert text in words
    assert 'lap times differ from those by positions by 0.' in words


def test_machines_get_the_same_numbers_as_the_tables(laps, slot_car_bag, tmp_path):
    content = laps.json(slot_car_bag)
    assert content['verdict']['word'] in {'good', 'fair'}
    (times,) = content['recordings']
    assert times['bag'] == str(slot_car_bag)
    table, course = tmp_path / 'laps.csv', tmp_path / 'course.csv'
    said = laps(slot_car_bag, '--csv', table, '--course', course).out
    assert f'written to {table}' in said.replace('\n', '')
    rows = rows_of(table)
    assert [int(row['lap']) for row in rows] == [lap['lap'] for lap in times['laps']]
    for row, lap in zip(rows, times['laps'], strict=True):
        assert row['seconds'] == ('' if lap['seconds'] is None else repr(lap['seconds']))
        assert [row[f'sector_{k}_s'] for k in (1, 2, 3)] == [
            '' if each is None else repr(each) for each in lap['sectors_s']
        ]
        assert int(row['begin_ns']) == lap['begin_ns']
    ticks = rows_of(course)
    stamps = [int(row['stamp_ns']) for row in ticks]
    assert stamps == sorted(stamps)
    assert ticks[0]['elapsed_s'] == ''
    assert {row['sector'] for row in ticks} == {'1.0', '2.0', '3.0'}
    assert float(ticks[-1]['best_s']) == min(
        lap['seconds'] for lap in times['laps'] if lap['seconds'] is not None
    )


def test_another_start_line_and_other_sectors(laps, slot_car_bag):
    usual = laps.json(slot_car_bag)['recordings'][0]
    moved = laps.json(slot_car_bag, '--start-line', '0.5', '--sectors', '0.5')['recordings'][0]
    assert usual['start_line'] != moved['start_line']
    assert moved['length_m'] == usual['length_m']
    assert all(len(lap['sectors_s']) == 2 for lap in moved['laps'])
