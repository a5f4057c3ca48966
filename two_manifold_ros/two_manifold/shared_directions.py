# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The directions of the future that the past predicts, and the regression onto them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.two_manifold.couplings import couple

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

SMALLEST_RATIO = 1e-3
"""Directions with a smaller singular value, relative to the first, are left out."""


@dataclass(frozen=True)
class SharedDirections:
    r"""
    Directions of the future embedding that the past predicts, and the regression onto them.

    Parameters
    ----------
    future_map : (m_F, r)
        State of a future window: ``z_F @ future_map``.
    past_map : (m_P, r)
        Spectral regression from the past: its implied weights are
        ``z_P @ past_map / n``, and
        :math:`(A^\top C)\,\text{past\_map} = I` with A the future map and C of eq. (3.1).
    singular_values : (r,)
        Largest first.

    """

    future_map: Floats
    past_map: Floats
    singular_values: Floats


def shared_directions(
    future: Floats, past: Floats, rank: int, coupling: str = 'cross-covariance'
) -> SharedDirections:
    """
    Couple the centred embeddings of future and past windows.

    Parameters
    ----------
    future : (n, m_F), past : (n, m_P)
        Centred coordinates; row i of both belongs to the same training tick.
    rank
        Directions wanted; fewer are returned where the spectrum falls below ``SMALLEST_RATIO``.
    coupling
        One of ``COUPLINGS`` of ``couplings``, the future being the first.

    Raises
    ------
    InputError
        If the past predicts nothing of the future, or there is no coupling of that name.

    """
    coupled = couple(future, past, coupling)
    values = coupled.singular_values
    if not values[0] > 0.0:
        msg = 'past and future windows share nothing; record while the vehicle drives'
        raise InputError(msg)
    keep = min(rank, int(np.count_nonzero(values > SMALLEST_RATIO * values[0])))
    future_map, values = coupled.first_map[:, :keep], values[:keep]
    if coupling == 'gram-product':
        # Its directions of the past belong to another product; the smallest regression does it.
        past_map = np.linalg.pinv(future_map.T @ future.T @ past / len(future))
    else:
        past_map = coupled.second_map[:, :keep] / values
    return SharedDirections(future_map, past_map, values)
