# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a feature map refuses."""

from __future__ import annotations

import numbers
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats


def check_points(points: Floats, inputs: int) -> Floats:
    """
    Return points as (n, inputs) float64, the same array if it is that already.

    Raises
    ------
    InputError
        If their shape is another, or a number in them is not finite.

    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != inputs:
        msg = (
            f'points of the shape {points.shape} do not fit a feature map of {inputs} inputs; '
            'give it what it was made for'
        )
        raise InputError(msg)
    if not np.isfinite(points).all():
        msg = 'a point holds a number that is not finite; leave out the samples that it is made of'
        raise InputError(msg)
    return points


def check_array(
    name: str, array: NDArray[Any], shape: tuple[int, ...], kinds: tuple[str, ...]
) -> None:
    """
    Refuse an array of a feature map that is not of this shape and one of these dtypes, or finite.

    Raises
    ------
    InputError
        Naming the array.

    """
    if not isinstance(array, np.ndarray) or array.shape != shape:
        _refuse(f'{name} has the shape {np.shape(array)} instead of {shape}')
    if str(array.dtype) not in kinds:
        _refuse(f'{name} holds {array.dtype} instead of {" or ".join(kinds)}')
    if not np.isfinite(array).all():
        _refuse(f'{name} holds numbers that are not finite')


def check_count(name: str, value: object) -> None:
    """
    Refuse what is not a whole number of at least 1.

    Raises
    ------
    InputError
        Naming the number.

    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        _refuse(f'{name} is {value!r}, not a whole number of at least 1')


def check_positive(name: str, value: object) -> None:
    """
    Refuse what is not a positive finite number.

    Raises
    ------
    InputError
        Naming the number.

    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < np.inf:
        _refuse(f'{name} is {value!r}, not a positive number')


def _refuse(cause: str) -> None:
    msg = f'the feature map is refused: {cause}; make it anew'
    raise InputError(msg)
