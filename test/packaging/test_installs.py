# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""pip and colcon put all where ROS 2 looks for it, and a robot needs and loads no extras."""

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

NODES = ['filter_node', 'slot_car_node', 'trainer_node', 'updater_node']
LIB = 'lib/two_manifold_ros'


def run(*command: str | Path, cwd: Path | None = None, status: int = 0, **variables: str) -> str:
    """Run a command that must end with a status and return what it printed."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=os.environ | variables,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == status, done.stdout
    return done.stdout


def site_packages(prefix: Path) -> Path:
    (folder,) = prefix.glob('lib/python3*/site-packages')
    return folder


@pytest.fixture(scope='module', params=['copied', 'symlinked'])
def colcon_workspace(copied_checkout: Path, request: pytest.FixtureRequest) -> Path:
    """Workspace that colcon has built the package in."""
    pytest.importorskip('colcon_core', reason='colcon is not installed')
    workspace = copied_checkout.parents[1]
    for leftover in ('build', 'install', 'log'):
        shutil.rmtree(workspace / leftover, ignore_errors=True)
    options = ['--symlink-install'] if request.param == 'symlinked' else []
    # Underlay: the environment's prefix where ROS 2 came by pip, the sourced one otherwise.
    underlay = os.environ.get('AMENT_PREFIX_PATH', sys.prefix)
    main = 'from colcon_core.command import main; import sys; sys.exit(main())'
    command = [sys.executable, '-c', main, 'build', *options]
    run(*command, cwd=workspace, AMENT_PREFIX_PATH=underlay)
    return workspace


def test_pip_installs_all_sources_and_data_files_and_commands_where_ros2_run_looks(
    copied_checkout, tmp_path, checkout, data_files
):
    """As a plain (not editable) install."""
    options = ['--quiet', '--no-index', '--no-deps', '--no-build-isolation', '--ignore-installed']
    pip = [sys.executable, '-m', 'pip', 'install', *options, '--prefix', tmp_path]
    run(*pip, copied_checkout, cwd=tmp_path)
    assert [name for name in data_files if not (tmp_path / name).is_file()] == []
    packages = site_packages(tmp_path)
    sources = [*checkout.glob('two_manifold_ros/**/*.py'), checkout / 'two_manifold_ros/py.typed']
    names = [path.relative_to(checkout) for path in sources]
    assert [name for name in names if not (packages / name).is_file()] == []
    command = tmp_path / 'bin' / 'two-manifold'
    assert 'train' in run(command, '--help', cwd=tmp_path, PYTHONPATH=str(packages))
    for node in (*NODES, 'two-manifold'):
        stand_in = tmp_path / 'bin' / node
        assert os.access(stand_in, os.X_OK)
        stand_in.write_text('#!/bin/sh\necho "$# $2"\n')
        assert run(tmp_path / LIB / node, '--ros-args', 'a b', cwd=tmp_path) == '2 a b\n'


def test_colcon_installs_data_files_and_scripts_where_ros2_run_looks(colcon_workspace, data_files):
    prefix = colcon_workspace / 'install' / 'two_manifold_ros'
    assert [name for name in data_files if not (prefix / name).is_file()] == []
    folder = prefix / LIB
    assert sorted(path.name for path in folder.iterdir()) == sorted([*NODES, 'two-manifold'])
    for path in folder.iterdir():
        # The wrapper that pip needs would look for a bin folder that colcon does not make.
        assert 'python' in path.read_text().splitlines()[0]
        assert os.access(path, os.X_OK)
    packages = f'{site_packages(prefix)}:{colcon_workspace / "build/two_manifold_ros"}'
    command = [sys.executable, folder / 'two-manifold', '--help']
    assert 'train' in run(*command, cwd=folder, PYTHONPATH=packages)


EXTRAS = (
    'rosbags', 'rich', 'matplotlib', 'bokeh', 'hmmlearn', 'sklearn', 'mcap', 'joblib',
    'distributed', 'fsspec', 's3fs', 'gcsfs', 'aiohttp',
)  # fmt: skip
"""Top-level modules of the extras ``train``, ``fleet`` and ``remote`` in setup.py."""

UNUSED = {
    # scipy.sparse and scipy.spatial are some 40 MB, scipy.stats some .3 s, and numba some 60 MB.
    # A node declares parameters at once.
    'interface.parameters': ('scipy', 'two_manifold_ros.training.train'),
    'nodes.filter_node': ('scipy.sparse', 'scipy.spatial', 'scipy.stats'),
    'nodes.updater_node': ('scipy.stats',),
    'nodes.trainer_node': (),
    'nodes.slot_car_node': ('numba',),
    '__main__': (),
    'recordings.bag_writer': (),
}


def test_a_node_without_ros_is_refused_in_one_sentence():
    program = (
        'import sys; sys.modules["rclpy"] = None\n'
        'from two_manifold_ros.nodes.__main__ import run_node\n'
        'sys.exit(run_node("filter_node", ["filter_node"]))'
    )
    said = run(sys.executable, '-c', program, status=2).strip()
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
    assert run(sys.executable, '-c', program, status=1) == '\n'
