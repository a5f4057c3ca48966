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
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def site_packages(prefix: Path) -> Path:
    (folder,) = prefix.glob('lib/python3*/site-packages')
    return folder


@pytest.fixture(scope='module')
def pip_prefix(copied_checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder that pip installed the package into, as a plain (not editable) install."""
    prefix = tmp_path_factory.mktemp('pip')
    options = ['--quiet', '--no-index', '--no-deps', '--no-build-isolation', '--ignore-installed']
    pip = [sys.executable, '-m', 'pip', 'install', *options, '--prefix', prefix]
    run(*pip, copied_checkout, cwd=prefix)
    return prefix


@pytest.fixture(scope='module', params=['copied', 'symlinked'])
def colcon_workspace(copied_checkout: Path, request: pytest.FixtureRequest) -> Path:
    """Workspace that colcon has built the package in."""
    workspace = copied_checkout.parents[1]
    for leftover in ('build', 'install', 'log'):
        shutil.rmtree(workspace / leftover, ignore_errors=True)
    options = ['--symlink-install'] if request.param == 'symlinked' else []
    if not shutil.which('colcon', path=f'{Path(sys.executable).parent}:{os.environ["PATH"]}'):
        pytest.skip('colcon is not installed')
    # Underlay: the environment's prefix where ROS 2 came by pip, the sourced one otherwise.
    underlay = os.environ.get('AMENT_PREFIX_PATH', sys.prefix)
    main = 'from colcon_core.command import main; import sys; sys.exit(main())'
    command = [sys.executable, '-c', main, 'build', *options]
    run(*command, cwd=workspace, AMENT_PREFIX_PATH=underlay)
    return workspace


def test_pip_installs_all_sources_all_data_files_and_the_command(pip_prefix, checkout, data_files):
    assert [name for name in data_files if not (pip_prefix / name).is_file()] == []
    packages = site_packages(pip_prefix)
    sources = [*checkout.glob('two_manifold_ros/**/*.py'), checkout / 'two_manifold_ros/py.typed']
    names = [path.relative_to(checkout) for path in sources]
    assert [name for name in names if not (packages / name).is_file()] == []
    command = pip_prefix / 'bin' / 'two-manifold'
    text = run(command, '--help', cwd=pip_prefix, PYTHONPATH=str(site_packages(pip_prefix)))
    assert 'train' in text


@pytest.mark.parametrize('node', [*NODES, 'two-manifold'])
def test_ros2_run_would_find_what_pip_installed(pip_prefix, node):
    assert os.access(pip_prefix / 'bin' / node, os.X_OK)
    stand_in = pip_prefix / 'bin' / node
    stand_in.write_text('#!/bin/sh\necho "$# $2"\n')
    assert run(pip_prefix / LIB / node, '--ros-args', 'a b', cwd=pip_prefix) == '2 a b\n'


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
