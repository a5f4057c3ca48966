# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A TPSR of windows beside one that is made of all samples at once, by plain loops."""

import math

from exact_tpsr import learn_by_tensor
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.features import fourier_features, WithConstant
from two_manifold_ros.tpsr.learner import LearnerSettings, SEAM, Triples, WindowLearner
from two_manifold_ros.tpsr.parameters import RememberingBelief, TpsrBelief

WIDTH, CHANNELS, STATES, RIDGE = 4, 2, 5, 0.5
OBSERVATIONS = fourier_features(CHANNELS, 6, 1.5, seed=1)
WINDOWS = WithConstant(fourier_features(WIDTH * CHANNELS, 9, 3.0, seed=2))


def stretch(ticks: int, seed: int) -> np.ndarray:
    """Return noisy observations of a point on a circle: (T, 2)."""
    rng = np.random.default_rng(seed)
    angles = np.cumsum(0.3 + 0.05 * rng.standard_normal(ticks)) + seed
    circle = np.stack([np.cos(angles), np.sin(2.0 * angles)], axis=1)
    return np.asarray(circle + 0.1 * rng.standard_normal(circle.shape))


STRETCHES = [stretch(120, 0), stretch(2 * WIDTH, 1), stretch(90, 2)]


def learned(pieces: int = 1000, fold_every: int = 1, memory: float = math.inf) -> WindowLearner:
    """Learn the stretches in pieces of so many ticks, keeping every direction."""
    settings = LearnerSettings(STATES, WINDOWS.size, RIDGE, memory, fold_every=fold_every)
    ours = WindowLearner(WINDOWS, OBSERVATIONS, WIDTH, settings, 1000)
    for seen in STRETCHES:
        ours.end_stretch()
        for begin in range(0, len(seen), pieces):
            ours.learn(seen[begin : begin + pieces])
    return ours


def naive_triples() -> tuple[Triples, list[int]]:
    """Collect windows with a loop over ticks, and the numbers of these ticks."""
    rows: list[tuple[np.ndarray, ...]] = []
    numbers = []
    for index, seen in enumerate(STRETCHES):
        begin = (index + 1) * SEAM + sum(map(len, STRETCHES[:index]))
        for tick in range(WIDTH, len(seen) - WIDTH):
            windows = [seen[first : first + WIDTH].T.ravel() for first in
                       (tick, tick + 1, tick - WIDTH)]  # fmt: skip
            test, next_test, history = WINDOWS.transform(np.array(windows))
            rows.append((test, next_test, history, OBSERVATIONS.transform(seen[tick][None])[0]))
            numbers.append(begin + tick)
    columns = [np.array(each) for each in zip(*rows, strict=True)]
    return Triples(*columns, np.ones(len(rows))), numbers


@pytest.mark.parametrize('fold_every', [1, 7])
@pytest.mark.parametrize('pieces', [1, 13, 1000])
def test_parameters_are_those_of_all_samples_at_once(pieces, fold_every):
    triples, numbers = naive_triples()
    ours = learned(pieces, fold_every=fold_every)
    np.testing.assert_array_equal(ours.remembered.numbers, numbers)
    np.testing.assert_allclose(ours.remembered.features, triples.observations, atol=1e-12)
    ours.learner.covariance.refresh()
    tpsr, _ = ours.parameters()
    wanted = learn_by_tensor(triples, np.eye(WINDOWS.size)[-1], STATES, RIDGE)
    found, expected = TpsrBelief(tpsr), TpsrBelief(wanted)
    for observation in OBSERVATIONS.transform(stretch(40, 3)):
        assert found.update(observation) == pytest.approx(expected.update(observation), abs=1e-8)


@pytest.mark.parametrize('memory', [math.inf, 60.0])
def test_weights_of_remembered_ticks_make_the_next_state(memory):
    """The mean of next tests under them is the next state, Boots & Gordon 2011, eq. 2 and 7c."""
    triples, _ = naive_triples()
    ours = learned(memory=memory)
    tpsr, table = ours.parameters()
    belief = RememberingBelief(tpsr, OBSERVATIONS, table, ours.remembered.features)
    directions = ours.learner.svd.across.rows[:STATES]
    for observation in stretch(30, 4):
        belief.update(observation)
        assert belief.accepted
        mean = directions @ (triples.next_tests.T @ belief.weights)
        np.testing.assert_allclose(mean / (tpsr.normaliser @ mean), belief.state, atol=1e-8)
    # A filter does not die of a sample too far out for features.
    assert belief.update(np.full_like(observation, 1e30)) == 0.0
    assert not belief.accepted
    assert np.isfinite(belief.state).all()
    belief.update(observation)
    assert belief.accepted
    with pytest.raises(InputError):
        belief.update(observation[:-1])
