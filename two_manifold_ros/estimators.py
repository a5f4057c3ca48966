# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two-manifold methods, manifold learners and mkdr as estimators of scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from numbers import Integral
from typing import TYPE_CHECKING
import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.hmm import couple
from two_manifold_ros.hse_hmm.mkdr import find_predictive_directions, response_features
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import ManifoldLearner, PointSet, RIDGE
from two_manifold_ros.manifold.selection import FitTransform
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from typing_extensions import Self


def checked_rows(name: str, rows: ArrayLike, columns: int | None = None) -> Floats:
    """Return a copy of a matrix (n, D) of finite numbers, with so many columns if known."""
    try:
        matrix: Floats = check_array(rows, dtype=np.float64, copy=True, input_name=name)
    except (TypeError, ValueError) as error:
        msg = f'{name} is no matrix of finite real numbers, one sample a row: {error}'
        raise InputError(msg) from error
    if columns is not None and matrix.shape[1] != columns:
        raise InputError(f'{name} has {matrix.shape[1]} columns, but {columns} were fitted')
    return matrix


def numbers_of(y: ArrayLike) -> Floats:
    """Return a copy of an array of real numbers, or refuse it."""
    if not np.iscomplexobj(y):
        with suppress(TypeError, ValueError):
            return np.array(y, dtype=np.float64)
    raise InputError('y is no array of real numbers; give numbers, as many in each row, or NaN')


class CentredRows:
    """Rows (n, D) as they are, less their mean (D,)."""

    def __init__(self, rows: Floats) -> None:
        self.mean: Floats = rows.mean(axis=0)
        self.coordinates = self.transform(rows)

    def transform(self, rows: Floats) -> Floats:
        """Return (k, D) rows less the mean."""
        return rows - self.mean


class LearnedRows:
    """Rows (n, D) as a manifold learner embedded them; its notes become warnings."""

    def __init__(self, name: str, rows: Floats, learner: ManifoldLearner) -> None:
        if hasattr(learner, 'fit_transform'):
            learner = FitTransform(learner)
        elif isinstance(learner, type) or not hasattr(learner, 'fit'):
            cure = 'give one of two_manifold_ros.manifold, or an embedding of scikit-learn'
            raise InputError(f'learner is {learner!r}, which cannot be fitted; {cure}')
        self.name, self.points = name, PointSet(rows)
        self.embedding = learner.fit(self.points)
        self.coordinates = self.embedding.coordinates
        for note in self.embedding.notes:
            warnings.warn(f'{name}: {note}', stacklevel=3)

    def transform(self, rows: Floats) -> Floats:
        """Return the coordinates (k, m) of (k, D) rows, each of which resembles a training row."""
        embedded = np.empty((len(rows), self.coordinates.shape[1]))
        for index in range(len(rows)):
            squared = self.points.distances_from(rows[index : index + 1])[:, 0]
            coordinates = self.embedding.extension.transform(squared)
            if coordinates is None:
                msg = f'row {index} of {self.name} resembles no training row; leave it out'
                raise InputError(msg)
            embedded[index] = coordinates
        return embedded


class Estimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators: they embed rows X, and new rows out of sample."""

    embedding_: Floats
    n_features_in_: int
    _rows: CentredRows | LearnedRows
    _map: Floats | None

    def transform(self, X: ArrayLike) -> Floats:
        """Return coordinates (k, m) of rows X (k, D); refuse one that resembles none."""
        check_is_fitted(self)
        return self._project(self._rows.transform(checked_rows('X', X, self.n_features_in_)))

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None) -> Floats:
        """Fit, and return ``embedding_``."""
        embedding: Floats = self.fit(X, y).embedding_
        return embedding

    def _project(self, coordinates: Floats) -> Floats:
        """Return the coordinates (n, k) of embedded rows (n, m)."""
        return coordinates if self._map is None else coordinates @ self._map

    def _finish(self, rows: Floats, first_map: Floats | None = None) -> Self:
        """Embed the rows (n, D) as new ones, and set what scikit-learn expects after a fit."""
        self._map = first_map
        self.embedding_ = self._project(self._rows.coordinates)
        self.n_features_in_, self._n_features_out = rows.shape[1], self.embedding_.shape[1]
        return self


class TwoViews(Estimator, ABC):
    """
    Embeds two views, X and Y, of the same samples, each by what it shares with the other.

    Of the rows that were fitted ``embedding_`` and ``second_embedding_`` are (n, k), with centred
    columns; ``singular_values_`` (k,) are those of the coupling, largest first.
    """

    n_components: int
    coupling: str
    _map: Floats
    _second_features: int

    @abstractmethod
    def _embed(
        self, first: Floats, second: Floats
    ) -> tuple[CentredRows | LearnedRows, CentredRows | LearnedRows]:
        """Embed the two views, each on its own."""

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        """Find what the views X (n, D_X) and Y (n, D_Y) share; row i of both is one sample."""
        first, second = checked_rows('X', X), checked_rows('Y', Y)
        if len(first) != len(second):
            msg = f'X has {len(first)} rows and Y {len(second)}; row i of both is one sample'
            raise InputError(msg)
        self._rows, self._second_rows = self._embed(first, second)
        coupled = couple(self._rows.coordinates, self._second_rows.coordinates, self.coupling)
        # Singular values below that share of the first are rounding.
        values = coupled.singular_values
        shared = int(np.count_nonzero(values > 1e-9 * values[0]))
        wanted = self.n_components
        if not isinstance(wanted, Integral) or not 1 <= wanted <= shared:
            share = f'X and Y share {shared} directions'
            raise InputError(f'n_components is {wanted!r}, but {share}; ask for 1 to as many')
        self.singular_values_ = values[:wanted]
        # Line 4 of Algorithm 1 scales the coordinates, where it is done.
        scale = np.ones(wanted)
        if self.coupling == 'gram-product':
            scale = np.sqrt(self.singular_values_ / len(first))
        self._second_map: Floats = coupled.second_map[:, :wanted] * scale
        self._second_features = second.shape[1]
        self.second_embedding_: Floats = self._second_rows.coordinates @ self._second_map
        return self._finish(first, coupled.first_map[:, :wanted] * scale)

    def transform_second(self, Y: ArrayLike) -> Floats:
        """Return the coordinates (m, k) of the rows Y (m, D_Y) of the second view, likewise."""
        check_is_fitted(self)
        rows = checked_rows('Y', Y, self._second_features)
        return self._second_rows.transform(rows) @ self._second_map


class ManifoldEmbedding(Estimator):
    """
    Coordinates ``embedding_`` (n, m) on the manifold that rows lie on, for new rows too.

    The ``learner`` is any of ``two_manifold_ros.manifold``, such as
    ``LaplacianEigenmap(dimension=2, neighbours=10)``, or any object with ``fit_transform``, such
    as ``sklearn.manifold.Isomap()``, see ``FitTransform``. ``eigenvalues_`` (m,) are those of its
    operator, leading first.
    """

    def __init__(self, learner: ManifoldLearner) -> None:
        self.learner = learner

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002 - for pipelines
        """Embed the rows X (n, D); y is ignored."""
        rows = checked_rows('X', X)
        self._rows = learned = LearnedRows('X', rows, self.learner)
        self.eigenvalues_ = learned.embedding.eigenvalues
        return self._finish(rows)


class ManifoldKernelReduction(Estimator):
    r"""
    Manifold kernel dimension reduction: coordinates of a manifold that predict responses.

    A learner embeds all rows, and the directions of its coordinates are found onto which those
    rows project whose responses are known (Nilsson, Sha & Jordan 2007, eq. 9):

    .. math:: \min_{\Theta \succeq 0,\ \operatorname{tr} \Theta = 1}
              \operatorname{tr}[K_Y^c (M \Theta M^\top + \epsilon I)^{-1}]

    for centred coordinates M, scaled alike to columns that have unit norm on average, and the
    centred kernel matrix of the responses.

    The ``learner``, see `ManifoldEmbedding`, is ``LaplacianEigenmap(dimension=50, neighbours=10,
    scaled=False)`` if none is given; the ``penalty`` is the paper's :math:`N \epsilon`. There are
    ``n_components`` directions, r, if given, else those at least a hundredth as strong as the
    first, the paper's estimate of the dimension of the central subspace. The ``response_kernel``
    is ``linear``, or a function that returns the kernel matrix (n, n) of responses (n, q), such as
    ``sklearn.metrics.pairwise.rbf_kernel``; ``regularised`` adds :math:`\epsilon I` to it, as in
    the paper's experiments. The ``algorithm`` is ``descent`` to the minimum, or ``paper``:
    Algorithm 1 as printed, which depends on the unit of y, and ends above the minimum.

    Rows project to ``embedding_`` (n, r) by ``directions_`` (m, r), orthonormal, leading first.
    ``predictive_eigenvectors_`` (m,) has the coordinate with the largest coefficients first, and
    ``strengths_`` (m,) are the eigenvalues of Theta.
    """

    def __init__(
        self,
        learner: ManifoldLearner | None = None,
        *,
        penalty: float = RIDGE,
        n_components: int | None = None,
        response_kernel: str | Callable[[Floats], Floats] = 'linear',
        regularised: bool = False,
        algorithm: str = 'descent',
    ) -> None:
        self.learner = learner
        self.penalty = penalty
        self.n_components = n_components
        self.response_kernel = response_kernel
        self.regularised = regularised
        self.algorithm = algorithm

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Embed the rows X (n, D) and find what predicts y, (n,) or (n, q); NaN is not known."""
        rows = checked_rows('X', X)
        responses = numbers_of(y)
        if responses.ndim == 1:
            responses = responses[:, None]
        if responses.ndim != 2 or len(responses) != len(rows):
            given = np.shape(y)
            msg = f'y has the shape {given}; give a response for each of the {len(rows)} rows'
            raise InputError(msg)
        known = ~np.isnan(responses.sum(axis=1))
        if np.count_nonzero(known) < 2:
            msg = f'y is known for {np.count_nonzero(known)} rows; give 2 or more that are not NaN'
            raise InputError(msg)
        learner = self.learner or LaplacianEigenmap(50, 10, scaled=False)
        self._rows, wanted = LearnedRows('X', rows, learner), responses[known]
        if callable(self.response_kernel):
            wanted = response_features(np.asarray(self.response_kernel(wanted), dtype=np.float64))
        elif self.response_kernel != 'linear':
            msg = f"response_kernel is {self.response_kernel!r}; give 'linear' or a function"
            raise InputError(msg)
        if self.algorithm not in {'descent', 'paper'}:
            msg = f'there is no algorithm named {self.algorithm!r}; choose one of descent, paper'
            raise InputError(msg)
        found = find_predictive_directions(
            self._rows.coordinates[known],
            wanted,
            penalty=self.penalty,
            regularised=self.regularised,
            literal=self.algorithm == 'paper',
            rank=self.n_components,
        )
        self.directions_, self.strengths_ = found.directions, found.strengths
        self.predictive_eigenvectors_ = found.predictive_eigenvectors(len(found.theta))
        return self._finish(rows, found.directions)


