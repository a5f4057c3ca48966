# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The two tables of the HMM in the form that carries the constant, eq. (3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.transition import stabilised

if TYPE_CHECKING:
    from two_manifold_ros.two_manifold.shared_directions import SharedDirections
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Tables:
    r"""
    What the HMM needs of its training ticks.

    .. math:: \omega = Q b \quad\text{(weights on the training ticks)}, \qquad
              b^+ = X^\top \omega

    Parameters
    ----------
    weights : (n, k)
        :math:`Q`; the first column is 1/n.
    states : (n, k)
        :math:`X`; the state that each training tick goes over to; the first column is 1.

    """

    weights: Floats
    states: Floats


def build_tables(past: Floats, shifted: Floats, directions: SharedDirections) -> Tables:
    """
    Build the tables.

    Parameters
    ----------
    past : (n, m_P)
        Centred coordinates of the past windows.
    shifted : (n, m_F)
        Coordinates of the futures one tick later, centred with the mean of the own futures.
    directions
        From ``shared_directions``.

    Returns
    -------
    Tables
        With k = 1 + directions; modes of the transition that would grow are shrunk to modulus 1.

    """
    ones = np.ones((len(past), 1))
    weights = np.hstack([ones, past @ directions.past_map]) / len(past)
    states = np.hstack([ones, shifted @ directions.future_map])
    return Tables(weights, stabilised(weights, states))
