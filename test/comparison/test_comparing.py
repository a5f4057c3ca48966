# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""All methods by one plan, and trials kept between runs."""

from __future__ import annotations

from dataclasses import replace
import os
from pathlib import Path
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence
from stub_methods import Failing, Fixed, Killed, Repeater

from two_manifold_ros.comparison import comparing
from two_manifold_ros.comparison.comparing import (
    Cache,
    compare,
    Failure,
    key_of,
    Trial,
    try_method,
)
from two_manifold_ros.comparison.method import MeanPosition
from two_manifold_ros.errors import InputError
from two_manifold_ros.training import tuning_trials
from two_manifold_ros.training.tuning_trials import fingerprint, source_files

if TYPE_CHECKING:
    from two_manifold_ros.comparison.protocol import Plan


def tried(method: Fixed, plan: Plan) -> Trial | Failure:
    return try_method(method, plan.train, [test.segment for test in plan.tests])


def test_positions_are_hidden_unless_the_method_is_reported(ellipse_plan: Plan) -> None:
    hidden = tried(Repeater('hidden', chosen={'b': 1, 'a': (2, 3)}), ellipse_plan)
    seeing = tried(Repeater('sees_positions', sees_positions=True), ellipse_plan)
    here = tried(Fixed('here', (3.0, 4.0), states=True, sees_positions=True), ellipse_plan)
    assert (here.linear[0] == [3.0, 4.0]).all()
    assert np.isnan(hidden.positions[0]).all()
    assert hidden.linear is None
    assert list(hidden.chosen.items()) == [('a', [2, 3]), ('b', 1)]
    truth = ellipse_plan.tests[0].segment.positions
    np.testing.assert_array_equal(seeing.positions[0][:, 2], truth)


def test_the_linear_track_is_that_of_the_states(ellipse_plan: Plan) -> None:
    """On the ellipse the accelerations are linear in the position but for the heading."""
    trial = tried(Fixed('imu', states=True), ellipse_plan)
    assert trial.linear is not None
    dataset, segment = ellipse_plan.train.dataset, ellipse_plan.tests[0].segment
    states = np.concatenate([each.values[20:] for each in dataset.segments])
    wanted = np.concatenate([each.positions[20:] for each in dataset.segments])
    rows = np.column_stack([np.ones(len(states)), states])
    known = np.isfinite(wanted).all(axis=1)
    coefficients = np.linalg.lstsq(rows[known], wanted[known], rcond=None)[0]
    exact = np.column_stack([np.ones(len(segment)), segment.values]) @ coefficients
    np.testing.assert_allclose(trial.linear[0], exact, atol=0.02)


@pytest.mark.parametrize(
    ('error', 'reason'),
    [
        (InputError('too short: record longer'), 'too short: record longer'),
        (np.linalg.LinAlgError('Singular matrix'), 'the arithmetic failed: Singular matrix'),
        (FloatingPointError('overflow'), 'the arithmetic failed: overflow'),
        (ZeroDivisionError(), 'the arithmetic failed: ZeroDivisionError'),
        (ArpackNoConvergence('lost', [], []), 'the arithmetic failed: ARPACK error -1: lost'),
        (ModuleNotFoundError('', name='hmmlearn'), "the Python package 'hmmlearn' is missing"),
        (
            ImportError('libgomp.so.1: cannot open\nshared object file', name='sklearn'),
            'a Python package that it needs is there but cannot be loaded: libgomp.so.1: cannot o',
        ),
        (ImportError(), 'a Python package that it needs is there but cannot be loaded: ImportE'),
        (MemoryError(), 'there is not enough memory'),
    ],
)
def test_failures_have_a_reason(error: Exception, reason: str, ellipse_plan: Plan) -> None:
    failure = tried(Failing('broken', error=error), ellipse_plan)
    assert failure.reason.startswith(reason)


