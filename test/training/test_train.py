# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Training: what it refuses, what it says, and that everything on offer learns the track."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.evaluation.evaluate import Evaluation
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.recordings.recording import Recording

QUICK = TrainingSettings(window=20, states=40, horizons=(0, 5, 20))


@pytest.fixture(scope='session')
def laps(slot_car_laps: tuple[Recording, Recording]) -> Recording:
    return slot_car_laps[0]


@pytest.fixture(scope='session')
def half(laps: Recording) -> Recording:
    """Return eight of the laps, which take half as long to learn."""
    return laps.between(None, 75.0)


def seconds(recording: Recording) -> float:
    return float(np.ptp(recording.imu.stamps)) / 1e9


def with_positions(recording: Recording, **changes: Any) -> Recording:  # noqa: ANN401 - passed on
    assert recording.positions is not None
    return replace(recording, positions=replace(recording.positions, **changes))


def refusal(recordings: list[Recording], settings: TrainingSettings = QUICK) -> str:
    with pytest.raises(InputError) as caught:
        train_model(recordings, settings)
    assert '\n' not in str(caught.value)
    return str(caught.value)


def test_two_trainings_give_the_same_file(
    laps: Recording, slot_car_model: RouteModel, tmp_path: Path
) -> None:
    again = train_model([laps], TrainingSettings(window=20, horizons=(0, 5, 20)))
    save_model(slot_car_model, tmp_path / 'one')
    save_model(again, tmp_path / 'two')
    assert (tmp_path / 'one').read_bytes() == (tmp_path / 'two').read_bytes()


def test_what_the_model_says_of_its_training(slot_car_model: RouteModel, laps: Recording) -> None:
    model, summary = slot_car_model, slot_car_model.summary
    assert model.rate_hz == 10.0
    assert model.window == 20
    assert model.horizons == (0, 5, 20)
    assert model.states == summary['states'] == summary['chosen']['states']
    assert (model.imu_topic, model.position_topic) == ('/imu', '/reference')
    assert model.frame_id == 'map'
    assert summary['recordings'] == [laps.name]
    assert summary['samples']['received'] == len(laps.imu.stamps)
    assert summary['seconds'] == pytest.approx(seconds(laps), abs=0.11)
    assert summary['training_ticks'] == len(model.track) - 2 * model.window
    assert summary['singular_values'][0] == 1.0
    assert set(summary['covariance_factors']) == {
        'horizon 0', 'horizon 5', 'horizon 20', 'velocity'
    }  # fmt: skip
    np.testing.assert_allclose(model.mean_position, np.nanmean(model.track, axis=0))


@pytest.fixture(scope='module')
def unchanged(half: Recording, slot_car_laps: tuple[Recording, Recording]) -> Evaluation:
    """Return an evaluation of the spectral filter with nothing else asked for."""
    return evaluate(train_model([half], replace(QUICK, method='spectral')), [slot_car_laps[1]])


@pytest.mark.parametrize(
    'change',
    [
        {'readout': 'ridge'},
        {'observation': 'ridge'},
        pytest.param({'coupling': 'gram-product'}, marks=pytest.mark.long),
        pytest.param({'kernel': 'gaussian'}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_every_spectral_filter_is_far_ahead_of_the_mean(
    change: dict[str, Any],
    half: Recording,
    slot_car_laps: tuple[Recording, Recording],
    unchanged: Evaluation,
) -> None:
    model = train_model([half], replace(QUICK, method='spectral', **change))
    own = evaluate(model, [slot_car_laps[1]])
    assert not np.allclose(own.runs[0].positions, unchanged.runs[0].positions, atol=1e-6)
    for each in own.scores:
        assert each.model.rmse_m is not None
        assert each.mean.rmse_m is not None
        assert each.model.rmse_m < 0.3 * each.mean.rmse_m


@pytest.mark.long
def test_two_recordings_in_either_order(
    half: Recording, slot_car_laps: tuple[Recording, Recording]
) -> None:
    """The same drive in two bags is as good as in one, whatever the order."""
    middle = 0.5 * seconds(half)
    first, second = half.between(None, middle), half.between(middle, None)
    second = replace(second, name='second half')
    for bags in ([first, second], [second, first]):
        model = train_model(bags, QUICK)
        assert model.summary['recordings'] == [bag.name for bag in bags]
        assert model.summary['segments'] == 2
        assert np.isnan(model.track).all(axis=1).sum() == 1
        now = evaluate(model, [slot_car_laps[1]]).scores[0]
        assert now.model.rmse_m is not None
        assert now.model.rmse_m < 0.3


def test_a_drive_that_is_held_out_and_trained_on_is_refused(laps: Recording) -> None:
    """A model to which everything but its own training is novel is useless."""
    part = laps.between(None, 15.0)
    message = refusal([part, replace(part, name='copy')])
    assert message.startswith('most windows occur twice with the same samples')


def test_recordings_without_what_a_training_needs_are_refused(laps: Recording) -> None:
    assert refusal([]) == 'there is no recording to train on'
    message = refusal([laps, with_positions(laps, frame_id='odom')])
    assert 'the positions are in different frames (map, odom)' in message
    origin = GeodeticOrigin(48.0, 11.0, 0.0)
    there = replace(with_positions(laps, origin=origin), name='there')
    message = refusal([laps, there])
    assert message.startswith('there: the positions on ')
    assert 'metres from 48.0000000, 11.0000000 deg' in message
    assert 'metres without a geodetic origin' in message
    assert 'there: ' in refusal(
        [with_positions(laps, origin=replace(origin, altitude_m=1)), there]
    )
    bare = replace(laps, name='bare', positions=None)
    assert refusal([laps, bare]).startswith('bare: training needs positions, but there are none')
    assert 'no IMU sample in the part asked for; check --until' in refusal([laps.between(0, 0)])


def test_a_horizon_beyond_all_positions_is_refused(laps: Recording) -> None:
    message = refusal([laps.between(None, 30.0)], replace(QUICK, horizons=(0, 5000)))
    assert message.startswith('no position is known 5000 ticks after any training tick; shorten')


def test_progress_goes_from_0_to_1_in_words(laps: Recording) -> None:
    reported: list[tuple[str, float]] = []
    train_model([laps.between(None, 30.0)], QUICK, lambda *each: reported.append(each))
    shares = [share for _, share in reported]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert {stage for stage, _ in reported} == {
        'averaging samples over ticks', 'merging the passes into places', 'embedding windows',
        'following each part of the drives on the map of the others',
    }  # fmt: skip


def test_what_lessens_a_model_is_said_aloud(laps: Recording) -> None:
    """Dead channels, few states, and positions that say nothing of where it drove."""
    part = laps.between(None, 60.0)
    assert part.positions is not None
    samples = part.imu.samples.copy()
    samples[:, 2:5] = 0.0
    order = np.random.default_rng(0).permutation(len(part.positions.positions))
    scrambled = with_positions(part, positions=part.positions.positions[order])
    worse = replace(scrambled, imu=replace(part.imu, samples=samples), notes=('a note',))
    model = train_model([worse], replace(QUICK, dimension=10))
    notes = model.summary['notes']
    assert 'a note' in notes
    assert any('linear_acceleration.z, angular_velocity.x, angular' in note for note in notes)
    assert any('share only 11 of the 40 states' in note for note in notes)
    assert any('the filter was lost most of the time' in note for note in notes)
