# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Streams in the middle of which something changes for good, or is wrong for a lap."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation
from worlds.course import plan, ride
from worlds.drive import (
    ideal_imu,
    imu_samples,
    oversampling,
    received_positions,
)
from worlds.table import world_named

from two_manifold_ros.inspection.motion import put_together
from two_manifold_ros.simulation.slot_car import SpaceCurve
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from worlds.course import Way

    from two_manifold_ros.inspection.motion import Motion
    from two_manifold_ros.recordings.recording import Recording

WORLD_CASES = ('slot_car', 'rc_car', 'kart', 'figure_eight')


BEFORE, AFTER = 7, 6
"""Laps before and after the change."""

BIAS = np.array([0.4, -0.4, 0.3, 0.03, -0.02, 0.04])
"""m/s^2 and rad/s: twice to three times what an IMU is off from one day to another."""


REBUILT, ASIDE = (0.35, 0.6), 2.0
"""Part of a lap that is led elsewhere, and how far, in distances of the lane beside the route."""


@dataclass(frozen=True)
class Change:
    """Change of the vehicle or its sensor."""

    speed: float = 1.0  # factors
    noise: float = 1.0
    scale: float = 1.0
    reversed_channel: int | None = None  # its sign turns
    turned_deg: float = 0.0  # by how much the mounting turns, about an axis that the seed draws
    biased: float = 0.0  # share of `BIAS`
    rebuilt: bool = False  # whether a stretch of the route is led elsewhere


CHANGES = {
    'speed +12 %': Change(speed=1.12),
    'speed -12 %': Change(speed=0.88),
    'noise x 2': Change(noise=2.0),
    'sign of ay': Change(reversed_channel=1),
    'sign of wz': Change(reversed_channel=5),
    'mounting 5 deg': Change(turned_deg=5.0),
    'bias': Change(biased=1.0),
    'scale 5 %': Change(scale=1.05),
    'rebuilt': Change(rebuilt=True),
}


@dataclass(frozen=True)
class Stream:
    """Input of a node, with the truth beside it."""

    stamps: np.ndarray  # (N,), of the IMU
    samples: np.ndarray  # (N, 6)
    truths: np.ndarray  # (N, 2)
    laps: np.ndarray  # (N,), count from the change, before it they are below 0
    fix_stamps: np.ndarray  # (M,), of reference positions
    fixes: np.ndarray  # (M, 2)
    lap_s: float  # how long a lap takes
    # (M,), after which sample each position comes; by default the first that is not older.
    given: np.ndarray | None = None

    @property
    def begin(self) -> int:
        """The first sample after the change."""
        return int(np.searchsorted(self.laps, 0.0))


def changed_stream(case: str, seed: int, change: Change) -> Stream:
    """Drive a world; before the change the same seed gives nearly the same samples."""
    world, before, after = world_named(case), BEFORE, AFTER
    random = world.generator('route', seed, seed)
    way = plan(world, 'route', before + after, random)
    if change.rebuilt:
        way = _rebuilt(way, before, ASIDE * world.lane_m)
    every = oversampling(world)
    day_grip = 1.0 + 0.03 * float(world.generator('grip', seed).standard_normal())
    grip = np.where(way.phases >= before, change.speed, 1.0) * day_grip
    ridden = ride(world, way, 1.0 / (world.rate_hz * every), random, grip=grip)
    ideal = ideal_imu(world, ridden)[::every]
    times, places = received_positions(world, ridden, seed, seed)
    ridden = ridden.every(every)
    samples = imu_samples(world, ridden, ideal, seed, seed)
    noisier = imu_samples(world, ridden, ideal, seed, 1000 + seed)
    noisier -= imu_samples(world, ridden, ideal, seed, 2000 + seed)
    laps = np.interp(ridden.distances, way.distances, way.phases) - before
    begin = int(np.searchsorted(laps, 0.0))
    # The difference of two noises has twice the variance of one.
    more = math.sqrt(0.5 * (change.noise**2 - 1.0)) * noisier
    samples = _sensed(samples, more, begin, seed, change)
    stamps = 10**18 + np.round(1e9 * ridden.times).astype(np.int64)
    fix_stamps = 10**18 + np.round(1e9 * (times - world.positions.late_s)).astype(np.int64)
    lap_s = float(ridden.times[-1]) / (before + after)
    return Stream(stamps, samples, ridden.positions[:, :2], laps, fix_stamps, places, lap_s)


