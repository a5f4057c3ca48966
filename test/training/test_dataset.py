# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rate, window and gap are settled from the data, and what cannot be trained on is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.training.dataset import build_dataset, Dataset
from two_manifold_ros.training.settings import TrainingSettings

START_NS = 1_700_000_000_000_000_000
USUAL = TrainingSettings()


def drive(seconds: float = 10.0, rate_hz: float = 100.0, name: str = 'drive') -> Recording:
    """Return noise with positions."""
    count = round(seconds * rate_hz) + 1
    stamps = START_NS + np.round(np.arange(count) * 1e9 / rate_hz).astype(np.int64)
    samples = np.random.default_rng(0).normal(size=(count, 6))
    positions = np.stack([np.arange(count), -np.arange(count)], axis=1) / rate_hz
    return Recording(
        name,
        ImuStream('/imu', 'imu_link', stamps, samples, stamps),
        PositionStream('/pose', 'map', '', stamps, positions),
    )


def refusal(recordings: list[Recording], settings: TrainingSettings = USUAL) -> str:
    """Return the sentence with which recordings are refused."""
    with pytest.raises(InputError) as caught:
        build_dataset(recordings, settings)
    assert '\n' not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ('native_hz', 'rate_hz', 'window'),
    [(100.0, 20.0, 60), (31.0, 20.0, 60), (29.0, 29.0, 87), (9.6, 10.0, 30), (2.5, 2.0, 20)],
)
def test_the_rate_is_twenty_or_the_imus_own(native_hz: float, rate_hz: float, window: int) -> None:
    dataset = build_dataset([drive(30.0, native_hz)], USUAL)
    assert dataset.rate_hz == rate_hz
    assert dataset.period_ns == round(1e9 / rate_hz)
    assert dataset.window == window


def test_what_is_asked_for_is_taken() -> None:
    dataset = build_dataset([drive()], TrainingSettings(rate_hz=50.0, window=33))
    assert (dataset.rate_hz, dataset.period_ns, dataset.window) == (50.0, 20_000_000, 33)
    assert [len(segment) for segment in dataset.segments] == [500]


@pytest.mark.parametrize(
    ('native_hz', 'rate_hz', 'gap_ns'),
    [(100.0, 20.0, 200_000_000), (10.0, 10.0, 300_000_000), (100.0, 2.0, 1_000_000_000)],
)
def test_what_is_a_gap(native_hz: float, rate_hz: float, gap_ns: int) -> None:
    settings = TrainingSettings(rate_hz=rate_hz, window=3)
    assert build_dataset([drive(10.0, native_hz)], settings).max_gap_ns == gap_ns


def test_a_rate_above_that_of_the_imu_is_refused() -> None:
    message = refusal([drive(rate_hz=25.0)], TrainingSettings(rate_hz=50.0))
    assert message == (
        'the IMU of drive runs at 25.0 Hz, slower than the 50 Hz asked for; choose a lower --rate'
    )


def test_a_rate_too_far_above_to_be_jitter_is_refused() -> None:
    assert 'slower than the 26 Hz asked for' in refusal(
        [drive(rate_hz=20.0)], TrainingSettings(rate_hz=26.0)
    )


def test_a_rate_a_little_above_that_of_the_imu_is_jitter() -> None:
    assert build_dataset([drive(30.0, 20.5)], TrainingSettings(rate_hz=25.0)).rate_hz == 25.0


@pytest.mark.parametrize('seconds', [0.0, 1.0, 6.0])
def test_no_more_than_two_windows_are_refused(seconds: float) -> None:
    recording = drive(10.0).between(None, seconds + 0.005)
    if seconds == 0.0:
        assert 'drive: topic /imu has no two IMU samples with increasing' in refusal([recording])
        return
    assert refusal([recording]) == (
        f'drive: the longest stretch without a gap is {seconds:.1f} s, but training needs more '
        'than two windows of 60 ticks (6.0 s); record longer or shorten --window'
    )


def test_a_tick_more_than_two_windows_is_kept() -> None:
    assert len(build_dataset([drive(6.05)], USUAL).segments[0]) == 121


def test_short_stretches_between_gaps_are_left_out() -> None:
    whole = drive(20.0)
    late = whole.imu.stamps + np.where(np.arange(2001) < 500, 0, 10**9)
    dataset = build_dataset([replace(whole, imu=replace(whole.imu, stamps=late))], USUAL)
    assert [len(segment) for segment in dataset.segments] == [300]
    assert dataset.counts['gaps'] == 1


