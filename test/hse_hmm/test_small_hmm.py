# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A whole small HMM: it follows the lap, and what must not matter does not."""

from dataclasses import replace
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest
from small_hmm import BANDWIDTH, closed_loop, drive, learn, Small

from two_manifold_ros.acceleration import HAVE_NUMBA
from two_manifold_ros.hse_hmm.sharpened import SharpenedReadout

OBSERVATIONS, POSITIONS = drive(200, 2)


@pytest.fixture(scope='module')
def small() -> Small:
    return learn()


def read_along(small: Small, ridge: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means (T, c, 2), covariances (T, c, 2, 2) and states (T, k) along the drive."""
    belief = small.belief(ridge)
    readout = SharpenedReadout(small.targets, np.ones(small.targets.shape[1]))
    answers = []
    for observation in OBSERVATIONS:
        belief.update(observation)
        answers.append((*readout.read(belief.weights, belief.state), belief.state.copy()))
    means, covariances, states = zip(*answers, strict=True)
    return np.array(means), np.array(covariances), np.array(states)


@pytest.mark.parametrize('ridge', [None, 0.3])
@pytest.mark.parametrize('kernel', ['laplacian-eigenmap', 'gaussian'])
def test_positions_are_found(kernel: str, ridge: float | None) -> None:
    means, _, _ = read_along(learn(kernel), ridge)
    for column, horizon in enumerate((0, 5)):
        end = len(POSITIONS) - horizon
        errors = means[40:end, column] - POSITIONS[40 + horizon :]
        assert np.sqrt(np.mean(np.sum(errors**2, axis=1))) < 0.7, horizon


def test_weights_are_those_of_the_tick_observed(small: Small) -> None:
    # One tick is 0.2 rad: errors are least at the very tick, not the one before or after.
    means, _, _ = read_along(small, None)
    errors = [
        np.mean(np.sum((means[40:190, 0] - POSITIONS[40 + late : 190 + late]) ** 2, axis=1))
        for late in (-1, 0, 1)
    ]
    assert np.argmin(errors) == 1


@pytest.mark.parametrize('ridge', [None, 0.3])
def test_order_of_training_ticks_does_not_matter(small: Small, ridge: float | None) -> None:
    order = np.random.default_rng(0).permutation(len(small.past))
    mixed = replace(
        small,
        past=small.past[order],
        own=small.own[order],
        shifted=small.shifted[order],
        observations=small.observations[order],
        targets=small.targets[order],
    )
    for expected, found in zip(read_along(small, ridge), read_along(mixed, ridge), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_turned_positions_turn_the_answers(small: Small) -> None:
    cosine, sine = np.cos(0.7), np.sin(0.7)
    turn = np.array([[cosine, -sine], [sine, cosine]])
    turned = replace(small, targets=small.targets @ turn.T)
    means, covariances, states = read_along(small, None)
    turned_means, turned_covariances, turned_states = read_along(turned, None)
    np.testing.assert_allclose(turned_means, means @ turn.T, atol=1e-12)
    np.testing.assert_allclose(turned_covariances, turn @ covariances @ turn.T, atol=1e-12)
    np.testing.assert_array_equal(turned_states, states)


def test_twice_the_same() -> None:
    np.testing.assert_array_equal(closed_loop(), closed_loop())


@pytest.mark.skipif(not HAVE_NUMBA, reason='numba is not installed or switched off')
def test_the_same_without_numba(tmp_path: Path) -> None:
    answers = tmp_path / 'answers.npy'
    script = Path(__file__).with_name('small_hmm.py')
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get('PYTHONPATH', '')])
    subprocess.run(
        [sys.executable, str(script), str(answers)],
        env={**os.environ, 'TWO_MANIFOLD_NUMBA': '0', 'PYTHONPATH': path},
        check=True,
        timeout=60,
    )
    np.testing.assert_allclose(np.load(answers), closed_loop(), rtol=1e-9, atol=1e-9)


def test_bandwidth_matters(small: Small) -> None:
    # Guards the tests above: were the observations ignored, they would pass as well.
    belief = small.belief(None)
    belief.update(OBSERVATIONS[0])
    state = belief.state.copy()
    belief.start()
    belief.update(OBSERVATIONS[0] + BANDWIDTH)
    assert np.abs(belief.state - state).max() > 1e-3
