# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Measure how much of the drives repeats, and name the likely reason why no training works."""

from __future__ import annotations

import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from two_manifold_ros.inspection.motion import put_together, way_driven
from two_manifold_ros.inspection.positions import PositionReport, WANTED_LAPS
from two_manifold_ros.recordings.recording import median_interval_ns, Recording
from two_manifold_ros.route.merging import SAME_WAY

if TYPE_CHECKING:
    from collections.abc import Sequence

USEFUL = 0.5
"""Share of the mean position's error that parts left out have to be followed with."""

LEAST_PUBLISHED = 0.1
"""Share of ticks of parts left out that a filter has to publish; 39 % and more can be located."""

POINTS = 1_000
"""Points of all drives that are compared with another pass."""

STEPS = 100
"""Steps of a lap at which the middles of laps are compared."""

LAP_SAMPLES = 80
"""IMU samples in a lap below which bends are blurred; as many ticks as a TPSR takes in a lap."""


class Repetition(NamedTuple):
    """How much of the drives repeats, measured where positions show the motion."""

    met: float = 1.0  # share of the points that another pass comes near
    apart_m: float = 0.0  # spread of the mean position of a lap over all laps, 0 where none closes
    explained: float = 1.0  # share of the variance of the clearest channel that the place explains


UNKNOWN = Repetition()
"""Where positions do not show the motion: nothing is held against the drives."""


def likely_reason(
    recordings: Sequence[Recording],
    drives: Sequence[PositionReport],
    repetition: Repetition,
    mean_m: float,
) -> tuple[str, str, str]:
    """Return the likely reason, a code, its cause in words, and the cure."""
    closed = [each.laps for each in drives if each.laps is not None]
    known = [each for each in closed if each.resolved]
    counted = len(known) == len(closed) and repetition is not UNKNOWN
    count, lap_s = sum(e.count for e in known), min((e.time_s for e in known), default=math.inf)
    late = max((each.lag for each in drives), key=lambda lag: abs(lag.seconds or 0.0))
    way_m = abs(late.seconds or 0.0) * max((e.length_m / e.time_s for e in known), default=0.0)
    imu = recordings[0].imu
    samples = lap_s * 1e9 / max(median_interval_ns(imu.stamps), 1)
    # Five are wanted; the ends that are cut off are no reason.
    few = counted and count < 4.5
    covered = sum(each.coverage for each in drives) / len(recordings)
    rows = (
        (covered < 0.5 and (repetition.met < 0.5 or few), 'positions_missing',
         f'positions cover only {covered:.0%} of the time',
         'find out why the others are missing, and record again'),
        (repetition.met < 0.5, 'nothing_repeats',
         f'nothing repeats, only {repetition.met:.0%} of the way is driven twice',
         f'drive {WANTED_LAPS}, of each route'),
        (repetition.apart_m >= USEFUL * mean_m, 'laps_apart',
         (f'nothing repeats, laps lie {repetition.apart_m:.3g} m apart sideways, so positions '
         'drift or routes differ'),
         'drive the same route on each lap, with positions in a frame that stays'),
        (late.exceeds(0.0) and way_m >= USEFUL * mean_m, 'positions_late',
         f'the stamps of the positions are {late}, in which the vehicle drives {way_m:.3g} m',
         'leave --position-lag (position_lag of the trainer node) at auto, or set the clocks'),
        (repetition.explained < 0.5, 'imu_shows_no_place',
         f'the place explains {repetition.explained:.0%} of what {imu.topic} measures',
         ('check that this IMU is on the vehicle, its axes are alive and the clocks agree, and '
         f'drive {WANTED_LAPS}, alike, on a route with bends, stops or ramps')),
        (few, 'few_laps', f'there are {count:.1f} laps', f'drive {WANTED_LAPS}, of each route'),
        (samples < LAP_SAMPLES, 'imu_slow',
         (f'{imu.topic} has {samples:.0f} samples in a lap of {lap_s:.3g} s, too few to see its '
         'bends'),
         f'publish at {LAP_SAMPLES / lap_s:.0f} Hz or faster, or try another --method'),
        (True, 'unknown', 'no single reason was found',
         ('look at the warnings, leave out settings that were given, drive '
         f'{WANTED_LAPS}, of each route, at the speeds of use, or distinguish places that look '
         'alike by a stop or a ramp')),
    )  # fmt: skip
    return next(row[1:] for row in rows if row[0])


def measure_repetition(
    recordings: Sequence[Recording], drives: Sequence[PositionReport]
) -> Repetition:
    """Measure how much of the drives repeats; ``UNKNOWN`` if positions hide it."""
    points, middles, driven_m = [], [], 0.0
    for recording, drive in zip(recordings, drives, strict=True):
        motion = put_together(recording.positions, recording.imu) if recording.positions else None
        if motion is None or not (drive.laps is None or drive.laps.resolved):
            continue
        way = way_driven(motion)
        moving = np.column_stack([motion.positions, motion.velocities, motion.course_rate])
        rows = np.column_stack([driven_m + way, moving, motion.imu])
        rows = rows[motion.moving & np.isfinite(motion.imu).all(axis=1)]
        points.append(rows)
        # Passes of two recordings are not beside each other on one way.
        driven_m += 10.0 * way[-1]
        if drive.laps is not None and len(rows):
            places = np.arange(rows[0, 0], rows[-1, 0], drive.laps.length_m / STEPS)
            along = np.stack([np.interp(places, rows[:, 0], each) for each in rows[:, 1:3].T], 1)
            summed = np.cumsum(along, axis=0)
            middles.append((summed[STEPS:] - summed[:-STEPS]) / STEPS)
    if not sum(map(len, points)):
        return UNKNOWN
    every = np.concatenate(points)
    every = every[np.linspace(0, len(every) - 1, min(len(every), POINTS)).astype(np.int64)]
    # The nearest point of another pass the same way, within a tenth of the extent.
    places, headings = every[:, 1:3], every[:, 3:5]
    headings = headings / np.linalg.norm(headings, axis=1, keepdims=True)
    width = 0.1 * float(np.linalg.norm(np.ptp(places, axis=0)))
    apart = cdist(places, places)
    same_pass = np.abs(every[:, :1] - every[:, 0]) <= 4.0 * width
    apart[same_pass | (headings @ headings.T < SAME_WAY)] = np.inf
    near = apart.min(axis=1) <= width
    explained = 0.0
    if near.any():
        pair = np.stack([every[near, 6:], every[apart.argmin(axis=1)[near], 6:]])
        pair = pair - pair.mean(axis=(0, 1))
        variances = np.square(pair).mean(axis=(0, 1))
        # A dead channel has rounding.
        variances = np.where(variances > 1e-18, variances, np.inf)
        explained = float((pair.prod(axis=0).mean(axis=0) / variances).max())
    laps = np.concatenate([np.zeros((0, 2)), *middles])
    apart_m = float(np.sqrt(laps.var(axis=0).sum())) if len(laps) else 0.0
    return Repetition(float(near.mean()), apart_m, explained)
