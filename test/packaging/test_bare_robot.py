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
    # scipy.sparse and scipy.spatial are some 40 MB, which manifold learners need; scipy.stats is
    # some .3 s, which only a t test needs.
    'nodes.filter_node': ('scipy.sparse', 'scipy.spatial', 'scipy.stats'),
    'nodes.updater_node': ('scipy.stats',),
    'nodes.trainer_node': (),
    # numba is some 60 MB, for one who compiles nothing.
    'nodes.slot_car_node': ('numba',),
    '__main__': (),
    'training.train': (),
    'recordings.reading': (),
    'recordings.bag_writer': (),
}


def run_program(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-c', program]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_node_without_ros_is_refused_in_one_sentence():
    done = run_program(
        'import sys; sys.modules["rclpy"] = None\n'
        'from two_manifold_ros.nodes.__main__ import run_node\n'
        'sys.exit(run_node("filter_node", ["filter_node"]))'
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith('filter_node needs ROS 2 (')


@pytest.mark.parametrize('name', UNUSED)
def test_it_imports_without_any_extra_and_without_what_it_does_not_use(name):
    if name.startswith('nodes.'):
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    program = (
        f'import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n'
        f'import two_manifold_ros.{name}\n'
        f'sys.exit(str(set({UNUSED[name]}) & set(sys.modules) or ""))'
    )
    done = run_program(program)
    assert done.stderr.strip() == ''