@pytest.mark.parametrize('shift_s', [-1000, 1000])
def test_positions_of_another_time_are_refused(shift_s: int) -> None:
    whole = drive()
    assert whole.positions is not None
    moved = replace(whole.positions, stamps=whole.positions.stamps + shift_s * 10**9)
    assert refusal([replace(whole, positions=moved)]) == (
        'drive: no position falls into the time of the IMU; check the stamps of both'
    )


def test_stamps_that_stand_still_are_refused() -> None:
    whole = drive()
    stuck = replace(whole.imu, stamps=np.full(1001, START_NS))
    message = refusal([replace(whole, imu=stuck)])
    assert message.startswith('drive: topic /imu has no two IMU samples with increasing stamps')


def test_unusable_samples_are_counted_in_the_refusal() -> None:
    whole = drive()
    samples = np.full((1001, 6), np.nan)
    message = refusal([replace(whole, imu=replace(whole.imu, samples=samples))])
    assert '0.0 s (1001 of 1001 samples cannot be used)' in message


def test_absurd_values_are_set_aside_and_counted() -> None:
    whole = drive()
    clean = build_dataset([whole], USUAL)
    assert whole.positions is not None
    samples, places = whole.imu.samples.copy(), whole.positions.positions.copy()
    samples[500:510, 2] = 1e300
    places[50] = -1e300
    spoiled = replace(
        whole,
        imu=replace(whole.imu, samples=samples),
        positions=replace(whole.positions, positions=places),
    )
    dataset = build_dataset([spoiled], USUAL)
    assert dataset.counts['out_of_range'] == 10
    np.testing.assert_allclose(dataset.channels.limit, clean.channels.limit, rtol=0.1)
    assert np.nanmax(np.abs(np.concatenate([s.positions for s in dataset.segments]))) < 1e3


def test_several_recordings_stay_apart_and_in_order() -> None:
    long, short = drive(12.0, name='long'), drive(8.0, name='short')
    dataset = build_dataset([long, short], USUAL)
    assert [len(segment) for segment in dataset.segments] == [240, 160]
    assert dataset.counts['received'] == dataset.counts['used'] == 2002
    other = build_dataset([short, long], USUAL)
    assert [len(segment) for segment in other.segments] == [160, 240]


def test_the_refusal_names_every_recording() -> None:
    message = refusal([drive(3.0, name='a'), drive(4.0, name='b')])
    assert message.startswith('a, b: the longest stretch without a gap is 4.0 s')


def expected_limit(dataset: Dataset, largest: float) -> np.ndarray:
    return 5.0 * (largest + np.abs(dataset.channels.mean))


def test_large_samples_set_the_limit_even_where_ticks_average_them_away() -> None:
    whole = drive()
    samples = whole.imu.samples.copy()
    samples[300:310:3] = 100.0
    samples[400] = np.nan
    dataset = build_dataset([replace(whole, imu=replace(whole.imu, samples=samples))], USUAL)
    np.testing.assert_allclose(dataset.channels.limit, expected_limit(dataset, 100.0))
    assert dataset.counts['non_finite'] == 1


def test_one_absurd_sample_neither_enters_nor_widens_the_range() -> None:
    whole = drive()
    samples = whole.imu.samples.copy()
    samples[300, 1] = 1e308
    spoiled = build_dataset([replace(whole, imu=replace(whole.imu, samples=samples))], USUAL)
    clean = build_dataset([whole], USUAL)
    assert spoiled.counts['out_of_range'] == 1
    np.testing.assert_allclose(spoiled.channels.limit, clean.channels.limit, rtol=0.1)
    np.testing.assert_allclose(spoiled.channels.scale, clean.channels.scale, rtol=0.01)


def test_an_axis_that_one_recording_did_not_measure_is_dead_in_all() -> None:
    whole = drive()
    samples = whole.imu.samples.copy()
    samples[:, 3] = np.nan
    without = replace(whole, imu=replace(whole.imu, samples=samples))
    dataset = build_dataset([whole, without], USUAL)
    assert not dataset.channels.live[3]
    assert all((segment.values[:, 3] == 0.0).all() for segment in dataset.segments)
