# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What may be told, and how far an ellipse reaches, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from two_manifold_ros.filtering import estimate
from two_manifold_ros.filtering.estimate import half_axis, sound


def numbers() -> list[Any]:
    generator = np.random.default_rng(0)
    factors = generator.normal(size=(5, 2, 2))
    covariances = factors @ factors.transpose(0, 2, 1) + 1e-4 * np.eye(2)
    covariances[:, 1, 0] = covariances[:, 0, 1]
    return [generator.normal(size=7), generator.normal(size=(5, 2)), covariances]


def test_the_long_axis_of_the_ellipse() -> None:
    for covariance in [*numbers()[2], np.eye(2), np.diag([1e-12, 4.0]), np.zeros((2, 2))]:
        wanted = np.sqrt(5.991464547 * np.linalg.eigvalsh(covariance)[-1])
        assert half_axis(covariance) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize('form', ['sound', '_sound_arrays'])
def test_one_bad_number_is_enough(form: str) -> None:
    may_be_told = getattr(estimate, form)
    assert may_be_told(*numbers())
    for part in range(3):
        for place in range(numbers()[part].size):
            for bad in (np.nan, np.inf, -np.inf):
                spoilt = numbers()
                spoilt[part].flat[place] = bad
                assert not may_be_told(*spoilt)


@pytest.mark.parametrize('compiled', [True, False])
def test_one_number_that_is_not_finite_is_enough(*, compiled: bool) -> None:
    plain = getattr(estimate.all_finite, 'py_func', estimate.all_finite)
    all_finite = estimate.all_finite if compiled else plain

    def parts() -> list[Any]:
        state, means, covariances = numbers()
        return [state, means[:-1], covariances[:-1], means[-1], covariances[-1]]

    assert all_finite(*parts())
    for part in range(5):
        for place in range(parts()[part].size):
            spoilt = parts()
            spoilt[part].flat[place] = np.nan if place % 2 else np.inf
            assert not all_finite(*spoilt)


@pytest.mark.parametrize('form', ['sound', '_sound_arrays'])
@pytest.mark.parametrize(
    'bad',
    [
        [[0.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.0], [0.0, -1.0]],
        [[-1.0, 0.0], [0.0, -1.0]],
        [[1.0, 1.0], [1.0, 1.0]],
        [[1.0, 0.5], [0.4, 1.0]],
        [[1e308, 0.0], [0.0, 1e308]],
    ],
    ids=['flat', 'indefinite', 'negative', 'singular', 'askew', 'endless'],
)
def test_every_covariance_has_to_be_one(form: str, bad: list[list[float]]) -> None:
    state, means, covariances = numbers()
    covariances[3] = bad
    assert not getattr(estimate, form)(state, means, covariances)


def test_with_and_without_numba_the_same_is_told() -> None:
    assert sound(*numbers()) == estimate._sound_arrays(*numbers())