def _rebuilt(way: Way, before: int, aside_m: float) -> Way:
    """Lead a stretch of all laps after some elsewhere: to one side and to the other."""
    nodes = np.column_stack([way.curve.position(way.distances), way.curve.bank(way.distances)])
    ahead = np.gradient(nodes[:, :2], axis=0)
    ahead /= np.linalg.norm(ahead, axis=1, keepdims=True)
    left = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
    share = (way.phases % 1.0 - REBUILT[0]) / (REBUILT[1] - REBUILT[0])
    inside = (share > 0.0) & (share < 1.0) & (way.phases >= before)
    # Twice differentiable at both ends.
    bump = np.where(inside, np.sin(np.pi * share) ** 3 * np.sin(2.0 * np.pi * share), 0.0)
    nodes[:, :2] += 1.6 * aside_m * bump[:, None] * left
    steps = np.linalg.norm(np.diff(nodes[:, :3], axis=0), axis=1)
    distances = np.concatenate([[0.0], np.cumsum(steps)])
    curve = SpaceCurve(CubicSpline(distances, nodes), float(distances[-1]))
    return replace(way, curve=curve, distances=distances)


def _sensed(samples: Floats, more: Floats, begin: int, seed: int, change: Change) -> Floats:
    """Change what the IMU reports from a sample on."""
    samples = samples.copy()
    live = samples.std(axis=0) > 0.0
    late = samples[begin:]
    late += more[begin:]
    if change.reversed_channel is not None:
        late[:, change.reversed_channel] *= -1.0
    if change.turned_deg:
        axis = np.random.default_rng(seed).standard_normal(3)
        axis *= math.radians(change.turned_deg) / np.linalg.norm(axis)
        turn = Rotation.from_rotvec(axis)
        late[:, :3], late[:, 3:] = turn.apply(late[:, :3]), turn.apply(late[:, 3:])
    late *= change.scale
    late += change.biased * BIAS
    late[:, ~live] = 0.0
    return samples


def poisoned(stream: Stream, first: int, stop: int, seed: int) -> dict[str, Stream]:
    """
    Return a stream as it is, and with some samples and the positions of their time spoiled.

    The sensor is stuck or reports no numbers; the vehicle is lifted while its position stays, or
    carried to another route without positions, the mirror image; positions are 5 m beside, or what
    the mean position errs if that is less.
    """
    here = slice(*np.searchsorted(stream.fix_stamps, stream.stamps[[first, stop]]).tolist())
    samples, fixes = stream.samples[first:stop], stream.fixes[here]
    random = np.random.default_rng(seed)
    rough = np.diff(stream.samples, axis=0).std(axis=0) / math.sqrt(2.0)
    lifted = stream.samples.mean(axis=0) + rough * random.standard_normal(samples.shape)
    angle, size_m = random.uniform(0.0, 2.0 * math.pi), float(np.hypot(*stream.fixes.std(axis=0)))
    aside = min(5.0, size_m) * np.array([math.cos(angle), math.sin(angle)])
    mirror = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    found = {}
    for name, sensed, placed in (
        ('none', samples, fixes),
        ('stuck', stream.samples[first - 1], fixes),
        ('NaN', math.nan, fixes),
        ('lifted', lifted, fixes[0]),
        ('other route', samples * mirror, math.nan),
        ('wrong positions', samples, fixes + aside),
    ):
        spoiled = replace(stream, samples=stream.samples.copy(), fixes=stream.fixes.copy())
        spoiled.samples[first:stop], spoiled.fixes[here] = sensed, placed
        found[name] = spoiled
    return found


def motion_of(recording: Recording) -> Motion:
    """Return the motion of a vehicle whose positions are known and change."""
    assert recording.positions is not None  # noqa: S101 - see above
    motion = put_together(recording.positions, recording.imu)
    assert motion is not None  # noqa: S101 - see above
    return motion
