# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Ellipses ahead take the size that forecasts turn out to have on a drive."""

import numpy as np
import pytest

from two_manifold_ros.filtering.estimate import make_tick_filter
from two_manifold_ros.filtering.tracker import ForecastScales, LIMITS

HORIZONS, LAP = (0, 4, 10), 100.0


def walk(ticks: int, seed: int) -> np.ndarray:
    """Return estimates (T, 2) of a vehicle whose way from tick to tick has unit variance."""
    return np.cumsum(np.random.default_rng(seed).standard_normal((ticks, 2)), axis=0)


def forecast(mean: np.ndarray, believed: float) -> tuple[np.ndarray, np.ndarray]:
    """Return means and covariances of the horizons and a velocity, of a way of that variance."""
    spreads = 0.5 + believed * np.array([*HORIZONS, 0])
    return np.tile(mean, (len(spreads), 1)), spreads[:, None, None] * np.eye(2)


def followed(estimates: np.ndarray, believed: float, driving: float = 1.0) -> ForecastScales:
    scales = ForecastScales(HORIZONS, LAP)
    for mean in estimates:
        scales.follow(*forecast(mean, believed), driving)
    return scales


def naive(estimates: np.ndarray, believed: float) -> list[float]:
    """Judge each forecast when its time has come, from a list of all that was said."""
    logs = [0.0] * len(HORIZONS)
    said = [forecast(mean, believed) for mean in estimates]
    for tick, (means, covariances) in enumerate(said):
        for index, ahead in enumerate(HORIZONS):
            if not 0 < ahead <= tick:
                continue
            mean, covariance = (each[index] for each in said[tick - ahead])
            whole = np.exp(logs[index]) * covariance
            way = whole - covariances[0]
            if np.linalg.eigvalsh(way).min() <= 0.0:
                continue
            if np.linalg.det(way) <= LIMITS.least * np.linalg.det(whole):
                continue
            apart = means[0] - mean
            square = apart @ np.linalg.solve(way, apart)
            share = 1.0 - np.sqrt(np.linalg.det(covariances[0]) / np.linalg.det(whole))
            for level, weight in ((0.68, 1.0), (0.95, LIMITS.outer)):
                missed = square > -2.0 * np.log(1.0 - level)
                step = LIMITS.step / LAP * weight * share
                logs[index] += step * (missed - (1.0 - level))
    return [*np.exp(logs), 1.0]


@pytest.mark.parametrize('believed', [0.2, 1.0, 5.0])
def test_factors_are_those_of_a_naive_count(believed):
    estimates = walk(400, 1)
    wanted = naive(estimates, believed)
    np.testing.assert_allclose(followed(estimates, believed).factors, wanted, rtol=1e-9)


def test_a_pause_forgets_the_forecasts_and_a_start_the_factors_too():
    """And forecasts of a vehicle that may not drive as in training do not count."""
    np.testing.assert_array_equal(followed(walk(400, 2), 0.1, driving=0.5).factors, 1.0)
    scales = followed(walk(400, 3), 0.1)
    factors = scales.factors.copy()
    assert factors[1] > 1.5
    scales.pause()
    # Far from where it was forecast to be before the pause.
    for mean in walk(HORIZONS[1], 3):
        scales.follow(*forecast(mean + 1e3, 0.1), 1.0)
    np.testing.assert_array_equal(scales.factors, factors)
    scales.start()
    np.testing.assert_array_equal(scales.factors, 1.0)


def test_horizons_beyond_what_is_remembered_stay_as_calibrated():
    scales = ForecastScales((0, 5, LIMITS.longest + 1), LAP)
    for mean in walk(LIMITS.longest + 200, 4):
        means = np.repeat(mean[None], 4, axis=0)
        scales.follow(means, np.array([0.5, 1.0, 1.0, 1.0])[:, None, None] * np.eye(2), 1.0)
    assert scales.factors[1] > 1.5
    assert scales.factors[2] == 1.0


def test_the_filter_of_a_route_scales_what_lies_ahead_and_nothing_else(
    slot_car_laps, slot_car_model
):
    followed, shares = make_tick_filter(slot_car_model), []

    def shares_now() -> np.ndarray:
        (means, covariances), (plain_means, plain) = followed.read(), followed.belief.read()
        np.testing.assert_array_equal(means, plain_means)
        found = covariances[:, 0, 0] / plain[:, 0, 0]
        np.testing.assert_allclose(covariances, found[:, None, None] * plain, rtol=1e-12)
        return found

    for sample in slot_car_laps[1].imu.samples:
        followed.update(sample)
        shares.append(shares_now())
    shares = np.array(shares)
    np.testing.assert_allclose(shares[:, [0, -1]], 1.0, rtol=1e-12)
    assert np.ptp(np.log(shares[-40:, 2])) > 0.0
    assert not np.allclose(shares[-1, 1:3], 1.0)
    # A gap leaves the factors, a start forgets them.
    followed.coast(3)
    np.testing.assert_allclose(shares_now(), shares[-1], rtol=1e-12)
    followed.start()
    np.testing.assert_allclose(shares_now(), 1.0, rtol=1e-12)
