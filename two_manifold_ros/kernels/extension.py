# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The out-of-sample part of an embedding: coordinates of a point it was not fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class Response(Protocol):
    """
    What a new point is to the training points, as numbers that are linear in its coordinates.

    A response is a frozen dataclass whose fields are an ``int``, a ``float``, ``Ints`` or
    ``Floats`` and not called ``table`` or ``offset``, so that `extension_form` can write it.
    """

    def weights(self, squared: Floats) -> Floats | None:
        """
        Return (l,) weights of a point from its (n,) squared distances to all training points.

        ``None`` if the point resembles no training point. Of distances that are all NaN,
        ``None`` or NaN, but no error; a single one may count as out of reach.
        """
        ...

    def check(self, count: int) -> int:
        """
        Return how many weights there are, l, where there are ``count`` training points.

        Raises
        ------
        ValueError
            If the fields, which have their types and are finite, do not fit together.

        """
        ...


@dataclass(frozen=True)
class Extension:
    r"""
    Coordinates of a new point from its squared distances to the training points.

    .. math:: z(x) = \sum_i a_i(x)\, T_i + c

    Parameters
    ----------
    response
        :math:`a`, of the kind that belongs to the learner.
    table : (l, m)
        :math:`T`.
    offset : (m,)
        :math:`c`.

    """

    response: Response
    table: Floats
    offset: Floats

    def transform(self, squared: Floats) -> Floats | None:
        """
        Return the (m,) coordinates of a point with (n,) squared distances.

        ``None`` if the point resembles no training point: there is nothing to extend from.
        """
        weights = self.response.weights(squared)
        if weights is None:
            return None
        coordinates: Floats = weights @ self.table + self.offset
        return coordinates

    def followed_by(self, linear: Floats, offset: Floats) -> Extension:
        """Return the extension of ``z @ linear + offset`` with linear (m, k)."""
        return replace(self, table=self.table @ linear, offset=self.offset @ linear + offset)
