# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Measure how much of the drives repeats, and name the likely reason why no training works."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from two_manifold_ros.inspection.motion import put_together, way_driven
from two_manifold_ros.inspection.positions import FOLLOWS, PositionReport, WANTED_LAPS
from two_manifold_ros.recordings.recording import median_interval_ns, Recording
from two_manifold_ros.route.merging import SAME_WAY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.typing import Bools, Floats, Ints

USEFUL = 0.5
"""Share of the mean position's error that parts left out have to be followed with: at most .34 on
drives of four laps and more that are followed well, at least .55 where no method is of use."""

LEAST_PUBLISHED = 0.1
"""Share of the ticks of parts left out that a filter has to publish: 5 % at most of drives that
cannot be located, 39 % and more of those that can."""

POINTS = 1_000
"""Points of all drives that are compared with another pass."""

STEADY = 0.15
"""Spread of speed or rate of turn along the route, over their means, below which it is a circle:
.2 and 1 on circuits, .05 and .12 at most of vehicles that circle at one speed."""

STEPS = 100
"""Steps of a lap at which laps are compared."""

MIRRORED = 0.9
"""How alike parts of a lap look, over places on two laps, if mistaken: an ellipse has 1.0."""

LAP_SAMPLES = 80
"""IMU samples in a lap below which bends are blurred; as many ticks as a TPSR takes in a lap."""


WORDS = {
    'positions_missing': 'positions cover only {covered:.0%} of the time; find out why the others '
    'are missing, and record again',
    'nothing_repeats': 'nothing repeats, only {met:.0%} of the way is driven twice; drive '
    '{wanted}, of each route',
    'laps_apart': 'nothing repeats, laps lie {apart_m:.3g} m apart sideways, so positions drift '
    'or routes differ; drive the same route on each lap, with positions in a frame that stays',
    'positions_late': 'the stamps of the positions are {late}, in which the vehicle drives '
    '{way_m:.3g} m; leave --position-lag (position_lag of the trainer node) at auto, or set the '
    'clocks',
    'circle': '{seen}, since speed and rate of turn are the same everywhere, as on a circle; '
    'train on a route with bends, stops or ramps that distinguish its places',
    'laps_differ': '{seen}, which follows the course, so no lap is driven like the others; drive '
    '{wanted}, alike, at the speeds of use',
    'times_unrelated': '{seen}, which has a signal but does not follow the course, so the times '
    'of positions and IMU are unrelated; set the clocks (NTP or PTP), or give a --position-lag '
    'in seconds, and check that the IMU is on this vehicle',
    'no_signal': '{seen}, and there is no signal in it; check that this IMU is on the vehicle, '
    'its axes are alive and its range suits',
    'few_laps': 'there are {count:.1f} laps; drive {wanted}, of each route',
    'imu_slow': '{topic} has {samples:.0f} samples in a lap of {lap_s:.3g} s, too few to see its '
    'bends; publish at {least_hz:.0f} Hz or faster, or try another --method',
    'places_alike': 'the route looks the same on several parts of a lap; stop, slow down or add a '
    'ramp at one place of it',
    'unknown': 'no single reason was found; look at the warnings, leave out settings that were '
    'given, or drive {wanted}, of each route, at the speeds of use',
}
"""Reasons in words: the cause with its evidence, a semicolon, and the cure."""


@dataclass(frozen=True)
class Repetition:
    """How much of the drives repeats, measured where positions show the motion."""

    met: float  # share of the points that another pass comes near
    apart_m: float  # spread of the mean position of a lap over all laps, 0 where none closes
    explained: float  # share of the variance of the clearest channel that the place explains
    mirrored: float  # how alike parts of one lap look, over how alike a place does on two laps
    steady: bool  # neither speed nor rate of turn depends on the place
    restless: bool  # one of them changes
    signal: bool  # a channel is correlated for longer than noise


UNKNOWN = Repetition(1.0, 0.0, 1.0, 0.0, steady=False, restless=True, signal=True)
"""Where positions do not show the motion: nothing is held against the drives."""


def likely_reason(
    recordings: Sequence[Recording],
    drives: Sequence[PositionReport],
    repetition: Repetition,
    mean_m: float,
) -> tuple[str, str, str]:
    """Return the likely reason, a key of ``WORDS``, its cause in words, and the cure."""
    closed = [each.laps for each in drives if each.laps is not None]
    known = [each for each in closed if each.resolved]
    counted = len(known) == len(closed) and repetition is not UNKNOWN
    count, lap_s = sum(e.count for e in known), min((e.time_s for e in known), default=math.inf)
    late = max((each.lag for each in drives), key=lambda lag: abs(lag.seconds or 0.0))
    way_m = abs(late.seconds or 0.0) * max((e.length_m / e.time_s for e in known), default=0.0)
    yaws = [each.yaw.correlation for each in drives if each.yaw is not None]
    follows = late.seconds is not None or max(map(abs, yaws), default=0.0) >= FOLLOWS
    imu = recordings[0].imu
    samples = lap_s * 1e9 / max(median_interval_ns(imu.stamps), 1)
    blind = repetition.explained < 0.5
    # Five are wanted; the ends that are cut off are no reason.
    few = counted and count < 4.5
    covered = sum(each.coverage for each in drives) / len(recordings)
    rows = (
        (covered < 0.5 and (repetition.met < 0.5 or few), 'positions_missing'),
        (repetition.met < 0.5, 'nothing_repeats'),
        (repetition.apart_m >= USEFUL * mean_m, 'laps_apart'),
        (late.exceeds(0.0) and way_m >= USEFUL * mean_m, 'positions_late'),
        (blind and repetition.steady and not (follows and repetition.restless), 'circle'),
        (blind and follows, 'laps_differ'),
        (blind and repetition.signal, 'times_unrelated'),
        (blind, 'no_signal'),
        (few, 'few_laps'),
        (samples < LAP_SAMPLES, 'imu_slow'),
        (repetition.mirrored >= MIRRORED, 'places_alike'),
        (True, 'unknown'),
    )
    reason = next(reason for holds, reason in rows if holds)
    seen = f'the place explains {repetition.explained:.0%} of what {imu.topic} measures'
    found = {
        'covered': covered, 'seen': seen, 'met': repetition.met, 'apart_m': repetition.apart_m,
        'late': late, 'way_m': way_m, 'topic': imu.topic, 'count': count, 'samples': samples,
        'lap_s': lap_s, 'least_hz': LAP_SAMPLES / lap_s, 'wanted': WANTED_LAPS,
    }  # fmt: skip
    cause, cure = (each.format(**found) for each in WORDS[reason].split('; '))
    return reason, cause, cure


