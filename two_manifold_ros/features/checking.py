# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a feature map refuses."""

from __future__ import annotations

from typing import Any, NoReturn, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats


PRECISIONS = {'double': np.float64, 'single': np.float32}

LARGEST_SIZE = 1_000_000
"""Features beyond which a product of maps or a set of words is refused as a slip."""


def refuse(cause: str) -> NoReturn:
    """Raise the ``InputError`` that says why a feature map cannot be used."""
    msg = f'the feature map is refused: {cause}; make it anew'
    raise InputError(msg)


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
    name: str, array: NDArray[Any], shape: tuple[int | None, ...], *kinds: str
) -> None:
    """
    Refuse an array of a feature map that is not of a shape and one of some dtypes, and finite.

    Parameters
    ----------
    name
        For the message.
    array
        Anything, since it may come from a file.
    shape
        Wanted lengths, ``None`` for any but 0.
    kinds
        Names of dtypes.

    Raises
    ------
    InputError
        Naming the array.

    """
    if not isinstance(array, np.ndarray):
        refuse(f'{name} is no array')
    pairs = zip(array.shape, shape, strict=False)
    fits = all(have == want or (want is None and have > 0) for have, want in pairs)
    if array.ndim != len(shape) or not fits:
        wanted = ', '.join('any' if length is None else str(length) for length in shape)
        refuse(f'{name} has the shape {array.shape} instead of ({wanted})')
    if str(array.dtype) not in kinds:
        refuse(f'{name} holds {array.dtype} instead of {" or ".join(kinds)}')
    if not np.isfinite(array).all():
        refuse(f'{name} holds numbers that are not finite')


def check_count(name: str, value: object, least: int = 1) -> None:
    """
    Refuse what is not a whole number of at least ``least``.

    Raises
    ------
    InputError
        Naming the number.

    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        refuse(f'{name} is {value!r}, not a whole number of at least {least}')


def check_positive(name: str, value: object) -> None:
    """
    Refuse what is not a positive finite number.

    Raises
    ------
    InputError
        Naming the number.

    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < np.inf:
        refuse(f'{name} is {value!r}, not a positive number')


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """
    Refuse what is not one of some names.

    Raises
    ------
    InputError
        Naming them.

    """
    if value not in choices:
        msg = f'there is no {name} named {value!r}; choose one of {", ".join(choices)}'
        raise InputError(msg)
