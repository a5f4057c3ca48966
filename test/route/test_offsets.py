# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Offsets of a sensor, against the sums written out, and what is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from circuit import CHANNELS, Circuit, LAP_TICKS
import numpy as np
import pytest
from small_route import changed, PLACES, small_route

from two_manifold_ros.route.belief import RouteBelief, SensorOffsets
from two_manifold_ros.route.route import LIMITS, ON, ON_NEW, STANDS

if TYPE_CHECKING:
    from two_manifold_ros.route.route import Route

EVERY = np.arange(PLACES, dtype=np.uint32)


def small(shift: float = 0.1) -> Route:
    found = small_route()
    return changed(found, shifts=np.full(found.likelihood.channels, shift))


def usual(of: Route, place: int, ratio: float = 1.0) -> np.ndarray:
    likelihood = of.likelihood
    whitened = likelihood.new_means[place] + (ratio - 1.0) * likelihood.new_slopes[place]
    return np.linalg.solve(likelihood.new_whitening, whitened)


def settled(place: int, ratio: float = 1.0, chance: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    chances, ratios = np.zeros((PLACES, 6)), np.ones((PLACES, 6))
    chances[place, ON], chances[place, ON_NEW] = chance, 1.0 - chance
    ratios[place, ON] = ratio
    return chances, ratios


def test_offsets_are_the_forgetting_mean_of_what_is_not_usual() -> None:
    here, rng = small(), np.random.default_rng(2)
    followed, mean = SensorOffsets(here), np.zeros(here.likelihood.channels)
    gain = 1.0 / sum(1.0 / rate for rate in here.motion.rates)
    for _ in range(200):
        observation = rng.normal(size=here.likelihood.channels)
        chances = rng.random((PLACES, 6)) * (rng.random((PLACES, 1)) > 0.3)
        chances /= chances.sum()
        ratios = 1.0 + 0.5 * rng.normal(size=(PLACES, 6))
        active = np.flatnonzero(chances.sum(axis=1)).astype(np.uint32)
        followed.follow(observation, chances, ratios, active)
        weight = chances[:, ON].sum()
        bound = 3.0 * here.motion.ratio_spread
        within = np.clip(ratios[:, ON], 1.0 - bound, 1.0 + bound)
        expected = sum(
            chances[place, ON] * usual(here, place, within[place]) for place in range(PLACES)
        )
        apart = np.clip(observation - expected / weight, -LIMITS.farthest_off, LIMITS.farthest_off)
        away = 1.0 - weight - chances[:, STANDS].sum()
        mean += gain * (weight * (apart - mean) - away * mean)
        wanted = [
            value * (1.0 - (0.1 / value) ** 2) if abs(value) > 0.1 else 0.0 for value in mean
        ]
        np.testing.assert_allclose(followed.applied, wanted, atol=1e-12)


@pytest.mark.parametrize(('off', 'left'), [(1.0, 0.01), (0.2, 0.05), (0.09, 0.09)])
def test_what_is_beyond_the_usual_shifts_is_taken_off(off: float, left: float) -> None:
    here = small()
    followed = SensorOffsets(here)
    for tick in range(1000):
        place = tick % PLACES
        followed.follow(usual(here, place, 1.1) + off, *settled(place, 1.1), EVERY)
    np.testing.assert_allclose(off - followed.applied, left, atol=1e-3)
    followed.start()
    assert not followed.applied.any()


def test_off_the_route_offsets_are_forgotten_and_a_blow_is_no_offset() -> None:
    here = small()
    followed = SensorOffsets(here)
    for tick in range(1000):
        followed.follow(usual(here, tick % PLACES) + 1.0, *settled(tick % PLACES), EVERY)
    before = followed.applied.copy()
    followed.follow(usual(here, 0) + 1e6, *settled(0), EVERY)
    lap = (1.0 / here.motion.rates).sum()
    assert (followed.applied - before).max() <= 1.1 * LIMITS.farthest_off / lap
    # Who stands keeps what is known.
    before = followed.applied.copy()
    chances, ratios = settled(0)
    chances[0] = np.eye(6)[STANDS]
    for _ in range(1000):
        followed.follow(usual(here, 0) + 5.0, chances, ratios, EVERY)
    np.testing.assert_array_equal(followed.applied, before)
    for _ in range(1000):
        followed.follow(usual(here, 0) + 1.0, *settled(0, chance=0.0), EVERY)
    assert not followed.applied.any()


def test_of_channels_that_are_not_known_to_drift_nothing_is_taken_off() -> None:
    here = small(0.0)
    followed = SensorOffsets(here)
    for tick in range(100):
        followed.follow(usual(here, tick % PLACES) + 1.0, *settled(tick % PLACES), EVERY)
    assert not followed.applied.any()


def test_a_belief_stays_on_the_route_where_a_sensor_gets_an_offset(route: Route) -> None:
    """Twenty times what is usual; who does not follow it is sure to be elsewhere."""
    off = 0.4 * (-1.0) ** np.arange(CHANNELS)
    drive = Circuit().laps(6, seed=9)
    shares = []
    for shifts in (route.likelihood.shifts, np.zeros(CHANNELS)):
        belief = RouteBelief(changed(route, shifts=shifts))
        driving = []
        for tick, observation in enumerate(drive.observations):
            belief.update(observation + off * (tick > LAP_TICKS))
            driving.append(belief.driving)
        shares.append(np.mean(driving[-2 * LAP_TICKS :]))
        if shifts.any():
            np.testing.assert_allclose(belief.offsets.applied, off, atol=0.05)
            belief.start()
        assert not belief.offsets.applied.any()
    assert shares[0] > 0.95
    assert shares[1] < 0.05
