# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two-manifold methods, manifold learners and mkdr as estimators of scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import Protocol, TYPE_CHECKING
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.mkdr import find_predictive_directions
from two_manifold_ros.hse_hmm.two_manifold import couple
from two_manifold_ros.manifold.kernel_pca import GaussianKernel, LinearKernel, PolynomialKernel
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import PointSet

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self

    from two_manifold_ros.hse_hmm.two_manifold import Coupled
    from two_manifold_ros.manifold.learner import Embedding, ManifoldLearner
    from two_manifold_ros.typing import Bools, Floats


def checked_rows(name: str, rows: ArrayLike, columns: int | None = None) -> Floats:
    """
    Return a matrix of finite numbers.

    Parameters
    ----------
    name
        How messages call it.
    rows : (n, D)
        One sample a row.
    columns
        D, where it is known.

    Raises
    ------
    InputError
        If this is no such matrix.

    """
    matrix = real_numbers(name, rows)
    if matrix.ndim != 2 or not matrix.size:
        msg = f'{name} has the shape {matrix.shape}; give a matrix with one sample a row'
        raise InputError(msg)
    if columns is not None and matrix.shape[1] != columns:
        msg = f'{name} has {matrix.shape[1]} columns, but {columns} were fitted'
        raise InputError(msg)
    spoilt = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if spoilt.size:
        msg = (
            f'{name} has {spoilt.size} rows with numbers that are not finite, the first is row '
            f'{spoilt[0]}; leave them out or fill them in'
        )
        raise InputError(msg)
    return matrix


def real_numbers(name: str, numbers: ArrayLike) -> Floats:
    """
    Return an array of real numbers, of any shape.

    Raises
    ------
    InputError
        If these are words, complex numbers, rows of unequal length or a sparse matrix.

    """
    try:
        array = np.asarray(numbers)
        if not np.iscomplexobj(array):
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    msg = (
        f'{name} is no array of real numbers; give numbers, as many in each row, and instead of a '
        'sparse matrix what its toarray() returns'
    )
    raise InputError(msg)


