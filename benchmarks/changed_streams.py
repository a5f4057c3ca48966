# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Streams in the middle of which something changes for good, or is wrong for a while."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import uniform_filter1d
from scipy.spatial.transform import Rotation
from worlds.course import plan, ride
from worlds.drive import (
    ideal_imu,
    imu_samples,
    oversampling,
    received_positions,
)
from worlds.table import world_named

from two_manifold_ros.inspection.motion import count_laps, put_together, way_driven
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.track import SpaceCurve
from two_manifold_ros.ticks.segments import positions_at

if TYPE_CHECKING:
    from worlds.course import Way

    from two_manifold_ros.inspection.motion import Motion
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'

WORLD_CASES = ('slot_car', 'rc_car', 'kart', 'figure_eight')
REAL_CASES = {
    'f1tenth_ipz10': (('f1tenth_ipz10',), 3.05),
    'f1tenth_ipz20': (tuple(f'f1tenth_ipz20/run_{run}' for run in range(1, 8)), 15.0),
}
PAUSE_NS = 12_000_000_000
"""Between two recordings of one day."""

ROUGH_S = 0.12
"""What of a real IMU changes quicker than that is taken for its noise."""

BEFORE, AFTER = 7, 6
"""Laps before and after the change; of recordings what there is after the lap above."""

BIAS = np.array([0.4, -0.4, 0.3, 0.03, -0.02, 0.04])
"""m/s^2 and rad/s: twice to three times what an IMU is off from one day to another."""

GRAVITY = 9.81
"""m/s^2, of which a sensor may report all or nothing."""

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
    rebuilt: bool = False  # whether a stretch of the route is led elsewhere; in worlds only


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
    """
    Input of a node, with the truth beside it.

    Parameters
    ----------
    stamps : (N,), samples : (N, 6), truths : (N, 2), laps : (N,)
        Of the IMU; laps count from the change, before it they are below 0.
    fix_stamps : (M,), fixes : (M, 2)
        Reference positions.
    lap_s
        How long a lap takes.
    given : (M,), optional
        After which sample each position comes; by default after the first that is not older.

    """

    stamps: np.ndarray
    samples: np.ndarray
    truths: np.ndarray
    laps: np.ndarray
    fix_stamps: np.ndarray
    fixes: np.ndarray
    lap_s: float
    given: np.ndarray | None = None

    @property
    def begin(self) -> int:
        """The first sample after the change."""
        return int(np.searchsorted(self.laps, 0.0))


def changed_stream(case: str, seed: int, change: Change) -> Stream | None:
    """Return a drive with a change, ``None`` where there can be none."""
    if case in REAL_CASES:
        return None if change.rebuilt else _real(case, seed, change)
    return world_stream(case, seed, change)


def world_stream(
    case: str, seed: int, change: Change, before: int = BEFORE, after: int = AFTER
) -> Stream:
    """Drive a world; before the change the same seed gives nearly the same samples."""
    world = world_named(case)
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


def _real(case: str, seed: int, change: Change) -> Stream:
    """Recordings one after the other, which change after some laps; the seed shifts that."""
    folders, before = REAL_CASES[case]
    parts: list[tuple[np.ndarray, ...]] = []
    driven, offset, length_m = 0.0, 0, math.nan
    for folder in folders:
        recording = read_recording(RECORDINGS / folder)
        imu, positions = recording.imu, recording.positions
        assert positions is not None  # noqa: S101 - these recordings have some
        motion = motion_of(recording)
        found = count_laps(motion)
        length_m = found.length_m if found else length_m
        way = way_driven(motion) / length_m
        since = (imu.stamps - imu.first_stamp) * 1e-9
        here = driven + np.interp(since, motion.seconds, way)
        driven = float(here[-1])
        # A new recording starts after a pause.
        shift = offset - int(imu.stamps[0])
        offset = int(imu.stamps[-1]) + shift + PAUSE_NS
        truths = positions_at(positions, imu.stamps)
        fixed = positions.stamps + shift, positions.positions
        parts.append((imu.stamps + shift, imu.samples, truths, here, *fixed))
    columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
    stamps, samples, truths, laps, fix_stamps, fixes = columns
    order = np.argsort(stamps, kind='stable')
    stamps, samples, truths, laps = (each[order] for each in (stamps, samples, truths, laps))
    later = 0.25 * seed if len(folders) == 1 else seed
    laps = np.maximum.accumulate(laps) - before - later
    begin = int(np.searchsorted(laps, 0.0))
    rate_hz = 1e9 / np.median(np.diff(stamps))
    rough = roughness(samples, rate_hz)
    noise = np.random.default_rng(seed).standard_normal(samples.shape)
    more = math.sqrt(change.noise**2 - 1.0) * rough * noise
    samples = _sensed(samples, more, begin, seed, change)
    if change.speed != 1.0:
        # Gravity, where it was not removed, does not drive faster.
        still = standing(samples)
        factors = np.repeat([change.speed**2, change.speed], 3)
        samples[begin:] = still + (samples[begin:] - still) * factors
        stamps, fix_stamps = (
            _hastened(each, int(stamps[begin]), change.speed) for each in (stamps, fix_stamps)
        )
    lap_s = float(np.median(np.diff(stamps)) * len(stamps) * 1e-9 / (laps[-1] - laps[0]))
    return Stream(10**18 + stamps, samples, truths, laps, 10**18 + fix_stamps, fixes, lap_s)


def motion_of(recording: Recording) -> Motion:
    """Return the motion of a vehicle whose positions are known and change."""
    assert recording.positions is not None  # noqa: S101 - see above
    together = put_together(recording.positions, recording.imu)
    assert together is not None  # noqa: S101 - see above
    return together.motion


def standing(samples: Floats) -> Floats:
    """Return the samples of a standing vehicle: gravity upwards, where it was not removed."""
    still = np.zeros(samples.shape[1])
    still[2] = GRAVITY * np.round(samples[:, 2].mean() / GRAVITY)
    return still


def roughness(samples: Floats, rate_hz: float) -> Floats:
    """Return the standard deviation of what is taken for the noise of each channel."""
    smooth = uniform_filter1d(samples, max(3, round(ROUGH_S * rate_hz)), axis=0)
    rough: Floats = (samples - smooth).std(axis=0)
    return rough


def _hastened(stamps: Floats, begin_ns: int, speed: float) -> Floats:
    after = stamps >= begin_ns
    stamps = stamps.copy()
    stamps[after] = begin_ns + ((stamps[after] - begin_ns) / speed).astype(np.int64)
    return stamps
