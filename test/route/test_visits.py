# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Layout of passes: features, speed ratios, rest, and the memory of the observations."""

from circuit import (
    AT_REST,
    CHANNELS,
    Circuit,
    Drive,
    laid,
    LAP_TICKS,
    MEMORY_S,
    NOISE,
    PERIOD_S,
    PULL,
)
import numpy as np
import pytest
from scipy.constants import g

from two_manifold_ros.route.learning import LARGEST_LOG_RATIO
from two_manifold_ros.route.visits import (
    features_along,
    lay_out,
    learn_forward,
    memory_of,
    motionless,
)


@pytest.mark.parametrize(
    ('means', 'wanted'),
    [
        ([0.3, -0.4, 9.7], [0.0, 0.0, g]),
        ([0.3, -9.7, 0.2], [0.0, -g, 0.0]),
        # Where the driver took gravity away.
        ([1.5, -2.0, 0.1], [0.0, 0.0, 0.0]),
        # A vehicle stands in its pit, not in the bend whose bank is usual.
        ([0.0, g * np.sin(-0.4), g * np.cos(-0.4)], [0.0, 0.0, g]),
    ],
)
def test_gravity_is_on_the_axis_that_points_up_or_down(means, wanted):
    """Other usual values of driving end at a standstill."""
    found = motionless(np.array([*means, 0.05, -0.1, 20.0]))
    np.testing.assert_allclose(found, [*wanted, 0.0, 0.0, 0.0])


def forgetful(memory: float, ticks: int, seed: int = 0) -> np.ndarray:
    """Return channels that forget in so many ticks and in two, of variance one."""
    rng = np.random.default_rng(seed)
    keep = np.exp(-1.0 / np.array([memory, 2.0]))
    series = np.zeros((ticks, 2))
    for tick in range(1, ticks):
        series[tick] = keep * series[tick - 1] + np.sqrt(1.0 - keep**2) * rng.normal(size=2)
    return series


@pytest.mark.parametrize('memory', [8, 20, 40])
def test_the_memory_is_when_the_slowest_channel_is_forgotten(memory):
    series = forgetful(memory, 6000, seed=memory)
    found = memory_of([series], PERIOD_S)
    assert found == pytest.approx(memory * PERIOD_S, rel=0.35)
    # In seconds, whatever a tick is; more lags fit into the longest then.
    assert memory_of([series], 0.5 * PERIOD_S) == pytest.approx(0.5 * found, rel=0.1)
    # A channel that never moved has none.
    silent = np.column_stack([series[:, ::-1], np.zeros(len(series))])
    assert memory_of([silent], PERIOD_S) == found


def test_the_memory_has_bounds():
    noise = np.random.default_rng(0).normal(size=(2000, 3))
    assert memory_of([noise], PERIOD_S) == pytest.approx(4.0 * PERIOD_S)
    drift = np.repeat([[1.0], [-1.0]], 1000, axis=0)
    assert memory_of([drift], PERIOD_S) == pytest.approx(12.0)
    # Nor longer than a third of a short drive.
    slow = np.cos(np.linspace(0.0, np.pi, 90))[:, None]
    assert 4.0 * PERIOD_S < memory_of([slow], PERIOD_S) <= 30 * PERIOD_S
    assert memory_of([drift[999:1001]], PERIOD_S) == pytest.approx(4.0 * PERIOD_S)


def test_visits_see_what_was_seen_when_they_were_at_the_speed_ratios_driven(laps, passes):
    """Between two ticks what lies between."""
    along = features_along(laps.observations, passes.gains)
    ticks, visited = np.arange(len(along)), passes.places.visited
    times = np.clip(passes.places.times, 0.0, ticks[-1])
    for column in range(along.shape[1]):
        wanted = np.interp(times, ticks, along[:, column])
        np.testing.assert_allclose(passes.features[:, column], wanted, atol=1e-9)
    inside = (times > 1) & (times < ticks[-1] - 21)
    for column, horizon in enumerate(passes.horizons):
        wanted = [np.interp(times + horizon, ticks, axis) for axis in laps.track.T]
        found = passes.targets[inside, column]
        np.testing.assert_allclose(found, np.transpose(wanted)[inside], atol=1e-9)
    driven, each = laps.log_ratios[np.round(times).astype(int)], range(len(passes.places))
    usual = np.array([np.median(driven[visited == i]) for i in each])
    assert np.median(np.abs(driven - usual[visited] - passes.log_ratios)) < 0.02
    medians = [np.median(passes.log_ratios[visited == i]) for i in each]
    np.testing.assert_allclose(medians, 0.0, atol=1e-12)


