# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Weighted least squares from states to positions, in sums that follow the bases of the state."""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats

RIDGE = 1e-3
"""Of states whose length is about one: the weight of the belief that all positions are alike."""


class Readout(NamedTuple):
    """
    Solutions of the sums.

    Parameters
    ----------
    coefficients : (c, 2, s)
        Of each column.
    inverses : (c, s, s)
        Of each sum with its ridge: how uncertain the coefficients are, in units of the errors.

    """

    coefficients: Floats
    inverses: Floats


class ReadoutSums:
    r"""
    Sums of recursive least squares with forgetting, of several columns of targets.

    With :math:`G = \sum\lambda^{n-i} b_i b_i^\top` and :math:`C = \sum\lambda^{n-i} b_i y_i^\top`
    kept instead of their solution, a move of the bases is a product from both sides and exact,
    and standing still changes nothing: what is not added is not forgotten either.

    Parameters
    ----------
    columns, states
        Number of columns, c, and of entries in a state, s.
    memory
        Targets of a column after which an old one counts only 1/e.

    Attributes
    ----------
    gram : (c, s, s), cross : (c, s, 2)
        The sums.

    """

    def __init__(self, columns: int, states: int, memory: float) -> None:
        self.memory = memory
        self.gram = np.zeros((columns, states, states))
        self.cross = np.zeros((columns, states, 2))

    def add(self, states: Floats, targets: Floats) -> None:
        """
        Add pairs, oldest first.

        Parameters
        ----------
        states : (n, c, s)
            What each column is read from.
        targets : (n, c, 2)
            Where one of the two is not finite, nothing is added to the column and nothing fades.

        """
        known: Bools = np.asarray(
            np.isfinite(targets).all(axis=2) & np.isfinite(states).all(axis=2)
        )
        ages = known[::-1].cumsum(axis=0)[::-1] - known
        weights = np.where(known, np.exp(-ages / self.memory), 0.0).T[:, None, :]
        fading = np.exp(-known.sum(axis=0) / self.memory)[:, None, None]
        own = np.where(known[:, :, None], states, 0.0).transpose(1, 2, 0)
        wanted = np.where(known[:, :, None], targets, 0.0).transpose(1, 0, 2)
        weighted = own * weights
        self.gram = fading * self.gram + weighted @ own.transpose(0, 2, 1)
        self.cross = fading * self.cross + weighted @ wanted

    def move(self, matrix: Floats) -> None:
        """Go over to states that are an (s, s) matrix times the old ones."""
        self.gram = matrix @ self.gram @ matrix.T
        self.cross = matrix @ self.cross

    def fade(self, share: float) -> None:
        """Let all that was added count less."""
        self.gram *= share
        self.cross *= share

    def solve(self) -> Readout:
        """Return the coefficients."""
        inverses = np.linalg.inv(self.gram + RIDGE * np.eye(self.gram.shape[1]))
        inverses = 0.5 * (inverses + inverses.transpose(0, 2, 1))
        return Readout((inverses @ self.cross).transpose(0, 2, 1), inverses)


def pair_up(
    states: Floats, positions: Floats, horizons: tuple[int, ...], period_s: float
) -> tuple[Floats, Floats]:
    """
    Pair positions with the states from which they are to be foretold.

    Parameters
    ----------
    states : (b + n, s), positions : (b + n, 2)
        Of ticks in a row; NaN where unknown. The first b = ``reach(horizons)`` are only looked
        back at.
    horizons
        Ticks ahead.
    period_s
        Length of a tick.

    Returns
    -------
    states : (n, H + 1, s), targets : (n, H + 1, 2)
        For each of the n ticks its position with the state of as many ticks ago as the horizon
        says; in the last column the velocity one tick ago, from the positions around it.

    """
    back = reach(horizons)
    count = len(states) - back
    delays = [*horizons, 1]
    columns = [states[back - delay : back - delay + count] for delay in delays]
    position = positions[back:]
    velocity = (position - positions[back - 2 : back - 2 + count]) / (2.0 * period_s)
    targets = [position] * len(horizons)
    return np.stack(columns, axis=1), np.stack([*targets, velocity], axis=1)


def reach(horizons: tuple[int, ...]) -> int:
    """Return how many ticks back a position is paired."""
    return max(*horizons, 2)


def doubt(readout: Readout, state: Floats) -> Floats:
    """Return b'Pb of a state (s,) for each column: (c,), never above that of one lone pair."""
    found: Floats = np.einsum('i,cij,j->c', state, readout.inverses, state)
    return np.clip(found, 0.0, math.inf)