class InstrumentalEigenmaps(TwoViews):
    r"""
    The manifolds of two views whose noise is independent, each learned with the help of the other.

    A manifold learner embeds either view in many dimensions, whose inner products are its centred
    Gram matrix. What the two share is then found by a singular value decomposition:

    .. math:: C_X C_Y = U \Lambda V^\top, \qquad
              E_X = U_{1:k} \Lambda_{1:k}^{1/2}, \quad E_Y = V_{1:k} \Lambda_{1:k}^{1/2}

    (lines 3 and 4 of Algorithm 1, from low-rank factors, mathematics (4.5)).

    The hidden manifold has ``n_components``, k. The ``learner`` embeds X, and Y too unless a
    ``second_learner`` does; ``None`` is ``LaplacianEigenmap(dimension=60, neighbours=20)``. Its
    dimension is to be much larger than k: what noise adds has to find room in it. The ``coupling``
    is ``gram-product`` as above; ``cross-covariance``, with a ``GaussianKernel`` the kernel SVD of
    Boots & Gordon 2012, section 3.2.2; ``canonical`` (correlation), which withstands the most
    noise; or ``reduced-rank`` (regression of X on Y).
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        learner: ManifoldLearner | None = None,
        second_learner: ManifoldLearner | None = None,
        coupling: str = 'gram-product',
    ) -> None:
        self.n_components = n_components
        self.learner = learner
        self.second_learner = second_learner
        self.coupling = coupling

    def _embed(self, first: Floats, second: Floats) -> tuple[LearnedRows, LearnedRows]:
        learner = self.learner or LaplacianEigenmap(60, 20)
        other = self.second_learner or learner
        return LearnedRows('X', first, learner), LearnedRows('Y', second, other)


class TwoSubspacePCA(TwoViews):
    r"""
    The linear subspaces of two views whose noise is independent.

    The noise of X does not vary with Y, so it averages out of :math:`\hat\Sigma_{XY} = \tfrac1n X
    H Y^\top H \approx U D V^\top`, and the k leading singular vectors become those of the signal
    as n grows. The coupling is ``cross-covariance`` as above, ``canonical`` or ``reduced-rank``,
    see footnote 2 of Boots & Gordon 2012, or ``gram-product``. Rows less ``mean_`` and
    ``second_mean_`` are multiplied with ``components_`` (k, D_X) and ``second_components_`` (k,
    D_Y).
    """

    def __init__(self, n_components: int = 2, *, coupling: str = 'cross-covariance') -> None:
        self.n_components = n_components
        self.coupling = coupling

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        """Find what the views X (n, D_X) and Y (n, D_Y) share; row i of both is one sample."""
        super().fit(X, Y)
        self.components_, self.second_components_ = self._map.T, self._second_map.T
        return self

    def _embed(self, first: Floats, second: Floats) -> tuple[CentredRows, CentredRows]:
        views = CentredRows(first), CentredRows(second)
        self.mean_, self.second_mean_ = (view.mean for view in views)
        return views
