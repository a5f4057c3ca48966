# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The exact learner beside the batch, and merged learners."""

from dataclasses import replace

import numpy as np
import pytest
from tpsr_streams import part, unit, wandering

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.belief import TpsrBelief
from two_manifold_ros.tpsr.exact import ExactLearner, merge
from two_manifold_ros.tpsr.learner import Learner, LearnerSettings, OnlineLearner, Triples

SIZE, RIDGE = 12, 3.0


def learner(rank: int = 6, **changes: float) -> ExactLearner:
    settings = LearnerSettings(4, rank, RIDGE, **changes)
    return ExactLearner(settings, unit(SIZE), SIZE, 5)


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


SETTINGS = LearnerSettings(4, 8, 0.3, fold_every=20)
TRIPLES = wandering(300)


def learned(
    triples: Triples, kind: type[Learner] = OnlineLearner, settings: LearnerSettings = SETTINGS
) -> Learner:
    learner = kind(settings, unit(triples.tests.shape[1]), triples.tests.shape[1], 5)
    for row in zip(*vars(triples).values(), strict=True):
        learner.add(*row)
    return learner


def evidences(learner: Learner) -> list[float]:
    learner.covariance.refresh()
    belief = TpsrBelief(learner.parameters())
    return [belief.update(row) for row in TRIPLES.observations]


@pytest.mark.parametrize('kind', [OnlineLearner, ExactLearner])
@pytest.mark.parametrize('split', [0, 113, 300])
def test_the_merged_learner_knows_what_both_know(kind: type[Learner], split: int) -> None:
    first, second = (learned(part(TRIPLES, *ends), kind) for ends in ((0, split), (split, 300)))
    second.add(*(np.nan * each[0] for each in list(vars(TRIPLES).values())[:4]))
    before = [each.waiting for each in (first, second)]
    merged = merge(first, second)
    both = learned(TRIPLES, kind)
    both.fold()
    assert (merged.samples, merged.refused, merged.waiting) == (300, 1, 0)
    assert merged.weight == pytest.approx(both.weight)
    np.testing.assert_allclose(merged.svd.values, both.svd.values, rtol=1e-9)
    np.testing.assert_allclose(evidences(merged), evidences(both), atol=1e-9)
    assert [each.waiting for each in (first, second)] == before


def test_a_merged_learner_goes_on_and_leaves_its_parents_alone() -> None:
    first, second = learned(part(TRIPLES, 0, 100)), learned(part(TRIPLES, 100, 200))
    left = first.svd.left.copy()
    merged = merge(first, second)
    merged.add_all(part(TRIPLES, 200, 300))
    np.testing.assert_array_equal(first.svd.left, left)
    np.testing.assert_allclose(evidences(merged), evidences(learned(TRIPLES)), atol=1e-9)


def test_what_was_cut_off_is_missed_but_little() -> None:
    settings = replace(SETTINGS, rank=6, states=3)
    first = learned(part(TRIPLES, 0, 150), settings=settings)
    merged = merge(first, learned(part(TRIPLES, 150, 300), settings=settings))
    assert merged.svd.defect() < 1e-12
    both = learned(TRIPLES)
    both.fold()
    np.testing.assert_allclose(merged.svd.values[:3], both.svd.values[:3], rtol=1e-2)


def test_learners_that_do_not_belong_together_are_refused() -> None:
    mine = learned(part(TRIPLES, 0, 50))
    other = learned(part(TRIPLES, 0, 50), settings=replace(SETTINGS, ridge=0.4))
    with pytest.raises(InputError, match='different settings'):
        merge(mine, other)
    with pytest.raises(InputError, match='different kinds'):
        merge(mine, learned(part(TRIPLES, 0, 50), ExactLearner))
    with pytest.raises(InputError, match='different features'):
        merge(mine, learned(wandering(50, size=9)))
    other = learned(part(TRIPLES, 0, 50))
    other.constant = other.constant[::-1]
    with pytest.raises(InputError, match='the constant in different features'):
        merge(mine, other)
