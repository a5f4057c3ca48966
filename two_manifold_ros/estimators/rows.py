# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Checks of what estimators are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from two_manifold_ros.typing import Floats


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
