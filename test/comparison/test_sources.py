# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fingerprints of source files."""

from __future__ import annotations

from pathlib import Path
import shutil

import pytest

from two_manifold_ros.training import tuning_trials
from two_manifold_ros.training.tuning_trials import fingerprint, source_files

MEAN = 'two_manifold_ros.comparison.baselines'
MANIFOLD = 'two_manifold_ros.comparison.own_filters'


def test_what_a_module_is_made_of() -> None:
    files = source_files(MEAN)
    assert {MEAN, 'two_manifold_ros.comparison.method', 'two_manifold_ros.errors'} < set(files)
    assert 'two_manifold_ros.training.train' not in files
    assert 'two_manifold_ros.errors.InputError' not in files
    assert {'two_manifold_ros.training.train', 'two_manifold_ros.hse_hmm.belief'} < set(
        source_files(MANIFOLD)
    )


def test_a_module_from_elsewhere_counts_with_what_it_imports() -> None:
    files = source_files(__name__)
    assert files[__name__] == Path(__file__)
    assert 'two_manifold_ros.training.tuning_trials' in files


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the package that may be edited."""
    copy = tmp_path / 'two_manifold_ros'
    shutil.copytree(tuning_trials.ROOT, copy, ignore=shutil.ignore_patterns('__pycache__'))
    monkeypatch.setattr(tuning_trials, 'ROOT', copy)
    return copy


@pytest.mark.parametrize(
    ('edited', 'mean_changes', 'manifold_changes'),
    [
        ('comparison/baselines.py', True, False),
        ('comparison/method.py', True, True),
        ('training/train.py', False, True),
        ('nodes/filter_node.py', False, False),
    ],
)
def test_only_what_a_module_is_made_of_changes_its_fingerprint(
    edited: str, mean_changes: bool, manifold_changes: bool, package: Path
) -> None:
    before = fingerprint(MEAN), fingerprint(MANIFOLD)
    with (package / edited).open('a') as file:
        file.write('# changed\n')
    after = fingerprint(MEAN), fingerprint(MANIFOLD)
    assert (before[0] != after[0], before[1] != after[1]) == (mean_changes, manifold_changes)


def test_several_modules_together() -> None:
    assert fingerprint(MEAN, MANIFOLD) == fingerprint(MANIFOLD, MEAN)
    assert fingerprint(MEAN, MANIFOLD) != fingerprint(MEAN)
