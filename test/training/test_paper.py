# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The filter of `train --method paper` against dense matrices, as the papers print them.

Boots & Gordon 2012, section 5, and its Algorithm 1, with the operators of Song et al. 2010.
Windows, Gram matrices, their product and the filter share nothing with the package.
"""

from dataclasses import replace

from filter_runs import feed
import naive
import numpy as np
import pytest

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.tracker import Tracker
from two_manifold_ros.manifold.learner import median_distance
from two_manifold_ros.model.model import Model
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.training.settings import PaperSettings
from two_manifold_ros.training.train import train_model

WIDTH, NEIGHBOURS, DIMENSION, DIRECTIONS = 8, 12, 40, 20


@pytest.fixture(scope='module', params=['gaussian', 'laplacian-eigenmap'])
def model(request: pytest.FixtureRequest, slot_car_laps: tuple[Recording, Recording]) -> Model:
    settings = PaperSettings(
        rate_hz=10.0, window=WIDTH, horizons=(0, 5), kernel=request.param, neighbours=NEIGHBOURS,
        dimension=DIMENSION,
    )  # fmt: skip
    found = train_model([slot_car_laps[0].between(0.0, 22.0)], settings)
    assert isinstance(found, Model)
    return found


def gram(windows: np.ndarray, kernel: str, bandwidth: float) -> np.ndarray:
    """Return the Gram matrix of flat windows, of its leading eigenvectors."""
    squared = naive.squared_distances(windows, windows)
    if kernel == 'gaussian':
        middle = np.eye(len(squared)) - 1.0 / len(squared)
        inner = middle @ np.exp(-squared / (2.0 * bandwidth**2)) @ middle
        values, vectors = np.linalg.eigh(inner)
        chosen = np.argsort(-values)[:DIMENSION]
        return (vectors[:, chosen] * values[chosen]) @ vectors[:, chosen].T
    weights = naive.affinities(squared, NEIGHBOURS, bandwidth)
    degrees = weights.sum(axis=1)
    laplacian = np.eye(len(weights)) - weights / np.sqrt(np.outer(degrees, degrees))
    values, vectors = np.linalg.eigh(laplacian)
    chosen = np.arange(1, DIMENSION + 1)
    return (vectors[:, chosen] / values[chosen]) @ vectors[:, chosen].T


def dense_tables(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return Q and X by Algorithm 1 over n x n matrices."""
    rows = list(naive.training_rows([model.series.T], WIDTH))
    past = np.array([each[0].ravel() for each in rows])
    future = np.array([*(each[2].ravel() for each in rows), rows[-1][3].ravel()])
    count = len(rows)
    # Medians over pairs that the package draws.
    starts = np.arange(count + 1)
    medians = [
        median_distance(WindowSet(model.series, begin + starts[: count + more], WIDTH))
        for begin, more in ((0, 0), (WIDTH, 1))
    ]
    middle = np.eye(count) - 1.0 / count
    pasts = middle @ gram(past, model.kernel, medians[0]) @ middle
    move = np.eye(count + 1) - np.append(np.full(count, 1.0 / count), 0.0)[:, None]
    every = move.T @ gram(future, model.kernel, medians[1]) @ move
    futures, shifted = every[:count, :count], every[1:, :count]
    left = np.linalg.svd(futures @ pasts)[0][:, :DIRECTIONS]
    states = np.sqrt(count) * shifted @ np.linalg.pinv(futures, 1e-9, hermitian=True) @ left
    values, vectors = np.linalg.eigh(pasts)
    half = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    weights = half @ np.linalg.pinv(left.T @ half / np.sqrt(count), 1e-12) / count
    return naive.with_constant(weights, states)


def test_tables_and_filter(model, slot_car_laps):
    assert model.states == DIRECTIONS + 1
    weights, states = dense_tables(model)
    signs = naive.align(model.tables.states, states)
    np.testing.assert_allclose(model.tables.states, states * signs, atol=1e-5)
    np.testing.assert_allclose(model.tables.weights, weights * signs, atol=1e-6)
    observations = model.series[:, WIDTH:-WIDTH].T
    squared = naive.squared_distances(observations, observations)
    bandwidth = float(np.sqrt(np.median(squared[np.triu_indices(len(observations), 1)])))
    own = np.exp(-squared / (2.0 * bandwidth**2)) + 1e-4 * len(squared) * np.eye(len(squared))
    tracker = Tracker(model)
    state = np.eye(model.states)[0]
    evidences = []
    for values in slot_car_laps[1].imu.samples[:40]:
        seen = model.channels.standardise(values[None])[0]
        gamma = np.linalg.solve(own, naive.gaussian(observations, seen[None], bandwidth)[:, 0])
        result = tracker.update(values)
        evidences.append(result.evidence)
        expected = naive.update(
            state,
            naive.operator(model.tables.weights, model.tables.states, gamma),
            np.eye(model.states)[0],
        )
        # What is left after cancellation is as inexact as it is small.
        scale = float(np.linalg.norm(expected)) / abs(result.evidence)
        np.testing.assert_allclose(tracker.belief.state, expected, rtol=0.0, atol=1e-3 * scale)
        assert not result.restarted
        assert result.accepted
        # Small differences would grow from tick to tick.
        state = tracker.belief.state.copy()
    assert min(evidences) < 0.1, 'there was something that guards would have rejected'


def test_a_node_publishes_only_finite_numbers(model, slot_car_laps):
    """Also where the weights cancel to nothing, which shows as a restart."""
    nothing = replace(model.operator, features=np.zeros_like(model.operator.features))
    cancelled = replace(model, operator=nothing)
    imu = slot_car_laps[1].imu
    for each, restarts in ((model, False), (cancelled, True)):
        live = Filter(each)
        for estimate in feed(live, zip(imu.stamps.tolist(), imu.samples, strict=True)):
            assert np.isfinite(estimate.state).all()
            assert np.isfinite(estimate.positions).all() or not estimate.valid
            assert np.isfinite(estimate.evidence)
        assert bool(live.counters['restarts']) == restarts
        assert not live.counters['rejected_observations']
