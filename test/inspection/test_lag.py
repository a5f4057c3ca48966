# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The lag of the positions where it is known, and its correction."""

from dataclasses import replace
from functools import cache

from ellipse import drive
import numpy as np
from other_recordings import with_imu, with_positions
import pytest
from scipy.ndimage import gaussian_filter1d

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.lag import (
    agreed_lags,
    estimate_lag,
    find_lag,
    FURTHEST_S,
    Lag,
    put_in_step,
)
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate

STEP_S = 0.05
WINDOW = 12


def signals(late_s: float, noise: float = 0.02) -> tuple[np.ndarray, ...]:
    """Return two early signals (G, 2), and (G,) a mixture of them that comes later."""
    random = np.random.default_rng(1)
    fine = gaussian_filter1d(random.normal(size=(70_000, 2)), 300, axis=0)
    fine /= fine.std(axis=0)
    rows = np.arange(5_000, 65_000, round(STEP_S * 1000))
    late = fine[rows - round(late_s * 1000)] @ [2.0, -1.0]
    return fine[rows], late + noise * random.normal(size=len(late))


@pytest.mark.parametrize('late_s', [0.013, -0.4, 1.237])
def test_the_lag_is_found_between_the_points_of_the_grid(late_s):
    witness = find_lag('both', *signals(late_s), STEP_S, WINDOW)
    assert (witness.lag_s, witness.error_s) == pytest.approx((late_s, 0.0), abs=0.003)
    assert witness.usable
    # The share is that of a regression.
    early, late = signals(0.0, noise=1.0)
    design = np.column_stack([np.ones(len(late)), early])
    rest = late - design @ np.linalg.lstsq(design, late, rcond=None)[0]
    found = find_lag('both', early, late, STEP_S, WINDOW)
    assert found.explained == pytest.approx(1 - rest.var() / late.var(), abs=0.01)


def test_the_error_is_that_of_many_repetitions():
    early, late = signals(0.2, noise=0.0)
    random = np.random.default_rng(5)
    found = [
        find_lag('a', early, late + 1.5 * random.normal(size=len(late)), STEP_S, WINDOW)
        for _ in range(40)
    ]
    spread = np.std([witness.lag_s for witness in found])
    assert np.median([witness.error_s for witness in found]) == pytest.approx(spread, rel=0.4)


def test_noise_a_constant_a_wave_and_nothing_show_no_lag():
    early, late = signals(0.0)
    wave = np.sin(2 * np.pi * np.arange(0, 60, STEP_S) / 1.5)
    noise = np.random.default_rng(9).normal(size=len(late))
    for given, wanted in (
        (early, noise),
        (wave[:, None], wave),
        signals(FURTHEST_S + 0.04),
        signals(FURTHEST_S + 2.0),
        (early, np.ones_like(late)),
        (np.ones_like(early), late),
        (np.full_like(early, np.nan), late),
        (early[:180], late[:180]),
    ):
        assert not find_lag('a', given, wanted, STEP_S, WINDOW).usable


@cache
def slot_car(seed: int, rate_hz: float, laps: int = 6) -> Recording:
    return run_to_recording(simulate(SlotCarSettings(seed=seed, rate_hz=rate_hz), laps=laps))


@pytest.mark.parametrize(
    ('rate_hz', 'late_s'),
    [(5.0, 0.3), (10.0, -0.12), (50.0, 0.05), (50.0, -0.3), (5.0, 0), (20.0, 0)],
)
def test_a_lag_is_recovered(rate_hz, late_s):
    lag = estimate_lag(slot_car(5, rate_hz).with_positions_earlier(-late_s))
    assert lag.seconds == pytest.approx(late_s, abs=max(0.01, 1 / rate_hz / 3))
    assert abs(lag.seconds - late_s) < lag.uncertainty_s < 0.05
    # None is no alarm.
    assert lag.exceeds(0.0) == (late_s != 0.0)
    names = {witness.name for witness in lag.witnesses}
    assert names == {'angular_velocity.z', 'linear_acceleration'}


