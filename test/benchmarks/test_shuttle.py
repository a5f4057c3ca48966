# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A shuttle drives to and fro on its line, and its IMU measures just that."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest
from worlds.shuttle import Line, SHUTTLE, shuttle
from worlds.table import ImuGrade

NONE = (0.0, 0.0)
BARE = replace(
    SHUTTLE,
    sway=(0.0, 0.0, 0.0),
    imu=ImuGrade(NONE, NONE, NONE, 0.0, NONE, (math.inf, math.inf)),
    mounting_deg=(0.0, 0.0, 0.0),
    shift_deg=0.0,
    vibration=NONE,
)
FLAT = Line(grade=0.0)


def test_it_drives_from_end_to_end_exactly_on_the_line_by_its_seed() -> None:
    drive, again, other = (shuttle(6, seed=seed) for seed in (1, 1, 2))
    samples = [each.recording.imu.samples.tobytes() for each in (drive, again, other)]
    assert samples[0] == samples[1] != samples[2]
    assert drive.truth.tobytes() == again.truth.tobytes()
    along, across = drive.truth.T
    assert (across == 0.0).all()
    assert (drive.recording.positions.positions[:, 1] == 0.0).all()
    assert np.diff(along > 6.0).sum() == 6
    assert np.ptp(along) == pytest.approx(12.0, abs=0.2)


def test_a_bend_is_as_deep_as_stated() -> None:
    drive = shuttle(3, Line(sagitta_m=1.0))
    chord = drive.truth[np.abs(drive.truth[:, 0]).argmax()] - drive.truth[0]
    across = (drive.truth - drive.truth[0]) @ [-chord[1], chord[0]] / np.linalg.norm(chord)
    assert np.abs(across).max() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize('dwell_s', [(0.0, 0.0), (2.0, 3.0)])
def test_the_accelerometer_is_the_second_derivative_in_reverse_as_well(
    dwell_s: tuple[float, float],
) -> None:
    """Its heading stays the same, and the acceleration goes on where the speed changes sign."""
    drive = shuttle(5, replace(FLAT, dwell_s=dwell_s), world=BARE)
    imu, period_s = drive.recording.imu.samples, 1.0 / BARE.rate_hz
    along = drive.truth[:, 0]
    speeds = np.gradient(along, period_s)
    np.testing.assert_allclose(imu[:, 3:], 0.0, atol=1e-9)
    np.testing.assert_allclose(imu[:, 0], np.gradient(speeds, period_s), atol=0.05)
    assert speeds.min() < -1.2
    assert speeds.max() > 1.2
    turning = (np.abs(speeds) < 0.02) & (np.arange(len(along)) > np.argmax(along > 1.0))
    braking = np.abs(imu[turning, 0])
    # Who stops for a while brakes to a standstill; who does not brakes until it is away again.
    assert (braking.min() > 0.3) == (dwell_s[0] == 0.0)


def test_it_turns_round_on_the_spot() -> None:
    line = replace(FLAT, dwell_s=(4.0, 6.0), turns=True)
    drive = shuttle(4, line, world=BARE)
    imu, period_s = drive.recording.imu.samples, 1.0 / BARE.rate_hz
    speeds = np.gradient(drive.truth[:, 0], period_s)
    turned = np.cumsum(imu[:, 5]) * period_s
    assert turned[-1] == pytest.approx(3.0 * np.pi, abs=0.05)
    assert np.abs(speeds[np.abs(imu[:, 5]) > 0.05]).max() < 0.1
    # It always drives forwards.
    facing = np.cos(turned)
    assert (speeds * facing)[np.abs(speeds) > 0.1].min() > 0.0
    forward = np.gradient(speeds * facing, period_s)
    np.testing.assert_allclose(imu[:, 0], forward, atol=0.05)


def test_floor_and_rails_are_felt_where_they_are() -> None:
    """The same at each pass; in reverse pitch and roll rate have the other sign."""
    drive = shuttle(9, world=BARE)
    imu = drive.recording.imu.samples
    along = drive.truth[:, 0]
    speeds = np.gradient(along) * BARE.rate_hz
    middle = (along > 3.0) & (along < 9.0)
    cells = np.round(along * 4.0).astype(np.int64)
    for channel in (3, 4):
        slopes = imu[:, channel] / np.where(middle, speeds, 1.0)
        rows = [slopes[middle & (cells == cell)] for cell in range(13, 35)]
        within = np.mean([row.var() for row in rows])
        assert within < 0.2 * np.var([row.mean() for row in rows])
