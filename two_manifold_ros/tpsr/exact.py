# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR from all samples at once (Boots & Gordon 2011, eq. 6 and 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.tpsr.moments import OperatorTensor
from two_manifold_ros.tpsr.parameters import count_states, make_parameters, Tpsr
from two_manifold_ros.tpsr.thin_svd import Move

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.learner import Triples
    from two_manifold_ros.typing import Floats


def learn(triples: Triples, constant: Floats, states: int, ridge: float) -> Tpsr:
    """
    Learn by Boots & Gordon 2011, eq. 7a-c, without the third moments of all features.

    Arguments as of `OnlineLearner` and `LearnerSettings`; fewer states if the samples have fewer.
    """
    values, left, right = _leading(triples, states)
    tensor = OperatorTensor(triples.observations.shape[1])
    none = np.zeros((len(values), 0))
    tensor.move(Move(none, none))
    tensor.add(
        (triples.next_tests @ left.T) * triples.importance[:, None],
        triples.observations,
        triples.histories @ right.T,
    )
    start, sums = np.stack([constant, triples.importance @ triples.histories]) @ right.T
    operators = tensor.moments / values
    observations, importance = triples.observations, triples.importance
    weight = float(importance.sum())
    total = (observations * importance[:, None]).T @ observations
    inverse = np.linalg.inv(total + ridge * weight * np.eye(len(total)))
    squares = float(importance @ np.square(triples.tests).sum(axis=1))
    return make_parameters(values * start, sums / values, operators, inverse, weight, squares)


def _leading(triples: Triples, states: int) -> tuple[Floats, Floats, Floats]:
    """Return the leading singular values and vectors (Boots & Gordon 2011, eq. 6c)."""
    weighted = triples.tests * triples.importance[:, None]
    tests, across = np.linalg.qr(weighted.T)
    histories, down = np.linalg.qr(triples.histories.T)
    left, values, right = np.linalg.svd(across @ down.T, full_matrices=False)
    kept = count_states(values, states)
    return values[:kept], (tests @ left[:, :kept]).T, right[:kept] @ histories.T