def checked_pairs(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """
    Return two matrices of finite numbers, X (n, D_X) and Y (n, D_Y), of as many rows.

    Raises
    ------
    InputError
        If they are no such matrices.

    """
    pairs = checked_rows('X', first), checked_rows('Y', second)
    if len(pairs[0]) != len(pairs[1]):
        msg = (
            f'X has {len(pairs[0])} rows and Y {len(pairs[1])}; row i of both has to belong to '
            'the same sample'
        )
        raise InputError(msg)
    return pairs


ROWS_AT_ONCE = 256
"""New rows whose distances to all training rows are held at the same time."""


class Embedded(Protocol):
    """Rows that were embedded, and how others are."""

    @property
    def coordinates(self) -> Floats:
        """Centred coordinates of the rows, shape (n, m)."""
        ...

    def transform(self, rows: Floats) -> Floats:
        """Return the coordinates (k, m) of (k, D) rows."""
        ...


@dataclass(frozen=True)
class CentredRows:
    """
    Rows as they are, less their mean.

    Parameters
    ----------
    coordinates : (n, D)
    mean : (D,)

    """

    coordinates: Floats
    mean: Floats

    @classmethod
    def of(cls, rows: Floats) -> CentredRows:
        """Centre (n, D) rows."""
        mean = rows.mean(axis=0)
        return cls(rows - mean, mean)

    def transform(self, rows: Floats) -> Floats:
        """Return (k, D) rows less the mean."""
        return rows - self.mean


@dataclass(frozen=True)
class LearnedRows:
    """
    Rows as a manifold learner embedded them.

    Parameters
    ----------
    name
        How messages call the rows.
    points
        The rows.
    embedding
        What the learner made of them.

    """

    name: str
    points: PointSet
    embedding: Embedding

    @classmethod
    def of(cls, name: str, rows: Floats, learner: ManifoldLearner) -> LearnedRows:
        """
        Embed (n, D) rows; what the learner has to say is a warning.

        Raises
        ------
        InputError
            If there is no learner, or the rows cannot be embedded.

        """
        if isinstance(learner, type) or not hasattr(learner, 'fit'):
            msg = (
                f'learner is {learner!r}, which cannot be fitted; give one of '
                'two_manifold_ros.kernels such as LaplacianEigenmap(dimension=2, neighbours=20)'
            )
            raise InputError(msg)
        points = PointSet(rows)
        embedding = learner.fit(points)
        for note in embedding.notes:
            warnings.warn(f'{name}: {note}', stacklevel=3)
        return cls(name, points, embedding)

    @property
    def coordinates(self) -> Floats:
        """Centred coordinates of the rows, shape (n, m)."""
        return self.embedding.coordinates

    def transform(self, rows: Floats) -> Floats:
        """
        Return the coordinates (k, m) of (k, D) rows out of sample.

        Raises
        ------
        InputError
            If a row resembles no training row.

        """
        embedded = np.empty((len(rows), self.coordinates.shape[1]))
        for begin in range(0, len(rows), ROWS_AT_ONCE):
            squared = self.points.distances_from(rows[begin : begin + ROWS_AT_ONCE])
            for index, column in enumerate(squared.T, start=begin):
                coordinates = self.embedding.extension.transform(column)
                if coordinates is None:
                    msg = f'row {index} of {self.name} resembles no training row; leave it out'
                    raise InputError(msg)
                embedded[index] = coordinates
        return embedded


SMALLEST_RATIO = 1e-9
"""Singular values below this share of the first are rounding."""


class TwoViews(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """
    Embeds two views, X and Y, of the same samples, each by what it shares with the other.

    A subclass has the parameters ``n_components`` (k) and ``coupling``, and says how a view is
    embedded before the two are coupled.

    Attributes
    ----------
    embedding_ : (n, k), second_embedding_ : (n, k)
        Of the rows of X and of Y that were fitted; columns are centred.
    singular_values_ : (k,)
        Of the coupling, largest first.
    n_features_in_ : int
        Columns of X, D_X.

    """

    n_components: int
    coupling: str
    _first_map: Floats
    _second_map: Floats

    @abstractmethod
    def _embed(self, first: Floats, second: Floats) -> tuple[Embedded, Embedded]:
        """Embed the two views, each on its own."""

    def fit(self, X: ArrayLike, Y: ArrayLike) -> Self:
        """
        Find what the views X (n, D_X) and Y (n, D_Y) share; row i of both is one sample.

        Raises
        ------
        InputError
            If X and Y are no matrices of finite numbers with as many rows, too small for what is
            asked, or share fewer than k directions.

        """
        first, second = checked_pairs(X, Y)
        self.n_features_in_, self._second_features = first.shape[1], second.shape[1]
        self._first, self._second = self._embed(first, second)
        rows = self._first.coordinates, self._second.coordinates
        coupled = couple(*rows, self.coupling)
        self._check_components(coupled)
        self.singular_values_ = coupled.singular_values[: self.n_components]
        scale = self._scale(len(first))
        self._first_map = coupled.first_map[:, : self.n_components] * scale
        self._second_map = coupled.second_map[:, : self.n_components] * scale
        self.embedding_ = rows[0] @ self._first_map
        self.second_embedding_ = rows[1] @ self._second_map
        self._n_features_out = self.n_components
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """
        Return the coordinates (m, k) of the rows X (m, D_X) of the first view.

        Raises
        ------
        InputError
            If X is no matrix of D_X columns, or a row of it resembles no row that was fitted.

        """
        check_is_fitted(self)
        rows = checked_rows('X', X, self.n_features_in_)
        return self._first.transform(rows) @ self._first_map

    def transform_second(self, Y: ArrayLike) -> Floats:
        """
        Return the coordinates (m, k) of the rows Y (m, D_Y) of the second view.

        Raises
        ------
        InputError
            If Y is no matrix of D_Y columns, or a row of it resembles no row that was fitted.

        """
        check_is_fitted(self)
        rows = checked_rows('Y', Y, self._second_features)
        return self._second.transform(rows) @ self._second_map

    def fit_transform(self, X: ArrayLike, Y: ArrayLike) -> Floats:
        """Find what X (n, D_X) and Y (n, D_Y) share and return ``embedding_`` (n, k)."""
        return self.fit(X, Y).embedding_

    def _check_components(self, coupled: Coupled) -> None:
        values = coupled.singular_values
        shared = int(np.count_nonzero(values > SMALLEST_RATIO * values[0]))
        if not shared:
            msg = (
                'X and Y share no direction, as if one of them were the same in all rows; give '
                'views that vary together'
            )
            raise InputError(msg)
        if not isinstance(self.n_components, Integral):
            msg = f'n_components is {self.n_components!r}, but must be a whole number'
            raise InputError(msg)
        if not 1 <= self.n_components <= shared:
            msg = (
                f'n_components is {self.n_components!r}, but X and Y share {shared} directions; '
                'ask for at least one and no more than that'
            )
            raise InputError(msg)

    def _scale(self, rows: int) -> Floats:
        """Return by what coordinates are scaled: line 4 of Algorithm 1, where it is done."""
        if self.coupling == 'gram-product':
            return np.sqrt(self.singular_values_ / rows)
        return np.ones(self.n_components)


class ManifoldEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """
    Coordinates on the manifold that rows lie on, for new rows too.

    Parameters
    ----------
    learner
        Any learner of ``two_manifold_ros.kernels``, such as
        ``LaplacianEigenmap(dimension=2, neighbours=10)``.

    Attributes
    ----------
    embedding_ : (n, m)
        Centred coordinates of the rows that were fitted.
    eigenvalues_ : (m,)
        Of the learner's operator, leading first.
    n_features_in_ : int
        Columns of the rows, D.

    """

    def __init__(self, learner: ManifoldLearner) -> None:
        self.learner = learner

    def fit(self, X: ArrayLike, y: object = None) -> ManifoldEmbedding:  # noqa: ARG002 - for pipelines
        """
        Embed the rows X (n, D); y is ignored.

        Raises
        ------
        InputError
            If X is no matrix of finite numbers, or too small or too uniform for the learner.

        """
        rows = checked_rows('X', X)
        self._rows = LearnedRows.of('X', rows, self.learner)
        self.n_features_in_ = rows.shape[1]
        self.embedding_ = self._rows.coordinates
        self.eigenvalues_ = self._rows.embedding.eigenvalues
        self._n_features_out = self.embedding_.shape[1]
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """
        Return the coordinates (k, m) of the rows X (k, D) out of sample.

        Raises
        ------
        InputError
            If X is no matrix of D columns, or a row of it resembles no row that was fitted.

        """
        check_is_fitted(self)
        return self._rows.transform(checked_rows('X', X, self.n_features_in_))

    def fit_transform(self, X: ArrayLike, y: object = None) -> Floats:
        """Embed the rows X (n, D), as `fit` does, and return ``embedding_`` (n, m)."""
        return self.fit(X, y).embedding_


class ManifoldKernelReduction(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""
    What predicts responses, of all that a manifold learner finds.

    A learner embeds all rows, and the directions of its coordinates are found onto which those
    rows project whose responses are known (eq. 9 of the paper, with a linear response kernel):

    .. math:: \min_{\Theta \succeq 0,\ \operatorname{tr} \Theta = 1}
              \operatorname{tr}[Y Y^\top (M \Theta M^\top + \epsilon I)^{-1}]

    for centred coordinates M, scaled alike to columns that have unit norm on average.

    Parameters
    ----------
    learner
        Any learner of ``two_manifold_ros.kernels``; ``None`` is
        ``LaplacianEigenmap(dimension=50, neighbours=10, scaled=False)``.
    penalty
        :math:`\epsilon`, the paper's :math:`N \epsilon`: the fewer responses, the larger.

    Attributes
    ----------
    embedding_ : (n, r)
        Projections of the rows that were fitted; there are at most as many as responses a row.
    directions_ : (m, r)
        Orthonormal, leading first, in the coordinates of the learner.
    strengths_ : (m,)
        Eigenvalues of Theta, largest first; they sum to one.
    predictive_eigenvectors_ : (m,)
        Coordinates of the learner, the one with the largest coefficients first.
    n_features_in_ : int
        Columns of X, D.

    """

    def __init__(self, learner: ManifoldLearner | None = None, *, penalty: float = 1e-3) -> None:
        self.learner = learner
        self.penalty = penalty

    def fit(self, X: ArrayLike, y: ArrayLike) -> ManifoldKernelReduction:
        """
        Embed the rows X (n, D) and find what predicts y, shape (n,) or (n, q).

        Rows of y with a NaN are not known; their rows of X help to learn the manifold.

        Raises
        ------
        InputError
            If X is no matrix of finite numbers, y does not go with it, or either does not vary.

        """
        rows = checked_rows('X', X)
        responses, known = _checked_responses(y, len(rows))
        self._rows = LearnedRows.of(
            'X', rows, self.learner or LaplacianEigenmap(50, 10, scaled=False)
        )
        self.n_features_in_ = rows.shape[1]
        coordinates = self._rows.coordinates
        found = find_predictive_directions(
            coordinates[known], responses[known], penalty=self.penalty
        )
        self.directions_ = found.directions
        self.strengths_ = found.strengths
        self.predictive_eigenvectors_ = found.predictive_eigenvectors(len(found.theta))
        self.embedding_ = coordinates @ found.directions
        self._n_features_out = found.rank
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """
        Return the projections (k, r) of the rows X (k, D) out of sample.

        Raises
        ------
        InputError
            If X is no matrix of D columns, or a row of it resembles no row that was fitted.

        """
        check_is_fitted(self)
        rows = checked_rows('X', X, self.n_features_in_)
        return self._rows.transform(rows) @ self.directions_

    def fit_transform(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """Embed and find, as `fit` does, and return ``embedding_`` (n, r)."""
        return self.fit(X, y).embedding_


def _checked_responses(y: ArrayLike, count: int) -> tuple[Floats, Bools]:
    """Return responses (n, q) and which rows of them are known (n,)."""
    responses = real_numbers('y', y)
    if responses.ndim == 1:
        responses = responses[:, None]
    if responses.ndim != 2 or len(responses) != count:
        msg = f'y has the shape {np.shape(y)}; give a response for each of the {count} rows of X'
        raise InputError(msg)
    known = ~np.isnan(responses.sum(axis=1))
    if np.count_nonzero(known) < 2:
        msg = f'y is known for {np.count_nonzero(known)} rows; give at least 2 that are not NaN'
        raise InputError(msg)
    return responses, known


class InstrumentalEigenmaps(TwoViews):
    r"""
    The manifolds of two views whose noise is independent, each learned with the help of the other.

    A manifold learner embeds either view in many dimensions, whose inner products are its
    centred Gram matrix. What the two share is then found by a singular value decomposition:

    .. math:: C_X C_Y = U \Lambda V^\top, \qquad
              E_X = U_{1:k} \Lambda_{1:k}^{1/2}, \quad E_Y = V_{1:k} \Lambda_{1:k}^{1/2}

    (lines 3 and 4 of Algorithm 1, from low-rank factors: no n x n matrix is formed).

    Parameters
    ----------
    n_components
        Dimension of the hidden manifold, k.
    learner
        Embeds X: any learner of ``two_manifold_ros.kernels``; ``None`` is
        ``LaplacianEigenmap(dimension=60, neighbours=20)``. Its dimension is to be much larger than
        k: what noise adds to either manifold has to find room in it.
    second_learner
        Embeds Y; ``None`` is the same as for X.
    coupling
        ``gram-product`` as above; ``cross-covariance``, the kernel SVD of section 3.2.2;
        ``canonical`` (correlation), which withstands the most noise; or ``reduced-rank``
        (regression of X on Y).

    Attributes
    ----------
    embedding_ : (n, k), second_embedding_ : (n, k)
        E_X and E_Y; columns are centred.
    singular_values_ : (k,)
        Of the coupling, largest first.
    n_features_in_ : int
        Columns of X, D_X.

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
        return LearnedRows.of('X', first, learner), LearnedRows.of('Y', second, other)


KERNELS = ('gaussian', 'polynomial', 'linear')


class TwoSubspaceKernelPCA(TwoViews):
    r"""
    Two-subspace PCA in the feature spaces of kernels: the kernel SVD.

    The singular vectors of the cross-covariance operator
    :math:`\hat\Sigma_{XY} = \tfrac1n \Phi H \Upsilon^\top` are :math:`\lambda_i^{-1/2} \Phi H v_i`
    with :math:`C_Y C_X v_i = \lambda_i v_i`. They are found from explicit features of the kernels,
    which is exact if ``rank`` is n - 1 or more and n is no more than 2,000, the landmarks that
    features are made of; of a Gaussian kernel, but for the smallest eigenvalue of its matrix.

    Parameters
    ----------
    n_components
        Directions, k.
    kernel
        ``gaussian``, with the median distance of either view for its bandwidth, ``polynomial``
        or ``linear``, as in ``two_manifold_ros.kernels``.
    degree
        Of the polynomial kernel.
    rank
        Features of either kernel, the leading ones; at most n - 1 are taken.
    coupling
        ``cross-covariance`` as above, ``canonical``, ``reduced-rank`` or ``gram-product``.

    Attributes
    ----------
    embedding_ : (n, k), second_embedding_ : (n, k)
        Projections of the centred rows of X and of Y on the singular vectors.
    singular_values_ : (k,)
        Of the coupling, largest first.
    n_features_in_ : int
        Columns of X, D_X.

    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str = 'gaussian',
        degree: int = 3,
        rank: int = 100,
        coupling: str = 'cross-covariance',
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.degree = degree
        self.rank = rank
        self.coupling = coupling

    def _embed(self, first: Floats, second: Floats) -> tuple[LearnedRows, LearnedRows]:
        learner = self._learner(min(self.rank, max(len(first) - 1, 1)))
        return LearnedRows.of('X', first, learner), LearnedRows.of('Y', second, learner)

    def _learner(self, rank: int) -> ManifoldLearner:
        if self.kernel == 'gaussian':
            return GaussianKernel(rank)
        if self.kernel == 'polynomial':
            return PolynomialKernel(rank, self.degree)
        if self.kernel == 'linear':
            return LinearKernel(rank)
        msg = f'there is no kernel named {self.kernel!r}; choose one of {", ".join(KERNELS)}'
        raise InputError(msg)


class TwoSubspacePCA(TwoViews):
    r"""
    The linear subspaces of two views whose noise is independent.

    The noise of X does not vary with Y, so it averages out of

    .. math:: \hat\Sigma_{XY} = \tfrac1n X H Y^\top H \approx U D V^\top,

    and the leading singular vectors U and V become those of the signal as n grows, where the
    principal components of either view stay biased by its noise.

    Parameters
    ----------
    n_components
        Directions, k: the dimension of the hidden signal.
    coupling
        ``cross-covariance`` as above, ``canonical`` (correlation) or ``reduced-rank`` (regression
        of X on Y), see footnote 2 of the paper, or ``gram-product``.

    Attributes
    ----------
    components_ : (k, D_X), second_components_ : (k, D_Y)
        What centred rows are multiplied with; orthonormal rows for ``cross-covariance``.
    mean_ : (D_X,), second_mean_ : (D_Y,)
    embedding_ : (n, k), second_embedding_ : (n, k)
        Of the rows of X and of Y that were fitted; columns are centred.
    singular_values_ : (k,)
        Of the coupling, largest first.
    n_features_in_ : int
        Columns of X, D_X.

    """

    def __init__(self, n_components: int = 2, *, coupling: str = 'cross-covariance') -> None:
        self.n_components = n_components
        self.coupling = coupling

    @property
    def components_(self) -> Floats:
        """What centred rows of X are multiplied with, shape (k, D_X)."""
        components: Floats = self._first_map.T
        return components

    @property
    def second_components_(self) -> Floats:
        """What centred rows of Y are multiplied with, shape (k, D_Y)."""
        components: Floats = self._second_map.T
        return components

    def _embed(self, first: Floats, second: Floats) -> tuple[CentredRows, CentredRows]:
        views = CentredRows.of(first), CentredRows.of(second)
        self.mean_, self.second_mean_ = views[0].mean, views[1].mean
        return views
