# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of a TPSR: what a filter needs, and nothing of how it was learned."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.tables import shrink_growing_modes

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Tpsr:
    r"""
    A transformed predictive state representation (Boots & Gordon 2011, eq. 7a-c).

    Parameters
    ----------
    start : (k,)
        :math:`\hat b_*`, the state on average, scaled so that the normaliser makes it one.
    normaliser : (k,)
        :math:`\hat b_\infty`: its product with a state is one.
    operators : (p, k, k)
        :math:`\hat B_{AO}` by observation feature.
    inverse : (p, p)
        :math:`(\hat\Sigma_{AO,AO}/n+\lambda I)^{-1}`, of the mean, so that a likelihood keeps its
        size however long was learned.
    transition : (k, k)
        One tick without an observation (mathematics, section 6.2); no mode of it grows.
    bound
        Length that no state exceeds: a state is a mean of test features, no longer than they are.

    """

    start: Floats
    normaliser: Floats
    operators: Floats
    inverse: Floats
    transition: Floats
    bound: float

    @property
    def states(self) -> int:
        """Dimension of the state, k."""
        return len(self.start)

    def operator(self, features: Floats) -> Floats:
        """Return the (k, k) operator of an observation with (p,) features, mathematics (10.5)."""
        size, states = self.inverse.shape[0], self.states
        weights = self.inverse @ features
        operator: Floats = (weights @ self.operators.reshape(size, -1)).reshape(states, states)
        return operator


def count_states(values: Floats, wanted: int) -> int:
    """Return how many of the wanted states have (r,) singular values that are not rounding."""
    return int(np.count_nonzero(values[:wanted] > 1e-9 * values.max(initial=0.0)))


@dataclass(frozen=True)
class Sums:
    r"""
    The plain weighted sums over n samples, Boots & Gordon 2011, eq. 6a and 6b.

    ``inverse`` (p, p) is :math:`(\hat\Sigma_{AO,AO}+\lambda nI)^{-1}`, ``weight`` the sum of the
    weights, n, ``test_square`` that of the squared lengths of the tests.
    """

    inverse: Floats
    weight: float
    test_square: float

    @property
    def bound(self) -> float:
        """Length that no state exceeds, with 10 % for noise."""
        # With 100 % the few states in between, which are no means of features, cost up to 12 % of
        # the error in the experiment slot-car-online, on slot cars 6 to 8.
        return 1.1 * math.sqrt(self.test_square / self.weight)


def make_parameters(values: Floats, ends: Floats, moments: Floats, sums: Sums) -> Tpsr:
    """
    Return the parameters (Boots & Gordon 2011, eq. 7a-c).

    Parameters
    ----------
    values : (k,)
        Singular values.
    ends : (2, k)
        Coordinates, by their vectors of histories, of the constant as it is written in history
        features and of the weighted sum of the histories.
    moments : (p + 1, k, k)
        See `OperatorTensor.moments`.
    sums
        Sums of the same samples.

    Raises
    ------
    InputError
        If the histories hold less than a tenth of the constant, by which beliefs are normalised.

    """
    start, normaliser = values * ends[0], ends[1] / values
    whole = float(normaliser @ start)
    if not whole > 0.1 * sums.weight:
        msg = (
            f'features of histories: what was learned holds {whole / sums.weight:.3g} of the '
            'constant instead of 1; append a constant feature'
        )
        raise InputError(msg)
    operators = moments / values
    return Tpsr(
        start=start / whole,
        normaliser=normaliser,
        operators=operators[:-1].copy(),
        inverse=sums.weight * sums.inverse,
        transition=shrink_growing_modes(operators[-1]),
        bound=sums.bound,
    )
