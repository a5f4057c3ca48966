# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The estimators of scikit-learn: the algorithms to the letter, manners, bad input, the page."""

import naive
import numpy as np
import pytest
from scipy.sparse import csr_matrix

pytest.importorskip('sklearn')

from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.manifold import Isomap, SpectralEmbedding
from sklearn.metrics.pairwise import linear_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from two_manifold_ros.errors import InputError
from two_manifold_ros.estimators import (
    InstrumentalEigenmaps,
    ManifoldEmbedding,
    ManifoldKernelReduction,
    TwoSubspacePCA,
)
from two_manifold_ros.experiments.mkdr import Globe
from two_manifold_ros.manifold.diffusion_map import DiffusionMap
from two_manifold_ros.manifold.kernel_pca import GaussianKernel
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.names import COUPLINGS

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


def test_algorithm_1_to_the_letter():
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
    for found, one in zip((fitted.embedding_, fitted.second_embedding_), wanted, strict=True):
        np.testing.assert_allclose(found * signs, one, atol=1e-8 * values[0])
    # Each view may have a learner of its own.
    both = InstrumentalEigenmaps(2, learner=EIGENMAP, second_learner=DiffusionMap(6, 8))
    other = InstrumentalEigenmaps(2, learner=DiffusionMap(6, 8), second_learner=EIGENMAP)
    found = np.abs(other.fit(second, first).second_embedding_)
    np.testing.assert_allclose(np.abs(both.fit_transform(first, second)), found, rtol=1e-6)
    alike = clone(both).set_params(second_learner=None).fit_transform(first, second)
    assert not np.allclose(alike, both.embedding_)


@pytest.mark.parametrize(
    'learner', [Isomap(n_neighbors=8), SpectralEmbedding(n_neighbors=8, random_state=0), PCA(2)]
)
def test_an_embedding_of_scikit_learn_is_a_learner(learner):
    first, second = ring(400)
    fitted = ManifoldEmbedding(learner).fit(first)
    wanted = clone(learner).fit_transform(first)
    np.testing.assert_allclose(fitted.embedding_, wanted - wanted.mean(axis=0), atol=1e-9)
    assert not hasattr(learner, 'n_features_in_'), 'the object of the caller was fitted'
    # Half of the rows follow from the other half, whose embedding is turned and stretched alike.
    half = clone(fitted).fit(first[::2])
    known = LinearRegression().fit(half.embedding_, first[::2, :2])
    assert known.score(half.transform(first[1::2]), first[1::2, :2]) > 0.9
    far = first[:5] + np.array([0.0, 0.0, 0.0, 1e3, 0.0])[:, None]
    with pytest.raises(InputError, match='row 3 of X resembles no training row'):
        half.transform(far)
    both = InstrumentalEigenmaps(2, learner=learner).fit(first, second)
    assert both.embedding_.shape == both.transform_second(second).shape == (400, 2)
    nested = clone(fitted).set_params(learner__n_components=1)
    assert nested.fit_transform(first).shape == (400, 1)


def test_what_a_learner_has_to_say_is_a_warning_and_what_cannot_learn_is_refused():
    first, second = ring()
    apart = np.vstack([first, first + 50.0])
    with pytest.warns(UserWarning, match=r'^X: .*2 pieces'):
        ManifoldEmbedding(EIGENMAP).fit(apart)
    both = InstrumentalEigenmaps(2, learner=LaplacianEigenmap(6, 20), second_learner=EIGENMAP)
    with pytest.warns(UserWarning, match=r'^Y: .*2 pieces'):
        both.fit(np.vstack([second, second]), apart)
    for nothing in (None, LaplacianEigenmap, 'isomap'):
        with pytest.raises(InputError, match='cannot be fitted; give one of'):
            ManifoldEmbedding(nothing).fit(first)


LEARNER = LaplacianEigenmap(20, 8, scaled=False)


@pytest.fixture(scope='module')
def points() -> np.ndarray:
    return Globe.of(14, 25).points


def test_a_response_is_found(points):
    response = points[:, 0] * points[:, 2]
    fitted = ManifoldKernelReduction(LEARNER).fit(points, response)
    assert fitted.embedding_.shape == (350, 1)
    assert abs(np.corrcoef(fitted.embedding_[:, 0], response)[0, 1]) > 0.98
    assert abs(np.corrcoef(fitted.embedding_[:, 0], points[:, 2])[0, 1]) < 0.1
    first = fitted.predictive_eigenvectors_[0]
    assert np.abs(fitted.directions_[:, 0]).argmax() == first
    np.testing.assert_allclose(fitted.transform(points[:9]), fitted.embedding_[:9], atol=1e-9)


