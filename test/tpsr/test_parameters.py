# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from tpsr_streams import unit, wandering

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.parameters import count_states


def learned(samples: int = 200, **changes: np.ndarray) -> OnlineLearner:
    settings = LearnerSettings(4, 8, 0.3)
    learner = OnlineLearner(settings, changes.get('constant', unit(8)), 8, 5)
    learner.add_all(wandering(samples))
    return learner


def test_no_mode_of_the_transition_grows_and_the_start_is_normal() -> None:
    learner = learned(12)
    raw, tpsr = learner.transition(), learner.parameters()
    assert np.abs(np.linalg.eigvals(raw)).max() > 1.001
    assert np.abs(np.linalg.eigvals(tpsr.transition)).max() <= 1.0 + 1e-9
    assert tpsr.normaliser @ tpsr.start == pytest.approx(1.0)
    assert np.linalg.norm(tpsr.start) < tpsr.bound


def test_a_likelihood_keeps_its_size_however_long_was_learned() -> None:
    triples = wandering(500)
    sizes = []
    for scale in (1.0, 1e9):
        learner = OnlineLearner(LearnerSettings(4, 8, 0.3), unit(8), 8, 5)
        triples.importance[:] = scale
        learner.add_all(triples)
        tpsr = learner.parameters()
        sizes.append(
            [tpsr.normaliser @ tpsr.operator(row) @ tpsr.start for row in triples.observations]
        )
    np.testing.assert_allclose(sizes[0], sizes[1], rtol=1e-6)
    assert 0.1 < np.mean(sizes[0]) < 10.0


def test_parameters_outlive_the_next_fold() -> None:
    learner = learned()
    tpsr = learner.parameters()
    before = {name: np.copy(value) for name, value in vars(tpsr).items()}
    learner.add_all(wandering(100, seed=1))
    for name, value in vars(tpsr).items():
        np.testing.assert_array_equal(value, before[name])


def test_states_of_rounding_are_left_out() -> None:
    values = np.array([2.0, 1e-3, 1.9e-9, 1e-13])
    assert count_states(values, 3) == 2
    assert count_states(values, 1) == 1
    assert count_states(np.zeros(0), 3) == 0


def test_histories_without_the_constant_are_refused() -> None:
    with pytest.raises(InputError, match='append a constant feature'):
        learned(constant=0.01 * unit(8)).parameters()
