# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs as arrays, and how hard they are to tell apart by windows of IMU."""

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.simulation.track import Track


def nearest_neighbour_rmse(imu: np.ndarray, places: np.ndarray, width: int) -> float:
    """Return the error of the mean place of the five nearest windows among the first 1500."""
    windows = np.lib.stride_tricks.sliding_window_view(imu, width, axis=0)
    windows = windows.reshape(len(windows), -1)
    train, test = windows[: 1500 - width + 1], windows[-400:]
    distances = np.square(train).sum(axis=1) - 2.0 * test @ train.T
    nearest = np.argpartition(distances, 5, axis=1)[:, :5]
    errors = places[width - 1 + nearest].mean(axis=1) - places[-400:]
    return np.sqrt(np.square(errors).sum(axis=1).mean())


def test_shapes_and_types() -> None:
    run = simulate(SlotCarSettings(), samples=40)
    assert run.stamps_ns.dtype == np.int64
    assert run.imu.shape == (40, 6)
    assert run.positions.shape == (40, 3)
    assert run.quaternions.shape == (40, 4)
    assert run.distances.shape == run.speeds.shape == run.stamps_ns.shape == (40,)


def test_laps_end_with_the_sample_that_completes_them() -> None:
    run = simulate(SlotCarSettings(), laps=2)
    driven = run.distances - run.distances[0]
    assert driven[-2] < 2 * Track().length <= driven[-1]


def test_same_settings_same_run_other_seed_other_run() -> None:
    first, again, other = (simulate(SlotCarSettings(seed=s), samples=10) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.imu, again.imu)
    assert np.abs(first.imu - other.imu).min() > 0.0


def test_one_sample_is_a_run() -> None:
    assert len(simulate(SlotCarSettings(), samples=1).stamps_ns) == 1


@pytest.mark.parametrize('choice', [{}, {'laps': 0}, {'samples': 0}, {'laps': 1, 'samples': 1}])
def test_one_positive_length_is_wanted(choice: dict[str, int]) -> None:
    with pytest.raises(InputError, match='laps'):
        simulate(SlotCarSettings(), **choice)


def test_progress_is_reported() -> None:
    heard = []
    simulate(SlotCarSettings(), samples=2500, report=lambda *what: heard.append(what))
    assert heard == [('driving', 0.4), ('driving', 0.8)]


def test_long_windows_give_the_place_away_and_short_ones_do_not() -> None:
    run = simulate(SlotCarSettings(), samples=20_000)
    imu = run.imu.reshape(2000, 10, 6).mean(axis=1)
    imu = (imu - imu.mean(axis=0)) / imu.std(axis=0)
    places = run.positions[9::10, :2]
    long, short = (nearest_neighbour_rmse(imu, places, width) for width in (30, 5))
    assert long < 0.25
    assert short > 2.0 * long
