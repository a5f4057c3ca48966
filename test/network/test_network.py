# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Speed ratios on a network and how they change, what is learned of drives, and what is refused."""

import numpy as np
import pytest

from two_manifold_ros.network.network import (
    exchanges_of_ratios,
    FIRST_USUAL,
    RATIOS,
    STOPPING,
    USUAL,
    usual_ratios,
)


@pytest.mark.parametrize('spread', [0.06, 0.12, 0.5])
@pytest.mark.parametrize(('period_s', 'memory_s'), [(0.1, 1.0), (0.02, 3.0), (0.5, 0.5)])
def test_speed_ratios_change_by_probabilities_that_sum_to_one(spread, period_s, memory_s):
    chances = exchanges_of_ratios(spread, period_s, memory_s)
    assert chances.shape == (len(RATIOS), len(RATIOS))
    assert (chances >= 0.0).all()
    assert np.allclose(chances.sum(axis=1), 1.0, rtol=0.0, atol=1e-12)
    # From any to any, at last.
    assert (np.linalg.matrix_power(chances + np.eye(len(chances)), 40) > 0.0).all()


def test_all_changes_are_half_as_likely_in_half_a_tick():
    """What is likely in a second does not depend on the rate."""
    slow, fast = (exchanges_of_ratios(0.1, period_s, 2.0) for period_s in (0.02, 0.01))
    assert np.allclose(np.linalg.matrix_power(fast, 2), slow, atol=2e-3)


def test_a_driver_stops_step_by_step_and_drives_on_the_same_way():
    chances = exchanges_of_ratios(0.1, 0.05, 2.0)
    steps = len(STOPPING)
    off = chances - np.diag(np.diag(chances))
    # Who drives as usual brakes to the highest, and goes no farther in a tick.
    assert (off[FIRST_USUAL:, steps] > 0.0).all()
    assert not off[FIRST_USUAL:, :steps].any()
    assert not off[FIRST_USUAL:, steps + 1 : FIRST_USUAL].any()
    # Downwards it goes to the next lower one or up again at the same speed.
    for down in range(1, 1 + steps):
        assert set(np.flatnonzero(off[down])) == {down - 1, down + steps}
        assert RATIOS[down] == RATIOS[down + steps]
    assert np.flatnonzero(off[0]).tolist() == [1 + steps]
    assert (off[FIRST_USUAL - 1, FIRST_USUAL:] > 0.0).all()


@pytest.mark.parametrize('spread', [0.08, 0.15])
def test_usual_ratios_are_normal_in_their_logarithm_and_stay_so(spread):
    usual = usual_ratios(spread)
    assert usual.sum() == pytest.approx(1.0)
    assert not usual[:FIRST_USUAL].any()
    logs = np.log(USUAL)
    expected = np.exp(-0.5 * (logs / spread) ** 2)
    assert np.allclose(usual[FIRST_USUAL:], expected / expected.sum(), rtol=1e-12)
    # Without braking they would wander about it: the mean of where they end is near one.
    wander = exchanges_of_ratios(spread, 0.05, 2.0)[FIRST_USUAL:, FIRST_USUAL:]
    wander /= wander.sum(axis=1, keepdims=True)
    last = np.linalg.matrix_power(wander, 100_000)[0]
    mean = last @ logs
    assert abs(mean) < 0.4 * spread
    assert np.sqrt(last @ (logs - mean) ** 2) == pytest.approx(spread, rel=0.25)
