# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The lag of the positions, where it is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.inspection.lag import agreed_lags, estimate_lag, Lag
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.recordings.recording import Recording

USUAL_HALF_TICK_S = 0.025


@cache
def slot_car(seed: int, rate_hz: float) -> Recording:
    return run_to_recording(simulate(SlotCarSettings(seed=seed, rate_hz=rate_hz), laps=6))


def late(recording: Recording, seconds: float) -> Recording:
    return recording.with_positions_earlier(-seconds)


def with_imu(recording: Recording, samples: np.ndarray) -> Recording:
    return replace(recording, imu=replace(recording.imu, samples=samples))


def with_positions(recording: Recording, keep: np.ndarray, move: np.ndarray) -> Recording:
    assert recording.positions is not None
    moved = replace(recording.positions, positions=recording.positions.positions + move)
    return replace(recording, positions=moved.select(keep))


@pytest.mark.parametrize('rate_hz', [5.0, 10.0, 50.0, 100.0])
@pytest.mark.parametrize('late_s', [-0.3, -0.12, 0.05, 0.3])
def test_a_lag_is_recovered(rate_hz: float, late_s: float) -> None:
    lag = estimate_lag(late(slot_car(5, rate_hz), late_s))
    assert lag.seconds == pytest.approx(late_s, abs=max(0.01, 1 / rate_hz / 3))
    assert abs(lag.seconds - late_s) < lag.uncertainty_s < 0.05
    assert {witness.name for witness in lag.witnesses} == {
        'angular_velocity.z', 'linear_acceleration',
    }  # fmt: skip


@pytest.mark.parametrize('rate_hz', [5.0, 10.0, 20.0, 100.0])
@pytest.mark.parametrize('seed', [5, 6, 7])
def test_no_lag_is_no_alarm(rate_hz: float, seed: int) -> None:
    lag = estimate_lag(slot_car(seed, rate_hz))
    assert lag.seconds is not None
    assert not lag.exceeds(0.0)


@pytest.mark.parametrize(
    'factors',
    [[1, 1, 1, 1, 1, -1], [1 / 9.8] * 3 + [57.3] * 3, [-1, -1, -1, 1, 1, 1], [0, 0, 1, 1, 1, 1]],
)
def test_neither_sign_nor_unit_nor_a_dead_accelerometer_matters(factors: list[float]) -> None:
    recording = late(slot_car(5, 20.0), 0.15)
    lag = estimate_lag(with_imu(recording, recording.imu.samples * np.array(factors)))
    assert lag.seconds == pytest.approx(0.15, abs=0.015)


def test_without_a_gyroscope_the_accelerometer_tells() -> None:
    recording = late(slot_car(5, 20.0), 0.15)
    lag = estimate_lag(with_imu(recording, recording.imu.samples * ([1.0] * 3 + [0.0] * 3)))
    assert [witness.name for witness in lag.witnesses] == ['linear_acceleration']
    assert lag.seconds == pytest.approx(0.15, abs=0.017)


def test_an_axis_that_is_not_measured_and_samples_that_are_not_finite() -> None:
    recording = late(slot_car(5, 20.0), 0.15)
    samples = recording.imu.samples.copy()
    samples[:, 3] = np.nan
    samples[100:130] = np.nan
    assert estimate_lag(with_imu(recording, samples)).seconds == pytest.approx(0.15, abs=0.015)


def test_jumps_holes_and_lost_positions() -> None:
    recording = late(slot_car(5, 20.0), 0.15)
    assert recording.positions is not None
    count = len(recording.positions.stamps)
    index = np.arange(count)
    move = np.where((index > 400) & (index < 500), 2.0, 0.0)[:, None]
    keep = (np.random.default_rng(0).random(count) < 0.8) & ((index < 200) | (index > 260))
    lag = estimate_lag(with_positions(recording, keep, move))
    assert lag.seconds == pytest.approx(0.15, abs=0.015)


def test_noisy_positions_are_smoothed_more() -> None:
    recording = late(slot_car(5, 20.0), 0.15)
    assert recording.positions is not None
    count = len(recording.positions.stamps)
    noise = np.random.default_rng(0).normal(scale=0.3, size=(count, 2))
    lag = estimate_lag(with_positions(recording, np.ones(count, dtype=bool), noise))
    assert lag.seconds == pytest.approx(0.15, abs=lag.uncertainty_s)
    assert lag.uncertainty_s < 0.05


