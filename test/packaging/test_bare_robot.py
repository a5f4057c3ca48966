# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot has none of the offline extras: whatever runs there imports without them."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = ('rosbags', 'rich', 'matplotlib', 'hmmlearn', 'sklearn', 'mcap', 'joblib')
"""Top-level modules of the extra ``train`` in setup.py."""

ON_ROBOTS = (
    'nodes.filter_node',
    'nodes.updater_node',
    'nodes.trainer_node',
    'nodes.slot_car_node',
)
OFFLINE = ('cli.main', 'training.train', 'recordings.reading', 'recordings.bag_writer')


@pytest.mark.parametrize('name', [*ON_ROBOTS, *OFFLINE])
def test_it_imports_without_any_extra(name: str) -> None:
    if name in ON_ROBOTS:
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    program = (
        f'import sys; sys.modules.update(dict.fromkeys({EXTRAS})); import two_manifold_ros.{name}'
    )
    run(program)


@pytest.mark.parametrize(
    ('name', 'unused'),
    [
        # Some 60 MB, for one who compiles nothing.
        ('slot_car_node', 'numba'),
        # Some 40 MB, which manifold learners need.
        ('filter_node', 'scipy.sparse'),
        ('filter_node', 'scipy.spatial'),
        # Some .3 s, which only a t test needs.
        ('filter_node', 'scipy.stats'),
        ('updater_node', 'scipy.stats'),
    ],
)
def test_a_node_does_not_load_what_it_does_not_use(name: str, unused: str) -> None:
    pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    run(f'import sys, two_manifold_ros.nodes.{name}; assert {unused!r} not in sys.modules')


def run(program: str) -> None:
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
