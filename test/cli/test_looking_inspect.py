# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold inspect` as people and as machines see it."""

import json

from ellipse import drive, write_bag
import pytest

pytest.importorskip('rosbags')
pytest.importorskip('rich')


def test_people_get_tables_and_advice(ellipse_bag, command):
    output = command('inspect', ellipse_bag)
    assert output.err == ''
    for text in ('/imu', '/pose', '100.00', '25.00', 'linear_acceleration.z', 'laps: 6.0 of 8.'):
        assert text in output.out
    first, then, *_ = output.out.splitlines()
    assert first == '6.0 laps of 8 s with positions for 99.9 % of the time: good.'
    assert then == f'Next: two-manifold train {ellipse_bag} -o model.npz'
    assert max(map(len, output.out.splitlines())) <= 120


def test_findings_are_shown_whole(tmp_path, command):
    words = command.words('inspect', write_bag(tmp_path / 'late [1]', drive(late_s=0.2)))
    assert 'late [1]' in words
    assert 'warning: The stamps of the positions are 0.20' in words
    assert 'time offset: position stamps 0.20' in words
    assert words.endswith('and stamp camera images when they are taken.')


def test_the_options_reach_the_reading(ellipse_bag, command):
    for options, words in (
        (['--imu-topic', '/none'], '/none, which is not there'),
        (['--imu-topic', '/pose:pose.x'], 'pose.x.linear_acceleration.x'),
        (['--position-topic', '/imu'], 'name a topic of type geometry_msgs/PoseStamped'),
    ):
        assert words in command.refused('inspect', ellipse_bag, *options)
    output = command('inspect', ellipse_bag, '--use-receive-time', '--json')
    note = 'Receive times are used, as asked.'
    assert output.err == f'two-manifold: note: {note}\n'
    assert json.loads(output.out)['recordings'][0]['notes'] == [note]


@pytest.mark.slow
def test_of_many_bags_each_has_a_line_and_one_that_cannot_be_read_costs_no_other(
    tmp_path, ellipse_bag, command
):
    late = write_bag(tmp_path / 'late', drive(late_s=0.2))
    bags = [tmp_path / 'none', ellipse_bag, late, ellipse_bag]
    for workers in ((), ('--workers', 1)):
        if workers:
            pytest.importorskip('distributed', reason='Dask is not installed (extra: fleet)')
        captured = command('inspect', *bags, *workers, status=2)
        (line,) = (each for each in captured.err.splitlines() if 'error' in each)
        assert line.endswith(f'{tmp_path / "none"} does not exist: check the path of the bag.')
        lines = captured.out.splitlines()
        rows = [each.split() for each in lines if ' 0.8 ' in each]
        assert [each[1:4] for each in rows] == [['0.8', '100', '25.0']] * 3
        assert [each[-1] == 'time_offset' for each in rows] == [False, True, False]
        assert 'The stamps of the positions are 0.20' in captured.out
        assert '3 bags of 2.4 min' in captured.out
        none = command('inspect', *[tmp_path / 'none'] * 4, *workers, status=2)
        assert none.out == ''
        content = json.loads(command('inspect', *bags, *workers, '--json', status=2).out)
        assert list(content['unread']) == [str(tmp_path / 'none')]
        assert len(content['recordings']) == 3


def test_what_cannot_be_read_is_refused(tmp_path, ellipse_bag, command):
    file = tmp_path / 'bag.mcap'
    assert command.refused('inspect', file) == f'{file} does not exist: check the path of the bag.'
    file.write_bytes((ellipse_bag / 'ellipse.mcap').read_bytes()[:-20])
    assert 'mcap recover' in command.refused('inspect', file)
