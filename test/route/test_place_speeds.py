# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Forward accelerations are learned from drives, and usual speeds from places."""

from __future__ import annotations

from circuit import CHANNELS, Circuit, Drive, PERIOD_S, PULL
import numpy as np
import pytest

from two_manifold_ros.route.merging import Places
from two_manifold_ros.route.speeds import learn_forward, usual_speeds


def stop_and_go(seed: int = 3) -> Drive:
    """Return a drive that stops somewhere."""
    return Circuit().halting(before=60, standing=30, after=60, seed=seed, begin=0.17 * seed)


def test_the_forward_acceleration_is_found_among_the_channels() -> None:
    drives = [stop_and_go(seed) for seed in range(8)]
    found = learn_forward(
        [drive.observations for drive in drives], [drive.track for drive in drives], PERIOD_S
    )
    # The noise of a sensor makes a regression on it flatter.
    assert found.weights[-1] == pytest.approx(PULL, rel=0.15)
    assert np.abs(found.weights[:-1]).max() < 0.1 * PULL
    assert abs(found.offset) < 0.1
    assert found.explained > 0.9


def test_however_the_sensor_is_mounted() -> None:
    """The line turns with the axes, what it tells is the same."""
    drive = stop_and_go()
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(CHANNELS, CHANNELS)))
    plain = learn_forward([drive.observations], [drive.track], PERIOD_S)
    turned = learn_forward([drive.observations @ turn.T], [drive.track], PERIOD_S)
    np.testing.assert_allclose(turned.weights, turn @ plain.weights, atol=1e-9)
    assert turned.offset == pytest.approx(plain.offset, abs=1e-9)


def test_unknown_positions_tell_nothing() -> None:
    drive = stop_and_go()
    track = drive.track.copy()
    track[20:30] = np.nan
    found = learn_forward([drive.observations], [track], PERIOD_S)
    assert np.isfinite(found.weights).all()
    assert found.weights[-1] == pytest.approx(PULL, rel=0.2)
    track[:] = np.nan
    nothing = learn_forward([drive.observations], [track], PERIOD_S)
    np.testing.assert_array_equal(nothing.weights, 0.0)
    assert (nothing.offset, nothing.explained) == (0.0, 0.0)


def test_a_drive_that_is_too_short_tells_nothing() -> None:
    drive = stop_and_go()
    found = learn_forward([drive.observations[:6]], [drive.track[:6]], PERIOD_S)
    np.testing.assert_array_equal(found.weights, 0.0)


def line_of(metres: np.ndarray) -> tuple[Places, np.ndarray]:
    """Return places in a row, so many metres apart, and where each leads."""
    count = len(metres) + 1
    positions = np.column_stack([np.concatenate([[0.0], np.cumsum(metres)]), np.zeros(count)])
    index = np.arange(count)
    places = Places(
        positions=positions,
        headings=np.tile([1.0, 0.0], (count, 1)),
        radius_m=1.0,
        usual_mps=10.0,
        visited=index,
        segments=np.zeros(count, dtype=np.int64),
        runs=np.zeros(count, dtype=np.int64),
        times=index.astype(np.float64),
        standing=(np.zeros(count, dtype=np.bool_),),
    )
    return places, np.minimum(index + 1, count - 1)


def test_usual_speeds_are_those_of_the_ways() -> None:
    """A metre at every half tick of a tenth of a second is 20 m/s."""
    places, after = line_of(np.ones(30))
    rates, tick_lengths = usual_speeds(places, np.full(31, 0.5), after, 0.1)
    np.testing.assert_allclose(rates, 2.0)
    np.testing.assert_allclose(0.1 / tick_lengths, 20.0, rtol=0.01)


def test_where_all_stop_no_speed_is_nought() -> None:
    places, after = line_of(np.ones(30))
    stays = np.full(31, 0.5)
    stays[10:20] = 1e6
    rates, tick_lengths = usual_speeds(places, stays, after, 0.1)
    assert rates.min() > 0.0
    assert np.isfinite(tick_lengths).all()
    # Nobody is slower there than a tenth of the usual speed of 10 m/s.
    assert (0.1 / tick_lengths).min() == pytest.approx(1.0, rel=0.3)
