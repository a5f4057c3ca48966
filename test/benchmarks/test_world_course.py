# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The lines and rides of a world obey the vehicle and differ from lap to lap."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from worlds.course import Course, plan, Ride, ride, route
from worlds.table import World, world_named, WORLDS

from two_manifold_ros.recordings.recording import GRAVITY

every_world = pytest.mark.parametrize('name', [world.name for world in WORLDS])


def ridden(world: World, step_s: float = 0.01, laps: int = 2) -> Ride:
    random = np.random.default_rng(3)
    return ride(world, plan(world, 'route', laps, random), step_s, random)


def lateral_offsets(world: World, laps: int) -> np.ndarray:
    """Return how far to the left of the route each of the laps passes at the same places."""
    line = route(world)[:, :2]
    ahead = np.roll(line, -1, axis=0) - np.roll(line, 1, axis=0)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    left = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    way = plan(world, 'route', laps, np.random.default_rng(0))
    nodes = way.curve.position(way.distances)[:-1, :2].reshape(laps, len(line), 2)
    return np.einsum('lnc,nc->ln', nodes - line, left)


@pytest.mark.parametrize('course', ['route', 'reverse'])
def test_bends_are_banked_inwards(course: Course) -> None:
    way = plan(world_named('car'), course, 1, np.random.default_rng(0))
    turning = way.curve.turning(way.distances)[:, 2]
    sharp = np.abs(turning) > 0.5 * np.abs(turning).max()
    # The left side is down in a bend to the left.
    assert (np.sign(way.curve.bank(way.distances))[sharp] == -np.sign(turning[sharp])).all()


@every_world
def test_speed_obeys_the_vehicle(name: str) -> None:
    world = world_named(name)
    run = ridden(world, laps=6)
    frame, bend = run.way.curve.frame(run.distances), run.way.curve.curvature(run.distances)
    pull = run.speeds[:, None] ** 2 * bend + [0.0, 0.0, GRAVITY]
    across = np.einsum('ni,ni->n', frame[:, :, 1], pull)
    assert run.speeds.max() < 1.4 * world.top_speed
    assert run.speeds.min() >= 0.0
    assert run.accelerations.max() < 1.5 * world.thrust
    assert run.accelerations.min() > -1.5 * world.brake
    assert np.abs(across).max() < 2.2 * world.lateral + GRAVITY * world.bank
    assert (np.diff(run.distances) >= -1e-9).all()


@every_world
def test_each_lap_has_a_line_of_its_own(name: str) -> None:
    world = world_named(name)
    offsets = lateral_offsets(world, 6)
    # What all laps have in common is how bends are eased.
    assert (offsets - offsets.mean(axis=0)).std() == pytest.approx(world.line_m, rel=0.3)
    between = np.abs(np.diff(offsets, axis=0)).mean()
    assert between > 0.7 * world.line_m
    # Smooth: nothing changes in a hundredth of a lap.
    own = offsets - offsets.mean(axis=0)
    assert np.abs(own[:, 20:] - own[:, :-20]).mean() < between


@every_world
def test_laps_differ_in_speed_ratio(name: str) -> None:
    world = replace(world_named(name), stations=(), blocked=0.0)
    run = ridden(world, 0.02, laps=12)
    lap = run.way.distances[-1] / 12.0
    crossed = np.interp(lap * np.arange(1, 12), run.distances, run.times)
    took = np.diff(crossed)
    assert 0.015 < took.std() / took.mean() < 0.2
