# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Features: the observation and slow means of it, live and along a segment the same."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.localisation.features import (
    features_along,
    FeatureStream,
    gains_for,
    MEMORIES_S,
)

RNG = np.random.default_rng(0)
GAINS = np.array([0.5, 0.1])
LARGEST = float(np.finfo(np.float64).max)


def naive_features(observations: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Sum the weights of all observations before, for each tick, mean and channel anew."""
    rows = []
    for t in range(len(observations)):
        row = list(observations[t])
        for gain in gains:
            for channel in observations.T:
                mean = (1.0 - gain) ** t * channel[0]
                mean += sum(gain * (1.0 - gain) ** (t - j) * channel[j] for j in range(1, t + 1))
                row.append(mean)
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize('channels', [1, 3])
@pytest.mark.parametrize('gains', [GAINS, np.array([0.3]), np.array([1.0, 0.2, 0.05])])
def test_features_along_a_segment(channels: int, gains: np.ndarray) -> None:
    observations = RNG.normal(size=(30, channels)) + 3.0
    features = features_along(observations, gains)
    np.testing.assert_allclose(features, naive_features(observations, gains), rtol=1e-12)


def test_a_stream_gives_the_same_bits() -> None:
    observations = RNG.normal(size=(30, 3))
    stream = FeatureStream(3, GAINS)
    for row, observation in zip(features_along(observations, GAINS), observations, strict=True):
        np.testing.assert_array_equal(stream.push(observation), row)
        np.testing.assert_array_equal(stream.features, row)


def test_started_again_a_stream_forgets() -> None:
    observations = RNG.normal(size=(10, 2))
    stream = FeatureStream(2, GAINS)
    stream.push(np.array([1e6, -1e6]))
    stream.start()
    for row, observation in zip(features_along(observations, GAINS), observations, strict=True):
        np.testing.assert_array_equal(stream.push(observation), row)


def test_means_count_when_they_have_settled() -> None:
    # With a gain of 1/2 a mean is three memories old after seven ticks, with 0.09 four after 45;
    # one that does not tell the place is old enough after two, with 0.039 52 ticks.
    stream = FeatureStream(3, np.array([0.5, 0.09, 0.039]))
    assert stream.settled == 3
    for _ in range(2):
        counts = []
        for _ in range(60):
            stream.push(np.ones(3))
            counts.append(stream.settled)
        assert counts == [3] * 6 + [6] * 38 + [9] * 7 + [12] * 9
        stream.start()


def test_a_short_or_plain_segment() -> None:
    assert features_along(np.empty((0, 3)), GAINS).shape == (0, 9)
    observations = RNG.normal(size=(4, 3))
    np.testing.assert_array_equal(features_along(observations, np.empty(0)), observations)


def test_gains_of_hand() -> None:
    gains = gains_for((0.2, 0.6, 1e9), 0.1)
    np.testing.assert_allclose(gains, 1.0 - np.exp([-0.5, -1.0 / 6.0, -1e-10]), rtol=1e-6)


@pytest.mark.parametrize('period_s', [0.01, 0.05, 0.2])
def test_a_memory_is_a_time_constant_at_every_rate(period_s: float) -> None:
    gains = gains_for((1.0,), period_s)
    step = np.concatenate([np.zeros(1), np.ones(round(1.0 / period_s))])[:, None]
    assert features_along(step, gains)[-1, 1] == pytest.approx(1.0 - np.exp(-1.0))


@given(st.lists(st.floats(-LARGEST, LARGEST), min_size=1, max_size=12))
def test_finite_and_between_the_extremes(values: list[float]) -> None:
    gains = gains_for(MEMORIES_S, 0.05)
    features = features_along(np.array(values)[:, None], gains)
    slack = 1e-12 * max(abs(value) for value in values)
    assert np.isfinite(features).all()
    assert features.max() <= min(max(values) + slack, LARGEST)
    assert features.min() >= max(min(values) - slack, -LARGEST)
