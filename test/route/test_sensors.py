# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A belief that takes sensors, against one that goes from cell to cell and one without them."""

from circuit import Circuit, Drive
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_route import NaiveBelief
import numpy as np
import pytest
from small_route import leads_to, observations, small_route

from two_manifold_ros.recordings.recording import HeldStream
from two_manifold_ros.route.belief import (
    BREAK_S,
    HEAL_S,
    RouteBelief,
    SensedBelief,
    Sensor,
    TRUSTED,
    weigh_sensor,
)
from two_manifold_ros.route.learning import Tuning
from two_manifold_ros.route.route import Route
from two_manifold_ros.route.visits import Passes
from two_manifold_ros.ticks.segments import Channels
from two_manifold_ros.training.route import (
    _shifts_between,
    learn_sensor,
    SHIFT_DRIVES,
    USUAL_SHIFT,
)

PERIOD_S = 0.1


def small_sensor(seed: int = 5) -> Sensor:
    """Return a sensor of two channels, one more that never changed, on the places of a route."""
    channels = Channels(
        mean=np.array([3.0, 0.0, -1.0]),
        scale=np.array([2.0, 1.0, 0.5]),
        limit=np.array([40.0, 1.0, 10.0]),
        live=np.array([True, False, True]),
        names=('a', 'b', 'c'),
    )
    return Sensor('/sensor', channels, small_route(seed=seed, sharpness=0.4).likelihood, 3)


def readings(ticks: int, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(ticks, 3)) * [2.0, 0.0, 0.5] + [3.0, 0.0, -1.0]


@pytest.mark.usefixtures('exact')
def test_it_is_a_mixture_of_the_beliefs_with_the_sensor_and_without_it():
    route, sensor = small_route(), small_sensor()
    belief = SensedBelief(route, [sensor], PERIOD_S)
    naive = NaiveBelief(route, leads_to())
    live = sensor.channels.live
    seen: list[np.ndarray] = []
    trust = TRUSTED
    for observation, reading in zip(observations(6), readings(6), strict=True):
        belief.update(observation)
        naive.update(observation)
        belief.sense([reading])
        seen.append(((reading - sensor.channels.mean) / sensor.channels.scale)[live])
        lasts, stays = np.exp(-PERIOD_S / np.array([BREAK_S, HEAL_S]))
        trust = lasts * trust + (1.0 - stays) * (1.0 - trust)
        trust = naive.sense(seen, sensor.likelihood, trust)
        naive.assert_same(belief, 1e-9)
        assert belief.elsewhere == pytest.approx(naive.elsewhere, abs=1e-9)
        assert belief.heard[0].weight == pytest.approx(trust, abs=1e-9)


@given(st.integers(0, 100))
@settings(max_examples=10)
def test_compiled_it_is_a_belief_whatever_is_read(seed):
    belief = SensedBelief(small_route(), [small_sensor(), small_sensor(6)], PERIOD_S)
    values = 3.0 * readings(40, seed)
    for observation, one, other in zip(observations(40), values, values[::-1], strict=True):
        belief.update(observation)
        belief.sense([one, other])
        assert belief.chances.min() >= 0.0
        assert belief.chances.sum() + belief.elsewhere == pytest.approx(1.0)
        assert belief.spreads[belief.chances > 0.0].min() >= 0.0
        assert all(0.0 < each.weight < 1.0 for each in belief.heard)
    assert len(getattr(weigh_sensor, 'signatures', [0])) == 1


@pytest.mark.parametrize(
    ('channels', 'value'), [([0, 1, 2], np.nan), ([2], np.nan), ([0], np.inf), ([0], 1e6)]
)
def test_what_cannot_be_read_costs_nothing_to_the_bit(channels, value):
    """As it is missing, or far beyond all training."""
    values = readings(60)
    values[:, channels] = value
    belief = SensedBelief(small_route(), [small_sensor()], PERIOD_S)
    alone = RouteBelief(small_route())
    for observation, reading in zip(observations(60), values, strict=True):
        belief.update(observation)
        belief.sense([reading])
        alone.update(observation)
        for name in ('chances', 'ratios', 'state'):
            np.testing.assert_array_equal(getattr(belief, name), getattr(alone, name))