@pytest.mark.parametrize(
    ('error', 'said'),
    [
        (ValueError('a\nbug'), ': a bug'),
        (KeyError('typo'), ": 'typo'"),
        (AssertionError(), ''),
        (ModuleNotFoundError('lost', name='two_manifold_ros.typo'), ': lost'),
    ],
)
def test_bugs_are_reported_as_such(error: Exception, said: str, ellipse_plan: Plan) -> None:
    failure = tried(Failing('broken', error=error), ellipse_plan)
    words = failure.reason.split()
    assert words[:3] == [type(error).__name__, 'in', 'line']
    assert int(words[3]) > 0
    assert failure.reason.endswith(
        f' of stub_methods.py{said}; this is a fault of the method, not of the recordings'
    )


def test_an_interrupt_ends_all(ellipse_plan: Plan) -> None:
    with pytest.raises(KeyboardInterrupt):
        tried(Failing('broken', error=KeyboardInterrupt()), ellipse_plan)


METHODS = [
    Fixed('far', (100.0, 0.0)),
    Failing('broken', error=InputError('why')),
    MeanPosition(),
    Fixed('near', states=True, chosen={'b': 1, 'a': 0.1}),
    Repeater('sees_positions', sees_positions=True),
]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by the name of every method that is run."""
    names: list[str] = []
    right = comparing.try_method

    def listed(method: Fixed, *arguments: object) -> object:
        names.append(method.name)
        return right(method, *arguments)

    monkeypatch.setattr(comparing, 'try_method', listed)
    return names


def test_the_results_are_in_order_and_right(ellipse_plan: Plan) -> None:
    comparison = compare(ellipse_plan, METHODS)
    assert [result.name for result in comparison.results] == [each.name for each in METHODS]
    far, broken, _, _, seeing = comparison.results
    assert broken.failure == 'why'
    (test,) = ellipse_plan.tests
    true = test.truth[test.scored, 1]
    away = np.linalg.norm(true[np.isfinite(true).all(axis=1)] - [100.0, 0.0], axis=1)
    assert far.scores[1].rmse_m == pytest.approx(np.sqrt(np.mean(np.square(away))))
    assert seeing.scores[0].rmse_m == 0.0
    assert comparison.scored[0] == int(np.isfinite(test.truth[test.scored, 0, 0]).sum())


def test_two_processes_give_the_same_bits(ellipse_plan: Plan) -> None:
    alone, together = compare(ellipse_plan, METHODS), compare(ellipse_plan, METHODS, processes=2)
    assert alone.to_json() == together.to_json()
    for mine, its in zip(alone.results, together.results, strict=True):
        for one, other in zip(mine.linear or (), its.linear or (), strict=True):
            assert one.tobytes() == other.tobytes()


def test_a_process_that_is_killed_holds_up_no_other(ellipse_plan: Plan) -> None:
    comparison = compare(ellipse_plan, [Killed('greedy'), *METHODS[:1], METHODS[2]], processes=2)
    greedy, far, mean = comparison.results
    assert 'killed' in (greedy.failure or '')
    alone = compare(ellipse_plan, [METHODS[0], METHODS[2]])
    assert [far.scores, mean.scores] == [result.scores for result in alone.results]


def test_what_was_kept_is_not_computed_again(
    ellipse_plan: Plan, tmp_path: Path, runs: list[str]
) -> None:
    cache = Cache(tmp_path)
    first = compare(ellipse_plan, METHODS, cache)
    assert runs == [each.name for each in METHODS]
    runs.clear()
    second = compare(ellipse_plan, METHODS, cache)
    # What failed for want of a package or of memory may succeed another time.
    assert runs == ['broken']
    assert second.to_json() == first.to_json() == compare(ellipse_plan, METHODS).to_json()
    assert str(second.to_json()) == str(first.to_json())
    runs.clear()
    compare(ellipse_plan, [Fixed('far', (99.0, 0.0)), *METHODS[2:]], cache)
    assert runs == ['far']


def test_progress_is_reported(ellipse_plan: Plan, tmp_path: Path) -> None:
    reported: list[tuple[str, float]] = []
    compare(ellipse_plan, METHODS[2:4], None, 1, lambda *each: reported.append(each))
    assert reported == [('compared mean', 0.5), ('compared near', 1.0)]
    cache = Cache(tmp_path)
    compare(ellipse_plan, METHODS[2:3], cache)
    reported.clear()
    compare(ellipse_plan, METHODS[2:4], cache, 1, lambda *each: reported.append(each))
    assert reported == [('compared near', 1.0)]


ROWS = np.arange(12.0).reshape(3, 2, 2)
TRIAL = Trial((ROWS, ROWS[:2] * np.nan), (ROWS[:, 0], ROWS[:2, 1]), {'width': 5, 'names': ['a']})
VALID = (np.array([True, False, True]), np.array([False, False]))


def same(one: Trial, other: Trial | None) -> bool:
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
    comparing.write_container(tmp_path / 'a.npz', {'segments': 1}, {'positions_0': ROWS})
    assert Cache(tmp_path).load('a') is None
    header = {'positions': True, 'segments': 2, 'linear': False, 'valid': False, 'chosen': {}}
    comparing.write_container(tmp_path / 'a.npz', header, {'positions_0': ROWS})
    assert Cache(tmp_path).load('a') is None


def test_a_read_only_folder_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, 'Permission denied')

    # As root, under whom tests often run, no folder is read-only.
    monkeypatch.setattr('tempfile.mkstemp', refuse)
    Cache(tmp_path).keep('a', TRIAL)
    assert not list(tmp_path.iterdir())


def test_the_oldest_are_forgotten(tmp_path: Path) -> None:
    cache = Cache(tmp_path, most=3)
    for age, name in enumerate('abcd'):
        cache.keep(name, TRIAL)
        os.utime(tmp_path / f'{name}.npz', (1e9 + age, 1e9 + age))
    cache.keep('e', TRIAL)
    assert sorted(path.stem for path in tmp_path.iterdir()) == ['c', 'd', 'e']


def test_the_key_is_that_of_all_a_trial_depends_on(ellipse_plan: Plan) -> None:
    method = Fixed('one')
    (test,) = ellipse_plan.tests
    train, segment = ellipse_plan.train, test.segment
    settings = replace(train.settings, states=7)
    (recording,) = train.recordings
    shifted = replace(recording, imu=replace(recording.imu, samples=recording.imu.samples + 1e-9))
    keys = [
        key_of(method, train, [segment]),
        key_of(Fixed('two'), train, [segment]),
        key_of(Fixed('one', late=1), train, [segment]),
        key_of(Repeater('one'), train, [segment]),
        key_of(method, replace(train, settings=settings), [segment]),
        key_of(method, replace(train, recordings=(shifted,)), [segment]),
        key_of(method, train, [segment.part(0, 100)]),
        key_of(method, train, [segment, segment]),
        key_of(method, train, [replace(segment, imu=shifted.imu)]),
    ]
    assert len(set(keys)) == len(keys)
    assert key_of(Fixed('one'), train, (segment,)) == keys[0]


def test_the_key_changes_with_the_source_and_the_libraries(
    ellipse_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key() -> str:
        segments = [test.segment for test in ellipse_plan.tests]
        return key_of(Fixed('one'), ellipse_plan.train, segments)

    before = key()
    with monkeypatch.context() as patch:
        patch.setattr(comparing, 'fingerprint', lambda *_: 'another')
        assert key() != before
    with monkeypatch.context() as patch:
        patch.setattr(comparing.metadata, 'version', lambda _: '0.0')
        assert key() != before
    assert key() == before


MEAN = 'two_manifold_ros.comparison.windows'
MANIFOLD = 'two_manifold_ros.comparison.own_filters'


def test_a_fingerprint_is_that_of_what_a_module_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert source_files(__name__)[__name__] == Path(__file__)
    # A copy of the package may be edited.
    copy = tmp_path / 'two_manifold_ros'
    shutil.copytree(tuning_trials.ROOT, copy, ignore=shutil.ignore_patterns('__pycache__'))
    monkeypatch.setattr(tuning_trials, 'ROOT', copy)
    for edited, mean_changes, manifold_changes in (
        ('comparison/windows.py', True, False),
        ('comparison/method.py', True, True),
        ('training/train.py', False, True),
        ('nodes/filter_node.py', False, False),
    ):
        before = fingerprint(MEAN), fingerprint(MANIFOLD)
        with (copy / edited).open('a') as file:
            file.write('# changed\n')
        after = fingerprint(MEAN), fingerprint(MANIFOLD)
        changes = (before[0] != after[0], before[1] != after[1])
        assert changes == (mean_changes, manifold_changes)
