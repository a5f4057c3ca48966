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


SMALLEST_VALUE = 1e-9
"""Share of the largest singular value below which one holds rounding, and gives no state."""

LEAST_CONSTANT = 0.1
"""Share of the constant that the histories must hold, for beliefs to be normalised by it."""

_SLACK = 1.1
"""
What noise may add to the length of a state.

With 2 the few states in between, which are no means of features, were measured to cost up to
12 % of the error in the experiment slot-car-online, on slot cars 6 to 8.
"""


@dataclass(frozen=True)
class Tpsr:
    r"""
    A transformed predictive state representation, eq. (7a-c).

    Parameters
    ----------
    start : (k,)
        :math:`\hat b_*`, the state on average, scaled so that the normaliser makes it one.
    normaliser : (k,)
        :math:`\hat b_\infty`: its product with a state is one.
    operators : (p, k, k)
        :math:`\hat B_{AO}` by observation feature.
    inverse : (p, p)
        :math:`(\hat\Sigma_{AO,AO}/n+\lambda I)^{-1}`: of the mean and not of the sum, so that a
        likelihood keeps its size however long was learned.
    transition : (k, k)
        One tick without an observation, section 6.2; no mode of it grows.
    bound
        Length that no state exceeds: a state is a mean of test features, so it is no longer than
        they are.

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
        """Return the (k, k) operator of one observation from its (p,) features, eq. (7c)."""
        size, states = self.inverse.shape[0], self.states
        weights = self.inverse @ features
        operator: Floats = (weights @ self.operators.reshape(size, -1)).reshape(states, states)
        return operator


def count_states(values: Floats, wanted: int) -> int:
    """Return how many of the wanted states the (r,) singular values are good for."""
    return int(np.count_nonzero(values[:wanted] > SMALLEST_VALUE * values.max(initial=0.0)))


@dataclass(frozen=True)
class Sums:
    r"""
    The plain sums over n samples, eq. (6a) and (6b), each weighted.

    Parameters
    ----------
    inverse : (p, p)
        :math:`(\hat\Sigma_{AO,AO}+\lambda nI)^{-1}`.
    weight, test_square
        Sum of the weights, n, and of the squared lengths of the tests.

    """

    inverse: Floats
    weight: float
    test_square: float

    @property
    def bound(self) -> float:
        """Length that no state exceeds."""
        return _SLACK * math.sqrt(self.test_square / self.weight)


def make_parameters(values: Floats, ends: Floats, moments: Floats, sums: Sums) -> Tpsr:
    """
    Return the parameters, eq. (7a-c).

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
        Of the same samples.

    Raises
    ------
    InputError
        If the histories do not hold the constant.

    """
    start, normaliser = values * ends[0], ends[1] / values
    whole = float(normaliser @ start)
    if not whole > LEAST_CONSTANT * sums.weight:
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
