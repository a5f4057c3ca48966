# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings to training segments: rate, window, gaps, refusals, and stops left out."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from other_recordings import with_imu, with_positions
import pytest
from rounds import felt, on_circle, recording_of

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.ticks.segments import Channels, Segment
from two_manifold_ros.training import dataset as module
from two_manifold_ros.training.dataset import build_dataset, driving_dataset, usual_step
from two_manifold_ros.training.settings import TrainingSettings

USUAL = TrainingSettings()


def drive(seconds: float = 10.0, rate_hz: float = 100.0, name: str = 'drive') -> Recording:
    count = round(seconds * rate_hz) + 1
    positions = np.stack([np.arange(count), -np.arange(count)], axis=1) / rate_hz
    samples = np.random.default_rng(0).normal(size=(count, 6))
    return recording_of(samples, positions, rate_hz, name)


def refusal(recordings: list[Recording], settings: TrainingSettings = USUAL) -> str:
    with pytest.raises(InputError) as caught:
        build_dataset(recordings, settings)
    assert '\n' not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ('native_hz', 'rate_hz', 'window'),
    [(100.0, 20.0, 60), (31.0, 20.0, 60), (29.0, 29.0, 87), (9.6, 10.0, 30), (2.5, 2.0, 20)],
)
def test_the_rate_is_twenty_or_the_imus_own(native_hz, rate_hz, window):
    dataset = build_dataset([drive(30.0, native_hz)], USUAL)
    assert dataset.rate_hz == rate_hz
    assert dataset.period_ns == round(1e9 / rate_hz)
    assert dataset.window == window


def test_what_is_too_slow_too_short_or_of_another_time_is_refused():
    """A rate above that of the IMU is not if it may be jitter."""
    assert refusal([drive(rate_hz=25.0)], TrainingSettings(rate_hz=50.0)) == (
        'the IMU of drive runs at 25.0 Hz, slower than the 50 Hz asked for; choose a lower --rate'
    )
    message = refusal([drive(rate_hz=20.0)], TrainingSettings(rate_hz=26.0))
    assert 'slower than the 26 Hz asked for' in message
    assert build_dataset([drive(30.0, 20.5)], TrainingSettings(rate_hz=25.0)).rate_hz == 25.0
    for seconds in (1.0, 6.0):
        assert refusal([drive().between(None, seconds + 0.005)]) == (
            f'drive: the longest stretch without a gap is {seconds:.1f} s, but training needs '
            'more than two windows of 60 ticks (6.0 s); record longer or shorten --window'
        )
    assert len(build_dataset([drive(6.05)], USUAL).segments[0]) == 121
    message = refusal([drive().between(None, 0.005)])
    assert 'drive: topic /imu has no two IMU samples with increasing' in message
    whole = drive()
    for shift_s in (-1000, 1000):
        moved = with_positions(whole, stamps=whole.positions.stamps + shift_s * 10**9)
        assert refusal([moved]) == (
            'drive: no position falls into the time of the IMU; check the stamps of both'
        )


def noisy_drive(rate_hz: float, noise_m: float) -> Recording:
    """Return a drive on a circle of 10 m at 5 m/s with positions at a rate, with noise."""
    stamps, whole = np.arange(0.0, 300.0, 1.0 / rate_hz), drive(300.0)
    true = on_circle(0.5 * stamps, 10.0)
    noise = noise_m * np.random.default_rng(4).normal(size=true.shape)
    stamps_ns = whole.imu.stamps[0] + np.round(1e9 * stamps).astype(np.int64)
    return with_positions(whole, stamps=stamps_ns, positions=true + noise)


