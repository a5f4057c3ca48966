# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of a TPSR: what a filter needs, and nothing of how it was learned."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.learner import OnlineLearner
    from two_manifold_ros.typing import Floats


_SLACK = 2.0
"""What noise may add to the length of a state."""


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
        :math:`(\hat\Sigma_{AO,AO}+\lambda nI)^{-1}`.
    transition : (k, k)
        One tick without an observation, section 6.2.
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


def make_parameters(learner: OnlineLearner) -> Tpsr:
    """Return the parameters of the leading states of a learner, eq. (7a-c)."""
    svd, moments = learner.svd, learner.tensor.moments
    states = min(learner.settings.states, len(svd.values))
    values, right = svd.values[:states], svd.right[:states]
    operators = moments[:states, :, :states] / values
    start = values * (right @ learner.constant)
    normaliser = (right @ learner.history_sum) / values
    return Tpsr(
        start=start / float(normaliser @ start),
        normaliser=normaliser,
        operators=np.ascontiguousarray(operators[:, :-1].transpose(1, 0, 2)),
        inverse=learner.covariance.inverse.copy(),
        transition=operators[:, -1].copy(),
        bound=math.sqrt(learner.test_square / learner.weight) * _SLACK,
    )
