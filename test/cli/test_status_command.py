# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Watching nodes, with stand-ins for them."""

import json
import math
import sys
from types import SimpleNamespace

import pytest

from two_manifold_ros.cli.status import StatusTable

MODULE = 'two_manifold_ros.nodes.watching'
LOST = {'status': 'lost', 'cause': 'diverged'}
WELL = {'status': 'tracking', 'cause': ''}
NEWEST = WELL | {'input_rate_hz': '99.97', 'estimate_rate_hz': '20.01'}


@pytest.fixture
def play(monkeypatch):
    """Return a function that lets a node say words, and returns the seconds asked for."""

    def played(*words, silent_s=0.0):  # noqa: ANN002, ANN202 - as it is called
        asked, now_s = [], 100.0
        monkeypatch.setattr(f'{StatusTable.__module__}.monotonic', lambda: now_s)

        def listen(hear, look, seconds, done) -> None:
            nonlocal now_s
            asked.append(seconds)
            for level, why, values in words:
                if done():
                    return
                hear('filter_node', level, why, values, 1)
                now_s += silent_s
                look()

        monkeypatch.setitem(sys.modules, MODULE, SimpleNamespace(listen=listen))
        return asked

    return played


def test_a_line_for_each_change_goes_into_a_pipe(play, command):
    play((2, 'lost: a', LOST), (2, 'lost: b', LOST), (0, 'tracking', WELL))
    lines = command('status').out.splitlines()
    assert [line.split('  ')[-1] for line in lines] == ['lost: a', 'tracking']
    # So does a node that goes and comes back.
    play(*[(0, 'tracking', WELL)] * 2, silent_s=4.0)
    lines = command('status').out.splitlines()
    assert [line.split()[1] for line in lines] == ['OK', 'GONE', 'OK', 'GONE']
    # Other programs are left out.
    play((3, 'tracking', NEWEST), (0, 'fine', {'temperature': '30'}), silent_s=4.0)
    first, gone = command('status').out.splitlines()
    assert first == 'filter_node  STALE  100.0 Hz in, 20.0 Hz out  tracking'
    assert gone == 'filter_node  GONE   not heard for 4 s'


def test_json_is_what_each_node_said_last_or_that_none_is_heard(play, command):
    asked = play()
    said = command('status', status=1)
    assert said.out == ''
    assert 'no filter or updater node was heard' in said.err
    assert json.loads(command('status', '--json', '--seconds', '2', status=1).out) == {'nodes': {}}
    assert asked == [None, 2.0]
    rates = {'input_rate_hz': '99.5', 'estimate_rate_hz': 'unknown'}
    asked = play((0, 'tracking', WELL), (2, 'lost: a', LOST | rates), (0, 'x', {}))
    found = command.json('status')['nodes']
    assert asked[0] > 0.0
    assert found.pop('filter_node') == LOST | {
        'level': 'ERROR', 'why': 'lost: a', 'input_rate_hz': 99.5, 'estimate_rate_hz': None,
        'nodes': 1, 'trouble': '', 'gone': False, 'silent_s': 0.0,
    }  # fmt: skip
    assert not found


@pytest.mark.parametrize(
    ('until', 'heard', 'status'),
    [('active', 2, 0), ('published', 3, 0), ('tracking', 4, 0), ('tracking', 3, 1)],
)
def test_a_state_is_waited_for(until, heard, status, play, command):
    states = 'configuring', 'waiting for data', 'unsure', 'tracking', 'lost'
    words = [(1, each, {'status': each, 'cause': ''}) for each in states]
    asked = play(*(words if status == 0 else words[:heard]))
    said = command('status', '--until', until, status=status).out.splitlines()
    assert len(said) == heard
    assert asked == [None]
    if status == 0:
        nodes = command.json('status', '--until', until)['nodes']
        assert nodes['filter_node']['status'] == states[heard - 1]


def test_what_was_not_reached_is_said(play, command):
    play((2, 'lost: a', LOST))
    for more in ((), ('--json',)):
        said = command('status', '--until', 'tracking', *more, status=1).err
        assert 'not tracking: filter_node' in said
        assert said.endswith('lost: a\n')
    for more in ((), ('--until', 'active')):
        for other, but in (('filter_node', ''), ('/car1/filter_node', ' (but filter_node)')):
            said = command('status', other, '/car1/filter_node', *more, status=1).err
            assert said.endswith(f'note: car1/filter_node not heard{but}\n')
    # Who could not be configured is waited for in vain, who waits for its manager not.
    for level, status in ((2, 1), (1, 0)):
        unconfigured = level, 'why', {'status': 'unconfigured', 'cause': 'unconfigured'}
        play(unconfigured, (0, 'tracking', WELL))
        said = command('status', '--until', 'tracking', status=status)
        assert ('not tracking: filter_node' in said.err) == bool(status)


def test_no_number_of_seconds_and_no_ros_are_refused(play, command, monkeypatch):
    asked = play((0, 'tracking', WELL))
    for number in ('nan', '0', '-1'):
        command.refused('status', '--seconds', number)
    assert asked == []
    monkeypatch.setitem(sys.modules, MODULE, None)
    assert 'needs ROS 2' in command.refused('status')


def test_a_namesake_is_a_change_and_none_is_waited_for_that_is_not_alone(capsys):
    table = StatusTable()
    for nodes in (1, 2, 2):
        table.hear('filter_node', 0, '', NEWEST, nodes)
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert not table.all_in({'tracking'})


def test_a_position_is_told_once_or_it_is_said_that_nobody_listens(command, monkeypatch):
    told = []

    def tell(topic: str, _: str, fields: object, seconds: float) -> bool:
        told.append((topic, fields['pose']))
        return seconds > 0.0 and topic != 'nobody'

    module = SimpleNamespace(tell=tell)
    monkeypatch.setitem(sys.modules, MODULE, module)
    command('place', '-1.5', '2', '--heading', '90', '--within', '0.1')
    topic, pose = told[-1]
    at, turn = pose['pose']['position'], pose['pose']['orientation']
    assert (topic, at['x'], at['y']) == ('initialpose', -1.5, 2.0)
    assert 2.0 * math.atan2(turn['z'], turn['w']) == pytest.approx(math.pi / 2)
    assert pose['covariance'][[0, 7]] == pytest.approx([0.01, 0.01])
    command('place', '1', '2', '--topic', 'car1/initialpose')
    # A heading that is not known says nothing.
    assert told[-1][1]['covariance'][35] > math.pi**2 > pose['covariance'][35]
    assert 'ROS_DOMAIN_ID' in command('place', '1', '2', '--topic', 'nobody', status=1).err
    for wrong in (['nan', '2'], ['1', '2', '--within', '-1']):
        assert 'metres' in command('place', *wrong, status=2).err
    assert len(told) == 3