@pytest.mark.parametrize('rate_hz', [2.0, 10.0, 25.0, 100.0])
@pytest.mark.parametrize('noise_m', [0.05, 0.5])
def test_noise_of_positions_in_velocities(rate_hz, noise_m):
    recording, without = noisy_drive(rate_hz, noise_m), noisy_drive(rate_hz, 0.0)
    dataset = build_dataset([recording], USUAL)
    exact = build_dataset([without], USUAL)
    errors = np.concatenate(dataset.tracks) - np.concatenate(exact.tracks)
    noise = (errors[2:] - errors[:-2]) / (2.0 * dataset.period_s)
    wanted = np.sqrt(np.nanmean(np.square(noise)))
    assert np.sqrt(dataset.velocity_noise) == pytest.approx(wanted, rel=0.15)
    # A smooth way is no noise, nor is a jump now and then.
    assert exact.velocity_noise < 0.05 * (0.1 / noise_m) ** 2 * dataset.velocity_noise
    jumped = recording.positions.positions.copy()
    jumped[:: len(jumped) // 10] += 3.0
    again = build_dataset([with_positions(recording, positions=jumped)], USUAL)
    assert np.sqrt(again.velocity_noise) == pytest.approx(wanted, rel=0.2)


def test_an_axis_that_one_recording_did_not_measure_is_dead_in_all():
    whole = drive()
    samples = whole.imu.samples.copy()
    samples[:, 3] = np.nan
    dataset = build_dataset([whole, with_imu(whole, samples=samples)], USUAL)
    assert not dataset.channels.live[3]
    assert all((segment.values[:, 3] == 0.0).all() for segment in dataset.segments)


def test_the_step_between_positions_is_that_of_most_of_the_way():
    """Of ten positions 1 m apart and then three 8 m apart: 9 m against 24 m."""
    metres = np.concatenate([np.arange(10.0), [17.0, 25.0, 33.0]])
    whole = drive(20.0)
    stamps = whole.imu.first_stamp + 10**9 * np.arange(1, 14)
    places = np.stack([metres, np.zeros(13)], axis=1)
    rare = with_positions(whole, stamps=stamps, positions=places)
    assert usual_step([rare]) == pytest.approx(8.0 / metres.std())
    often = with_positions(rare, stamps=stamps[:11], positions=places[:11])
    assert usual_step([often]) == pytest.approx(1.0 / metres[:11].std())
    assert usual_step([rare, replace(whole, positions=None)]) == usual_step([rare])
    assert usual_step([replace(whole, positions=None)]) == 0.0
    standing = with_positions(rare, stamps=stamps, positions=np.ones((13, 2)))
    assert usual_step([standing]) == 0.0


TICK_HZ = 10.0
LAP_TICKS = 80
RUN_IN = 10
"""Ticks of a stop until a second of them was seen."""

CLOCKED = TrainingSettings(method='spectral', rate_hz=TICK_HZ, window=20, horizons=(0, 5))


def stop_rounds(laps: int, stops: Callable[[int], int]) -> tuple[Recording, np.ndarray]:
    """Drive rounds, and stop once in each; return also which ticks are at rest."""
    rng = np.random.default_rng(0)
    angle = np.arange(laps * LAP_TICKS) * 2.0 * np.pi / LAP_TICKS
    lasting = np.ones(len(angle), dtype=np.int64)
    for lap in range(laps):
        lasting[lap * LAP_TICKS + 30] += stops(lap)
    angle = np.repeat(angle, lasting)
    rest = np.diff(angle, prepend=-1.0) == 0.0
    samples = np.where(rest[:, None], 0.0, felt(angle))
    samples += np.where(rest, 1e-3, 0.2)[:, None] * rng.normal(size=samples.shape)
    # A tick is what was held since the sample before it, so the first sample ends none.
    return recording_of(samples, on_circle(angle, 20.0), TICK_HZ), rest[:-1]


def test_stops_are_left_out_but_for_their_first_second():
    recording, rest = stop_rounds(12, lambda lap: 40 + 7 * (lap % 5))
    whole = build_dataset([recording], CLOCKED).segments[0]
    dataset = driving_dataset([recording], CLOCKED)
    assert dataset.rest.ticks == RUN_IN
    (driven,) = dataset.segments
    kept = np.isin(whole.stamps, driven.stamps)
    assert kept[~rest].all()
    begins = np.flatnonzero(np.diff(rest.astype(int)) == 1) + 1
    assert len(begins) == 12
    for begin in begins:
        end = begin + int(np.argmin(rest[begin:]))
        assert kept[begin : begin + RUN_IN - 1].all()
        assert not kept[begin + RUN_IN - 1 : end].any()
    for name in ('values', 'positions'):
        np.testing.assert_array_equal(getattr(driven, name), getattr(whole, name)[kept])
    # A vehicle that hardly drives between stops keeps them.
    recording, _ = stop_rounds(3, lambda _: 400)
    assert driving_dataset([recording], replace(CLOCKED, window=150)).rest is None


SPREADS = st.lists(st.floats(1e-3, 1e3), max_size=12).map(np.array)


@given(SPREADS, SPREADS)
def test_no_other_limit_takes_fewer_ticks_for_what_they_are_not(rest, driving):
    limit = module.rest_limit(np.sort(rest), np.sort(driving))
    if not len(driving):
        assert limit == 0.0
        return
    if not len(rest):
        assert limit == 0.5 * driving.min()
        return

    def wrong(level: float) -> int:
        return int((rest >= level).sum() + (driving < level).sum())

    every = np.concatenate([[0.0], rest, driving, [np.inf]])
    least = min(wrong(np.nextafter(level, np.inf)) for level in every[:-1])
    least = min(least, wrong(0.0))
    # Where spreads of both are the same number, or next to it, a ratio half way may be either.
    if len(np.unique(np.concatenate([rest, driving]))) == len(rest) + len(driving):
        assert wrong(limit) <= least + (limit == rest.max())


def test_channels_count_by_how_much_of_them_lasts():
    random = np.random.default_rng(0)
    lasting = np.repeat(random.standard_normal(2500), 8)[:20_000]
    noise = random.standard_normal(20_000)
    values = np.stack([lasting, 3.0 * (lasting + noise), noise, 0.0 * noise], axis=1)
    live = np.array([True, True, True, False])
    scale = np.where(live, values.std(axis=0), 1.0)
    names = ('a', 'b', 'c', 'd')
    channels = Channels(values.mean(axis=0), scale, np.ones(4), live, names)
    segment = Segment(np.arange(20_000), values, np.zeros((20_000, 2)))
    found = module.weighted_by_persistence(channels, [segment])
    assert found.live_names == ('a', 'b')
    weights = found.standardise(values).std(axis=0)
    # Seven of eight steps keep the one, and half of the variance of the other is noise.
    assert weights == pytest.approx([7 / 8, 7 / 16], rel=0.05)
    alone = replace(channels, live=np.array([False, False, True, False]))
    assert module.weighted_by_persistence(alone, [segment]) is alone


def test_short_stretches_between_gaps_are_left_out_and_recordings_stay_apart():
    whole = drive(20.0)
    late = whole.imu.stamps + np.where(np.arange(2001) < 500, 0, 10**9)
    dataset = build_dataset([with_imu(whole, stamps=late)], USUAL)
    assert [len(segment) for segment in dataset.segments] == [300]
    assert dataset.counts['gaps'] == 1
    long, short = drive(12.0, name='long'), drive(8.0, name='short')
    dataset = build_dataset([long, short], USUAL)
    assert [len(segment) for segment in dataset.segments] == [240, 160]
    assert dataset.counts['received'] == dataset.counts['used'] == 2002
    other = build_dataset([short, long], USUAL)
    assert [len(segment) for segment in other.segments] == [160, 240]
    message = refusal([drive(3.0, name='a'), drive(4.0, name='b')])
    assert message.startswith('a, b: the longest stretch without a gap is 4.0 s')
