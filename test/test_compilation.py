# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Compiled code is kept for the next process, safely, and says the same from disk."""

from concurrent.futures import ThreadPoolExecutor
import os
from pathlib import Path
import shutil
import subprocess
import sys
from unittest.mock import Mock

import pytest

from two_manifold_ros import compilation
from two_manifold_ros.compilation import cache_folder, digest_of, GENERATIONS

CHECKOUT = Path(__file__).resolve().parents[1]
COMPILE = 'import sys; from two_manifold_ros.__main__ import main; sys.exit(main(["compile"]))'
FILTER_NODE = """
import sys
from two_manifold_ros.nodes.__main__ import run_node
sys.exit(run_node('filter_node'))
"""
# Whatever a node and a training do on one drive: a digest of all numbers, and what was compiled.
DRIVE = """
import hashlib
from numba.core import event
import numpy as np
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

with event.install_recorder('numba:compile') as compilations:
    laps = simulate(SlotCarSettings(rate_hz=20.0), laps=4)
    live = Filter(train_model([run_to_recording(laps)], TrainingSettings()))
    live.warm_up()
    said = hashlib.sha256()
    for tick, (stamp, sample) in enumerate(zip(laps.stamps_ns.tolist(), laps.imu)):
        if 200 < tick < 215:
            continue
        for estimate in live.push(stamp, sample):
            said.update(estimate.positions.tobytes() + estimate.covariances.tobytes())
print(said.hexdigest(), len(compilations.buffer))
"""
LITTLE = """
from two_manifold_ros.compilation import compiled, STORE

@compiled
def double(number):
    return 2.0 * number

print(double(1.0), STORE.folder is not None)
"""
BOTH = f'{LITTLE}\nprint(double(3))'


def python(program: str, cache: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a program of ours with a folder for caches, where it finds modules as well."""
    command = [sys.executable, '-c', program]
    paths = os.pathsep.join([str(cache), str(CHECKOUT), os.environ.get('PYTHONPATH', '')])
    given = {**os.environ, 'PYTHONPATH': paths, 'TWO_MANIFOLD_CACHE': str(cache)}
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture(scope='module')
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder that the command has compiled everything into."""
    folder = tmp_path_factory.mktemp('cache')
    said = python(COMPILE, folder).stdout
    assert str(folder) in said
    return folder


@pytest.fixture(scope='module')
def doubles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a little function, compiled for two kinds of arguments."""
    folder = tmp_path_factory.mktemp('doubles')
    python(BOTH, folder)
    return folder


def test_every_function_is_compiled_for_one_kind_of_arguments(filled):
    """Each other one would cost seconds, and numbers would depend on which came first."""
    (folder,) = (filled / 'compiled').iterdir()
    names = [path.name for path in folder.glob('*.nbc')]
    assert len(names) > 20
    assert all(name.endswith('.1.nbc') for name in names)


def test_the_same_numbers_where_some_of_it_is_compiled_again(filled, tmp_path):
    """Missing or changed files cost a compilation, and nothing else."""
    warm, compilations = python(DRIVE, filled).stdout.split()
    assert (len(warm), compilations) == (64, '0'), 'compiled after the command'
    again = tmp_path / 'cache'
    shutil.copytree(filled, again)
    files = {path for path in again.rglob('*') if path.is_file()}
    for path in files:
        if '_merge_loop' in path.name or 'steps.step' in path.name:
            path.unlink()
        elif 'take_features' in path.name and path.suffix == '.nbc':
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
    digest, compilations = python(DRIVE, again).stdout.split()
    assert int(compilations) >= 3
    assert digest == warm
    assert files == {path for path in again.rglob('*') if path.is_file()}


@pytest.mark.parametrize('umask', [0o022, 0o002])
def test_it_is_kept_in_a_folder_of_this_user_alone(umask, tmp_path):
    """Also where a user's umask lets the group write, as on Ubuntu, in a home without a cache."""
    done = python(f'import os; os.umask({umask})\n{LITTLE}', tmp_path / 'a' / 'b')
    assert done.stdout.split() == ['2.0', 'True'], done.stderr
    (folder,) = (tmp_path / 'a' / 'b' / 'compiled').iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700


FULL = """
import errno, os
from numba.core import caching

def refuse(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

caching.os.replace = refuse
"""


@pytest.mark.parametrize(('disk', 'words'), [('', 'a file ('), (FULL, 'No space left on device')])
def test_where_nothing_can_be_kept_it_says_so_once_and_compiles(disk, words, doubles, tmp_path):
    """As a file is in its place, or the disk is full; what is there is used without a word."""
    (tmp_path / 'a file').touch()
    done = python(f'{disk}{LITTLE}\nprint(double(1))', tmp_path / ('cache' if disk else 'a file'))
    assert done.stdout.split() == ['2.0', 'False', '2.0']
    (line,) = done.stderr.splitlines()
    assert words in line
    assert not list(tmp_path.rglob('*double*'))
    done = python(f'{disk}{LITTLE}', doubles)
    assert (done.stdout.split(), done.stderr) == (['2.0', 'True'], '')


@pytest.mark.parametrize(('length', 'kind'), [(0, 'nbi'), (60, 'nbi'), (0, 'nbc'), (-1, 'nbc')])
def test_a_file_that_is_cut_off_costs_a_compilation(kind, length, doubles, tmp_path):
    shutil.copytree(doubles, tmp_path, dirs_exist_ok=True)
    file = min(tmp_path.rglob(f'*double*.{kind}'))
    cut = file.read_bytes()[:length]
    file.write_bytes(cut)
    done = python(BOTH, tmp_path)
    assert (done.stdout.split(), done.stderr) == (['2.0', 'True', '6.0'], '')
    assert file.read_bytes() != cut


def test_the_code_of_another_signature_is_not_taken(doubles, tmp_path):
    """As an index names it that two processes have written at once, each for its own."""
    shutil.copytree(doubles, tmp_path, dirs_exist_ok=True)
    one, other = sorted(tmp_path.rglob('*double*.nbc'))
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)
    said = python(f'{BOTH}\nprint(double(1.5))', tmp_path).stdout
    assert said.split() == ['2.0', 'True', '6.0', '3.0']


