# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The batch, another form of it and the online learner, beside Bayes."""

import itertools

from exact_tpsr import learn_by_tensor
import numpy as np
import pytest
from tpsr_streams import part

from two_manifold_ros.tpsr.learner import learn, LearnerSettings, OnlineLearner, Triples
from two_manifold_ros.tpsr.parameters import Tpsr, TpsrBelief

TRANSITION = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]])
EMISSION = np.array([[0.5, 0.25, 0.25, 0, 0], [0, 0.25, 0, 0.5, 0.25], [0, 0, 0.5, 0.2, 0.3]])
SYMBOLS, STATES, RIDGE = 5, 3, 0.1


def triples() -> Triples:
    """Every triple of symbols: the history is the first, the test starts with the second."""
    usual = np.linalg.matrix_power(TRANSITION, 500)[0]
    words = list(itertools.product(range(SYMBOLS), repeat=3))
    words = np.random.default_rng(0).permutation(words)
    probabilities = []
    for word in words:
        forward = usual
        for symbol in word:
            forward = (forward * EMISSION[:, symbol]) @ TRANSITION
        probabilities.append(forward.sum())
    histories, tests, next_tests = (np.eye(SYMBOLS)[column] for column in words.T)
    return Triples(tests, next_tests, histories, tests, np.array(probabilities))


def online(fold_every: int) -> tuple[Tpsr, np.ndarray]:
    settings = LearnerSettings(STATES, SYMBOLS, RIDGE, fold_every=125)
    learner = OnlineLearner(settings, np.ones(SYMBOLS), SYMBOLS, SYMBOLS)
    # At first many at once: a next test that no basis has yet would be lost in part.
    for begin in (0, *range(50, 125, fold_every)):
        learner.add_all(part(triples(), begin, begin + fold_every if begin else 50))
    return learner.parameters(), learner.svd.left[:STATES]


def in_batch(form: object) -> tuple[Tpsr, np.ndarray]:
    data = triples()
    covariance = (data.tests * data.importance[:, None]).T @ data.histories
    left = np.linalg.svd(covariance)[0][:, :STATES].T
    tpsr = form(data, np.ones(SYMBOLS), STATES, RIDGE)
    # The batch forms do not return their bases, but LAPACK gives the same to a sign.
    return tpsr, left * np.sign((left @ (data.importance @ data.tests)) * tpsr.start)[:, None]


@pytest.mark.parametrize('missing', [0, 2])
@pytest.mark.parametrize('how', ['tensor', 'batch', 'update', 'online'])
def test_predicts_as_bayes_does(how, missing):
    tpsr, left = {
        'tensor': lambda: in_batch(learn_by_tensor),
        'batch': lambda: in_batch(learn),
        'update': lambda: online(25),
        'online': lambda: online(1),
    }[how]()
    rng = np.random.default_rng(0)
    belief = TpsrBelief(tpsr)
    believed = np.linalg.matrix_power(TRANSITION, 500)[0]
    state = 0
    np.testing.assert_allclose(left.T @ belief.state, believed @ EMISSION, atol=1e-9)
    for _ in range(100):
        symbol = rng.choice(SYMBOLS, p=EMISSION[state])
        state = rng.choice(3, p=TRANSITION[state])
        belief.update(np.eye(SYMBOLS)[symbol])
        assert belief.accepted
        belief.skip(missing)
        believed = believed * EMISSION[:, symbol]
        believed = believed / believed.sum() @ np.linalg.matrix_power(TRANSITION, 1 + missing)
        np.testing.assert_allclose(left.T @ belief.state, believed @ EMISSION, atol=1e-9)
