# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drives obey physics, differ from each other, and give the same bytes twice."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from worlds.course import plan, Ride, ride, route
from worlds.drive import (
    drive,
    ideal_imu,
    mounting,
    received_positions,
)
from worlds.table import ImuGrade, World, world_named, WORLDS

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import GRAVITY

NONE = (0.0, 0.0)
FAULTLESS = ImuGrade(NONE, NONE, NONE, 0.0, NONE, (math.inf, math.inf))

every_world = pytest.mark.parametrize('name', [world.name for world in WORLDS])


def bare(name: str) -> World:
    """Return a world whose IMU is exact and fixed to a body that does not sway or shake."""
    return replace(
        world_named(name),
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
def test_same_seed_same_bytes(name: str) -> None:
    world = world_named(name)
    first, again = (drive(world, day=1, laps=1, seed=2) for _ in range(2))
    for one, two in (
        (first.recording.imu.samples, again.recording.imu.samples),
        (first.recording.imu.stamps, again.recording.imu.stamps),
        (first.recording.positions.positions, again.recording.positions.positions),
        (first.truth, again.truth),
    ):
        assert one.tobytes() == two.tobytes()
    for other in (drive(world, day=1, laps=1, seed=3), drive(world, day=2, laps=1, seed=2)):
        count = min(len(first.truth), len(other.truth))
        assert not np.allclose(first.truth[:count], other.truth[:count])


@every_world
def test_streams_fit_together(name: str) -> None:
    world = world_named(name)
    made = drive(world, seconds=40.0)
    imu, positions = made.recording.imu, made.recording.positions
    assert imu.samples.shape == (len(imu.stamps), 6)
    assert made.truth.shape == (len(imu.stamps), 2)
    assert made.on_route.all()
    assert len(imu.stamps) == 40 * world.rate_hz
    np.testing.assert_allclose(np.diff(imu.stamps), 1e9 / world.rate_hz, atol=1.0)
    assert (np.diff(positions.stamps) > 0).all()
    assert np.isfinite(imu.samples).all()
    dead = ~np.array(world.live)
    assert (imu.samples[:, dead] == 0.0).all()
    assert (imu.samples[:, ~dead].std(axis=0) > 0.0).all()


@every_world
def test_specific_force_is_that_of_the_path(name: str) -> None:
    world = bare(name)
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


def test_rates_are_those_of_the_swaying_body() -> None:
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
def test_standing_it_feels_gravity_alone(name: str) -> None:
    world = bare(name)
    samples = drive(world, laps=1).recording.imu.samples
    before = samples[: int(2.0 * world.rate_hz)]
    assert np.linalg.norm(before[:, :3], axis=1) == pytest.approx(GRAVITY, abs=0.02)
    assert np.abs(before[:, 3:]).max() < 0.01


def test_mounting_turns_what_is_measured() -> None:
    world = replace(bare('agv'), mounting_deg=(90.0, 0.0, 0.0))
    standing = drive(world, laps=1).recording.imu.samples[:50, :3].mean(axis=0)
    # Rolled to the right by a quarter turn, the left axis of the IMU points upwards.
    np.testing.assert_allclose(standing, [0.0, GRAVITY, 0.0], atol=0.1)


def test_body_leans_outwards_and_dives() -> None:
    world = replace(bare('car'), sway=(6e-3, 4e-3, 0.0), hills_m=0.0, bank=0.0)
    run = ridden(world)
    still = ideal_imu(replace(world, sway=(0.0, 0.0, 0.0)), run)
    imu = ideal_imu(world, run)
    # Leaning outwards more gravity lies in the direction of the force in the bend, and diving
    # in that of the brakes.
    for axis in (0, 1):
        strong = np.abs(still[:, axis]) > 5.0
        grown = (imu - still)[strong, axis] * np.sign(still[strong, axis])
        assert np.median(grown) > 0.1


@every_world
def test_pit_lane_leaves_once_and_comes_back(name: str) -> None:
    world = world_named(name)
    made = drive(world, laps=5, course='pit_lane')
    edges = np.flatnonzero(np.diff(made.on_route.astype(int)))
    assert len(edges) == 2
    assert made.on_route[0]
    assert made.on_route[-1]
    off = made.truth[~made.on_route]
    line = route(world)[:, :2]
    apart = np.linalg.norm(off[:: max(1, len(off) // 300), None] - line[None], axis=2).min(axis=1)
    assert apart.max() == pytest.approx(world.lane_m, abs=5.0 * world.line_m + 0.05 * world.lane_m)
    speeds = np.linalg.norm(np.diff(made.truth, axis=0), axis=1) * world.rate_hz
    assert np.count_nonzero(speeds[edges[0] : edges[1]] < 0.01) > 5.0 * world.rate_hz
    assert np.median(speeds[edges[0] : edges[1]]) < np.median(speeds[: edges[0]])


@every_world
def test_off_route_is_long_and_comes_back(name: str) -> None:
    world = world_named(name)
    made = drive(world, laps=4, course='off_route')
    edges = np.flatnonzero(np.diff(made.on_route.astype(int)))
    assert len(edges) == 2
    assert made.on_route[[0, -1]].all()
    steps = np.linalg.norm(np.diff(made.truth, axis=0), axis=1)
    lap = np.linalg.norm(np.diff(route(world)[:, :2], axis=0), axis=1).sum()
    assert steps[edges[0] : edges[1]].sum() > 1.5 * lap
    # Without a jump or a kink anywhere.
    assert steps.max() < 1.5 * world.top_speed / world.rate_hz


@every_world
def test_reverse_turns_the_other_way(name: str) -> None:
    world = bare(name)
    there, back = (drive(world, laps=1, course=each) for each in ('route', 'reverse'))
    assert not back.on_route.any()
    turned = [each.recording.imu.samples[:, 5].sum() / world.rate_hz for each in (there, back)]
    assert turned[0] == pytest.approx(-turned[1], abs=0.5)


@every_world
def test_it_stands_where_it_is_reported_to(name: str) -> None:
    world = world_named(name)
    stands, rolls = (drive(world, laps=3, halts=halts) for halts in (((1.5, 60.0),), ()))
    longer = len(stands.truth) - len(rolls.truth)
    assert longer / world.rate_hz == pytest.approx(60.0, abs=12.0 + 60.0 * world.lateral**-1)
    still = np.linalg.norm(np.diff(stands.truth, axis=0), axis=1) < 1e-4 * world.top_speed
    runs = np.diff(np.flatnonzero(~still))
    assert runs.max() == pytest.approx(60.0 * world.rate_hz, abs=2.0 + 3.0 * world.rate_hz)


@every_world
def test_positions_are_late_and_noisy_as_said(name: str) -> None:
    world = world_named(name)
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


def test_positions_jump_and_stay_away() -> None:
    world = world_named('car_5hz')
    positions = drive(world, seconds=3600.0).recording.positions
    steps = np.linalg.norm(np.diff(positions.positions, axis=0), axis=1)
    pauses = np.diff(positions.stamps) * 1e-9
    assert np.count_nonzero((steps > 30.0) & (pauses < 0.3)) >= 4
    assert np.count_nonzero(pauses > 1.0) >= 4


def test_a_cheap_imu_rails_and_counts_in_steps() -> None:
    world = world_named('car_5hz')
    samples = drive(world, laps=3).recording.imu.samples
    assert np.abs(samples[:, :3]).max() <= world.imu.rail[0] + world.imu.quantum[0] / 2.0
    steps = samples[:, 2] / world.imu.quantum[0]
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)


def test_vibration_grows_with_speed() -> None:
    world = replace(bare('car'), vibration=(2.0, 0.06))
    shaken = drive(world, laps=2).recording.imu.samples
    smooth = drive(replace(world, vibration=NONE), laps=2)
    extra = np.abs(shaken - smooth.recording.imu.samples)[:, 2]
    speeds = np.linalg.norm(np.gradient(smooth.truth, axis=0), axis=1) * world.rate_hz
    assert extra[speeds > 40.0].mean() > 2.0 * extra[(speeds > 1.0) & (speeds < 20.0)].mean()
    assert 0.0 < extra[speeds < 0.1].mean() < 0.3 * extra[speeds > 40.0].mean()


def test_biases_drift_over_a_drive() -> None:
    world = replace(bare('car_5hz'), imu=replace(FAULTLESS, drift=(0.2, 0.02)))
    moved = drive(world, seconds=2400.0).recording.imu.samples
    exact = drive(replace(world, imu=FAULTLESS), seconds=2400.0).recording.imu.samples
    drifts = np.abs(moved - exact)
    assert (drifts[-500:].mean(axis=0) > drifts[:20].mean(axis=0)).sum() >= 4
    assert drifts[-500:, :3].mean() == pytest.approx(0.2, rel=0.8)


def test_mountings_of_two_days_are_two_degrees_apart() -> None:
    world = world_named('kart')
    angles = [
        (mounting(world, day).inv() * mounting(world, day + 1)).magnitude() for day in range(200)
    ]
    assert np.degrees(np.sqrt(np.mean(np.square(angles)))) == pytest.approx(2.0, rel=0.15)


@pytest.mark.parametrize(
    ('wrong', 'words'),
    [
        ({}, 'asked for'),
        ({'laps': 1, 'seconds': 1.0}, 'asked for'),
        ({'laps': 0}, 'asked for'),
        ({'seconds': math.nan}, 'asked for'),
        ({'laps': 1, 'day': -1}, 'asked for'),
        ({'laps': 2, 'course': 'pit_lane'}, 'too few'),
        ({'laps': 2, 'course': 'off_route'}, 'too few'),
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        drive(WORLDS[0], **wrong)