@pytest.mark.parametrize(
    'factors',
    [
        [-1 / 9.8] * 3 + [-57.3] * 3,
        [0, 0, 1, 1, 1, 1],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, np.nan, 1, 1],
    ],
)
def test_neither_sign_nor_unit_nor_dead_axes_matter(factors):
    recording = slot_car(5, 20.0).with_positions_earlier(-0.15)
    lag = estimate_lag(with_imu(recording, samples=recording.imu.samples * np.array(factors)))
    assert lag.seconds == pytest.approx(0.15, abs=0.015)


def test_jumps_holes_and_noise_of_positions():
    """Those of much noise are smoothed more."""
    recording, random = slot_car(5, 20.0).with_positions_earlier(-0.15), np.random.default_rng(0)
    places = recording.positions.positions
    index = np.arange(len(places))
    jumped = places + np.where((index > 400) & (index < 500), 2.0, 0.0)[:, None]
    keep = (random.random(len(places)) < 0.8) & ((index < 200) | (index > 260))
    odd = with_positions(recording, positions=jumped).positions.select(keep)
    found = estimate_lag(replace(recording, positions=odd))
    assert found.seconds == pytest.approx(0.15, abs=0.015)
    noise = np.random.default_rng(0).normal(scale=0.3, size=places.shape)
    lag = estimate_lag(with_positions(recording, positions=places + noise))
    assert lag.seconds == pytest.approx(0.15, abs=lag.uncertainty_s)
    assert lag.uncertainty_s < 0.05


def test_where_the_sensors_disagree_the_truth_is_between():
    recording = slot_car(5, 20.0).with_positions_earlier(-0.15)
    samples = recording.imu.samples.copy()
    samples[2:, :3] = recording.imu.samples[:-2, :3]
    lag = estimate_lag(with_imu(recording, samples=samples))
    assert [witness.lag_s for witness in lag.witnesses] == pytest.approx([0.15, 0.05], abs=0.015)
    assert (lag.seconds, lag.uncertainty_s) == pytest.approx((0.1, 0.05), abs=0.01)


@pytest.mark.parametrize(('lap_s', 'late_s'), [(2.0, -0.7), (3.5, 0.1), (4.0, 0.25), (2.0, 0.8)])
def test_on_a_short_oval_a_lag_is_right_or_not_reported(lap_s, late_s):
    """Half a lap later everything looks the same again."""
    lag = estimate_lag(drive(lap_s=lap_s, late_s=late_s))
    assert lag.seconds is None or lag.seconds == pytest.approx(late_s, abs=lag.uncertainty_s)


def test_where_nothing_turns_or_too_little_is_known_no_lag_is_invented():
    recording = slot_car(5, 20.0)
    noise = np.random.default_rng(3).normal(size=recording.imu.samples.shape)
    count = len(recording.positions.stamps)
    straight = np.stack([np.arange(count) * 0.05, np.zeros(count)], axis=1)
    straight += np.random.default_rng(0).normal(scale=0.005, size=straight.shape)
    for each in (
        with_imu(recording, samples=noise),
        with_imu(recording, samples=0.0 * noise),
        with_positions(recording, positions=straight),
        replace(drive(), positions=None),
        drive(seconds=9.0),
    ):
        lag = estimate_lag(each)
        assert lag.seconds is None
        assert not lag.exceeds(0.0)
        assert put_in_step([each], 'auto') == [each]
    # Rare and uneven positions, and what may be no lag, are no alarm.
    rare = recording.positions.select(np.random.default_rng(0).random(count) < 0.05)
    assert not estimate_lag(replace(recording, positions=rare)).exceeds(0.0)
    (same,) = put_in_step([small := drive(late_s=0.005)], 'auto')
    assert same is small


OFF_S = [2.5, 18.0, -37.0, 3600.0, -7200.0]


@pytest.mark.parametrize('late_s', OFF_S)
@pytest.mark.parametrize('lap_s', [None, 10.0, 80.0])
def test_a_clock_that_is_off_by_any_time_is_found(late_s, lap_s):
    """Though laps, and the halves of an ellipse, are alike or slow: both streams end at once."""
    recording = drive(lap_s=lap_s, seconds=12 * lap_s) if lap_s else slot_car(5, 20.0)
    recording = recording.with_positions_earlier(-late_s)
    found = estimate_lag(recording)
    assert found.seconds == pytest.approx(late_s, abs=0.1)
    (moved,) = put_in_step([recording], 'auto')
    earlier_s = moved.positions.earlier_s - recording.positions.earlier_s
    assert earlier_s == pytest.approx(found.seconds, abs=1e-9)


