# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Gaussian features against the kernel matrix itself."""

from collections.abc import Callable

import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.kernel_pca import GaussianKernel
from two_manifold_ros.ticks.windows import WindowSet

MakeWindows = Callable[..., WindowSet]


def kernel_of(windows: WindowSet, bandwidth: float) -> np.ndarray:
    rows = windows.rows(np.arange(len(windows)))
    return naive.gaussian(rows, rows, bandwidth)


def centred(kernel: np.ndarray) -> np.ndarray:
    middle = np.eye(len(kernel)) - 1.0 / len(kernel)
    return middle @ kernel @ middle


def test_inner_products_are_the_centred_kernel_at_full_rank(make_windows: MakeWindows) -> None:
    windows = make_windows(noise=0.01)
    embedding = GaussianKernel(60).fit(windows)
    expected = centred(kernel_of(windows, embedding.bandwidth))
    found = embedding.coordinates @ embedding.coordinates.T
    np.testing.assert_allclose(found, expected, atol=1e-7)
    np.testing.assert_allclose(embedding.coordinates.mean(axis=0), 0.0, atol=1e-12)


def test_leading_features_are_the_best_of_their_rank(make_windows: MakeWindows) -> None:
    windows = make_windows()
    embedding = GaussianKernel(6).fit(windows)
    kernel = kernel_of(windows, embedding.bandwidth)
    values, vectors = np.linalg.eigh(kernel)
    best = (vectors[:, -6:] * values[-6:]) @ vectors[:, -6:].T
    found = embedding.coordinates @ embedding.coordinates.T
    np.testing.assert_allclose(found, centred(best), atol=1e-10)


def test_extension_at_training_windows(make_windows: MakeWindows) -> None:
    windows = make_windows()
    embedding = GaussianKernel(20).fit(windows)
    rows = windows.rows(np.arange(len(windows)))
    for i in (0, 17, 89):
        squared = naive.squared_distances(rows[i : i + 1], rows)[0]
        found = embedding.extension.transform(squared)
        np.testing.assert_allclose(found, embedding.coordinates[i], atol=1e-12)


def test_landmarks_stand_for_many_windows(make_windows: MakeWindows) -> None:
    windows = make_windows()
    embedding = GaussianKernel(12, landmarks=31).fit(windows)
    members = embedding.extension.response.members
    assert len(members) == 31
    kernel = kernel_of(windows, embedding.bandwidth)
    values, vectors = np.linalg.eigh(kernel[np.ix_(members, members)])
    inverse = (vectors[:, -12:] / values[-12:]) @ vectors[:, -12:].T
    nystrom = kernel[:, members] @ inverse @ kernel[members]
    found = embedding.coordinates @ embedding.coordinates.T
    np.testing.assert_allclose(found, centred(nystrom), atol=1e-9)
    found = embedding.extension.transform(windows.distances_to(np.array([40]))[:, 0])
    np.testing.assert_allclose(found, embedding.coordinates[40], atol=1e-10)


def test_twice_the_same(make_windows: MakeWindows) -> None:
    first, second = (GaussianKernel(10).fit(make_windows()) for _ in range(2))
    np.testing.assert_array_equal(first.coordinates, second.coordinates)
    np.testing.assert_array_equal(first.extension.table, second.extension.table)


def test_signs_are_fixed(make_windows: MakeWindows) -> None:
    table = GaussianKernel(10).fit(make_windows()).extension.table
    assert (table[np.abs(table).argmax(axis=0), np.arange(10)] > 0.0).all()


def test_few_distinct_windows_give_fewer_dimensions() -> None:
    series = np.tile(np.random.default_rng(1).normal(size=(2, 9)), 10)
    embedding = GaussianKernel(20).fit(WindowSet(series, np.arange(86), 5))
    assert embedding.coordinates.shape == (86, 9)
    assert np.isfinite(embedding.coordinates).all()


def test_too_few_windows(make_windows: MakeWindows) -> None:
    with pytest.raises(InputError, match='10 points are too few for 10 dimensions;'):
        GaussianKernel(10).fit(make_windows(count=10))


def test_identical_windows() -> None:
    with pytest.raises(InputError, match='identical'):
        GaussianKernel(3).fit(WindowSet(np.ones((2, 30)), np.arange(26), 5))