def test_where_and_how_long_vehicles_stood():
    """On the way, and where the drive started; not where it ended without driving on."""
    stands = {3 * LAP_TICKS: 20, 2 * LAP_TICKS: 50, LAP_TICKS // 4: 30}
    ratios = np.zeros(4 * LAP_TICKS)
    for begin, ticks in stands.items():
        ratios = np.insert(ratios, begin, np.full(ticks, -np.inf))
    passes = laid(Circuit().drive(np.pad(ratios, 25, constant_values=-np.inf), seed=2))
    for found, ticks, begun in (
        (passes.halts, [30, 50, 20], sorted(stands)),
        (passes.starts, [25], [0]),
    ):
        stopped = np.flatnonzero(found)
        assert found[stopped] == pytest.approx(ticks, abs=4)
        where = passes.places.positions[passes.places.visited[stopped]]
        wanted = Circuit().at(np.array(begun) / LAP_TICKS)
        assert np.linalg.norm(where - wanted, axis=1).max() < 1.0
    # Who stood on its way was no slower for it: the speed ratio is that of who drives.
    assert np.abs(passes.log_ratios[passes.halts > 0.0]).max() < LARGEST_LOG_RATIO
    # What never moves cannot be laid.
    still, tracks = np.zeros((50, CHANNELS)), [np.zeros((50, 2))]
    assert lay_out([still], tracks, (0,), PERIOD_S, MEMORY_S, *[AT_REST] * 3) is None


def test_the_forward_acceleration_is_found_among_the_channels_however_the_sensor_is_mounted():
    """The line turns with the axes, its values are the same."""
    drives = [
        Circuit().halting(before=60, standing=30, after=60, seed=seed, begin=0.17 * seed)
        for seed in range(8)
    ]
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(CHANNELS, CHANNELS)))
    found, turned = (
        learn_forward(
            [each.observations @ axes.T for each in drives],
            [each.track for each in drives],
            PERIOD_S,
        )
        for axes in (np.eye(CHANNELS), turn)
    )
    # The noise of a sensor makes a regression on it flatter.
    assert found.weights[-1] == pytest.approx(PULL, rel=0.15)
    assert np.abs(found.weights[:-1]).max() < 0.1 * PULL
    assert abs(found.offset) < 0.1
    assert found.explained > 0.9
    np.testing.assert_allclose(turned.weights, turn @ found.weights, atol=1e-9)
    assert turned.offset == pytest.approx(found.offset, abs=1e-9)


def shuttled(*, turns: bool, begin: int = 0, legs: int = 8, seed: int = 0) -> Drive:
    """Drive to and fro on a line of 100 m, back in reverse, or after turning round."""
    rng = np.random.default_rng(seed)
    ticks = 100
    # Half a cosine each way; from one leg to the next the acceleration goes on.
    phases = np.pi * (begin + np.arange(legs * ticks) / ticks)
    along = 50.0 - 50.0 * np.cos(phases)
    speeds = np.gradient(along) / PERIOD_S
    facing = np.where(np.floor(phases / np.pi) % 2 > 0, -1.0, 1.0) if turns else 1.0
    seen = NOISE * rng.normal(size=(len(along), CHANNELS))
    seen[:, -1] += facing * np.gradient(speeds) / PERIOD_S / PULL
    seen[:, 0] += np.sin(along / 7.0)
    return Drive(along / 100.0, np.zeros(len(along)), seen, np.stack([along, 0.0 * along], axis=1))


@pytest.mark.parametrize('turns', [False, True])
def test_which_places_are_driven_in_reverse(turns):
    """From the acceleration alone, in drives that start at either end."""
    passes = laid(shuttled(turns=turns), shuttled(turns=turns, begin=1, legs=5, seed=1))
    places = passes.places
    inside = (places.positions[:, 0] > 10.0) & (places.positions[:, 0] < 90.0)
    wanted = np.where(places.headings[:, 0] > 0.0, 1.0, 1.0 if turns else -1.0)
    same = passes.gears[inside] == wanted[inside]
    assert same.all() or (not turns and not same.any())
    assert abs(passes.forward.weights[-1]) == pytest.approx(PULL, rel=0.1)
    assert passes.forward.explained > 0.9
