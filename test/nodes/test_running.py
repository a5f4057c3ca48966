# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start and end of a node, its parameters, and troubles of the machine."""

# A parameter of the test is called as its type.
from __future__ import annotations

from dataclasses import dataclass
import subprocess
import sys
from typing import ClassVar

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rcl_interfaces.msg import ParameterType
from rclpy.parameter import Parameter as RosParameter
from ros_talk import CHECKOUT

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.parameters import NodeParameters, parameter, Settable
from two_manifold_ros.nodes.__main__ import NODES, run_node
from two_manifold_ros.nodes.running import declare, log_trouble, read

PROGRAM = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import signal, sys
from time import sleep
from rclpy.node import Node
from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.running import run
from two_manifold_ros.stopping import Stopping

kind, finishing = sys.argv[1].split(',')

class Learning(Node):
    def __init__(self):
        super().__init__('learning')
        self.exit_status = None
        self.finished = finishing == 'finished'
        self.create_timer(0.01, self.learn)
        if kind == 'compiling':
            self.pool = ProcessPoolExecutor(1, get_context('fork'))
            self.pool.submit(sleep, 600.0)
            signal.raise_signal(signal.SIGTERM)
        if kind == 'declaring':
            try:
                signal.raise_signal(signal.SIGTERM)
            except KeyboardInterrupt:
                raise InputError('no such model')
        if kind == 'refusing':
            raise InputError('no such model')

    def learn(self):
        print('half learned')
        if kind == 'working':
            signal.raise_signal(signal.SIGINT)
        else:
            self.exit_status = 7
        print('learned')

    def destroy_node(self):
        signal.raise_signal(signal.SIGTERM)
        super().destroy_node()
        print('kept')

with Stopping() as stop:
    sys.exit(run(Learning, stop, [], finishing=finishing != 'never'))
"""


@pytest.mark.usefixtures('domain', '_nothing_is_set')
@pytest.mark.parametrize(
    ('kind', 'finishing', 'status', 'said'),
    [
        ('working', 'never', 0, 'half learned\nlearned\nkept\n'),
        ('working', 'unfinished', 130, 'half learned\nlearned\nkept\n'),
        ('working', 'finished', 0, 'half learned\nlearned\nkept\n'),
        ('ending by itself', 'unfinished', 7, 'half learned\nlearned\nkept\n'),
        ('compiling', 'never', 0, ''),
        ('declaring', 'unfinished', 143, ''),
        ('refusing', 'unfinished', 2, ''),
    ],
)
def test_a_signal_ends_it_between_two_callbacks(kind, finishing, status, said):
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM, f'{kind},{finishing}'],
        cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=120.0,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (status, said), done.stderr
    assert ('no such model' in done.stderr) == (kind == 'refusing')
    assert 'Traceback' not in done.stderr


@pytest.fixture
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('ROS_LOG_DIR', 'ROS_HOME', 'HOME'):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures('_nothing_is_set')
def test_the_folder_of_logs_is_made_where_ros_would_make_it(tmp_path, monkeypatch):
    for name, below in (('HOME', '.ros/log'), ('ROS_HOME', 'log'), ('ROS_LOG_DIR', '.')):
        monkeypatch.setenv(name, str(tmp_path / name))
        assert log_trouble() == ''
        assert list((tmp_path / name / below).iterdir()) == []


def test_every_node_has_help_and_arguments_of_none_are_refused(capsys):
    for name in NODES:
        assert run_node(name, [name, '--help']) == 0
        assert f'usage: {name} --ros-args' in capsys.readouterr().out
    for wrong in ('--version', 'model.npz', '-p'):
        given = [wrong, '--ros-args', '-p', 'model:=m']
        assert run_node('filter_node', ['filter_node', *given]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert wrong in line
        assert '--ros-args' in line


@dataclass(frozen=True)
class Chosen(NodeParameters):
    """Parameters of a test."""

    settable: ClassVar[Settable] = Settable.UNCONFIGURED

    word: str = parameter('', 'a', choices=('a', 'b'))
    list: list[str] = parameter('', [], settable=Settable.NEVER)  # noqa: RUF009 - a field
    rate: float = parameter('A rate.', (2.0, 1.0, 3.0, 'Hz'))
    count: int = parameter('', (2, 1, 3, ''))
    next: str = parameter('', 'a', choices=('a', 'b'), settable=Settable.ALWAYS)
    numbers: list[int] = parameter('', [1, 2], settable=Settable.NEVER)  # noqa: RUF009 - a field


def test_descriptors_carry_type_range_units_and_words(talk):
    assert declare(talk.node, Chosen) == Chosen('a', [], 2.0, 2, 'a', [1, 2])
    rate, count, word, listed = talk.node.describe_parameters(['rate', 'count', 'word', 'list'])
    assert rate.type == ParameterType.PARAMETER_DOUBLE
    assert rate.floating_point_range[0].to_value == 3.0
    assert rate.description == 'A rate. [Hz] Settable while unconfigured.'
    assert count.integer_range[0].from_value == 1
    assert word.additional_constraints == "one of 'a', 'b'"
    assert listed.type == ParameterType.PARAMETER_STRING_ARRAY
    assert listed.description.endswith('Settable at start only.')


def test_changes_that_would_do_nothing_are_refused(talk):
    reason = ''
    declare(talk.node, Chosen, locked=lambda: reason)

    def change(name: str, value: object) -> str:
        (result,) = talk.node.set_parameters([RosParameter(name, value=value)])
        return '' if result.successful else result.reason

    assert change('word', 'b') == ''
    assert 'choose one of' in change('word', 'c')
    assert change('rate', 9.0) != ''
    assert 'restart the node' in change('list', ['x'])
    reason = 'too late'
    assert change('word', 'a') == 'too late'
    # All of a file that was dumped, for example, as a message brings it.
    dumped = talk.node.get_parameters([each.name for each in Chosen.table()])
    brought = [RosParameter.from_parameter_msg(each.to_parameter_msg()) for each in dumped]
    assert all(each.successful for each in talk.node.set_parameters(brought))
    assert change('next', 'b') == ''
    assert 'choose one of' in change('next', 'c')
    assert read(talk.node, Chosen).word == 'b'


@pytest.mark.parametrize(
    ('name', 'value'), [('rate', 9.0), ('rate', 'x'), ('word', 'c'), ('count', 0)]
)
def test_a_bad_value_at_start_is_one_clear_sentence(talk, name, value):
    talk.node._parameter_overrides[name] = RosParameter(name, value=value)
    with pytest.raises(InputError, match=name):
        declare(talk.node, Chosen)
