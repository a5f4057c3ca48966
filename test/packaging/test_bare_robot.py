# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot has none of the offline extras, and a node loads no more than it uses."""

import subprocess
import sys

import pytest

EXTRAS = ('rosbags', 'rich', 'matplotlib', 'hmmlearn', 'sklearn', 'mcap', 'joblib')
"""Top-level modules of the extra ``train`` in setup.py."""

UNUSED = {
    # scipy.sparse and scipy.spatial are some 40 MB, which manifold learners need; scipy.stats is
    # some .3 s, which only a t test needs.
    'nodes.filter_node': ('scipy.sparse', 'scipy.spatial', 'scipy.stats'),
    'nodes.updater_node': ('scipy.stats',),
    'nodes.trainer_node': (),
    # numba is some 60 MB, for one who compiles nothing.
    'nodes.slot_car_node': ('numba',),
    'cli.main': (),
    'training.train': (),
    'recordings.reading': (),
    'recordings.bag_writer': (),
}


def test_a_node_without_ros_is_refused_in_one_sentence():
    program = (
        'import sys; sys.modules["rclpy"] = None\n'
        'from two_manifold_ros.nodes.__main__ import run_node\n'
        'sys.exit(run_node("filter_node", ["filter_node"]))'
    )
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, check=False
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith('filter_node needs ROS 2 (')


def test_another_library_that_is_broken_is_not_taken_for_ros():
    program = (
        'import sys; sys.modules["numpy"] = None\n'
        'from two_manifold_ros.nodes.__main__ import run_node\n'
        'sys.exit(run_node("filter_node", ["filter_node"]))'
    )
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert 'needs ROS 2' not in done.stderr


def test_a_signal_while_a_node_loads_is_no_missing_library():
    program = (
        'import os, signal, sys\n'
        'from two_manifold_ros.nodes import __main__ as nodes\n'
        'def load(_):\n'
        '    os.kill(os.getpid(), signal.SIGTERM)\n'
        '    raise ImportError("import interrupted", name="rclpy")\n'
        'nodes.import_module = load\n'
        'sys.exit(nodes.run_node(sys.argv[1], [sys.argv[1]]))'
    )
    for name, status in (('filter_node', 0), ('trainer_node', 143)):
        done = subprocess.run(
            [sys.executable, '-c', program, name], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (status, '')


@pytest.mark.parametrize('name', UNUSED)
def test_it_imports_without_any_extra_and_without_what_it_does_not_use(name):
    if name.startswith('nodes.'):
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    program = (
        f'import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n'
        f'import two_manifold_ros.{name}\n'
        f'sys.exit(str(set({UNUSED[name]}) & set(sys.modules) or ""))'
    )
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == ''
