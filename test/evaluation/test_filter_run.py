# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run keeps every estimate; a recording of another kind than in training is refused in words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import (
    check_fit,
    estimates_along,
    FilterRun,
    run_filter,
    UNUSABLE,
)
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.route_tracker import RouteTracker

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.model.route_model import RouteModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats


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


def test_the_recording_it_was_made_for(slot_car_model: RouteModel, laps: Recording) -> None:
    check_fit(slot_car_model, laps)


def test_a_slower_imu_is_refused(slot_car_model: RouteModel, laps: Recording) -> None:
    assert refusal(slot_car_model, thinned(laps, 2)).endswith(
        'runs at 5.0 Hz, but the model needs at least its own rate of 10 Hz; train a model at a '
        'lower --rate'
    )


def test_a_faster_imu_is_averaged(slot_car_model: RouteModel, laps: Recording) -> None:
    quick = replace(
        laps.imu, stamps=laps.imu.stamps[0] + (laps.imu.stamps - laps.imu.stamps[0]) // 9
    )
    check_fit(slot_car_model, replace(laps, imu=quick))


@pytest.mark.parametrize('value', [0.0, 9.81])
def test_a_dead_channel_that_the_model_uses_is_refused_and_named(
    value: float, slot_car_model: RouteModel, laps: Recording
) -> None:
    message = refusal(slot_car_model, constant(laps, 5, value))
    assert 'has no signal on angular_velocity.z, which the model uses' in message


