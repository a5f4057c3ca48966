# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Targets of training ticks never come from another segment."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np

from two_manifold_ros.hse_hmm.readout import segment_targets, training_targets, velocities


def numbered_positions(lengths: list[int]) -> list[np.ndarray]:
    """Give segment s at tick t the position (s, t^2)."""
    return [
        np.stack([np.full(length, float(s)), np.arange(length) ** 2.0], axis=1)
        for s, length in enumerate(lengths)
    ]


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=5),
    st.lists(st.integers(0, 20), min_size=1, max_size=4),
)
@settings(derandomize=True, deadline=None)
def test_every_target(lengths: list[int], horizons: list[int]) -> None:
    ticks = np.arange(sum(lengths))
    found = training_targets(numbered_positions(lengths), ticks, horizons, 0.5)
    assert found.shape == (sum(lengths), len(horizons) + 1, 2)
    places = [(s, t) for s, length in enumerate(lengths) for t in range(length)]
    for (s, t), targets in zip(places, found, strict=True):
        for horizon, target in zip(horizons, targets[:-1], strict=True):
            known = t + horizon < lengths[s]
            expected = [s, (t + horizon) ** 2] if known else [np.nan, np.nan]
            np.testing.assert_array_equal(target, expected)
        inside = 0 < t < lengths[s] - 1
        # The central difference of t^2 is 2 t a tick, and a tick lasts half a second.
        np.testing.assert_array_equal(targets[-1], [0.0, 4.0 * t] if inside else [np.nan] * 2)


def test_chosen_ticks() -> None:
    positions = numbered_positions([4, 5])
    every = training_targets(positions, np.arange(9), [0, 2], 0.1)
    chosen = np.array([6, 1])
    np.testing.assert_array_equal(training_targets(positions, chosen, [0, 2], 0.1), every[chosen])


def test_unknown_positions_stay_unknown() -> None:
    positions = numbered_positions([6])[0]
    positions[3] = np.nan
    targets = segment_targets(positions, [0, 1], 0.1)
    unknown = np.isnan(targets).any(axis=2)
    np.testing.assert_array_equal(np.flatnonzero(unknown[:, 0]), [3])
    np.testing.assert_array_equal(np.flatnonzero(unknown[:, 1]), [2, 5])
    np.testing.assert_array_equal(np.flatnonzero(unknown[:, 2]), [0, 2, 4, 5])


def test_velocity_of_a_circle() -> None:
    angle = 0.01 * np.arange(200)
    circle = 2.0 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    found = velocities(circle, 0.05)
    expected = 0.4 * np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    np.testing.assert_allclose(found[1:-1], expected[1:-1], atol=1e-4)
