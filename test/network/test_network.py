# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Speed ratios on a network and how they change, and what is learned of drives."""

from grid_drives import driven, line_of, passes_of, PERIOD_S
import numpy as np
import pytest

from two_manifold_ros.network.learning import lay_out_network, learn_network, NetworkPasses
from two_manifold_ros.network.network import (
    exchanges_of_ratios,
    FIRST_USUAL,
    misfits,
    Network,
    RATIOS,
    shakes_of,
    STOPPING,
    USUAL,
    usual_ratios,
)

WINDOW = 60


@pytest.mark.parametrize('spread', [0.06, 0.12, 0.5])
@pytest.mark.parametrize(('period_s', 'memory_s'), [(0.1, 1.0), (0.02, 3.0), (0.5, 0.5)])
def test_speed_ratios_change_by_probabilities_that_sum_to_one(spread, period_s, memory_s):
    chances = exchanges_of_ratios(spread, period_s, memory_s)
    assert chances.shape == (len(RATIOS), len(RATIOS))
    assert (chances >= 0.0).all()
    assert np.allclose(chances.sum(axis=1), 1.0, rtol=0.0, atol=1e-12)
    # From any to any, at last.
    assert (np.linalg.matrix_power(chances + np.eye(len(chances)), 40) > 0.0).all()


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


def learned(stands_s: float) -> tuple[Network, NetworkPasses, list[np.ndarray]]:
    """Learn a network of drives at three speeds, which begin at rest, and return their speeds."""
    rng = np.random.default_rng(3)
    line = line_of([(0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (1, 0), (0, 0)])
    tracks, seen, shakes, speeds = [], [], [], []
    for number, stride in enumerate((0.32, 0.55, 1.0)):
        strides = np.full(1000, stride)
        strides[: round(stands_s / PERIOD_S)] = 0.0
        drive = driven(line, strides, seed=number)
        speed = strides[: len(drive.track)] / PERIOD_S
        spreads = (0.01 + 0.05 * speed)[:, None] * [1.0, 3.0, 0.5]
        tracks.append(drive.track)
        seen.append(drive.seen)
        shakes.append(shakes_of(spreads * np.exp(0.2 * rng.normal(size=spreads.shape))))
        speeds.append(speed)
    passes = lay_out_network(passes_of, seen, tracks, shakes, [True] * len(seen))
    assert passes is not None
    return learn_network(passes, WINDOW), passes, speeds


def test_how_much_ticks_shake_is_learned_of_each_speed():
    network, passes, speeds = learned(stands_s=10.0)
    assert (np.diff(network.speeds) > 0.0).all()
    # Standing is the first, and the others are those driven.
    assert network.speeds[0] == 0.0
    assert np.allclose(network.speeds[1:], [3.2, 5.5, 10.0], rtol=0.05)
    speed, shakes = np.concatenate(speeds), np.concatenate(passes.shakes)
    for row, here in enumerate((0.0, 3.2, 5.5, 10.0)):
        mine = shakes[np.abs(speed - here) < 0.1]
        assert np.allclose(network.shakes[row], np.median(mine, axis=0), atol=0.05)
        assert np.allclose(network.scales[row], 0.2, rtol=0.3)


def test_a_misfit_is_what_shakes_unlike_any_speed():
    network, passes, _ = learned(stands_s=10.0)
    means = []
    for shakes in passes.shakes:
        expected = []
        for shaken in shakes:
            at_speeds = []
            for middle, scale in zip(network.shakes, network.scales, strict=True):
                apart = ((shaken - middle) / scale) ** 2
                at_speeds.append(sum(np.log(1.0 + each / 5.0) for each in apart) / len(apart))
            expected.append(min(at_speeds))
        assert np.allclose(misfits(shakes, network.shakes, network.scales), expected)
        means += [np.mean(expected[i : i + WINDOW]) for i in range(len(expected) - WINDOW + 1)]
    usual = np.median(means)
    largest = usual + 2.0 * max(max(means) - usual, 0.5 * usual)
    assert network.largest_misfit == pytest.approx(largest)


def test_turns_are_as_likely_on_any_road_as_they_were_driven():
    network, passes, _ = learned(stands_s=10.0)
    turned = np.concatenate(passes.observations) @ network.turning + network.turning_offset
    assert 0.02 <= network.turning_spread < 0.2
    for turn, chance in zip(network.turns, network.chances, strict=True):
        apart = (turned - turn) / network.turning_spread
        assert chance == pytest.approx(np.exp(-0.5 * apart**2).mean(), rel=0.1, abs=1e-3)
    # Nobody turned farther than the table goes, nor is anything impossible.
    assert network.turns[0] < turned.min()
    assert network.turns[-1] > turned.max()
    assert (network.chances > 0.0).all()
