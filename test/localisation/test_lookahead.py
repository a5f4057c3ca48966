# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Looking ahead: means over passes driven as fast, and what another pace changes."""

from circle_route import PERIOD_S, place_of, turns_of
import numpy as np
import pytest

from two_manifold_ros.localisation.lookahead import averaged_targets, LEAST_TOLD, pace_drift
from two_manifold_ros.localisation.passes import find_passes, Ground
from two_manifold_ros.readout.targets import segment_targets

pytestmark = pytest.mark.filterwarnings('error')

RNG = np.random.default_rng(0)
N, P = 40, 3
HORIZONS = (0, 2, 7)


def make_case() -> tuple[np.ndarray, Ground, np.ndarray]:
    """Make targets of a random walk, some of them unknown, with random passes."""
    positions = np.cumsum(RNG.normal(size=(N, 2)), axis=0)
    positions[[5, 20, 21]] = np.nan
    targets = segment_targets(positions, HORIZONS, PERIOD_S)
    passes = RNG.integers(-1, N, size=(N, P))
    return targets, Ground(np.array([0, N]), positions, targets[:, -1], PERIOD_S), passes


def naive_averages(targets: np.ndarray, ground: Ground, passes: np.ndarray) -> np.ndarray:
    pairs = [(i, j) for i in range(N) for j in passes[i] if j >= 0]
    differences = [ground.speeds[j] - ground.speeds[i] for i, j in pairs]
    scale = np.sqrt(np.nanmean(np.square(differences)))
    averaged = targets.copy()
    for i in range(N):
        for h in range(targets.shape[1] - 1):
            own = targets[i, h] - ground.positions[i]
            known = np.isfinite(own).all()
            gone, weights = ([own], [1.0]) if known else ([], [])
            for j in passes[i]:
                there = targets[j, h] - ground.positions[j]
                difference = ground.speeds[j] - ground.speeds[i]
                if j >= 0 and np.isfinite(there).all() and np.isfinite(difference):
                    gone.append(there)
                    weights.append(np.exp(-0.5 * (difference / scale) ** 2))
            if sum(weights) > LEAST_TOLD and np.isfinite(ground.positions[i]).all():
                averaged[i, h] = ground.positions[i] + np.average(gone, axis=0, weights=weights)
    return averaged


@pytest.mark.filterwarnings('ignore')
def test_averages_against_a_loop() -> None:
    for _ in range(3):
        case = make_case()
        np.testing.assert_allclose(averaged_targets(*case), naive_averages(*case), rtol=1e-10)


def test_averages_by_hand() -> None:
    # Both ticks drive at 1 m/s; the first gets 2 m ahead and the second 4 m to the left.
    positions = np.array([[0.0, 0.0], [10.0, 0.0]])
    targets = np.array([[[2.0, 0.0], [1.0, 0.0]], [[10.0, 4.0], [0.0, 1.0]]])
    ground = Ground(np.array([0, 2]), positions, targets[:, -1], PERIOD_S)
    averaged = averaged_targets(targets, ground, np.array([[1], [-1]]))
    np.testing.assert_allclose(averaged[0], [[1.0, 2.0], [1.0, 0.0]])
    np.testing.assert_allclose(averaged[1], targets[1])


def test_a_pass_driven_at_another_speed_counts_less() -> None:
    # The only difference of speeds is its own scale, so its weight is exp(-1/2).
    positions = np.zeros((2, 2))
    targets = np.array([[[2.0, 0.0], [1.0, 0.0]], [[3.0, 0.0], [4.0, 0.0]]])
    ground = Ground(np.array([0, 2]), positions, targets[:, -1], PERIOD_S)
    weight = np.exp(-0.5)
    averaged = averaged_targets(targets, ground, np.array([[1], [-1]]))
    assert averaged[0, 0, 0] == pytest.approx((2.0 + weight * 3.0) / (1.0 + weight))


def test_what_came_after_the_end_is_told_by_another_pass() -> None:
    # The drive ends at the second tick; where it leads to is known from the first, 1 m beside.
    positions = np.array([[0.0, 0.0], [0.0, 1.0]])
    ahead = np.array([[2.0, 0.0], [np.nan, np.nan]])
    targets = np.stack([positions, ahead, np.ones((2, 2))], axis=1)
    ground = Ground(np.array([0, 1, 2]), positions, targets[:, -1], PERIOD_S)
    averaged = averaged_targets(targets, ground, np.array([[-1], [0]]))
    np.testing.assert_allclose(averaged[1, 1], [2.0, 1.0])


