# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from tpsr_streams import part, unit, wandering

from two_manifold_ros.tpsr.batch import learn, learn_by_tensor
from two_manifold_ros.tpsr.belief import TpsrBelief


@pytest.mark.parametrize('states', [3, 8])
@pytest.mark.parametrize(('samples', 'size'), [(200, 8), (30, 50)])
def test_both_forms_are_one(samples: int, size: int, states: int) -> None:
    triples = wandering(samples, size)
    small = learn(triples, unit(size), states, 0.3)
    large = learn_by_tensor(triples, unit(size), states, 0.3)
    assert small.states == large.states == states
    signs = np.sign(small.start * large.start)
    np.testing.assert_allclose(small.start, large.start * signs, atol=1e-9)
    np.testing.assert_allclose(small.normaliser, large.normaliser * signs, atol=1e-7)
    turned = large.operators * signs[:, None] * signs
    np.testing.assert_allclose(small.operators, turned, atol=1e-5)
    np.testing.assert_allclose(small.inverse, large.inverse, rtol=1e-12)
    assert small.bound == large.bound
    one, other = TpsrBelief(small), TpsrBelief(large)
    for row in triples.observations[:20]:
        assert one.update(row) == pytest.approx(other.update(row), abs=1e-6)


def test_states_that_the_samples_do_not_have_are_left_out() -> None:
    assert learn(wandering(5, 20), unit(20), 12, 0.3).states == 5


def test_importance_weighs_every_sum() -> None:
    triples = wandering(60)
    triples.importance[30:] = 0.0
    half, first = (learn(each, unit(8), 3, 0.3) for each in (triples, part(triples, 0, 30)))
    for name, value in vars(half).items():
        np.testing.assert_allclose(np.abs(value), np.abs(vars(first)[name]), atol=1e-9)
