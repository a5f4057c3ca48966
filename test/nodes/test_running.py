# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start and end of a node, and troubles of the machine."""

import socket
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ros_talk import CHECKOUT

from two_manifold_ros.nodes.__main__ import NODES, run_node
from two_manifold_ros.nodes.running import log_trouble, network_trouble

PROGRAM = """
import signal, sys
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
        if kind == 'making':
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


@pytest.mark.usefixtures('domain')
@pytest.mark.parametrize(
    ('kind', 'finishing', 'status', 'said'),
    [
        ('working', 'never', 0, 'half learned\nlearned\nkept\n'),
        ('working', 'unfinished', 130, 'half learned\nlearned\nkept\n'),
        ('working', 'finished', 0, 'half learned\nlearned\nkept\n'),
        ('ending by itself', 'unfinished', 7, 'half learned\nlearned\nkept\n'),
        ('making', 'never', 0, ''),
        ('declaring', 'never', 0, ''),
        ('declaring', 'unfinished', 143, ''),
        ('refusing', 'unfinished', 2, ''),
    ],
)
def test_a_signal_ends_it_between_two_callbacks(tmp_path, kind, finishing, status, said):
    (tmp_path / 'program.py').write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / 'program.py'), f'{kind},{finishing}']
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, said), done.stderr
    assert ('no such model' in done.stderr) == (kind == 'refusing')
    assert 'Traceback' not in done.stderr


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('ROS_LOG_DIR', 'ROS_HOME', 'HOME'):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ('name', 'below'), [('ROS_LOG_DIR', '.'), ('ROS_HOME', 'log'), ('HOME', '.ros/log')]
)
def test_the_folder_is_made_where_ros_would_make_it(tmp_path, monkeypatch, name, below):
    monkeypatch.setenv(name, str(tmp_path / 'new'))
    assert log_trouble() == ''
    assert list((tmp_path / 'new' / below).iterdir()) == []


def test_without_a_home_there_is_none():
    assert 'HOME is not set' in log_trouble()


def test_a_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    (tmp_path / 'file').touch()
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'file' / 'log'))
    assert f'{tmp_path}/file/log cannot be written (Not a directory)' in log_trouble()


def test_a_network_interface_that_is_there_is_enough(monkeypatch):
    loopback, gone, cure = socket.if_nameindex(), [(99, 'gone')], 'ip link set lo up'
    for listed, trouble in ((loopback, ''), ([], cure), (gone, cure), ([*gone, *loopback], '')):
        monkeypatch.setattr(socket, 'if_nameindex', lambda listed=listed: listed)
        assert trouble in network_trouble()
        assert bool(network_trouble()) == bool(trouble)


@pytest.mark.parametrize('name', NODES)
def test_every_node_has_help(name, capsys):
    assert run_node(name, [name, '--help']) == 0
    assert f'usage: {name} --ros-args' in capsys.readouterr().out


@pytest.mark.parametrize('wrong', ['--version', 'model.npz', '-p'])
def test_arguments_of_no_node_are_refused(wrong, capsys):
    assert run_node('filter_node', ['filter_node', wrong, '--ros-args', '-p', 'model:=m']) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert wrong in line
    assert '--ros-args' in line
