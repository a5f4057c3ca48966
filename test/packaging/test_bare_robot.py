# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot has none of the offline extras, and a node loads no more than it uses."""

import subprocess
import sys

import pytest

EXTRAS = (
    'rosbags', 'rich', 'matplotlib', 'bokeh', 'hmmlearn', 'sklearn', 'mcap', 'joblib',
    'distributed', 'fsspec', 's3fs', 'gcsfs', 'aiohttp',
)  # fmt: skip
"""Top-level modules of the extras ``train``, ``fleet`` and ``remote`` in setup.py."""

UNUSED = {
    # scipy.sparse and scipy.spatial are some 40 MB, scipy.stats some .3 s, and numba some 60 MB.
    'nodes.filter_node': ('scipy.sparse', 'scipy.spatial', 'scipy.stats'),
    'nodes.updater_node': ('scipy.stats',),
    'nodes.trainer_node': (),
    'nodes.slot_car_node': ('numba',),
    '__main__': (),
    'recordings.bag_writer': (),
}


def said_by(program: str, status: int) -> str:
    command = [sys.executable, '-c', program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stderr.strip()


def test_a_node_without_ros_is_refused_in_one_sentence():
    said = said_by(
        'import sys; sys.modules["rclpy"] = None\n'
        'from two_manifold_ros.nodes.__main__ import run_node\n'
        'sys.exit(run_node("filter_node", ["filter_node"]))',
        2,
    )
    assert said.startswith('filter_node needs ROS 2 (')
    assert '\n' not in said


@pytest.mark.parametrize('name', UNUSED)
def test_it_imports_without_any_extra_and_without_what_it_does_not_use(name):
    if name.startswith('nodes.'):
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    program = (
        f'import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n'
        f'import two_manifold_ros.{name}\n'
        f'sys.exit(str(set({UNUSED[name]}) & set(sys.modules) or ""))'
    )
    assert said_by(program, 1) == ''
