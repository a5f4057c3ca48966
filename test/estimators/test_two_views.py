# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the estimators of two views have in common: scikit-learn's manners, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

pytest.importorskip('sklearn')

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from two_manifold_ros.errors import InputError
from two_manifold_ros.estimators import InstrumentalEigenmaps, TwoSubspaceKernelPCA, TwoSubspacePCA
from two_manifold_ros.hse_hmm.two_manifold import COUPLINGS
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap

ESTIMATORS = (
    TwoSubspacePCA(2),
    TwoSubspaceKernelPCA(2, rank=8),
    InstrumentalEigenmaps(2, learner=LaplacianEigenmap(8, 10)),
)


def views(rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Return two noisy linear views (n, 4) and (n, 3) of a hidden signal."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(rows, 2))
    first = hidden @ rng.normal(size=(2, 4)) + 0.1 * rng.normal(size=(rows, 4)) + 5.0
    second = hidden @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(rows, 3))
    return first, second


@pytest.mark.parametrize('coupling', COUPLINGS)
@pytest.mark.parametrize('estimator', ESTIMATORS)
def test_training_rows_are_embedded_as_they_were(estimator: TwoSubspacePCA, coupling: str) -> None:
    first, second = views()
    fitted = clone(estimator).set_params(coupling=coupling).fit(first, second)
    assert fitted.embedding_.shape == fitted.second_embedding_.shape == (120, 2)
    np.testing.assert_allclose(fitted.embedding_.mean(axis=0), 0.0, atol=1e-9)
    scale = np.abs(fitted.embedding_).max()
    np.testing.assert_allclose(
        fitted.transform(first[:9]), fitted.embedding_[:9], atol=1e-7 * scale
    )
    scale = np.abs(fitted.second_embedding_).max()
    np.testing.assert_allclose(
        fitted.transform_second(second[:9]), fitted.second_embedding_[:9], atol=1e-7 * scale
    )
    assert np.array_equal(clone(fitted).fit_transform(first, second), fitted.embedding_)


@pytest.mark.parametrize('estimator', ESTIMATORS)
def test_manners_of_scikit_learn(estimator: TwoSubspacePCA) -> None:
    first, second = views()
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(first)
    with pytest.raises(NotFittedError):
        copy.transform_second(second)
    # In a pipeline the second view is what is to be told.
    pipeline = make_pipeline(StandardScaler(), copy, LinearRegression()).fit(first, second)
    assert pipeline.score(first, second) > 0.6
    name = type(estimator).__name__.lower()
    assert [*pipeline[:-1].get_feature_names_out()] == [f'{name}0', f'{name}1']


@pytest.mark.parametrize('estimator', ESTIMATORS)
def test_bad_input_is_refused(estimator: TwoSubspacePCA) -> None:
    first, second = views()
    spoilt = first.copy()
    spoilt[[7, 30], 2] = np.nan, np.inf
    with pytest.raises(InputError, match='X has 120 rows and Y 119'):
        clone(estimator).fit(first, second[1:])
    with pytest.raises(InputError, match='X has 2 rows with numbers that are not finite'):
        clone(estimator).fit(spoilt, second)
    with pytest.raises(InputError, match='Y has 2 rows'):
        clone(estimator).fit(second, spoilt)
    with pytest.raises(InputError, match=r'Y has the shape \(120,\)'):
        clone(estimator).fit(first, second[:, 0])
    with pytest.raises(InputError, match=r'X has the shape \(0, 4\)'):
        clone(estimator).fit(first[:0], second[:0])
    with pytest.raises(InputError, match="coupling named 'pls'"):
        clone(estimator).set_params(coupling='pls').fit(first, second)
    for unread in ([['a', 'b']], [[1.0], [1.0, 2.0]], first + 1j, csr_matrix(first)):
        with pytest.raises(InputError, match='X is no array of real numbers'):
            clone(estimator).fit(unread, second)
    with pytest.raises(InputError, match=r'n_components is 2\.5, but must be a whole number'):
        clone(estimator).set_params(n_components=2.5).fit(first, second)
    for count in (0, 30):
        with pytest.raises(InputError, match=f'n_components is {count}, but X and Y share'):
            clone(estimator).set_params(n_components=count).fit(first, second)
    fitted = clone(estimator).fit(first, second)
    with pytest.raises(InputError, match='X has 3 columns, but 4 were fitted'):
        fitted.transform(second)
    with pytest.raises(InputError, match='Y has 4 columns, but 3 were fitted'):
        fitted.transform_second(first)


def test_one_sample_is_too_few() -> None:
    first, second = views()
    with pytest.raises(InputError, match='1 points are too few'):
        TwoSubspaceKernelPCA(1).fit(first[:1], second[:1])


def test_views_that_share_nothing() -> None:
    first, second = views()
    with pytest.raises(InputError, match='share no direction, as if one'):
        TwoSubspacePCA(1).fit(first, np.ones_like(second))