def test_a_frozen_sensor_is_left_out_and_one_that_is_back_is_believed_after_its_memory():
    belief = SensedBelief(small_route(), [small_sensor()], PERIOD_S)
    moved = []
    values = readings(200)
    values[50:120] = values[50]
    for observation, reading in zip(observations(200), values, strict=True):
        belief.update(observation)
        before = belief.chances.copy()
        belief.sense([reading])
        moved.append(not np.array_equal(before, belief.chances))
    # Twice the longest standstill of the training, and a second; then the memory.
    left_out, warm = 50 + 2 * 3 + 10 + 1, 120 + 20
    assert all(moved[:50])
    assert not any(moved[left_out : warm - 1])
    assert all(moved[warm + 1 :])


def landmarks(drive: Drive, seed: int, noise: float = 0.1) -> list[np.ndarray]:
    """Return readings (T, 2) of a field that is another at each place of a circuit."""
    random = np.random.default_rng(seed)
    field = np.column_stack([np.sin(0.3 * drive.track[:, 0]), np.cos(0.2 * drive.track[:, 1])])
    return [5e-6 * (field + noise * random.standard_normal(field.shape))]


def learned_sensor(passes: Passes, values: list[np.ndarray], period_s: float) -> Sensor | None:
    """Return a sensor of readings that came every so many seconds, and are held between."""
    stamps = (1e9 * period_s * np.arange(50)).astype(np.int64)
    kind, names = 'sensor_msgs/msg/MagneticField', ('x', 'y')
    stream = HeldStream('/m', kind, names, stamps, np.zeros((50, 2)))
    return learn_sensor(passes, values, [True], stream, Tuning())


@pytest.fixture(scope='module')
def field_sensor(laps: Drive, passes: Passes) -> Sensor:
    sensor = learned_sensor(passes, landmarks(laps, 0), PERIOD_S)
    assert sensor is not None
    return sensor


def test_held_readings_count_as_often_as_they_come_and_what_never_changes_is_none(passes, laps):
    for still in (4.0, np.nan):
        values = [np.full((len(laps.track), 2), still)]
        assert learned_sensor(passes, values, PERIOD_S) is None
    for period_s, share in ((10.0 * PERIOD_S, 0.1), (0.5 * PERIOD_S, 1.0)):
        sensor = learned_sensor(passes, landmarks(laps, 0), period_s)
        assert sensor is not None
        assert sensor.likelihood.sharpness == pytest.approx(share * Tuning.sharpness)


def error_of(route: Route, drive: Drive, sensors: list[Sensor], values: np.ndarray) -> float:
    belief = SensedBelief(route, sensors, PERIOD_S)
    apart = []
    for observation, reading, place in zip(drive.observations, values, drive.track, strict=True):
        belief.update(observation)
        belief.sense([reading] * len(sensors))
        apart.append(np.linalg.norm(belief.read()[0][0] - place))
    return float(np.mean(apart[100:]))


def test_a_field_helps_and_a_lie_costs_next_to_nothing(route, field_sensor):
    drive = Circuit().laps(5, seed=3)
    (values,) = landmarks(drive, 1)
    alone = error_of(route, drive, [], values)
    assert error_of(route, drive, [field_sensor], values) < 0.95 * alone
    for lie in (
        values + 5e-6 * np.random.default_rng(2).standard_normal(values.shape),
        np.roll(values, len(values) // 7, axis=0),
        np.broadcast_to(values[7], values.shape),
        values + 2e-5,
    ):
        assert error_of(route, drive, [field_sensor], lie) < 1.02 * alone


@pytest.mark.parametrize('off', [[0.0], [0.0, 0.0], [0.3, -0.5], [0.1, 0.9, -1.4, 0.2, 0.2]])
def test_what_a_channel_is_off_is_learned_between_drives(off):
    """Whatever part of the route each drives, and in whichever order; of one drive it is usual."""
    random, field = np.random.default_rng(0), np.random.default_rng(1).standard_normal((40, 2))
    parts = [range(10 * (drive % 2), 40 - 10 * (drive % 3 == 1)) for drive in range(len(off))]
    visited = np.concatenate([np.tile(part, 5) for part in parts])
    drive_of = np.repeat(np.arange(len(off)), [5 * len(part) for part in parts])
    readings = field[visited] + np.outer(np.array(off)[drive_of], [1.0, -2.0])
    readings += 0.05 * random.standard_normal(readings.shape)
    order = random.permutation(len(readings))
    scatter = np.square(np.array(off) - np.mean(off)).sum() * np.array([1.0, 4.0])
    square = (SHIFT_DRIVES * USUAL_SHIFT**2 + scatter) / (SHIFT_DRIVES + len(off) - 1)
    found = _shifts_between(readings[order], visited[order], drive_of[order])
    np.testing.assert_allclose(found, square**0.5, rtol=0.1)
