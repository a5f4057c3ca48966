# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Structured features against the Gaussian kernel, and their frequencies against orthogonality."""

import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.random_features import (
    structured_fourier_features,
    StructuredFourierFeatures,
)

INPUTS = 300
BANDWIDTH = 2.5


def points_at_all_distances() -> np.ndarray:
    """Return a random point, others up to three bandwidths away, and some along single axes."""
    rng = np.random.default_rng(0)
    reach = np.linspace(0.1, 3.0, 12)[:, None] * BANDWIDTH
    away = rng.normal(size=(12, INPUTS))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    along = np.eye(INPUTS)[:12]
    return np.concatenate([np.zeros((1, INPUTS)), reach * away, reach * along])


def test_kernel() -> None:
    points = points_at_all_distances()
    expected = naive.gaussian(points, points, BANDWIDTH)
    features = structured_fourier_features(INPUTS, 4_000, BANDWIDTH, seed=0).transform(points)
    errors = np.abs(features @ features.T - expected)
    assert errors.max() < 0.1
    assert errors.mean() < 0.02


def test_equation() -> None:
    inputs, size = 5, 12
    made = structured_fourier_features(inputs, size, BANDWIDTH, seed=3)
    transform = naive.cosine_transform(inputs)
    blocks = [
        transform @ np.diag(third) @ transform @ np.diag(second) @ transform @ np.diag(first)
        for first, second, third in made.signs
    ]
    frequencies = np.sqrt(inputs) / BANDWIDTH * np.concatenate(blocks)[:size]
    points = np.random.default_rng(1).normal(size=(4, inputs))
    expected = np.sqrt(2.0 / size) * np.cos(points @ frequencies.T + made.phases)
    np.testing.assert_allclose(made.transform(points), expected, atol=1e-13)
    assert (made.inputs, made.size) == (inputs, size)


def test_single_precision() -> None:
    points = points_at_all_distances()
    double, single = (
        structured_fourier_features(INPUTS, 4_000, BANDWIDTH, 0, precision)
        for precision in ('double', 'single')
    )
    assert single.phases.dtype == np.float32
    features = single.transform(points)
    assert features.dtype == np.float64
    difference = np.abs(features - double.transform(points)).max()
    assert 1e-10 < difference < 1e-7


def test_the_seed_decides() -> None:
    first, again, other = (structured_fourier_features(50, 90, 1.0, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.signs, again.signs)
    np.testing.assert_array_equal(first.phases, again.phases)
    assert 0.3 < np.mean(first.signs == other.signs) < 0.7
    assert abs(first.signs.mean()) < 0.2


def test_points_too_far_out_or_not_finite() -> None:
    made = structured_fourier_features(5, 12, BANDWIDTH, seed=3)
    for far in (1e14, 1e300, 1.7e308):
        with pytest.raises(InputError, match='too far out'):
            made.transform(np.full((1, 5), far))
    with pytest.raises(InputError, match='not finite'):
        made.transform(np.full((1, 5), np.nan))
    with pytest.raises(InputError, match='do not fit'):
        made.transform(np.zeros((1, 6)))


@pytest.mark.parametrize(
    'changed',
    [{'inputs': 0}, {'size': -1}, {'bandwidth': -2.0}, {'seed': 1.5}, {'precision': 'half'}],
)
def test_bad_settings(changed: dict[str, object]) -> None:
    given = {'inputs': 3, 'size': 4, 'bandwidth': 1.0, 'seed': 0} | changed
    with pytest.raises(InputError, match=next(iter(changed))):
        structured_fourier_features(**given)


@pytest.mark.parametrize(
    ('changed', 'word'),
    [
        ({'signs': np.ones((2, 2, 5), dtype=np.int8)}, 'signs has the shape'),
        ({'signs': np.ones((1, 3, 5), dtype=np.int8)}, '1 blocks of 5 do not give 7 features'),
        ({'signs': np.ones((3, 3, 5), dtype=np.int8)}, '3 blocks of 5 do not give 7 features'),
        ({'signs': np.zeros((2, 3, 5), dtype=np.int8)}, 'neither 1 nor -1'),
        ({'signs': np.full((2, 3, 5), -128, dtype=np.int8)}, 'neither 1 nor -1'),
        ({'signs': np.ones((2, 3, 5))}, 'signs holds float64'),
        ({'phases': np.ones((7, 1))}, 'phases has the shape'),
        ({'phases': np.full(7, np.inf)}, 'phases holds numbers that are not finite'),
        ({'bandwidth': 0.0}, 'bandwidth is 0.0'),
        ({'bandwidth': '1'}, "bandwidth is '1'"),
    ],
)
def test_parameters_that_do_not_fit(changed: dict[str, object], word: str) -> None:
    given = {
        'signs': np.ones((2, 3, 5), dtype=np.int8),
        'phases': np.ones(7),
        'bandwidth': 1.0,
    }
    StructuredFourierFeatures(**given)
    with pytest.raises(InputError, match=word):
        StructuredFourierFeatures(**(given | changed))
