# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold kernel dimension reduction as an estimator."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('sklearn')

from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from two_manifold_ros.errors import InputError
from two_manifold_ros.estimators import ManifoldKernelReduction
from two_manifold_ros.experiments.mkdr import Globe
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap

LEARNER = LaplacianEigenmap(20, 8, scaled=False)


@pytest.fixture(scope='module')
def points() -> np.ndarray:
    """Return points of a sphere."""
    return Globe.of(14, 25).points


def test_a_response_is_found(points: np.ndarray) -> None:
    response = points[:, 0] * points[:, 2]
    fitted = ManifoldKernelReduction(LEARNER).fit(points, response)
    assert fitted.embedding_.shape == (350, 1)
    assert abs(np.corrcoef(fitted.embedding_[:, 0], response)[0, 1]) > 0.98
    assert abs(np.corrcoef(fitted.embedding_[:, 0], points[:, 2])[0, 1]) < 0.1
    assert fitted.strengths_.sum() == pytest.approx(1.0)
    assert sorted(fitted.predictive_eigenvectors_) == list(range(20))
    first = fitted.predictive_eigenvectors_[0]
    assert np.abs(fitted.directions_[:, 0]).argmax() == first
    np.testing.assert_allclose(fitted.transform(points[:9]), fitted.embedding_[:9], atol=1e-9)


def test_responses_that_are_not_known(points: np.ndarray) -> None:
    response = np.stack([points[:, 0], points[:, 1] * points[:, 2]], axis=1)
    told = response.copy()
    told[::2] = np.nan
    estimator = ManifoldKernelReduction(LEARNER)
    found = estimator.fit(points, told).embedding_
    assert found.shape == (350, 2)
    assert LinearRegression().fit(found[1::2], response[1::2]).score(found, response) > 0.95
    with pytest.raises(InputError, match='known for 1 rows'):
        estimator.fit(points, np.where(np.arange(350) == 3, 1.0, np.nan))
    with pytest.raises(InputError, match='not finite'):
        estimator.fit(points, np.where(np.isnan(told), np.inf, told))
    with pytest.raises(InputError, match='y is no array of real numbers'):
        estimator.fit(points, ['left'] * 350)
    with pytest.raises(InputError, match='each of the 350 rows'):
        estimator.fit(points, response[:-1])


def test_it_is_an_estimator(points: np.ndarray) -> None:
    response = points[:, 2] ** 2
    model = make_pipeline(ManifoldKernelReduction(LEARNER, penalty=0.1), LinearRegression())
    twin = clone(model).fit(points[::2], response[::2])
    assert twin.score(points[1::2], response[1::2]) > 0.9
    (first, _), weak = twin.named_steps.values(), ManifoldKernelReduction(LEARNER, penalty=10.0)
    assert not np.allclose(first.directions_, weak.fit(points[::2], response[::2]).directions_)
    default = ManifoldKernelReduction().fit(points, response)
    assert default.directions_.shape == (50, 1)
    assert list(default.get_feature_names_out()) == ['manifoldkernelreduction0']
    np.testing.assert_array_equal(default.fit_transform(points, response), default.embedding_)
