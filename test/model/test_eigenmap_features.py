# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Coordinates of windows by a trained embedding."""

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.kernel_pca import GaussianKernel, MemberAffinity
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import Embedding
from two_manifold_ros.model.model import eigenmap_features, EigenmapFeatures, Model
from two_manifold_ros.ticks.windows import WindowSet

WIDTH = 5


def lap() -> WindowSet:
    """Windows of a noisy circle, with a seam that none of them crosses."""
    angles = np.arange(94) * 2.0 * np.pi / 30.0
    series = np.stack([np.cos(angles), np.sin(angles)])
    series += 0.3 * np.random.default_rng(0).normal(size=series.shape)
    starts = np.concatenate([np.arange(40), np.arange(45, 90)])
    return WindowSet(series, starts, WIDTH)


def fitted(neighbours: int) -> tuple[WindowSet, Embedding, EigenmapFeatures]:
    windows = lap()
    learner = LaplacianEigenmap(4, neighbours) if neighbours else GaussianKernel(4)
    embedding = learner.fit(windows)
    return windows, embedding, EigenmapFeatures(windows, embedding.extension)


@pytest.mark.parametrize('neighbours', [0, 8])
def test_training_windows_get_their_own_rows(neighbours: int) -> None:
    windows, embedding, made = fitted(neighbours)
    found = made.transform(windows.rows(np.arange(len(windows))))
    np.testing.assert_allclose(found, embedding.coordinates, atol=1e-11)
    assert (made.inputs, made.size) == (10, 4)


def test_windows_that_resemble_nothing() -> None:
    windows, _, made = fitted(8)
    rows = windows.rows(np.arange(2))
    rows[1] += 100.0
    with pytest.raises(InputError, match='resembles none of the training windows'):
        made.transform(rows)
    with pytest.raises(InputError, match='not finite'):
        made.transform(np.full((1, 10), np.inf))
    with pytest.raises(InputError, match='10 inputs'):
        made.transform(rows[:, 1:])


def test_of_a_trained_model(spectral_model: Model) -> None:
    made = eigenmap_features(spectral_model)
    assert made.size == spectral_model.states - 1
    window = made.windows.rows(np.array([7]))
    squared = made.windows.distances_from(window)[:, 0]
    expected = spectral_model.warm_start.transform(squared)
    np.testing.assert_allclose(made.transform(window)[0], expected, atol=1e-9)


@pytest.mark.parametrize(
    ('part', 'changed', 'word'),
    [
        ('windows', {'width': 0}, 'width is 0'),
        ('windows', {'series': np.zeros(9)}, 'series has the shape'),
        ('windows', {'starts': np.array([0, 90])}, 'starts lie outside'),
        ('windows', {'starts': np.arange(10)}, 'radii are not 10'),
        ('extension', {'response': MemberAffinity(0.0, np.arange(4))}, 'bandwidth is 0.0'),
        ('extension', {'table': np.zeros((85, 5))}, 'table has the shape'),
    ],
)
def test_parts_that_do_not_fit(part: str, changed: dict[str, object], word: str) -> None:
    _, _, made = fitted(8)
    with pytest.raises(InputError, match=word):
        replace(made, **{part: replace(getattr(made, part), **changed)})
