# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The methods by name."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from two_manifold_ros.comparison.comparing import Failure, try_method
from two_manifold_ros.comparison.own_filters import EVERY, ManifoldHmm, methods_named
from two_manifold_ros.comparison.protocol import SLOT_CAR
from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.selection import KERNELS

if TYPE_CHECKING:
    from two_manifold_ros.comparison.protocol import Plan


@pytest.mark.parametrize('name', EVERY)
def test_every_name_is_that_of_a_method(name: str) -> None:
    (method,) = methods_named([name])
    assert method.name == name
    assert method.title
    assert method.told == (name in {'previous', 'imu-only'})


def test_they_come_in_one_order() -> None:
    assert [method.name for method in methods_named(['manifold', 'mean'])] == ['mean', 'manifold']


def test_the_kernels_in_one_word() -> None:
    methods = methods_named(['kernels', 'manifold', 'mean'])
    assert [method.name for method in methods[:3]] == ['mean', 'gaussian', 'manifold']
    changes = [method.changes for method in methods[1:] if isinstance(method, ManifoldHmm)]
    assert sorted(each['kernel'] for each in changes) == sorted(KERNELS)
    assert {each['method'] for each in changes} == {'spectral'}


@pytest.mark.parametrize('names', [['mean', 'magic'], [''], []])
def test_an_unknown_name_is_refused(names: list[str]) -> None:
    with pytest.raises(InputError, match=r'there is no method .*; choose from mean,previous,'):
        methods_named(names)


def test_the_opponents_are_as_in_the_paper_on_its_slot_car() -> None:
    kalman, hmm = methods_named(['kalman', 'hmm'], SLOT_CAR)
    assert vars(kalman) == {'states': 20, 'block_rows': 150}
    assert vars(hmm) == {'states': (20,)}
    assert vars(methods_named(['kalman'])[0]) != vars(kalman)


def test_only_what_is_asked_for_is_imported() -> None:
    code = (
        'import sys; from two_manifold_ros.comparison.own_filters import methods_named; '
        'methods_named(["mean"]); print(*sys.modules)'
    )
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert 'two_manifold_ros.comparison.baselines' in modules
    assert 'two_manifold_ros.comparison.hidden_markov' not in modules


def test_a_missing_package_is_the_failure_of_one_method(
    ellipse_plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, 'hmmlearn', None)
    monkeypatch.setitem(sys.modules, 'hmmlearn.hmm', None)
    (method,) = methods_named(['hmm'])
    failure = try_method(method, ellipse_plan.lesson, [])
    assert isinstance(failure, Failure)
    assert 'hmmlearn' in failure.reason
