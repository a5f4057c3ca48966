# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Many routes: kart tracks, tram lines with a shared trunk, and a yard with a grid of aisles.

A drive goes along corners in any order, so that forks are taken this way or that. The same numbers
give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d
from scipy.spatial import KDTree

from two_manifold_ros.simulation.slot_car import SpaceCurve
from two_manifold_ros.typing import Floats
from worlds.course import lap_factor, left_of, NODES, other_corners, ride, rounded, wander, Way
from worlds.drive import ideal_imu, oversampling, recorded, WorldDrive
from worlds.table import world_named

if TYPE_CHECKING:
    from worlds.table import World

Corner = tuple[float, float, float]
"""x and y, m, and the radius of the bend, m."""

TRACK_M = 1000.0
"""Length of a lap of the kart tracks, m, as that of the world `kart`."""

KERB_M = 2.0
"""Farthest from its sign that a vehicle passes a stop, m: the other track is four metres away."""


@cache
def tracks(count: int = 12) -> tuple[World, ...]:
    """Return kart tracks that have nothing to do with each other, for one kart with one IMU."""
    kart = world_named('kart')
    worlds = []
    for number in range(count):
        world = replace(kart, name=f'track {number + 1}', vehicle=kart.name)
        corners = other_corners(world, TRACK_M, world.generator('corners')).tolist()
        worlds.append(replace(world, corners=tuple((x, y, radius) for x, y, radius in corners)))
    return tuple(worlds)


@dataclass(frozen=True)
class Network:
    """Roads that meet, of one vehicle."""

    world: World  # of the vehicle, its driver and its IMU
    # Corners of each line by its name. The first and the last are the same on all lines, with the
    # same way between.
    lines: dict[str, tuple[Corner, ...]]
    # Where the vehicle halts whenever it passes: x and y, m, and the direction, rad.
    stops: tuple[tuple[float, float, float], ...]
    # Length of a line, about, on which the line and the speed of the driver vary as in a lap.
    usual_m: float


@cache
def tram_network() -> Network:
    """Return three tram lines with a shared trunk, each there and back, and seven stops."""
    # Cars keep to the right on tracks four metres apart; lines end in loops.
    west = (
        (-60.0, 2.0, 30.0), (-105.0, 30.0, 22.0), (-150.0, 0.0, 22.0), (-105.0, -30.0, 22.0),
        (-60.0, -2.0, 30.0),
    )  # fmt: skip
    there = ((230.0, -2.0, 120.0), (430.0, 38.0, 120.0))
    back = ((431.0, 42.0, 116.0), (231.0, 2.0, 124.0))
    branches = {
        'north': (
            ((600.0, 38.0, 30.0), (602.0, 190.0, 80.0), (560.0, 330.0, 40.0)),
            ((598.0, 420.0, 22.0), (540.0, 440.0, 22.0), (520.0, 400.0, 22.0)),
            ((556.0, 330.0, 40.0), (598.0, 190.0, 84.0), (596.0, 42.0, 26.0)),
        ),
        'east': (
            ((660.0, 38.0, 200.0), (900.0, 98.0, 200.0)),
            ((970.0, 70.0, 22.0), (1010.0, 100.0, 22.0), (970.0, 130.0, 22.0)),
            ((900.0, 102.0, 204.0), (660.0, 42.0, 196.0)),
        ),
        'south': (
            ((600.0, 38.0, 30.0), (700.0, -112.0, 90.0), (860.0, -122.0, 60.0)),
            ((930.0, -160.0, 22.0), (970.0, -120.0, 22.0), (930.0, -85.0, 22.0)),
            ((860.0, -118.0, 56.0), (703.0, -108.0, 86.0), (603.0, 42.0, 34.0)),
        ),
    }
    lines = {
        name: (*west, *there, *out, *loop, *home, *back)
        for name, (out, loop, home) in branches.items()
    }
    stops = (
        *((0.0, -2.0, 0.0), (0.0, 2.0, np.pi), (330.0, 18.0, 0.2), (331.0, 22.0, 0.2 + np.pi)),
        *((601.2, 120.0, 1.56), (780.0, 68.0, 0.24), (780.0, -117.0, -0.06)),
    )
    world = replace(world_named('tram'), name='tram network', corners=(), stations=())
    return Network(world, lines, stops, 1800.0)


