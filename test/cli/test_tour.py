# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo with fewer laps: real node process, real topics."""

from pathlib import Path
import subprocess
import sys

import pytest

pytest.importorskip('rclpy', reason='the demo needs ROS 2')

from two_manifold_ros import demo
from two_manifold_ros.errors import InputError


def test_the_tour_leaves_everything_and_the_node_equals_evaluate(tmp_path: Path) -> None:
    folder = tmp_path / 'tour'
    command = [sys.executable, str(Path(__file__).with_name('stalled_tour.py')), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, said
    assert 'the node stalls' in said
    assert 'bit for bit' in said, said
    assert '[6/6]' in said
    for name in ('recording', 'model.npz', 'predictions', 'figure.png', 'filter_node.log'):
        assert (folder / name).exists()
    assert 'tracking' in (folder / 'filter_node.log').read_text()


def test_a_folder_of_another_user_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / 'thesis.tex').write_text('years of work')
    with pytest.raises(InputError, match='was not made here'):
        demo.run_tour(str(tmp_path))
    assert (tmp_path / 'thesis.tex').read_text() == 'years of work'
