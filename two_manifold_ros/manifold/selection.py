# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifold learners by name, and checks of their extensions."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import InnerProduct, MemberAffinity
from two_manifold_ros.manifold.anisotropic_diffusion import (
    AnisotropicDiffusion,
    AnisotropicTransition,
)
from two_manifold_ros.manifold.diffusion_map import DiffusionMap, Transition
from two_manifold_ros.manifold.isomap import Geodesic, Isomap
from two_manifold_ros.manifold.kernel_pca import GaussianKernel, LinearKernel, PolynomialKernel
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap, NearModes
from two_manifold_ros.manifold.local_metric import NeighboursInTime
from two_manifold_ros.manifold.locally_linear import Barycentric, LocallyLinear

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.manifold.learner import Extension, ManifoldLearner


RESPONSES: dict[str, type[Any]] = {
    'member-affinity': MemberAffinity,
    'inner-product': InnerProduct,
    'near-modes': NearModes,
    'geodesic': Geodesic,
    'barycentric': Barycentric,
    'transition': Transition,
    'anisotropic-transition': AnisotropicTransition,
}
"""Every kind of response, by its name in files."""

LARGEST = {'int': 2.0**31, 'float': 1e150}
"""Numbers of files are smaller, so that they fit into an array and have squares."""

_DTYPES = {'Floats': np.dtype(np.float64), 'Ints': np.dtype(np.int64)}


def check_extension(extension: Extension, count: int) -> None:
    """
    Refuse an extension that cannot be used with so many training points.

    Raises
    ------
    ValueError
        Naming the first thing that does not fit, as the end of a sentence.

    """
    for part in (extension.response, extension):
        for field in fields(part):  # type: ignore[arg-type]  # every response is a dataclass
            _check_field(field.name, str(field.type), getattr(part, field.name))
    rows = extension.response.check(count)
    if extension.offset.ndim != 1 or not extension.offset.size:
        msg = f'offset has the shape {extension.offset.shape} instead of (any,)'
        raise ValueError(msg)
    shape = (rows, len(extension.offset))
    if extension.table.shape != shape:
        msg = f'table has the shape {extension.table.shape} instead of {shape}'
        raise ValueError(msg)


def _check_field(name: str, kind: str, value: Any) -> None:  # noqa: ANN401 - from a file
    if kind in _DTYPES:
        _check_array(name, value, _DTYPES[kind])
    elif kind in {'int', 'float'}:
        numbers = int if kind == 'int' else (int, float)
        fits = isinstance(value, numbers) and abs(value) < LARGEST[kind]
        if isinstance(value, bool) or not fits:
            word = 'whole' if kind == 'int' else 'finite'
            msg = f'{name} is {value!r}, not a {word} number below {LARGEST[kind]:g}'
            raise ValueError(msg)


def _check_array(name: str, value: Any, dtype: np.dtype[Any]) -> None:  # noqa: ANN401 - the same
    if not isinstance(value, np.ndarray):
        msg = f'{name} is no array'
        raise ValueError(msg)  # noqa: TRY004 - one kind of error for all that does not fit
    if value.dtype != dtype:
        msg = f'{name} holds {value.dtype} instead of {dtype}'
        raise ValueError(msg)
    if not value.ndim:
        msg = f'{name} is a single number'
        raise ValueError(msg)
    if not np.isfinite(value).all():
        msg = f'{name} holds numbers that are not finite'
        raise ValueError(msg)


_BESIDE_WINDOWS = NeighboursInTime(5, 2)
"""Of a car on its laps two variables are behind: where it is, and how fast. Of reaches of 3 to 20
windows and ranks 2 and 4, these erred least on the simulated slot cars with the seeds 5 to 7."""

_LEARNERS: dict[str, Callable[[int, int], ManifoldLearner]] = {
    'laplacian-eigenmap': LaplacianEigenmap,
    'laplacian-eigenmap-binary': partial(LaplacianEigenmap, weights='binary'),
    'laplacian-eigenmap-unscaled': partial(LaplacianEigenmap, scaled=False),
    'laplacian-eigenmap-plain': partial(LaplacianEigenmap, normalised=False),
    'gaussian': lambda dimension, _: GaussianKernel(dimension),
    'polynomial': lambda dimension, _: PolynomialKernel(dimension),
    'linear': lambda dimension, _: LinearKernel(dimension),
    'locally-linear': LocallyLinear,
    'isomap': Isomap,
    'diffusion-map': DiffusionMap,
    'diffusion-map-fokker-planck': partial(DiffusionMap, density=0.5),
    'diffusion-map-beltrami': partial(DiffusionMap, density=1.0),
    'anisotropic-diffusion': partial(AnisotropicDiffusion, metric=_BESIDE_WINDOWS),
}
KERNELS = tuple(_LEARNERS)

_LOCAL = ('locally-linear',)
"""Learners whose neighbours have to lie on a flat piece of the manifold: many never do."""


def make_learner(name: str, dimension: int, neighbours: int) -> ManifoldLearner:
    """
    Make a learner; those without a graph pass over the neighbours.

    Raises
    ------
    InputError
        If there is none of that name.

    """
    if name in _LEARNERS:
        return _LEARNERS[name](dimension, neighbours)
    msg = f'there is no kernel named {name!r}; choose one of {", ".join(KERNELS)}'
    raise InputError(msg)


def has_neighbours(name: str) -> bool:
    """
    Return whether a learner works on a graph of nearest neighbours.

    Raises
    ------
    InputError
        If there is none of that name.

    """
    return hasattr(make_learner(name, 2, 2), 'neighbours')


def gains_by_neighbours(name: str) -> bool:
    """
    Return whether a learner may become better by more neighbours than usual.

    Raises
    ------
    InputError
        If there is none of that name.

    """
    return has_neighbours(name) and name not in _LOCAL
