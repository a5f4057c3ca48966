# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A learner continues on any input, and its output is finite."""

import warnings

import numpy as np
import pytest

from two_manifold_ros.tpsr.exact import ExactLearner
from two_manifold_ros.tpsr.learner import Learner, LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.parameters import TpsrBelief

LENGTHS = (0.0, 1e-200, 1e-30, 1e-6, 1e-3, 1.0, 1.0, 1.0, 1e3, 3e5)
FAULTS = (np.nan, np.inf, -np.inf, 1e200)
IMPORTANCES = (1.0, 1.0, 1.0, 0.0, 1e-50, 1e50, 1e-3, -1.0, np.nan)


def hostile(rng: np.random.Generator, usual: np.ndarray) -> np.ndarray:
    """Long, short, zero, parallel or broken features, of which the last is the constant."""
    direction = usual if rng.random() < 0.4 else rng.normal(size=len(usual))
    features = np.append(rng.choice(LENGTHS) * direction, 1.0)
    if rng.random() < 0.01:
        features[0] = rng.choice(FAULTS)
    return features


@pytest.mark.parametrize('kind', [OnlineLearner, ExactLearner])
@pytest.mark.parametrize('seed', range(8))
def test_a_learner_survives(seed: int, kind: type[Learner]) -> None:
    rng = np.random.default_rng(seed)
    tests, histories, observations, states = rng.integers(2, 8, 4)
    memory, ridge = rng.choice([np.inf, 3.0, 100.0]), rng.choice([1e-9, 1e-3, 1.0, 100.0])
    settings = LearnerSettings(
        int(states), int(states + rng.integers(4)), ridge, memory, (1, 2, 5, 33)[seed % 4]
    )
    learner = kind(settings, np.eye(histories + 1)[-1], tests + 1, observations + 1)
    usual = [rng.normal(size=size) for size in (tests, tests, histories, observations)]
    belief = None
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for _ in range(150):
            sample = [hostile(rng, features) for features in usual]
            move = learner.add(*sample, rng.choice(IMPORTANCES))
            if move is not None:
                tpsr = learner.parameters()
                assert all(np.isfinite(value).all() for value in vars(tpsr).values())
                if belief is None:
                    belief = TpsrBelief(tpsr)
                else:
                    belief.adopt(tpsr, move)
                for basis in (learner.svd.left, learner.svd.right):
                    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-9)
            if belief is not None:
                assert -1.0 <= belief.update(sample[3]) <= 1.0
                assert np.isfinite(belief.state).all()
    assert learner.samples > 0
    assert learner.samples + learner.refused == 150
