# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether numbers and arrays are what they should be: shape, type, finite, positive."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.model.bounds import check_magnitude
from two_manifold_ros.model.refusing import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats

    Shapes = Mapping[str, tuple[NDArray[Any], tuple[int, ...]]]

ROUNDING = 1e-9
"""Of the largest entry of a covariance, by which an eigenvalue may be negative."""

_REALS = np.dtype(np.float64)
_KINDS = {
    'starts': np.dtype(np.int64),
    'still': np.dtype(np.int64),
    'begins': np.dtype(np.int64),
    'targets_of': np.dtype(np.int64),
    'steps_of': np.dtype(np.int64),
    'live': np.dtype(np.bool_),
}


def check_positive(numbers: Mapping[str, float]) -> None:
    """Refuse the first number that is not positive and finite."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not (np.isfinite(value) and value > 0):
            refuse(f'{name} is {value}, not a positive number')


def check_shapes(shapes: Shapes) -> None:
    """Refuse the first array that has not the shape beside it."""
    for name, (array, shape) in shapes.items():
        if array.shape != shape:
            refuse(f'{name} has the shape {array.shape} instead of {shape}')


def check_finite(groups: Iterable[object]) -> None:
    """Refuse the first array among attributes of objects of another type, or beyond bounds."""
    for group in groups:
        for name, value in vars(group).items():
            if not isinstance(value, np.ndarray) or name.startswith('_'):
                continue
            kind = _KINDS.get(name, _REALS)
            if value.dtype != kind:
                refuse(f'{name} holds {value.dtype} instead of {kind}')
            # Unknown targets and the seams of the track are NaN by design.
            bad = np.isinf(value) if name in {'targets', 'track'} else ~np.isfinite(value)
            if bad.any():
                refuse(f'{name} holds numbers that are not finite')
            # Beyond which a sample is refused; a channel that is left out has the largest of all.
            if name != 'limit':
                check_magnitude(name, value)


def are_covariances(matrices: Floats) -> bool:
    """Return whether (n, 2, 2) matrices are symmetric and not negative, but for rounding."""
    slack = ROUNDING * np.abs(matrices).max(axis=(1, 2))
    skewness = np.abs(matrices[:, 0, 1] - matrices[:, 1, 0])
    smallest = np.linalg.eigvalsh(matrices).min(axis=1)
    return bool((skewness <= slack).all() and (smallest >= -slack).all())
