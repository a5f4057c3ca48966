# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold learners by name, embeddings of other libraries, and checks of extensions."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.diffusion_map import (
    AnisotropicDiffusion,
    AnisotropicTransition,
    DiffusionMap,
    local_bandwidth,
    NeighboursInTime,
    Transition,
)
from two_manifold_ros.manifold.kernel_pca import (
    GaussianKernel,
    InnerProduct,
    LinearKernel,
    MemberAffinity,
)
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap, NearModes
from two_manifold_ros.manifold.learner import (
    Embedding,
    Extension,
    ManifoldLearner,
    require_scale,
    Samples,
)
from two_manifold_ros.rules import check_fields

RESPONSES: dict[str, type[Any]] = {
    'member-affinity': MemberAffinity,
    'inner-product': InnerProduct,
    'near-modes': NearModes,
    'transition': Transition,
    'anisotropic-transition': AnisotropicTransition,
}
"""Every kind of response, by its name in files."""


def check_extension(extension: Extension, count: int) -> None:
    """Refuse by a ``ValueError`` an extension, of finite fields, that does not fit so many."""
    rows = extension.response.check(count)
    check_fields(extension, {'offset': ('M',), 'table': ('lm',)}, {'l': rows})


_LEARNERS: dict[str, Callable[[int, int], ManifoldLearner]] = {
    'laplacian-eigenmap': LaplacianEigenmap,
    'gaussian': lambda dimension, _: GaussianKernel(dimension),
    'linear': lambda dimension, _: LinearKernel(dimension),
    'diffusion-map': DiffusionMap,
    # Of a car on its laps two variables are behind: where it is, and how fast.
    'anisotropic-diffusion': partial(AnisotropicDiffusion, metric=NeighboursInTime(5, 2)),
}


def make_learner(name: str, dimension: int, neighbours: int) -> ManifoldLearner:
    """Make a learner by name; those without a graph ignore the neighbours."""
    return _LEARNERS[name](dimension, neighbours)


def has_neighbours(name: str) -> bool:
    """Return whether a learner, see ``make_learner``, works on a graph of nearest neighbours."""
    return hasattr(make_learner(name, 2, 2), 'neighbours')


@dataclass(frozen=True)
class FitTransform:
    """
    Any object with ``fit_transform(X)``, such as an embedding of scikit-learn, as a learner.

    A point gets the mean of the coordinates of the training points near it, weighted as in a step
    of `DiffusionMap`. The sums of squares of the columns stand for eigenvalues.
    """

    embedding: Any  # the object; a copy of it is fitted
    neighbours: int = 10  # see `near_points`

    def fit(self, samples: Samples) -> Embedding:
        """Embed the points, see ``ManifoldLearner``."""
        require_scale(samples, 1, self.neighbours)
        count, name = len(samples), type(self.embedding).__name__
        try:
            found = deepcopy(self.embedding).fit_transform(samples.rows(np.arange(count)))
            coordinates = np.array(found, dtype=np.float64)
        except ValueError as error:
            raise InputError(f'{name} cannot embed the points: {error}') from error
        shape, finite = coordinates.shape, np.isfinite(coordinates).all()
        if shape[:1] != (count,) or len(shape) != 2 or not coordinates.size or not finite:
            raise InputError(
                f'{name} made the shape {shape} of {count} points, or numbers that are not finite'
            )
        mean = coordinates.mean(axis=0)
        radii = samples.neighbours(self.neighbours)[1][:, -1].copy()
        bandwidth = local_bandwidth(radii)
        response = Transition(bandwidth, self.neighbours, radii, np.ones(count))
        squares = np.square(coordinates - mean).sum(axis=0)
        extension = Extension(response, coordinates, -mean)
        return Embedding(coordinates - mean, extension, squares, bandwidth)
