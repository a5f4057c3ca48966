# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions read linearly from states, to see what of the track is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.readout.ridge import fit_ridge

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats


@dataclass(frozen=True)
class LinearTrack:
    """
    A regression of positions on states.

    Parameters
    ----------
    mean, scale : (k,)
        Of the states of the lesson, because a penalty depends on units.
    coefficients : (2, 1 + k)
        Of the constant 1 and the standardised state, metres.

    """

    mean: Floats
    scale: Floats
    coefficients: Floats

    def read(self, states: Floats) -> Floats:
        """Return the positions (T, 2) of (T, k) states; NaN where a state is not finite."""
        positions: Floats = _rows(states, self.mean, self.scale) @ self.coefficients.T
        return positions


def fit_linear_track(states: Floats, positions: Floats) -> LinearTrack | None:
    """
    Regress positions on states by ridge.

    Parameters
    ----------
    states : (N, k)
        Rows with numbers that are not finite are passed over.
    positions : (N, 2)
        Metres, NaN where unknown.

    Returns
    -------
    track
        ``None`` if there is no finite state at a known position.

    """
    known: Bools = np.asarray(np.isfinite(states).all(axis=1) & np.isfinite(positions).all(axis=1))
    if not known.any():
        return None
    mean, scale = states[known].mean(axis=0), states[known].std(axis=0)
    # A constant, such as the first coordinate of some states, is no number to divide by.
    scale = np.where(scale > 1e-9 * np.maximum(1.0, np.abs(mean)), scale, np.inf)
    readout = fit_ridge(_rows(states[known], mean, scale), positions[known][:, None])
    return LinearTrack(mean, scale, readout.coefficients[0])


def _rows(states: Floats, mean: Floats, scale: Floats) -> Floats:
    return np.concatenate([np.ones((len(states), 1)), (states - mean) / scale], axis=1)