def measure_repetition(
    recordings: Sequence[Recording], drives: Sequence[PositionReport]
) -> Repetition:
    """Measure how much of the drives repeats; ``UNKNOWN`` if positions hide it."""
    points, routes, signal, driven_m = [], [], False, 0.0
    for recording, drive in zip(recordings, drives, strict=True):
        motion = put_together(recording.positions, recording.imu) if recording.positions else None
        if motion is None or not (drive.laps is None or drive.laps.resolved):
            continue
        way = way_driven(motion)
        chosen: Bools = motion.moving & np.isfinite(motion.imu).all(axis=1)
        moving = np.column_stack([motion.positions, motion.velocities, motion.course_rate])
        rows = np.column_stack([driven_m + way, moving, motion.imu])[chosen]
        points.append(rows)
        # Passes of two recordings are not beside each other on one way.
        driven_m += 10.0 * way[-1]
        signal |= _has_signal(rows[:, 6:], motion.window)
        if drive.laps is not None and len(rows):
            places = np.arange(rows[0, 0], rows[-1, 0], drive.laps.length_m / STEPS)
            routes.append(np.stack([np.interp(places, rows[:, 0], each) for each in rows.T], 1))
    if not sum(map(len, points)):
        return UNKNOWN
    every = np.concatenate(points)
    every = every[np.linspace(0, len(every) - 1, min(len(every), POINTS)).astype(np.int64)]
    mates, near = _mates(every)
    values = np.column_stack([np.linalg.norm(every[:, 3:5], axis=1), every[:, 5:]])
    alike = _correlations(values[near], values[mates[near]])
    spreads, usual = values[:, :2].std(axis=0), np.abs(values[:, :2]).mean(axis=0)
    at_place = np.where(alike[:2] < 0.5, 0.0, spreads)
    sums = [np.cumsum(each[:, 1:3], axis=0) for each in routes]
    middles = np.concatenate([np.zeros((1, 2)), *((e[STEPS:] - e[:-STEPS]) / STEPS for e in sums)])
    return Repetition(
        met=float(near.mean()),
        apart_m=float(np.sqrt(middles[1:].var(axis=0).sum())) if len(middles) > 1 else 0.0,
        explained=float(alike[2:].max()),
        mirrored=max((_mirrored(each[:, 6:], alike[2:]) for each in routes), default=0.0),
        steady=bool((at_place < STEADY * usual).all()),
        restless=bool((spreads >= STEADY * usual).any()),
        signal=signal,
    )


def _mates(points: Floats) -> tuple[Ints, Bools]:
    """Return the nearest point of another pass the same way (n,), and whether that is near."""
    places, headings = points[:, 1:3], points[:, 3:5]
    headings = headings / np.linalg.norm(headings, axis=1, keepdims=True)
    # A tenth of the extent, as wide as the gates at which laps are counted.
    width = 0.1 * float(np.linalg.norm(np.ptp(places, axis=0)))
    apart = cdist(places, places)
    same_pass = np.abs(points[:, :1] - points[:, 0]) <= 4.0 * width
    apart[same_pass | (headings @ headings.T < SAME_WAY)] = np.inf
    return apart.argmin(axis=1), apart.min(axis=1) <= width


def _correlations(first: Floats, second: Floats) -> Floats:
    """Return the correlation of each column of pairs (n, c); 0 where one is dead."""
    if not len(first):
        return np.zeros(first.shape[1])
    pair = np.stack([first, second])
    pair = pair - pair.mean(axis=(0, 1))
    variances = np.square(pair).mean(axis=(0, 1))
    # A dead channel has rounding.
    variances = np.where(variances > 1e-18, variances, np.inf)
    return np.asarray(pair.prod(axis=0).mean(axis=0) / variances)


def _has_signal(seen: Floats, window: int) -> bool:
    """Return whether a channel (n, c) is correlated beyond the window of its smoothing."""
    lags = [lag for lag in (window, 2 * window, 3 * window) if lag < len(seen)]
    # Four standard errors of the correlation of as many independent moments.
    least = 4.0 * math.sqrt(window / max(len(seen), 1))
    return any((np.abs(_correlations(seen[lag:], seen[:-lag])) > least).any() for lag in lags)


def _mirrored(along: Floats, alike: Floats) -> float:
    """Return how alike rows are a fifth to four fifths of a lap on, over those of a place."""
    weights = np.maximum(alike, 0.0)
    shifts = range(STEPS // 5, min(4 * STEPS // 5, len(along) - 1))
    found = [float(_correlations(along[each:], along[:-each]) @ weights) for each in shifts]
    return max(found, default=0.0) / max(float(alike @ weights), 1e-9)