@dataclass(frozen=True)
class Yard:
    """Aisles that cross at right angles, ``columns`` and ``rows`` of them, so far apart, m."""

    columns: int = 5
    rows: int = 4
    apart_m: tuple[float, float] = (14.0, 9.0)
    radius_m: float = 1.2

    def errands(self, count: int, seed: int) -> list[Corner]:
        """Return the corners of a drive to so many random crossings, each by a shortest way."""
        random = np.random.default_rng(seed)
        at, heading = (0, 0), (1, 0)
        # It comes in along the first aisle.
        corners = [self._corner((-1, 0)), self._corner(at)]
        for _ in range(count):
            target = at
            while target == at:
                target = int(random.integers(self.columns)), int(random.integers(self.rows))
            while at != target:
                at, heading = self._next(at, heading, target, random)
                corners.append(self._corner(at))
        return corners

    def _next(
        self,
        at: tuple[int, int],
        heading: tuple[int, int],
        target: tuple[int, int],
        random: np.random.Generator,
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the next crossing and the way there: nearer if it can be, and never back."""
        choices = []
        for way in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            there = at[0] + way[0], at[1] + way[1]
            inside = 0 <= there[0] < self.columns and 0 <= there[1] < self.rows
            if inside and way != (-heading[0], -heading[1]):
                left = abs(target[0] - there[0]) + abs(target[1] - there[1])
                choices.append((left + 0.5 * float(random.uniform()), there, way))
        _, there, way = min(choices)
        return there, way

    def _corner(self, crossing: tuple[int, int]) -> Corner:
        return crossing[0] * self.apart_m[0], crossing[1] * self.apart_m[1], self.radius_m


@cache
def yard_network() -> Network:
    """Return the yard's vehicle, without lines: errands have corners of their own."""
    world = replace(world_named('agv'), name='yard', corners=(), stations=())
    return Network(world, {}, (), 150.0)


def travel(
    network: Network,
    corners: Sequence[Corner],
    *,
    day: int = 0,
    seed: int = 0,
    what: str = '',
    halts: Sequence[tuple[float, float]] = (),
    lap_ratios: Sequence[float] = (),
) -> WorldDrive:
    """
    Drive along corners, from the first to the last.

    Numbers, ``halts`` and ``lap_ratios`` are as those of `drive.drive`; a lap is the usual length
    of the network.
    """
    world = network.world
    random = world.generator('travel', day, seed)
    flat, spacing_m = _laid_out(network, rounded(corners, closed=False))
    nodes = np.column_stack([flat, _heights(network, flat), np.zeros(len(flat))])
    nodes[:, :2] += (world.line_m * wander(random, len(nodes), NODES / world.habits.line_knots))[
        :, None
    ] * left_of(nodes, closed=False)
    steps = np.linalg.norm(np.diff(nodes[:, :3], axis=0), axis=1)
    distances = np.concatenate([[0.0], np.cumsum(steps)])
    never = np.zeros(len(nodes), dtype=np.bool_)
    curve = SpaceCurve(CubicSpline(distances, nodes), float(distances[-1]))
    phases = np.arange(float(len(nodes))) * np.float64(spacing_m / network.usual_m)
    way = Way(curve, distances, phases, never, never)
    stops = [
        (phase, float(random.uniform(*world.dwell_s))) for phase in _passed(network, nodes, phases)
    ]
    spread = world.habits.day_grip
    grip: float | Floats = 1.0 + spread * float(world.generator('grip', day).standard_normal())
    if lap_ratios:
        grip = grip * lap_factor(world, way, lap_ratios)
    every = oversampling(world)
    step_s = 1.0 / (world.rate_hz * every)
    ridden = ride(world, way, step_s, random, grip=grip, halts=[*stops, *halts])
    return recorded(world, ridden, ideal_imu(world, ridden), every, day, seed, what or 'travel')


def rounds(network: Network, names: Sequence[str]) -> list[Corner]:
    """Return the corners of lines that are driven one after another."""
    # From one round to the next the last corner leads to the first, as within each.
    return [corner for name in names for corner in network.lines[name]]


def _laid_out(network: Network, outline: Floats) -> tuple[Floats, float]:
    """Return points (M, 2) along an outline, even and with eased bends, and their spacing, m."""
    spacing_m = network.usual_m / NODES
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(outline, axis=0), axis=1))])
    even = np.arange(0.0, float(lengths[-1]), spacing_m)
    flat = np.stack([np.interp(even, lengths, column) for column in outline.T], axis=1)
    eased = network.world.habits.eased * NODES
    return gaussian_filter1d(flat, eased, axis=0, mode='nearest'), spacing_m


def _heights(network: Network, flat: Floats) -> Floats:
    """Return the height of the ground at points (M, 2): the same wherever a drive comes from."""
    random = network.world.generator('ground')
    angles = random.uniform(0.0, 2.0 * np.pi, (2, 4))
    # The longest wave is a third of a line.
    orders = np.arange(1, 5)
    along = flat @ np.stack([np.cos(angles[0]), np.sin(angles[0])])
    waves = np.cos(6.0 * np.pi / network.usual_m * orders * along + angles[1])
    return np.asarray(network.world.hills_m * waves @ (0.5 / orders))


def _passed(network: Network, nodes: Floats, phases: Floats) -> list[float]:
    """Return the phases at which a drive passes stops."""
    if not network.stops:
        return []
    stops = np.array(network.stops)
    ahead = np.gradient(nodes[:, :2], axis=0)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    found = []
    for x, y, way in stops.tolist():
        near = KDTree([[x, y]]).query(nodes[:, :2])[0]
        near[ahead @ [np.cos(way), np.sin(way)] < 0.5] = np.inf
        close = np.flatnonzero(near < KERB_M)
        parts = np.split(close, np.flatnonzero(np.diff(close) > 1) + 1)
        found += [float(phases[each[near[each].argmin()]]) for each in parts if len(each)]
    return sorted(found)
