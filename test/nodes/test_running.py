# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How a node is run and ended."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ros_talk import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import signal, sys
from rclpy.node import Node
from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.running import run
from two_manifold_ros.stopping import Stopping

kind = sys.argv[1]

class Learning(Node):
    def __init__(self):
        super().__init__('learning')
        self.exit_status = None
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
    sys.exit(run(Learning, stop, []))
"""


@pytest.mark.usefixtures('domain')
@pytest.mark.parametrize(
    ('kind', 'status', 'said'),
    [
        ('working', 0, 'half learned\nlearned\nkept\n'),
        ('ending by itself', 7, 'half learned\nlearned\nkept\n'),
        ('making', 0, ''),
        ('declaring', 0, ''),
        ('refusing', 2, ''),
    ],
)
def test_a_signal_ends_it_between_two_callbacks(
    tmp_path: Path, kind: str, status: int, said: str
) -> None:
    (tmp_path / 'program.py').write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / 'program.py'), kind]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (status, said), done.stderr
    assert ('no such model' in done.stderr) == (kind == 'refusing')
    assert 'Traceback' not in done.stderr
