# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated worlds obey physics, differ from lap to lap, and give the same bytes twice."""

from dataclasses import replace
import math

import numpy as np
import pytest
from worlds.course import plan, ride, route
from worlds.drive import drive, ideal_imu
from worlds.shuttle import Line, SHUTTLE, shuttle
from worlds.table import ImuGrade, World, WORLDS
from worlds.write_bags import made, main

from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import GRAVITY

NONE = (0.0, 0.0)
FAULTLESS = ImuGrade(NONE, NONE, NONE, 0.0, NONE, (math.inf, math.inf))

every_world = pytest.mark.parametrize('world', WORLDS, ids=lambda world: world.name)


def bare(world: World) -> World:
    """Return a world whose IMU is exact and fixed to a body that does not sway or shake."""
    still = (0.0, 0.0, 0.0)
    return replace(
        world, sway=still, imu=FAULTLESS, mounting_deg=still, shift_deg=0.0, vibration=NONE,
        live=(True,) * 6,
    )  # fmt: skip


@every_world
def test_same_seed_same_bytes_and_streams_fit_together(world):
    first, again, *others = (
        drive(world, day=day, laps=1, seed=seed) for day, seed in ((1, 2), (1, 2), (1, 3), (2, 2))
    )
    imu, positions, truth = first.recording.imu, first.recording.positions, first.truth
    assert imu.samples.tobytes() == again.recording.imu.samples.tobytes()
    assert imu.stamps.tobytes() == again.recording.imu.stamps.tobytes()
    assert positions.positions.tobytes() == again.recording.positions.positions.tobytes()
    assert truth.tobytes() == again.truth.tobytes()
    for other in others:
        count = min(len(truth), len(other.truth))
        assert not np.allclose(truth[:count], other.truth[:count])
    assert others[1].recording.imu.stamps[0] - imu.stamps[0] == 86_400_000_000_000
    assert len(drive(world, seconds=4.0).truth) == 4 * world.rate_hz
    assert imu.samples.shape == (len(imu.stamps), 6) == (len(truth), 6)
    assert first.on_route.all()
    np.testing.assert_allclose(np.diff(imu.stamps), 1e9 / world.rate_hz, atol=1.0)
    assert (np.diff(positions.stamps) > 0).all()
    assert np.isfinite(imu.samples).all()
    assert ((imu.samples.std(axis=0) > 0.0) == world.live).all()


@every_world
def test_specific_force_is_that_of_the_path(world):
    world, random, step_s = bare(world), np.random.default_rng(3), 0.01
    run = ride(world, plan(world, 'route', 2, random), step_s, random)
    velocity = np.gradient(run.positions, step_s, axis=0)
    pull = np.gradient(velocity, step_s, axis=0)
    pull[:, 2] += GRAVITY
    pull, velocity, imu = (each[5:-5] for each in (pull, velocity, ideal_imu(world, run)))
    size = np.linalg.norm(pull, axis=1)
    np.testing.assert_allclose(np.linalg.norm(imu[:, :3], axis=1), size, atol=0.25)
    speed = np.linalg.norm(velocity, axis=1)
    moving = speed > 0.1 * world.top_speed
    ahead = (pull * velocity).sum(axis=1)[moving] / speed[moving]
    np.testing.assert_allclose(imu[moving, 0], ahead, atol=0.15)


@every_world
@pytest.mark.parametrize(('course', 'laps'), [('pit_lane', 5), ('off_route', 4)])
def test_another_road_leaves_once_and_comes_back(world, course, laps):
    made = drive(world, laps=laps, course=course)
    first, last = np.flatnonzero(np.diff(made.on_route.astype(int)))
    assert made.on_route[[0, -1]].all()
    line = route(world)[:, :2]
    steps = np.linalg.norm(np.diff(made.truth, axis=0), axis=1)
    # Without a jump or a kink anywhere.
    assert steps.max() < 1.5 * world.top_speed / world.rate_hz
    if course == 'off_route':
        lap = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
        assert steps[first:last].sum() > 1.5 * lap
        return
    off = made.truth[~made.on_route]
    apart = np.linalg.norm(off[:: max(1, len(off) // 300), None] - line[None], axis=2).min(axis=1)
    assert apart.max() == pytest.approx(world.lane_m, abs=5.0 * world.line_m + 0.05 * world.lane_m)
    speeds = steps * world.rate_hz
    assert np.count_nonzero(speeds[first:last] < 0.01) > 5.0 * world.rate_hz
    assert np.median(speeds[first:last]) < np.median(speeds[:first])


FLAT = Line(grade=0.0)
BARE = bare(SHUTTLE)


@pytest.mark.parametrize('dwell_s', [(0.0, 0.0), (2.0, 3.0)])
def test_the_accelerometer_is_the_second_derivative_in_reverse_as_well(dwell_s):
    """Its heading stays the same, and the acceleration goes on where the speed changes sign."""
    drive = shuttle(5, replace(FLAT, dwell_s=dwell_s), world=BARE)
    imu, period_s = drive.recording.imu.samples, 1.0 / BARE.rate_hz
    along = drive.truth[:, 0]
    speeds = np.gradient(along, period_s)
    np.testing.assert_allclose(imu[:, 3:], 0.0, atol=1e-9)
    np.testing.assert_allclose(imu[:, 0], np.gradient(speeds, period_s), atol=0.05)
    assert speeds.min() < -1.2
    assert speeds.max() > 1.2
    # Who stops for a while brakes to a standstill; who does not brakes until it is away again.
    turning = (np.abs(speeds) < 0.02) & (np.arange(len(along)) > np.argmax(along > 1.0))
    assert (np.abs(imu[turning, 0]).min() > 0.3) == (dwell_s[0] == 0.0)


def test_a_shuttle_turns_round_on_the_spot():
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


@pytest.mark.parametrize('name', ['yard', 'tram_network', 'track_2', 'slot_car'])
def test_bags_hold_the_drives_of_a_world(name, tmp_path):
    bag = str(tmp_path / 'bag')
    assert main([name, '--drives', '2', '--length', '1', '--day', '1', '-o', bag]) == 0
    for number in range(2):
        found, expected = read_recording(f'{bag}_{number}'), made(name, 1, 1, number)
        assert np.array_equal(found.imu.stamps, expected.imu.stamps)
        assert np.allclose(found.imu.samples, expected.imu.samples)
        assert np.allclose(found.positions.positions, expected.positions.positions)
        assert np.array_equal(found.positions.stamps, expected.positions.stamps)