def test_what_is_known_stays_known_and_the_position_stays() -> None:
    targets, ground, passes = make_case()
    averaged = averaged_targets(targets, ground, passes)
    assert not (np.isnan(averaged) & ~np.isnan(targets)).any()
    np.testing.assert_array_equal(averaged[:, 0], targets[:, 0])
    np.testing.assert_array_equal(averaged[:, -1], targets[:, -1])
    # The position at tick 5 is unknown, but not where it led to.
    assert np.isfinite(targets[5, 1]).all()
    np.testing.assert_array_equal(averaged[5], targets[5])


def test_without_passes_or_speeds_nothing_changes() -> None:
    targets, ground, passes = make_case()
    none = np.full_like(passes, -1)
    np.testing.assert_allclose(averaged_targets(targets, ground, none), targets, rtol=1e-12)
    unknown = Ground(ground.begins, ground.positions, np.full((N, 2), np.nan), PERIOD_S)
    np.testing.assert_allclose(averaged_targets(targets, unknown, passes), targets, rtol=1e-12)
    nowhere = np.full_like(targets, np.nan)
    np.testing.assert_array_equal(averaged_targets(nowhere, ground, passes), nowhere)


def test_the_targets_are_left_alone() -> None:
    targets, ground, passes = make_case()
    before = targets.copy()
    averaged_targets(targets, ground, passes)
    pace_drift(targets, HORIZONS, PERIOD_S)
    np.testing.assert_array_equal(targets, before)


def test_averages_of_noisy_laps_err_less() -> None:
    turns = turns_of([80] * 5)
    clean = place_of(turns)
    rng = np.random.default_rng(1)
    slow = np.repeat(rng.normal(size=(20, 2)), 20, axis=0)
    noisy = clean + 0.1 * slow
    targets = segment_targets(noisy, (40,), PERIOD_S)
    ground = Ground(
        np.array([0, 400]), noisy, segment_targets(clean, (), PERIOD_S)[:, 0], PERIOD_S
    )
    averaged = averaged_targets(targets, ground, find_passes(ground, clean))
    truth = segment_targets(clean, (40,), PERIOD_S)[:, 0] - clean

    def error(values: np.ndarray) -> float:
        return float(np.sqrt(np.nanmean(np.sum((values[:, 0] - noisy - truth) ** 2, axis=1))))

    assert error(averaged) < 0.8 * error(targets)


def test_drift_by_hand() -> None:
    # At 2 m/s along x, then 3 m/s along y, a tick lasting half a second.
    velocity = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 3.0]])
    targets = np.concatenate([np.zeros((4, 3, 2)), velocity[:, None]], axis=1)
    drift = pace_drift(targets, (0, 1, 2), 0.5)
    one, two = 0.5, 1.0
    np.testing.assert_allclose(drift[:, 0], 0.0)
    np.testing.assert_allclose(drift[:3, 1], one * velocity[1:])
    np.testing.assert_allclose(drift[:2, 2], two * velocity[2:])
    np.testing.assert_array_equal(drift[3:, 1], 0.0)
    np.testing.assert_array_equal(drift[2:, 2], 0.0)
    np.testing.assert_array_equal(drift[:, 3], velocity)


def test_drift_of_a_short_horizon_is_the_way_gained() -> None:
    # A tenth faster for 0.1 s at 3 m/s is 3 cm more, and for 50 s it is 15 m.
    targets = np.tile([[[0.0, 0.0], [3.0, 0.0]]], (5000, 1, 1))
    assert 0.1 * pace_drift(targets, (2,), 0.05)[0, 0, 0] == pytest.approx(0.03, rel=0.05)
    assert 0.1 * pace_drift(targets, (1000,), 0.05)[0, 0, 0] == pytest.approx(15.0)


def test_drift_that_is_not_known_is_none() -> None:
    targets, _, _ = make_case()
    drift = pace_drift(targets, (0, 2, N + 10), PERIOD_S)
    assert np.isfinite(drift).all()
    np.testing.assert_array_equal(drift[:, 2], 0.0)
    unknown = np.isnan(targets[:, -1]).any(axis=1)
    np.testing.assert_array_equal(drift[unknown, -1], 0.0)
    np.testing.assert_array_equal(drift[:-2][unknown[2:], 1], 0.0)
    assert (drift[:-2][~unknown[2:], 1] != 0.0).all()
