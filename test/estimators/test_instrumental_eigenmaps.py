# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Instrumental eigenmaps against Algorithm 1 to the letter, and one manifold alone."""

from __future__ import annotations

import naive
import numpy as np
import pytest

pytest.importorskip('sklearn')

from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from two_manifold_ros.errors import InputError
from two_manifold_ros.estimators import InstrumentalEigenmaps, ManifoldEmbedding
from two_manifold_ros.manifold.isomap import Isomap
from two_manifold_ros.manifold.kernel_pca import GaussianKernel
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap

EIGENMAP = LaplacianEigenmap(6, 8)


def ring(rows: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """Return two views (n, 3) of places around a ring."""
    rng = np.random.default_rng(2)
    angle = rng.uniform(0.0, 2.0 * np.pi, rows)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    noise = 0.1 * rng.normal(size=(2, rows, 3))
    return (
        np.column_stack([circle, np.zeros(rows)]) + noise[0],
        np.column_stack([np.zeros(rows), circle * [2.0, 1.0]]) + noise[1],
    )


def test_algorithm_1_to_the_letter() -> None:
    first, second = ring()
    fitted = InstrumentalEigenmaps(3, learner=EIGENMAP).fit(first, second)
    each = [ManifoldEmbedding(EIGENMAP).fit_transform(view) for view in (first, second)]
    grams = [coordinates @ coordinates.T for coordinates in each]
    centring = np.eye(80) - 1.0 / 80
    left, values, right = np.linalg.svd(
        centring @ grams[0] @ centring @ centring @ grams[1] @ centring
    )
    np.testing.assert_allclose(fitted.singular_values_, values[:3], rtol=1e-10)
    wanted = left[:, :3] * np.sqrt(values[:3]), right[:3].T * np.sqrt(values[:3])
    signs = naive.align(wanted[0], fitted.embedding_)
    np.testing.assert_allclose(fitted.embedding_ * signs, wanted[0], atol=1e-8 * values[0])
    np.testing.assert_allclose(fitted.second_embedding_ * signs, wanted[1], atol=1e-8 * values[0])


def test_learners_of_the_views() -> None:
    first, second = ring()
    both = InstrumentalEigenmaps(2, learner=EIGENMAP, second_learner=Isomap(6, 8))
    other = InstrumentalEigenmaps(2, learner=Isomap(6, 8), second_learner=EIGENMAP)
    swapped = other.fit(second, first)
    np.testing.assert_allclose(
        np.abs(both.fit_transform(first, second)), np.abs(swapped.second_embedding_), rtol=1e-6
    )
    alike = clone(both).set_params(second_learner=None).fit_transform(first, second)
    assert not np.allclose(alike, both.embedding_)
    usual = InstrumentalEigenmaps(2).fit_transform(first, second)
    spelled_out = InstrumentalEigenmaps(2, learner=LaplacianEigenmap(60, 20))
    assert np.array_equal(usual, spelled_out.fit_transform(first, second))


@pytest.mark.parametrize('learner', [EIGENMAP, Isomap(4, 8), GaussianKernel(5)])
def test_one_manifold(learner: LaplacianEigenmap) -> None:
    rows = ring()[0]
    fitted = ManifoldEmbedding(learner).fit(rows)
    assert fitted.embedding_.shape == (80, learner.dimension)
    assert len(fitted.eigenvalues_) == learner.dimension
    np.testing.assert_allclose(fitted.transform(rows[:7]), fitted.embedding_[:7], atol=1e-7)
    copy = clone(fitted)
    assert copy.get_params() == {'learner': learner}
    assert np.array_equal(copy.fit_transform(rows), fitted.embedding_)
    pipeline = make_pipeline(StandardScaler(), copy).fit(rows)
    assert pipeline.get_feature_names_out()[0] == 'manifoldembedding0'


def test_many_new_rows_are_embedded_in_order() -> None:
    rows = ring()[0]
    fitted = ManifoldEmbedding(EIGENMAP).fit(rows)
    many = np.vstack([rows] * 4)
    np.testing.assert_allclose(
        fitted.transform(many), np.vstack([fitted.embedding_] * 4), atol=1e-9
    )


def test_a_row_far_from_all_is_refused_by_number() -> None:
    rows = ring()[0]
    fitted = ManifoldEmbedding(EIGENMAP).fit(rows)
    new = rows[:5].copy()
    new[3] = 1e3
    with pytest.raises(InputError, match='row 3 of X resembles no training row'):
        fitted.transform(new)


def test_what_a_learner_has_to_say_is_a_warning() -> None:
    first, second = ring()
    apart = np.vstack([first, first + 50.0])
    with pytest.warns(UserWarning, match=r'^X: .*2 pieces'):
        ManifoldEmbedding(EIGENMAP).fit(apart)
    both = InstrumentalEigenmaps(2, learner=LaplacianEigenmap(6, 20), second_learner=EIGENMAP)
    with pytest.warns(UserWarning, match=r'^Y: .*2 pieces'):
        both.fit(np.vstack([second, second]), apart)


@pytest.mark.parametrize('learner', [None, LaplacianEigenmap, 'isomap'])
def test_what_cannot_learn_is_refused(learner: object) -> None:
    with pytest.raises(InputError, match='cannot be fitted; give one of'):
        ManifoldEmbedding(learner).fit(ring()[0])