def test_where_the_sensors_disagree_the_truth_is_between() -> None:
    recording = late(slot_car(5, 20.0), 0.15)
    samples = recording.imu.samples.copy()
    samples[2:, :3] = recording.imu.samples[:-2, :3]
    lag = estimate_lag(with_imu(recording, samples))
    assert [witness.lag_s for witness in lag.witnesses] == pytest.approx([0.15, 0.05], abs=0.015)
    assert lag.seconds == pytest.approx(0.1, abs=0.01)
    assert lag.uncertainty_s == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize('lap_s', [2.0, 3.5, 4.0])
@pytest.mark.parametrize('late_s', [-0.7, 0.1, 0.25, 0.8])
def test_on_a_short_oval_a_lag_is_right_or_not_told(
    drive: Callable[..., Recording], lap_s: float, late_s: float
) -> None:
    """Half a lap later everything looks the same again."""
    lag = estimate_lag(drive(lap_s=lap_s, late_s=late_s))
    assert lag.seconds is None or lag.seconds == pytest.approx(late_s, abs=lag.uncertainty_s)


def test_noise_and_a_silent_imu_tell_nothing() -> None:
    recording = slot_car(5, 20.0)
    noise = np.random.default_rng(3).normal(size=recording.imu.samples.shape)
    for samples in (noise, np.zeros_like(noise)):
        lag = estimate_lag(with_imu(recording, samples))
        assert (lag.seconds, lag.witnesses) == (None, ())
        assert not lag.exceeds(0.0)


@pytest.mark.parametrize('seed', range(4))
def test_rare_and_uneven_positions_are_no_alarm(seed: int) -> None:
    recording = slot_car(5, 20.0)
    kept = np.random.default_rng(seed).random(len(recording.positions.stamps)) < 0.05
    assert not estimate_lag(with_positions(recording, kept, np.zeros(2))).exceeds(0.0)


def test_a_straight_way_tells_nothing() -> None:
    recording = slot_car(5, 20.0)
    assert recording.positions is not None
    count = len(recording.positions.stamps)
    straight = np.stack([np.arange(count) * 0.05, np.zeros(count)], axis=1)
    straight += np.random.default_rng(0).normal(scale=0.005, size=straight.shape)
    ahead = replace(recording.positions, positions=straight)
    assert estimate_lag(replace(recording, positions=ahead)).seconds is None


@pytest.mark.parametrize('late_s', [2.5, 3600.0])
def test_a_lag_beyond_the_search_is_not_invented(
    drive: Callable[..., Recording], late_s: float
) -> None:
    lag = estimate_lag(drive(late_s=late_s, lap_s=30.0, seconds=90.0))
    assert lag.seconds is None


def test_no_positions_and_a_few_seconds_tell_nothing(drive: Callable[..., Recording]) -> None:
    assert estimate_lag(replace(drive(), positions=None)).seconds is None
    assert estimate_lag(drive(seconds=9.0)).seconds is None


def test_lags_that_agree_are_one_and_serve_those_who_cannot_tell() -> None:
    lags = [Lag(0.04, 0.02, ()), Lag(0.05, 0.04, ()), Lag(None, np.inf, ())]
    agreed = agreed_lags(lags)
    assert len(set(agreed)) == 1
    assert agreed[0].seconds == pytest.approx((0.04 / 4 + 0.05 / 16) / (1 / 4 + 1 / 16))
    assert agreed[0].uncertainty_s == 0.02


def test_lags_that_differ_stay_what_they_are() -> None:
    lags = [Lag(0.04, 0.02, ()), Lag(0.2, 0.02, ()), Lag(None, np.inf, ())]
    assert agreed_lags(lags) == lags
    assert agreed_lags(lags[2:]) == lags[2:]
    assert agreed_lags([]) == []


def test_real_runs_of_one_machine_agree(recordings_folder: Path) -> None:
    lags = [
        estimate_lag(read_recording(str(recordings_folder / 'f1tenth_ipz20' / f'run_{run}')))
        for run in range(1, 8)
    ]
    assert len(set(agreed_lags(lags))) == 1


def test_a_real_recording_moved_is_found_moved(recordings_folder: Path) -> None:
    recording = read_recording(str(recordings_folder / 'f1tenth_ipz10'))
    before = estimate_lag(recording)
    after = estimate_lag(late(recording, 0.2))
    assert before.seconds is not None
    assert before.uncertainty_s < 0.02
    assert after.seconds == pytest.approx(before.seconds + 0.2, abs=0.005)
