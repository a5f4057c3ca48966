# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A recording of another kind than the model was trained on is refused in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.fitting import check_fit

if TYPE_CHECKING:
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.recordings.recording import Recording


@pytest.fixture(scope='session')
def laps(slot_car_laps: tuple[Recording, Recording]) -> Recording:
    return slot_car_laps[1]


def thinned(recording: Recording, every: int) -> Recording:
    """Keep one IMU sample of so many."""
    mask = np.arange(len(recording.imu.stamps)) % every == 0
    return replace(recording, imu=recording.imu.select(mask))


def constant(recording: Recording, channel: int, value: float = 0.0) -> Recording:
    samples = recording.imu.samples.copy()
    samples[:, channel] = value
    return replace(recording, imu=replace(recording.imu, samples=samples))


def refusal(model: Model, recording: Recording) -> str:
    with pytest.raises(InputError) as caught:
        check_fit(model, recording)
    assert str(caught.value).startswith(f'{recording.name}: topic /imu ')
    return str(caught.value)


def test_the_recording_it_was_made_for(slot_car_model: Model, laps: Recording) -> None:
    check_fit(slot_car_model, laps)


def test_a_slower_imu_is_refused(slot_car_model: Model, laps: Recording) -> None:
    assert refusal(slot_car_model, thinned(laps, 2)).endswith(
        'runs at 5.0 Hz, but the model needs at least its own rate of 10 Hz; train a model at a '
        'lower --rate'
    )


def test_a_faster_imu_is_averaged(slot_car_model: Model, laps: Recording) -> None:
    quick = replace(
        laps.imu, stamps=laps.imu.stamps[0] + (laps.imu.stamps - laps.imu.stamps[0]) // 9
    )
    check_fit(slot_car_model, replace(laps, imu=quick))


@pytest.mark.parametrize('value', [0.0, 9.81])
def test_a_dead_channel_that_the_model_uses_is_refused_and_named(
    value: float, slot_car_model: Model, laps: Recording
) -> None:
    message = refusal(slot_car_model, constant(laps, 5, value))
    assert 'has no signal on angular_velocity.z, which the model uses' in message


def test_a_dead_channel_that_the_model_does_not_use(
    slot_car_model: Model, laps: Recording
) -> None:
    channels = slot_car_model.channels
    planar = replace(channels, live=channels.live & (np.arange(6) != 3))
    check_fit(replace(slot_car_model, channels=planar), constant(laps, 3))


def test_a_few_constant_samples_prove_nothing(slot_car_model: Model, laps: Recording) -> None:
    check_fit(slot_car_model, constant(laps.between(0, 1), 5))


def test_a_model_of_a_camera_is_refused(slot_car_model: Model, laps: Recording) -> None:
    channels = replace(slot_car_model.channels, names=tuple(f'pixel.{n}' for n in range(6)))
    camera = replace(slot_car_model, channels=channels)
    assert 'the model takes pixel.0 and its like' in refusal(camera, laps)


def test_an_empty_part_is_refused(slot_car_model: Model, laps: Recording) -> None:
    message = refusal(slot_car_model, laps.between(1000, None))
    assert message.endswith('has no IMU sample in the part asked for; check --from and --until')


def test_a_channel_of_nan_that_the_model_uses_is_refused_and_named(
    slot_car_model: Model, laps: Recording
) -> None:
    assert 'angular_velocity.z' in refusal(slot_car_model, constant(laps, 5, np.nan))


def test_positions_in_another_frame_are_refused(slot_car_model: Model, laps: Recording) -> None:
    assert laps.positions is not None
    moved = replace(laps, positions=replace(laps.positions, frame_id='odom'))
    with pytest.raises(InputError, match="in the frame 'odom', but the model gives them in 'map'"):
        check_fit(slot_car_model, moved)
    unnamed = replace(laps, positions=replace(laps.positions, frame_id=''))
    check_fit(slot_car_model, unnamed)