def test_options_of_the_paper(points):
    response = 0.01 * points[:, 0]
    least = ManifoldKernelReduction(LEARNER).fit(points, response)
    paper = clone(least).set_params(algorithm='paper', regularised=True, n_components=3)
    found = paper.fit(points, response)
    assert found.transform(points[:4]).shape == (4, 3)
    assert abs(np.corrcoef(found.embedding_[:, 0], least.embedding_[:, 0])[0, 1]) > 0.9
    assert not np.allclose(found.strengths_, least.strengths_)
    same = clone(least).set_params(response_kernel=linear_kernel).fit(points, response)
    np.testing.assert_allclose(same.embedding_, least.embedding_, atol=1e-3)
    for changes, words in (
        ({'algorithm': 'newton'}, "'newton'; choose one of descent, paper"),
        ({'response_kernel': 'rbf'}, "response_kernel is 'rbf'"),
        ({'n_components': 21}, '21 directions are asked for of 20'),
    ):
        with pytest.raises(InputError, match=words):
            clone(least).set_params(**changes).fit(points, response)


def test_responses_that_are_not_known(points):
    response = np.stack([points[:, 0], points[:, 1] * points[:, 2]], axis=1)
    known = response.copy()
    known[::2] = np.nan
    estimator = ManifoldKernelReduction(LEARNER)
    found = estimator.fit(points, known).embedding_
    assert found.shape == (350, 2)
    assert LinearRegression().fit(found[1::2], response[1::2]).score(found, response) > 0.95
    for wrong, words in (
        (np.where(np.arange(350) == 3, 1.0, np.nan), 'known for 1 rows'),
        (np.where(np.isnan(known), np.inf, known), 'not finite'),
        (['left'] * 350, 'y is no array of real numbers'),
        (response[:-1], 'each of the 350 rows'),
    ):
        with pytest.raises(InputError, match=words):
            estimator.fit(points, wrong)


ESTIMATORS = (
    TwoSubspacePCA(2),
    InstrumentalEigenmaps(2, learner=GaussianKernel(8)),
    InstrumentalEigenmaps(2, learner=LaplacianEigenmap(8, 10)),
)


@pytest.mark.parametrize('coupling', COUPLINGS)
@pytest.mark.parametrize('estimator', ESTIMATORS)
def test_training_rows_are_embedded_as_they_were(estimator, coupling):
    first, second = ring(120)
    fitted = clone(estimator).set_params(coupling=coupling).fit(first, second)
    np.testing.assert_allclose(fitted.embedding_.mean(axis=0), 0.0, atol=1e-9)
    for found, transform, view in (
        (fitted.embedding_, fitted.transform, first),
        (fitted.second_embedding_, fitted.transform_second, second),
    ):
        atol = 1e-7 * np.abs(found).max()
        np.testing.assert_allclose(transform(view[:9]), found[:9], atol=atol)
    assert np.array_equal(clone(fitted).fit_transform(first, second), fitted.embedding_)


@pytest.mark.parametrize('estimator', ESTIMATORS)
def test_manners_of_scikit_learn_and_bad_input(estimator):
    first, second = ring(120)
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    for transform, view in ((copy.transform, first), (copy.transform_second, second)):
        with pytest.raises(NotFittedError):
            transform(view)
    # In a pipeline the second view is what is to be predicted.
    pipeline = make_pipeline(StandardScaler(), copy, LinearRegression()).fit(first, second)
    assert pipeline.score(first, second) > 0.6
    name = type(estimator).__name__.lower()
    assert [*pipeline[:-1].get_feature_names_out()] == [f'{name}0', f'{name}1']
    spoilt = first.copy()
    spoilt[[7, 30], 2] = np.nan, np.inf
    unread = ([['a', 'b']], [[1.0], [1.0, 2.0]], first + 1j, csr_matrix(first))
    for x, y, words in (
        (first, second[1:], 'X has 120 rows and Y 119'),
        (spoilt, second, 'Input X contains NaN'),
        (second, spoilt, 'Input Y contains NaN'),
        (first, second[:, 0], r'Y is no matrix .* Expected 2D array'),
        (first[:0], second[:0], r'X is no matrix .* 0 sample'),
        *((each, second, 'X is no matrix') for each in unread),
    ):
        with pytest.raises(InputError, match=words):
            clone(estimator).fit(x, y)
    for name, value in (('coupling', 'pls'), *(('n_components', each) for each in (2.5, 0, 30))):
        with pytest.raises(InputError, match=f"{name} (is|named) '?{value}"):
            clone(estimator).set_params(**{name: value}).fit(first, second)
    fitted = clone(estimator).fit(first, second)
    for transform, name in ((fitted.transform, 'X'), (fitted.transform_second, 'Y')):
        with pytest.raises(InputError, match=f'{name} has 2 columns, but 3 were fitted'):
            transform(first[:, :2])
