# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A vehicle that shuttles between the two ends of one line: a transfer car, a lift, a crane.

It drives back in reverse, or after turning on the spot. The same numbers give the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d

from two_manifold_ros.simulation.slot_car import SpaceCurve
from two_manifold_ros.typing import Floats
from worlds.course import NODES, Ride, ride, Way
from worlds.drive import (
    ideal_imu,
    oversampling,
    recorded,
    WorldDrive,
)
from worlds.table import PositionGrade, world_named

if TYPE_CHECKING:
    from worlds.table import World

EXACT = PositionGrade(25.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
"""Positions as an encoder on a rail gives them: no error across the line at all."""

SHUTTLE = replace(
    world_named('agv'), name='shuttle', stations=(), blocked=0.0, lifts=0.0, positions=EXACT
)
"""The vehicle and the IMU of the simulated AGV."""


@dataclass(frozen=True)
class Line:
    """The line, and how the vehicle turns back at its ends."""

    length_m: float = 12.0
    sagitta_m: float = 0.0  # of the bend seen from above: 0 is exactly straight
    dwell_s: tuple[float, float] = (0.0, 1.0)  # shortest and longest stop at an end
    turns: bool = False  # on the spot while it stops, instead of driving back in reverse
    stop_m: float = 0.02  # spread of the points at which it stops
    wave_m: tuple[float, float] = (1.5, 6.0)  # shortest and longest wave of floor or rails
    grade: float = 0.01  # rms slope of each wave, and rms bank of the line, radians
    waves: int = 6


def shuttle(
    legs: int, line: Line | None = None, *, world: World = SHUTTLE, day: int = 0, seed: int = 0
) -> WorldDrive:
    """
    Drive from end to end so many times.

    ``day`` and ``seed`` are as in `drive.drive`; floor and rails are those of the world.
    """
    line = line or Line()
    random = world.generator('shuttle', day, seed)
    ends = line.length_m * (np.arange(legs + 1) % 2) + line.stop_m * random.standard_normal(
        legs + 1
    )
    unfolded, turned_at = _unfolded(ends)
    dwells = random.uniform(*line.dwell_s, legs - 1)
    every = oversampling(world)
    step_s = 1.0 / (world.rate_hz * every)
    # A stop of no time at all is none.
    halts = [(0.5 * (k + 1), max(dwell, step_s)) for k, dwell in enumerate(dwells.tolist())]
    straight = ride(world, unfolded, step_s, random, halts=halts)
    # Eased as a whole: turning back without a stop is no jump of the speed.
    there = np.interp(straight.distances, turned_at, ends)
    eased = gaussian_filter1d(there, world.ease_s / step_s, mode='nearest')
    # At its edge the filter makes up what comes after.
    straight = straight.until(float(straight.times[-1]) - 4.0 * world.ease_s)
    times = straight.times
    motion = CubicSpline(times, eased[: len(times)])
    driven = Ride(_track(world, line), times, motion(times), motion(times, 1), motion(times, 2))
    ideal = ideal_imu(world, driven)
    if line.turns:
        angles = _angles(straight, turned_at)
        ideal = _turned(ideal, angles)
        ideal[:, 5] += np.gradient(angles, step_s)
    return recorded(world, driven, ideal, every, day, seed, f'{line.length_m:g} m')


def _unfolded(ends: Floats) -> tuple[Way, Floats]:
    """Return a straight way as long as all legs together, and the metres at which each ends."""
    legs = len(ends) - 1
    turned_at = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(ends)))])
    nodes = np.arange(legs * NODES // 2 + 1)
    distances = np.interp(nodes, np.arange(legs + 1) * (NODES // 2), turned_at)
    points = np.zeros((2, 4))
    points[1, 0] = turned_at[-1]
    curve = SpaceCurve(CubicSpline(points[:, 0], points), turned_at[-1])
    never = np.zeros(len(nodes), dtype=np.bool_)
    return Way(curve, distances, nodes / NODES, never, never), turned_at


def _track(world: World, line: Line) -> Way:
    """Return the line itself, with the waves of its floor, a little beyond both ends."""
    random = world.generator('floor')
    beyond = 10.0 * line.stop_m
    metres = np.linspace(-beyond, line.length_m + beyond, NODES)
    lengths = np.geomspace(*line.wave_m, line.waves)
    phases = random.uniform(0.0, 1.0, (2, 1, line.waves))
    waves = 2.0 * np.pi * (metres[:, None] / lengths + phases)
    sizes = np.sqrt(2.0) * line.grade * random.uniform(0.5, 1.0, (2, line.waves))
    height = np.sin(waves[0]) @ (sizes[0] * lengths / (2.0 * np.pi))
    bank = np.sin(waves[1]) @ sizes[1] / np.sqrt(line.waves)
    # A circle through both ends, by the metres along it.
    bend = 8.0 * line.sagitta_m / (line.length_m**2 + 4.0 * line.sagitta_m**2)
    x, y = metres, np.zeros(NODES)
    if bend > 0.0:
        x, y = np.sin(bend * metres) / bend, (1.0 - np.cos(bend * metres)) / bend
    curve = SpaceCurve(CubicSpline(metres, np.column_stack([x, y, height, bank])), line.length_m)
    never = np.zeros(NODES, dtype=np.bool_)
    return Way(curve, metres, metres / line.length_m, never, never)


def _angles(straight: Ride, turned_at: Floats) -> Floats:
    """Return by how much the vehicle has turned at each time, radians: half a turn at each end."""
    angles = np.zeros(len(straight.times))
    near = 1e-3
    for end in turned_at[1:-1].tolist():
        first = int(np.searchsorted(straight.distances, end - near))
        last = int(np.searchsorted(straight.distances, end + near))
        share = ((np.arange(len(angles)) - first) / (last - first)).clip(0.0, 1.0)
        angles += np.pi * share**2 * (3.0 - 2.0 * share)
    return angles


def _turned(imu: Floats, angles: Floats) -> Floats:
    """Return what an IMU (T, 6) reads that is turned about its vertical axis by angles (T,)."""
    cosine, sine = np.cos(angles), np.sin(angles)
    turned: Floats = imu.copy()
    for x, y in ((0, 1), (3, 4)):
        turned[:, x] = cosine * imu[:, x] + sine * imu[:, y]
        turned[:, y] = cosine * imu[:, y] - sine * imu[:, x]
    return turned
