# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A TPSR of training windows: scales, singular directions, tables, and what it follows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.tables import RawKernel, Tables
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.ticks.segments import Channels, Segment
from two_manifold_ros.training.dataset import weighted_by_persistence, with_lap_scales
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.structure import learn_states
from two_manifold_ros.training.tpsr_structure import TpsrStructure
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.model.head import TrainedModel

SETTINGS = TrainingSettings(method='tpsr', horizons=(0, 5, 20))


@pytest.fixture(scope='module')
def tpsr(slot_car_laps: tuple[Recording, Recording]) -> TrainedModel:
    """Return a TPSR with scales of its own."""
    return train_model([slot_car_laps[0]], SETTINGS)


@pytest.fixture(scope='module')
def structure() -> TpsrStructure:
    """Return what is learned of noisy laps of two segments."""
    random = np.random.default_rng(3)
    angles = np.cumsum(0.2 * (1.0 + 0.1 * random.standard_normal(500)))
    series = np.stack([np.sin(angles), np.cos(2.0 * angles)], axis=1)
    series += 0.1 * random.standard_normal(series.shape)
    settings = replace(SETTINGS, states=12)
    found = learn_states([series[:300], series[300:]], 15, settings, 10)
    assert isinstance(found, TpsrStructure)
    return found


def test_scales_follow_the_lap(drive: Callable[..., Recording]) -> None:
    settings = with_lap_scales([drive()], SETTINGS)
    # Laps of 8 s.
    assert settings.rate_hz == pytest.approx(10.0, rel=0.02)
    assert settings.window == 40
    slow = with_lap_scales([drive(seconds=720.0, lap_s=240.0)], SETTINGS)
    assert (slow.rate_hz, slow.window) == (1.0, 90)
    given = with_lap_scales([drive()], replace(SETTINGS, rate_hz=5.0))
    assert (given.rate_hz, given.window) == (5.0, 20)
    spectral = TrainingSettings(method='spectral')
    assert with_lap_scales([drive()], spectral) is spectral


def test_a_slow_sensor_gives_the_rate(drive: Callable[..., Recording]) -> None:
    whole = drive()
    slow = replace(whole, imu=whole.imu.select(np.arange(len(whole.imu.stamps)) % 20 == 0))
    settings = with_lap_scales([slow], SETTINGS)
    assert settings.rate_hz == pytest.approx(5.0)
    assert settings.window == 20


def test_without_a_lap_there_are_no_scales(drive: Callable[..., Recording]) -> None:
    with pytest.raises(InputError, match='met twice'):
        with_lap_scales([drive(seconds=5.0)], SETTINGS)


def test_channels_count_by_how_much_of_them_lasts() -> None:
    random = np.random.default_rng(0)
    lasting = np.repeat(random.standard_normal(2500), 8)[:20_000]
    noise = random.standard_normal(20_000)
    values = np.stack([lasting, 3.0 * (lasting + noise), noise, 0.0 * noise], axis=1)
    live = np.array([True, True, True, False])
    scale = np.where(live, values.std(axis=0), 1.0)
    names = ('a', 'b', 'c', 'd')
    channels = Channels(values.mean(axis=0), scale, np.ones(4), live, names)
    segment = Segment(np.arange(20_000), values, np.zeros((20_000, 2)))
    found = weighted_by_persistence(channels, [segment])
    assert found.live_names == ('a', 'b')
    weights = found.standardise(values).std(axis=0)
    # Seven of eight steps keep the one, and half of the variance of the other is noise.
    assert weights == pytest.approx([7 / 8, 7 / 16], rel=0.05)
    alone = replace(channels, live=np.array([False, False, True, False]))
    assert weighted_by_persistence(alone, [segment]) is alone


def test_tables_carry_the_constant(structure: TpsrStructure) -> None:
    tables = structure.tables(structure.directions(12))
    assert tables.weights.shape == tables.states.shape == (len(structure.training.ticks), 12)
    np.testing.assert_array_equal(tables.states[:, 0], 1.0)
    np.testing.assert_allclose(tables.weights.sum(axis=0), np.eye(12)[0], atol=1e-9)
    # The state on average is the first unit vector.
    own = structure.tests[:, :12] @ structure.directions(12).future_map
    np.testing.assert_allclose(own.mean(axis=0) / own[:, 0].mean(), np.eye(12)[0], atol=1e-9)


