# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Non-linear independent component analysis as an estimator of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from two_manifold_ros.errors import InputError
from two_manifold_ros.estimators import checked_rows, Estimator, LearnedRows, numbers_of
from two_manifold_ros.manifold.diffusion_map import AnisotropicDiffusion, GivenCovariances
from two_manifold_ros.manifold.independent_components import (
    covariances_of_balls,
    covariances_of_ends,
    local_covariances,
    separate,
)
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from typing_extensions import Self


CLOUDS = {'paths': 4, 'ends': 3, 'ball': 3, 'given': 3}
"""Kinds of what is seen around each point, and how many axes these arrays have."""


class NonlinearICA(Estimator):
    r"""
    Independent variables behind a non-linear map, from what is seen around each point.

    Singer & Coifman 2008: the covariance of small known movements around a point is :math:`J
    J^\top`, with the Jacobian J of the map. A random walk in these metrics is a diffusion of the
    variables (eq. 20), and its eigenfunctions separate, see
    ``manifold.independent_components.separate``.

    There are ``n_components`` variables, n. ``clouds`` says what ``fit`` is given of each of the N
    points: ``paths`` (N, b, s + 1, D), places after each of s equal steps on b paths of the free
    motion from it, itself first; ``ends`` (N, b, D) of such paths (eq. 35); ``ball`` (N, b, D),
    images of places spread evenly in a small ball around it (eq. 44); or ``given`` (N, D, D), the
    covariances themselves. ``size`` is the duration of the paths, or the radius of the balls, and
    sets the unit of the variables only. The kernel should be small at the last of the
    ``neighbours``. For ``epsilon``, ``density`` and ``power`` see ``AnisotropicDiffusion``; the
    paper's 0 and 1 err more.

    Each coordinate of ``embedding_`` (N, n), of mean square 1, is a monotone function of one
    variable, in any order and with any sign: of evenly spread points a cosine, which
    ``manifold.independent_components.place_on_interval`` inverts. ``separation_`` is the least
    correlation of a product of two coordinates with its eigenfunctions: low, they are mixtures.
    ``eigenvalues_`` (m,) are of the random walk, leading first, without that of the constant.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        clouds: str = 'paths',
        size: float = 1.0,
        neighbours: int = 100,
        epsilon: float | None = None,
        density: float = 0.5,
        power: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.clouds = clouds
        self.size = size
        self.neighbours = neighbours
        self.epsilon = epsilon
        self.density = density
        self.power = power

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the variables behind the points X (N, D), from the clouds around them in y."""
        rows = checked_rows('X', X)
        count = self.n_components
        # Functions of one variable, their products, their doubles; some others may come before.
        wanted = count * (count + 3) // 2 + 3
        learner = AnisotropicDiffusion(
            wanted,
            self.neighbours,
            GivenCovariances(self._covariances(rows, y), rank=count),
            density=self.density,
            power=self.power,
            epsilon=self.epsilon,
        )
        self._rows = learned = LearnedRows('X', rows, learner)
        self.eigenvalues_ = learned.embedding.eigenvalues
        found = separate(learned.coordinates, self.eigenvalues_, count)
        self.separation_ = float(np.min(found.correlations, initial=1.0))
        self._finish(rows, found.mixing)
        # Not multiplied again: a product rounds.
        self.embedding_ = found.coordinates
        return self

    def _covariances(self, rows: Floats, y: ArrayLike) -> Floats:
        """Return the (N, D, D) covariances around the rows (N, D)."""
        if self.clouds not in CLOUDS:
            msg = f'there are no clouds named {self.clouds!r}; choose one of {", ".join(CLOUDS)}'
            raise InputError(msg)
        clouds, axes = numbers_of(y), CLOUDS[self.clouds]
        if not np.isfinite(clouds).all() or not self.size > 0.0:
            raise InputError('y is no array of finite real numbers, or the size is not positive')
        fits = clouds.ndim == axes and len(clouds) == len(rows)
        if not fits or clouds.shape[-1] != rows.shape[1]:
            wanted = f'{axes - 1} axes for each row, the last one as long as the row'
            msg = f'y has the shape {clouds.shape} where X has {rows.shape}; give {wanted}'
            raise InputError(msg)
        if self.clouds == 'given':
            return clouds
        if self.clouds == 'ball':
            return covariances_of_balls(rows, clouds, self.size, self.n_components)
        estimate = local_covariances if self.clouds == 'paths' else covariances_of_ends
        return estimate(clouds, self.size)
