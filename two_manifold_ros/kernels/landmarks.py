# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training points that stand for all where there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


SMALLEST_SPREAD = 1e-6
"""Of landmarks, relative to the distance of two points; windows that are alike differ by less."""


def spread_landmarks(count: int, most: int) -> Ints:
    """
    Return increasing indices of ``count`` points, all of them if there are at ``most`` so many.

    The first, the last, and one drawn from each of as many equal stretches between: always at the
    same place of a stretch, they could all be at the same place of a lap. At least two.
    """
    if count <= most:
        return np.arange(count)
    stretches = np.linspace(1, count - 1, most - 1).round().astype(np.int64)
    drawn = np.random.default_rng(0).integers(stretches[:-1], stretches[1:])
    return np.concatenate([[0], drawn, [count - 1]])


def require_spread(between: Floats, typical: float) -> None:
    """
    Refuse landmarks that are all alike.

    Parameters
    ----------
    between : (l, l)
        Their squared distances.
    typical
        Distance of two points.

    Raises
    ------
    InputError
        If they are.

    """
    if not between.max() > (SMALLEST_SPREAD * typical) ** 2:
        msg = (
            f'the {len(between)} points that stand for all are identical; leave out copies, or '
            'ask for more landmarks'
        )
        raise InputError(msg)
