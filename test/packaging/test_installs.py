# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""pip and colcon put everything where ROS 2 looks for it."""

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

NODES = ['filter_node', 'slot_car_node', 'trainer_node', 'updater_node']
LIB = 'lib/two_manifold_ros'


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Run a command that must succeed and return what it printed."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=os.environ | variables,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
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


def test_colcon_installs_the_data_files_and_its_own_scripts_where_ros2_run_looks(
    colcon_workspace, data_files
):
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
