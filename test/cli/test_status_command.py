# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Watching nodes, with stand-ins for them."""

from collections.abc import Callable
import json
import sys
from types import ModuleType
from typing import Any

import pytest

from two_manifold_ros.cli.main import main
from two_manifold_ros.cli.status import StatusTable

MODULE = 'two_manifold_ros.nodes.bag_session'
LOST = {'status': 'lost', 'cause': 'diverged'}
WELL = {'status': 'tracking', 'cause': ''}


def play(
    monkeypatch: pytest.MonkeyPatch, *words: tuple[int, str, dict[str, str]], nodes: int = 1
) -> list[float | None]:
    """Let nodes of one name say these words; return the seconds that are asked for."""
    asked: list[float | None] = []

    def listen(hear: Callable[..., Any], look: Callable[[], Any], seconds: float | None) -> None:
        asked.append(seconds)
        look()
        for level, why, values in words:
            hear('filter_node', level, why, values, nodes)
            look()

    module = ModuleType(MODULE)
    module.listen = listen  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, MODULE, module)
    return asked


def test_a_line_for_each_change_goes_into_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = play(monkeypatch, (2, 'lost: a', LOST), (2, 'lost: b', LOST), (0, 'tracking', WELL))
    assert main(['status', '--seconds', '3']) == 0
    assert asked == [3.0]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split('  ')[-1] for line in lines] == ['lost: a', 'tracking']


def test_lines_stay_in_place_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, 'isatty', lambda: True)
    monkeypatch.setenv('COLUMNS', '60')
    asked = play(monkeypatch, (2, 'lost: ' + 'a' * 99, LOST))
    assert main(['status']) == 0
    assert asked == [None]
    first, second = capsys.readouterr().out.splitlines()
    assert first == 'no node was heard yet'
    back, line = second.split('\x1b[J')
    assert back == '\x1b[1F'
    assert len(line) == 59
    assert line.startswith('filter_node  ERROR')


def test_no_node_is_heard(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play(monkeypatch)
    assert main(['status']) == 1
    said = capsys.readouterr()
    assert said.out == ''
    assert 'no filter or updater node was heard' in said.err


def test_json_is_what_each_node_said_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = {'input_rate_hz': '99.5', 'estimate_rate_hz': 'unknown'}
    asked = play(monkeypatch, (0, 'tracking', WELL), (2, 'lost: a', LOST | rates), (0, 'x', {}))
    assert main(['status', '--json']) == 0
    assert asked[0] is not None
    assert asked[0] > 0.0
    ((name, node),) = json.loads(capsys.readouterr().out)['nodes'].items()
    assert name == 'filter_node'
    assert node.pop('silent_s') < 60.0
    assert node == {
        'level': 'ERROR',
        'status': 'lost',
        'cause': 'diverged',
        'why': 'lost: a',
        'input_rate_hz': 99.5,
        'estimate_rate_hz': None,
        'nodes': 1,
        'gone': False,
    }
    asked = play(monkeypatch)
    assert main(['status', '--json', '--seconds', '2']) == 1
    assert asked == [2.0]
    assert json.loads(capsys.readouterr().out) == {'nodes': {}}


def test_two_nodes_of_one_name_are_no_single_node(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play(monkeypatch, (0, 'tracking', WELL), nodes=2)
    assert main(['status']) == 0
    assert '2 nodes of this name' in capsys.readouterr().out
    assert main(['status', '--json']) == 0
    assert json.loads(capsys.readouterr().out)['nodes']['filter_node']['nodes'] == 2


@pytest.mark.parametrize('number', ['nan', '0', '-1'])
def test_no_number_of_seconds_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: str
) -> None:
    asked = play(monkeypatch, (0, 'tracking', WELL))
    assert main(['status', '--seconds', number]) == 2
    assert asked == []
    said = capsys.readouterr()
    assert said.out == ''
    assert len(said.err.splitlines()) == 1


def test_without_ros_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, MODULE, None)
    assert main(['status']) == 2
    assert 'listens to nodes and needs ROS 2' in capsys.readouterr().err


NEWEST = {
    'status': 'tracking',
    'cause': '',
    'input_rate_hz': '99.97',
    'estimate_rate_hz': '20.01',
}


def test_a_line_says_how_a_node_is_and_a_change_of_state_is_seen() -> None:
    table = StatusTable()
    assert table.update('b/filter_node', 0, 'tracking', NEWEST, 0.0)
    assert not table.update('b/filter_node', 0, 'tracking', NEWEST, 1.0)
    lost = {**NEWEST, 'status': 'lost', 'cause': 'diverged', 'input_rate_hz': 'unknown'}
    assert table.update('b/filter_node', 2, 'lost: why', lost, 2.0)
    assert table.update('a/filter_node', 0, 'tracking', NEWEST, 2.0)
    assert table.lines(2.5) == [
        'a/filter_node  OK     100.0 Hz in, 20.0 Hz out  tracking',
        'b/filter_node  ERROR  - Hz in, 20.0 Hz out  lost: why',
    ]


def test_a_namesake_that_comes_or_goes_is_a_change() -> None:
    table = StatusTable()
    changes = [table.update('a', 0, 'well', NEWEST, 0.0, nodes) for nodes in (1, 2, 2, 1)]
    assert changes == [True, True, False, True]


def test_others_are_left_out_and_one_that_is_gone_is_reported() -> None:
    table = StatusTable()
    assert not table.update('lidar', 0, 'fine', {'temperature': '30'}, 0.0)
    table.update('filter_node', 3, 'tracking', NEWEST, 0.0)
    assert table.lines(1.0) == ['filter_node  STALE  100.0 Hz in, 20.0 Hz out  tracking']
    assert table.lines(10.0) == ['filter_node  GONE   not heard for 10 s']