@pytest.mark.parametrize('late_s', OFF_S[1:])
def test_of_laps_that_are_alike_none_is_chosen(late_s):
    """Positions that come late and end early say nothing of the clock, and no lag is small."""
    recording = drive(lap_s=22.0, seconds=220.0, late_s=late_s)
    part = np.abs(np.linspace(-1.0, 1.0, len(recording.positions.stamps)) + 0.2) < 0.5
    recording = replace(recording, positions=recording.positions.select(part))
    with pytest.raises(InputError, match=r'several offsets fit alike: .* --position-lag'):
        put_in_step([recording], 'auto')
    assert put_in_step([recording], '0')[0].positions.earlier_s == recording.positions.earlier_s


@pytest.mark.parametrize(('seed', 'found'), [(2, [18.0]), (10, [18.0]), (5, [18.0, -19.2])])
def test_a_clock_is_believed_if_any_other_leaves_twice_as_much_unexplained(seed, found):
    """Of a lap and a half; the next lag leaves 2.4, 2.3 and, of seed 5, 1.5 times as much."""
    recording = slot_car(seed, 20.0, 8).with_positions_earlier(-18.0)
    part = np.abs(np.linspace(0.0, 1.0, len(recording.positions.stamps)) - 0.35) < 0.08
    lag = estimate_lag(replace(recording, positions=recording.positions.select(part)))
    assert (lag.ambiguous or (lag.seconds,)) == pytest.approx(found, abs=0.11)


def test_lags_that_agree_are_one_and_those_that_differ_stay_what_they_are():
    unknown = Lag(None, np.inf, ())
    agreed = agreed_lags([Lag(0.04, 0.02, ()), Lag(0.05, 0.04, ()), unknown])
    assert agreed == [agreed[0]] * 3
    weighted = (0.04 / 4 + 0.05 / 16) / (1 / 4 + 1 / 16)
    assert (agreed[0].seconds, agreed[0].uncertainty_s) == pytest.approx((weighted, 0.02))
    for lags in ([Lag(0.04, 0.02, ()), Lag(0.2, 0.02, ()), unknown], [unknown], []):
        assert agreed_lags(lags) == lags


def test_real_runs_of_one_machine_agree(recordings_folder):
    folder = recordings_folder / 'f1tenth_ipz20'
    lags = [estimate_lag(read_recording(folder / f'run_{run}')) for run in range(1, 8)]
    assert len(set(agreed_lags(lags))) == 1


def test_seconds_are_taken_as_they_are_and_anything_else_is_refused():
    recording = replace(drive(), notes=('old',))
    for wanted, words in (('0.2', '0.200 s earlier'), ('-1', '1.000 s later')):
        (moved,) = put_in_step([recording], wanted)
        steps = recording.positions.stamps - moved.positions.stamps
        assert set(steps.tolist()) == {round(float(wanted) * 1e9)}
        assert moved.notes == ('old', f'positions made {words}, as asked for')
    for text in ('soon', 'nan', 'inf', 'AUTO'):
        with pytest.raises(InputError, match=f"'{text}' is neither auto nor a number of seconds"):
            put_in_step([recording], text)


def test_the_lag_that_is_found_is_undone_and_recordings_of_one_setup_move_together():
    for late_s in (0.3, -0.15):
        (moved,) = put_in_step([drive(late_s=late_s)], 'auto')
        assert moved.positions.earlier_s == pytest.approx(late_s, abs=0.003)
        assert 'as found (+- 0.01' in moved.notes[0]
    late = drive(late_s=0.2)
    silent = with_imu(late, samples=np.zeros_like(late.imu.samples))
    moved = put_in_step([late, drive(late_s=0.205), silent], 'auto')
    assert len({each.positions.earlier_s for each in moved}) == 1
    assert moved[2].positions.earlier_s == pytest.approx(0.2025, abs=0.003)
    assert len({each.notes for each in moved}) == 1
    apart = put_in_step([late, drive(late_s=0.5)], 'auto')
    found = [each.positions.earlier_s for each in apart]
    assert found == pytest.approx([0.2, 0.5], abs=0.005)
    assert all(each.notes[0].startswith('ellipse: positions made') for each in apart)
