# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Simulated worlds obey physics, differ from lap to lap, and give the same bytes twice.

A shuttle drives to and fro on its line, and its IMU measures just that.
"""

from dataclasses import replace
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from worlds.course import plan, Ride, ride, route
from worlds.drive import drive, ideal_imu, received_positions
from worlds.shuttle import Line, SHUTTLE, shuttle
from worlds.table import ImuGrade, World, world_named, WORLDS

from two_manifold_ros.recordings.recording import GRAVITY

NONE = (0.0, 0.0)
FAULTLESS = ImuGrade(NONE, NONE, NONE, 0.0, NONE, (math.inf, math.inf))

every_world = pytest.mark.parametrize('world', WORLDS, ids=lambda world: world.name)


def bare(world: World) -> World:
    """Return a world whose IMU is exact and fixed to a body that does not sway or shake."""
    return replace(
        world,
        sway=(0.0, 0.0, 0.0),
        imu=FAULTLESS,
        mounting_deg=(0.0, 0.0, 0.0),
        shift_deg=0.0,
        vibration=NONE,
        live=(True,) * 6,
    )


def ridden(world: World, step_s: float = 0.01, laps: int = 2) -> Ride:
    random = np.random.default_rng(3)
    return ride(world, plan(world, 'route', laps, random), step_s, random)


@every_world
def test_speed_obeys_the_vehicle(world):
    run = ridden(world, laps=6)
    frame, bend = run.way.curve.frame(run.distances), run.way.curve.curvature(run.distances)
    pull = run.speeds[:, None] ** 2 * bend + [0.0, 0.0, GRAVITY]
    across = np.einsum('ni,ni->n', frame[:, :, 1], pull)
    assert 0.0 <= run.speeds.min() <= run.speeds.max() < 1.4 * world.top_speed
    assert run.accelerations.max() < 1.5 * world.thrust
    assert run.accelerations.min() > -1.5 * world.brake
    assert np.abs(across).max() < 2.2 * world.lateral + GRAVITY * world.bank
    assert (np.diff(run.distances) >= -1e-9).all()


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
    world = bare(world)
    run = ridden(world)
    places = run.positions
    step_s = run.times[1] - run.times[0]
    pull = np.gradient(np.gradient(places, step_s, axis=0), step_s, axis=0)
    pull[:, 2] += GRAVITY
    imu = ideal_imu(world, run)
    inner = slice(5, -5)
    size = np.linalg.norm(pull, axis=1)[inner]
    np.testing.assert_allclose(np.linalg.norm(imu[inner, :3], axis=1), size, atol=0.25)
    velocity = np.gradient(places, step_s, axis=0)
    moving = np.linalg.norm(velocity, axis=1) > 0.1 * world.top_speed
    moving[:5] = moving[-5:] = False
    ahead = velocity[moving] / np.linalg.norm(velocity[moving], axis=1, keepdims=True)
    np.testing.assert_allclose(imu[moving, 0], (pull[moving] * ahead).sum(axis=1), atol=0.15)


def test_rates_are_those_of_the_swaying_body():
    world = replace(world_named('rc_car'), hills_m=0.1, bank=0.2)
    run = ridden(world, 0.002)
    imu = ideal_imu(world, run)
    still = ideal_imu(replace(world, sway=(0.0, 0.0, 0.0)), run)
    # The naive way: axes of the body at each time, and the rotation from one to the next.
    roll, pitch, slip = world.sway
    kernel = np.exp(-0.5 * (np.arange(-300, 301) * 0.002 / 0.12) ** 2)
    angles = np.stack([roll * still[:, 1], -pitch * still[:, 0], slip * still[:, 1]])
    smooth = [np.convolve(row, kernel / kernel.sum(), 'same') for row in angles]
    body = Rotation.from_matrix(run.way.curve.frame(run.distances))
    body = body * Rotation.from_rotvec(np.stack(smooth, axis=1))
    naive = (body[:-2].inv() * body[2:]).as_rotvec() / 0.004
    inner = slice(400, -400)
    np.testing.assert_allclose(imu[1:-1, 3:][inner], naive[inner], atol=0.02)
    np.testing.assert_allclose(
        np.linalg.norm(imu[:, :3], axis=1), np.linalg.norm(still[:, :3], axis=1), rtol=1e-9
    )


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


@every_world
def test_positions_are_late_and_noisy_as_stated(world):
    grade = replace(world.positions, jumps=0.0, outages=0.0)
    run = ridden(world, 0.02, laps=4)
    times, places = received_positions(replace(world, positions=grade), run, 0, 0)
    true = run.positions[:, :2]

    def misses(late_s: float) -> np.ndarray:
        then = times - late_s
        return places - np.stack([np.interp(then, run.times, each) for each in true.T], axis=1)

    spread = math.hypot(grade.white_m, grade.wander_m)
    assert misses(grade.late_s).std() < 2.0 * spread
    assert misses(grade.late_s).std() > 0.3 * spread
    assert misses(grade.late_s).std() < misses(grade.late_s + 1.0).std()


FLAT = Line(grade=0.0)
BARE = bare(SHUTTLE)


def test_a_shuttle_drives_from_end_to_end_exactly_on_the_line_by_its_seed():
    drive, again, other = (shuttle(6, seed=seed) for seed in (1, 1, 2))
    samples = [each.recording.imu.samples.tobytes() for each in (drive, again, other)]
    assert samples[0] == samples[1] != samples[2]
    assert drive.truth.tobytes() == again.truth.tobytes()
    along, across = drive.truth.T
    assert (across == 0.0).all()
    assert (drive.recording.positions.positions[:, 1] == 0.0).all()
    assert np.diff(along > 6.0).sum() == 6
    assert np.ptp(along) == pytest.approx(12.0, abs=0.2)


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
    turning = (np.abs(speeds) < 0.02) & (np.arange(len(along)) > np.argmax(along > 1.0))
    braking = np.abs(imu[turning, 0])
    # Who stops for a while brakes to a standstill; who does not brakes until it is away again.
    assert (braking.min() > 0.3) == (dwell_s[0] == 0.0)


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