def test_processes_that_compile_at_once_give_whole_files(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        said = [each.stdout.split() for each in pool.map(python, [LITTLE] * 4, [tmp_path] * 4)]
    assert said == [['2.0', 'True']] * 4
    assert len([path for path in tmp_path.rglob('*') if path.is_file()]) == 2


# In /tmp no user can replace files of another user, and a group of one user is no other user.
@pytest.mark.parametrize(
    ('mode', 'alone', 'refused'),
    [(0o777, False, True), (0o1777, False, False), (0o775, True, False), (0o775, False, True)],
)
def test_a_folder_that_others_can_replace_is_refused(mode, alone, refused, tmp_path, monkeypatch):
    monkeypatch.setattr(compilation, '_is_private_group', lambda _: alone)
    (tmp_path / 'open').mkdir()
    # Through a link, too.
    (tmp_path / 'link').symlink_to(tmp_path / 'open')
    (tmp_path / 'open').chmod(mode)
    monkeypatch.setenv('TWO_MANIFOLD_CACHE', str(tmp_path / 'link' / 'ours'))
    store = compilation.Store()
    assert (store.folder is None) == ('other users could write' in store.trouble) == refused


def test_any_change_of_any_source_or_option_of_numba_gives_another_folder(tmp_path, monkeypatch):
    (tmp_path / 'b').mkdir()
    names = []
    for file, text in (('a.py', 'A = 1'), ('a.py', 'A = 2'), ('b/c.py', ''), ('b/c.md', 'words')):
        (tmp_path / file).write_text(text)
        names.append(digest_of(tmp_path))
    monkeypatch.setenv('NUMBA_OPT', '1')
    names.append(digest_of(tmp_path))
    assert len(set(names)) == 4
    assert names[2] == names[3]


def test_only_the_folders_used_last_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv('TWO_MANIFOLD_CACHE', str(tmp_path))
    ages = [f'{age:024x}' for age in range(GENERATIONS + 2)]
    for age, name in enumerate([*ages, 'of another user']):
        place = tmp_path / 'compiled' / name
        place.mkdir(parents=True, mode=0o700)
        os.utime(place, (1e9 - age, 1e9 - age))
    (tmp_path / 'compiled').chmod(0o700)
    folder = compilation.Store().folder
    kept = {path.name for path in folder.parent.iterdir()}
    assert kept == {folder.name, 'of another user', *ages[: GENERATIONS - 1]}


def test_the_folder_is_where_the_system_wants_it(tmp_path, monkeypatch):
    monkeypatch.delenv('TWO_MANIFOLD_CACHE', raising=False)
    monkeypatch.setenv('HOME', '/home/user')
    for named in ('/caches', '', 'relative'):
        monkeypatch.setenv('XDG_CACHE_HOME', named)
        caches = Path(named if named == '/caches' else '/home/user/.cache')
        assert cache_folder() == caches / 'two_manifold_ros'
    monkeypatch.setattr(Path, 'home', Mock(side_effect=RuntimeError))
    assert cache_folder() is None
    monkeypatch.setenv('TWO_MANIFOLD_CACHE', str(tmp_path / 'other'))
    assert cache_folder() == tmp_path / 'other'


@pytest.mark.parametrize(
    ('program', 'words'),
    [
        ("raise ModuleNotFoundError('no numba', name='numba')", 'is not installed'),
        ("raise SystemError('no init')", 'cannot be loaded (no init)'),
    ],
)
@pytest.mark.parametrize('command', [COMPILE, FILTER_NODE])
def test_a_missing_or_broken_numba_is_one_sentence_and_status_2(tmp_path, program, words, command):
    if 'node' in command:
        pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    (tmp_path / 'numba.py').write_text(program)
    (line,) = python(command, tmp_path, status=2).stderr.splitlines()
    assert words in line
    assert 'pip install numba' in line