def test_a_dead_channel_that_the_model_does_not_use(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    channels = slot_car_model.channels
    planar = replace(channels, live=channels.live & (np.arange(6) != 3))
    check_fit(replace(slot_car_model, channels=planar), constant(laps, 3))


def test_a_few_constant_samples_prove_nothing(slot_car_model: RouteModel, laps: Recording) -> None:
    check_fit(slot_car_model, constant(laps.between(0, 1), 5))


def test_a_model_of_a_camera_is_refused(slot_car_model: RouteModel, laps: Recording) -> None:
    channels = replace(slot_car_model.channels, names=tuple(f'pixel.{n}' for n in range(6)))
    camera = replace(slot_car_model, channels=channels)
    assert 'the model takes pixel.0 and its like' in refusal(camera, laps)


def test_an_empty_part_is_refused(slot_car_model: RouteModel, laps: Recording) -> None:
    message = refusal(slot_car_model, laps.between(1000, None))
    assert message.endswith('has no IMU sample in the part asked for; check --from and --until')


def test_a_channel_of_nan_that_the_model_uses_is_refused_and_named(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    assert 'angular_velocity.z' in refusal(slot_car_model, constant(laps, 5, np.nan))


def test_positions_in_another_frame_are_refused(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    assert laps.positions is not None
    moved = replace(laps, positions=replace(laps.positions, frame_id='odom'))
    with pytest.raises(InputError, match="in the frame 'odom', but the model gives them in 'map'"):
        check_fit(slot_car_model, moved)
    unnamed = replace(laps, positions=replace(laps.positions, frame_id=''))
    check_fit(slot_car_model, unnamed)


def quiet(what: str, share: float) -> None:
    assert what
    assert 0.0 <= share < 1.0


def with_a_fault(recording: Recording) -> Recording:
    """Turn the IMU over for 6 of 16 s, and leave out 4 of the last."""
    part = recording.between(0, 16)
    elapsed = (part.imu.stamps - part.imu.stamps[0]) * 1e-9
    turned = (elapsed > 5.0) & (elapsed < 11.0)
    samples = np.where(
        turned[:, None], part.imu.samples * [1, -1, -1, 1, -1, -1], part.imu.samples
    )
    imu = replace(part.imu, samples=samples)
    return replace(part, imu=imu.select((elapsed < 11.5) | (elapsed > 12.5)))


def estimates_of(model: Model, recording: Recording) -> list[Estimate]:
    return [each for each, _ in estimates_along(Filter(model), recording, quiet)]


def test_a_run_keeps_every_estimate_after_the_first_window(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    faulty = with_a_fault(laps)
    run, found = run_filter(slot_car_model, faulty, quiet), estimates_of(slot_car_model, faulty)
    kept = found[slot_car_model.window - 1 :]
    assert run.stamps.tolist() == [each.stamp_ns for each in kept]
    assert run.told.tolist() == [each.valid for each in kept]
    assert 10 < np.count_nonzero(~run.told) < len(kept) - 10
    for index, each in enumerate(kept):
        assert run.positions[index].tobytes() == each.positions.tobytes()
        assert run.covariances[index].tobytes() == each.covariances.tobytes()
    counted: dict[str, int] = {}
    for each in kept:
        if not each.valid:
            counted[each.cause] = counted.get(each.cause, 0) + 1
            last = each
    assert run.withheld == counted
    assert set(run.reasons) == set(counted)
    assert run.reasons[last.cause] == last.why
    assert len(run.seconds_per_tick) == len(found)
    assert UNUSABLE not in run.counters


def test_only_the_first_filling_of_the_window_is_left_out(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    """After a gap longer than a window the filter starts anew, and that counts."""
    elapsed = (laps.imu.stamps - laps.imu.stamps[0]) * 1e-9
    parted = replace(laps, imu=laps.imu.select((elapsed < 5.0) | (elapsed > 9.0)))
    run = run_filter(slot_car_model, parted, quiet)
    assert run.counters['resets'] == 1
    assert run.withheld['filling'] == slot_car_model.window - 1
    assert len(run.stamps) == len(run.seconds_per_tick) - slot_car_model.window + 1


def test_for_a_position_that_is_none_the_mean_stands(
    slot_car_model: RouteModel, laps: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = laps.between(0, 6)
    sane = run_filter(slot_car_model, part, quiet)
    # The limits of the ellipse are read before the first tick.
    read, ticks = RouteTracker.read, iter(range(-1, 1000))

    def spoilt(tracker: RouteTracker) -> tuple[Floats, Floats]:
        means, covariances = read(tracker)
        tick = next(ticks)
        if tick == 30:
            means[0] = np.nan
        if tick in {31, 32}:
            means[1, 1] = 1e200
        return means, covariances

    monkeypatch.setattr(Filter, 'warm_up', lambda _: None)
    monkeypatch.setattr(RouteTracker, 'read', spoilt)
    run = run_filter(slot_car_model, part, quiet)
    assert run.counters[UNUSABLE] == 3
    row = 30 - slot_car_model.window + 1
    replaced = np.zeros(run.positions.shape[:2], dtype=bool)
    replaced[row, 0] = replaced[row + 1 : row + 3, 1] = True
    assert (run.positions[replaced] == slot_car_model.mean_position).all()
    assert np.isnan(run.covariances[replaced]).all()
    np.testing.assert_array_equal(run.positions[~replaced], sane.positions[~replaced])
    np.testing.assert_array_equal(run.covariances[~replaced], sane.covariances[~replaced])
    assert np.isfinite(run.positions).all()


def test_progress_is_reported(slot_car_model: RouteModel, laps: Recording) -> None:
    reported: list[tuple[str, float]] = []
    run_filter(slot_car_model, laps, lambda *each: reported.append(each))
    assert reported == [(f'filtering {laps.name}', 0.0)]


def test_a_run_without_a_window_keeps_its_shapes(
    slot_car_model: RouteModel, laps: Recording
) -> None:
    run: FilterRun = run_filter(slot_car_model, laps.between(0, 1), quiet)
    shapes = [run.stamps.shape, run.told.shape, run.positions.shape, run.covariances.shape]
    assert shapes == [(0,), (0,), (0, 3, 2), (0, 3, 2, 2)]
    assert run.told.dtype == bool
    assert not run.withheld
    assert len(run.seconds_per_tick) == 9
