# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
import numpy as np
from tpsr_streams import part, unit, wandering

from two_manifold_ros.tpsr.batch import learn
from two_manifold_ros.tpsr.belief import TpsrBelief
from two_manifold_ros.tpsr.exact import ExactLearner
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner, Triples

SIZE, RIDGE = 12, 3.0


def learner(rank: int = 6, **changes: float) -> ExactLearner:
    settings = LearnerSettings(4, rank, RIDGE, **changes)
    return ExactLearner(settings, unit(SIZE), SIZE, 5)


def test_one_by_one_is_the_weighted_batch_whatever_the_rank() -> None:
    triples, memory = wandering(200, SIZE), 60.0
    ours = learner(memory=memory, fold_every=1)
    ours.add_all(triples)
    ours.covariance.refresh()
    faded = triples.importance * np.exp(-np.arange(200)[::-1] / memory)
    whole = learn(Triples(**vars(triples) | {'importance': faded}), unit(SIZE), 4, RIDGE)
    tpsr = ours.parameters()
    one, other = TpsrBelief(tpsr), TpsrBelief(whole)
    for row in triples.observations:
        np.testing.assert_allclose(one.update(row), other.update(row), atol=1e-9)


def test_moves_and_bases_are_those_of_the_online_learner_that_keeps_all() -> None:
    triples = wandering(300, SIZE)
    exact, online = learner(SIZE), OnlineLearner(learner(SIZE).settings, unit(SIZE), SIZE, 5)
    for each in (exact, online):
        each.add_all(part(triples, 0, 50))
    # Senses are arbitrary at first and kept from then on.
    senses = np.sign((exact.svd.left @ online.svd.left.T).diagonal())[:4]
    for begin in range(50, 300, 50):
        mine, theirs = (each.add_all(part(triples, begin, begin + 50)) for each in (exact, online))
        turned = theirs.left[:4, :4] * senses[:, None] * senses
        np.testing.assert_allclose(mine.left[:4, :4], turned, atol=1e-9)
    np.testing.assert_allclose(
        exact.svd.left[:4], online.svd.left[:4] * senses[:, None], atol=1e-9
    )
    turned = online.moments[:, :4, :4] * senses[:, None] * senses
    np.testing.assert_allclose(exact.moments[:, :4, :4], turned, atol=1e-6)


def test_a_move_tells_how_the_leading_bases_moved() -> None:
    triples = wandering(100, SIZE)
    ours = learner(fold_every=50)
    ours.add_all(part(triples, 0, 50))
    left, right = ours.svd.left.copy(), ours.svd.right.copy()
    move = ours.add_all(part(triples, 50, 100))
    np.testing.assert_allclose(move.left, ours.svd.left @ left.T, atol=1e-12)
    np.testing.assert_allclose(move.right, ours.svd.right @ right.T, atol=1e-12)
    assert (np.diagonal(move.left) >= 0.0).all()
    assert ours.svd.left.shape == (6, SIZE)