def test_the_belief_is_that_of_the_operators(structure: TpsrStructure) -> None:
    """Equation (7) in singular coordinates, where no constant is carried."""
    directions = structure.directions(12)
    weights = structure.histories[:, :12] @ directions.past_map
    states = structure.shifted[:, :12] @ directions.future_map
    observations = structure.observations
    belief = Belief(Tables(weights, states), RawKernel(observations, 0.8))
    tests, histories = structure.tests[:, :12], structure.histories[:, :12]
    inverse = np.linalg.pinv(tests.T @ histories)
    normaliser = histories.sum(axis=0) @ inverse
    plain = tests.mean(axis=0) / (normaliser @ tests.mean(axis=0))
    for observation in observations[40:60]:
        assert belief.update(observation) > 0.0
        factors = np.exp(-0.5 * np.square(observations - observation).sum(axis=1) / 0.8**2)
        operator = structure.shifted[:, :12].T @ (factors[:, None] * histories) @ inverse
        plain = operator @ plain
        plain /= normaliser @ plain
        expected = plain @ directions.future_map
        np.testing.assert_allclose(belief.state / belief.state[0], expected, atol=1e-6)


def test_directions_are_those_of_the_covariance(structure: TpsrStructure) -> None:
    """Coordinates of tests and histories are uncorrelated but along the same direction."""
    count = len(structure.tests)
    decay = np.exp(-np.arange(count)[::-1] / 2400.0)
    covariance = (decay[:, None] * structure.tests).T @ structure.histories
    scaled = covariance[:12, :12] / covariance[0, 0]
    np.testing.assert_allclose(np.diag(scaled), structure.singular_values[:12], rtol=0.05)
    np.testing.assert_allclose(scaled - np.diag(np.diag(scaled)), 0.0, atol=0.02)


def test_it_follows_laps_that_it_has_not_seen(
    tpsr: TrainedModel, slot_car_laps: tuple[Recording, Recording]
) -> None:
    assert tpsr.summary['method'] == 'tpsr'
    (score, *_) = evaluate(tpsr, [slot_car_laps[1]]).scores
    assert score.model.rmse_m < 0.25 * score.mean.rmse_m
    assert score.model.coverage95 > 0.9


def test_pictures_are_followed_as_well() -> None:
    """Of another sensor neither units nor a lag are known."""
    random = np.random.default_rng(1)
    stamps = 10**18 + np.arange(1500) * 50_000_000
    angles = 2.0 * np.pi * np.arange(1500) / 160.0 + 0.2 * np.sin(np.arange(1500) / 70.0)
    names = tuple(f'box {each}' for each in range(8))
    centres = np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)
    samples = np.exp(2.0 * np.cos(angles[:, None] - centres))
    samples += 0.05 * random.standard_normal(samples.shape)
    places = 2.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    kind = 'geometry_msgs/msg/PoseStamped'
    recording = Recording(
        'camera',
        ImuStream('/image', 'camera', stamps, samples, stamps, names),
        PositionStream('/pose', 'map', kind, stamps[::2], places[::2]),
    )
    model = train_model([recording.between(None, 55.0)], SETTINGS)
    assert model.channels.names == names
    (score, *_) = evaluate(model, [recording.between(55.0, None)]).scores
    assert score.model.rmse_m < 0.3


def test_a_lap_is_as_long_as_positions_show(
    tpsr: TrainedModel, slot_car_laps: tuple[Recording, Recording]
) -> None:
    """Though positions are known of a part of the drive only."""
    whole = slot_car_laps[0]
    assert whole.positions is not None
    early = whole.positions.stamps < whole.imu.first_stamp + 50 * 10**9
    seldom = replace(whole, positions=whole.positions.select(early))
    settings = replace(SETTINGS, rate_hz=tpsr.rate_hz, window=tpsr.window)
    lap_s = train_model([seldom], settings).summary['lap_s']
    assert lap_s == pytest.approx(tpsr.summary['lap_s'], rel=0.1)
    seconds = float(tpsr.summary['seconds'])
    assert lap_s == pytest.approx(seconds / float(tpsr.summary['laps']), rel=0.1)


@pytest.mark.parametrize('readout', ['ridge', 'mkdr'])
def test_other_readouts_are_refused(readout: str) -> None:
    with pytest.raises(InputError, match=f'no readout {readout}'):
        TrainingSettings(method='tpsr', readout=readout)
