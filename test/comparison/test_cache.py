# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trials kept between runs."""

from __future__ import annotations

from dataclasses import replace
import os
from pathlib import Path
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from stub_methods import Fixed, Repeater

from two_manifold_ros.comparison import comparing as module
from two_manifold_ros.comparison.comparing import Cache, key_of, Trial, usual_folder

if TYPE_CHECKING:
    from two_manifold_ros.comparison.protocol import Plan

ROWS = np.arange(12.0).reshape(3, 2, 2)
TRIAL = Trial((ROWS, ROWS[:2] * np.nan), (ROWS[:, 0], ROWS[:2, 1]), {'width': 5, 'names': ['a']})
VALID = (np.array([True, False, True]), np.array([False, False]))


def key(plan: Plan, method: Fixed) -> str:
    return key_of(method, plan.lesson, [exam.segment for exam in plan.exams])


def same(one: Trial, other: Trial | None) -> bool:
    assert other is not None
    np.testing.assert_array_equal(one.positions[0], other.positions[0])
    np.testing.assert_array_equal(one.positions[1], other.positions[1])
    assert (one.linear is None) == (other.linear is None)
    for mine, its in zip(one.linear or (), other.linear or (), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert (one.valid is None) == (other.valid is None)
    for mine, its in zip(one.valid or (), other.valid or (), strict=True):
        assert mine.tolist() == its.tolist()
        assert its.dtype == bool
    return one.chosen == other.chosen


@pytest.mark.parametrize(
    'trial', [TRIAL, replace(TRIAL, linear=None), replace(TRIAL, valid=VALID)]
)
def test_what_is_kept_is_found(trial: Trial, tmp_path: Path) -> None:
    cache = Cache(tmp_path / 'deep' / 'down')
    assert cache.load('a') is None
    cache.keep('a', trial)
    assert same(trial, cache.load('a'))
    assert cache.load('b') is None
    assert [path.name for path in (tmp_path / 'deep' / 'down').iterdir()] == ['a.npz']


@pytest.mark.parametrize('damage', [b'', b'PK\x03\x04 nonsense', None])
def test_a_damaged_entry_is_as_if_it_were_not_there(damage: bytes | None, tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.keep('a', TRIAL)
    path = tmp_path / 'a.npz'
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[whole.index(TRIAL.positions[0].tobytes())] ^= 0xFF
    path.write_bytes(bytes(flipped) if damage is None else damage)
    assert cache.load('a') is None
    cache.keep('a', TRIAL)
    assert path.read_bytes() == whole


def test_an_entry_of_another_kind_is_not_taken(tmp_path: Path) -> None:
    module.write_container(tmp_path / 'a.npz', {'segments': 1}, {'positions_0': ROWS})
    assert Cache(tmp_path).load('a') is None
    header = {'segments': 2, 'linear': False, 'valid': False, 'chosen': {}}
    module.write_container(tmp_path / 'a.npz', header, {'positions_0': ROWS})
    assert Cache(tmp_path).load('a') is None


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / 'file').write_text('in the way')
    cache = Cache(tmp_path / 'file' / 'folder')
    cache.keep('a', TRIAL)
    assert cache.load('a') is None


def test_a_read_only_folder_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, 'Permission denied')

    # As root, under whom tests often run, no folder is read-only.
    monkeypatch.setattr('tempfile.mkstemp', refuse)
    Cache(tmp_path).keep('a', TRIAL)
    assert not list(tmp_path.iterdir())


def test_the_oldest_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, 'MOST_TRIALS', 3)
    cache = Cache(tmp_path)
    for age, name in enumerate('abcd'):
        cache.keep(name, TRIAL)
        os.utime(tmp_path / f'{name}.npz', (1e9 + age, 1e9 + age))
    cache.keep('e', TRIAL)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ['c', 'd', 'e']


def test_the_key_is_that_of_all_a_trial_depends_on(ellipse_plan: Plan) -> None:
    method = Fixed('one')
    (exam,) = ellipse_plan.exams
    lesson, segment = ellipse_plan.lesson, exam.segment
    settings = replace(lesson.settings, states=7)
    (recording,) = lesson.recordings
    shifted = replace(recording, imu=replace(recording.imu, samples=recording.imu.samples + 1e-9))
    keys = [
        key_of(method, lesson, [segment]),
        key_of(Fixed('two'), lesson, [segment]),
        key_of(Fixed('one', late=1), lesson, [segment]),
        key_of(Repeater('one'), lesson, [segment]),
        key_of(method, replace(lesson, settings=settings), [segment]),
        key_of(method, replace(lesson, recordings=(shifted,)), [segment]),
        key_of(method, lesson, [segment.part(0, 100)]),
        key_of(method, lesson, [segment, segment]),
        key_of(method, lesson, [replace(segment, imu=shifted.imu)]),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of(Fixed('one'), lesson, (segment,)) == keys[0]


def test_the_key_changes_with_the_source_and_the_libraries(
    ellipse_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = key(ellipse_plan, Fixed('one'))
    with monkeypatch.context() as patch:
        patch.setattr(module, 'fingerprint', lambda *_: 'another')
        assert key(ellipse_plan, Fixed('one')) != before
    with monkeypatch.context() as patch:
        patch.setattr(module, '_version', lambda _: '0.0')
        assert key(ellipse_plan, Fixed('one')) != before
    assert key(ellipse_plan, Fixed('one')) == before


def test_the_folder_is_where_the_system_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    assert usual_folder() == tmp_path / 'two_manifold_ros' / 'comparison'
    for unset in ('', 'relative'):
        monkeypatch.setenv('XDG_CACHE_HOME', unset)
        monkeypatch.setenv('HOME', '/home/somebody')
        assert usual_folder() == Path('/home/somebody/.cache/two_manifold_ros/comparison')


def test_who_has_no_home_has_no_folder() -> None:
    code = (
        'from two_manifold_ros.comparison.comparing import usual_folder\n'
        'from pathlib import Path\n'
        'def homeless(): raise RuntimeError\n'
        'Path.home = homeless\n'
        'assert usual_folder() is None\n'
    )
    environment = {name: text for name, text in os.environ.items() if name != 'XDG_CACHE_HOME'}
    subprocess.run([sys.executable, '-c', code], check=True, env=environment)
