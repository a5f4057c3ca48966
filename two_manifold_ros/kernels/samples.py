# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a manifold learner needs of a set of points."""

from __future__ import annotations

from numbers import Integral
from typing import Protocol, TYPE_CHECKING

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


class Samples(Protocol):
    """A finite set of n points in D dimensions; distances are Euclidean."""

    def __len__(self) -> int:
        """Return the number of points, n."""
        ...

    def rows(self, indices: Ints) -> Floats:
        """Return some points: (len(indices), D)."""
        ...

    def distances_to(self, others: Ints) -> Floats:
        """Return squared distances of all points to some of them: (n, len(others))."""
        ...

    def distances_from(self, right: Floats) -> Floats:
        """Return squared distances of all points to (m, D) rows: (n, m)."""
        ...

    def pair_distances(self, pairs: int, seed: int = 0) -> Floats:
        """Return the squared distances of randomly drawn pairs of different points."""
        ...

    def neighbours(self, count: int) -> tuple[Ints, Floats]:
        """
        Find the nearest other points of every point, exactly.

        Returns
        -------
        indices : (n, count) int64, squared : (n, count)
            Smallest distance first; n - 1 columns if there are no more others.

        """
        ...


def require_enough(samples: Samples, dimension: int, neighbours: int | None = None) -> None:
    """
    Refuse a set that is too small for an embedding, and an embedding of nothing.

    Raises
    ------
    InputError
        If there are no more points than dimensions, or, in a graph, no more than neighbours or
        than dimensions and the constant mode, which is not kept; or if either is no whole number
        or less than one.

    """
    for name, number in (('dimension', dimension), ('neighbours', neighbours)):
        if number is not None and (not isinstance(number, Integral) or number < 1):
            msg = f'{name} is {number!r}, but must be a whole number and at least 1'
            raise InputError(msg)
    least = dimension if neighbours is None else max(dimension + 1, neighbours)
    if len(samples) > least:
        return
    graph = f' and {neighbours} neighbours' if neighbours else ''
    msg = (
        f'{len(samples)} points are too few for {dimension} dimensions{graph}; ask for fewer, or '
        'take more points (of windows: record longer or shorten them)'
    )
    raise InputError(msg)
