# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Find positions of a drive that no speed of it explains, by medians that these do not move."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.typing import Bools, Floats, Ints

FARTHEST_M = 1e8
"""Farthest from the origin that a coordinate may be, metres: twice the way around the earth."""

LATE_NS = 500_000_000
"""By how much a message may be late: where stamps go back by more, the clock was set back."""

SPEEDS = 2.0
"""Times the fastest driving that a step may be fast: late stamps double the speed of a step."""

WINDOW = 5
"""Steps whose median is a speed, which two wrong ones do not move; three in a row are driving."""

BELIEVED = 10
"""Positions that have to agree to be believed after a jump, beside those of the time it takes."""


@dataclass(frozen=True)
class Reach:
    """Largest distances between positions of a drive that the vehicle's motion can explain."""

    speed_mps: float  # fastest that it may be, SPEEDS times the fastest driving
    tremble_m: float  # how far positions may be apart in no time
    interval_s: float  # shortest time between two, the median: stamps jitter

    def metres(self, seconds: Floats) -> Floats:
        """Return how far positions so many seconds apart may be from each other."""
        within: Floats = self.speed_mps * np.maximum(seconds, self.interval_s) + self.tremble_m
        return within


def usable_places(positions: Floats) -> Bools:
    """Return which of (M, 2) positions, metres, are finite and somewhere on earth: (M,)."""
    return np.asarray((np.abs(positions) <= FARTHEST_M).all(axis=1))


def explained(stamps: Ints, positions: Floats) -> Bools:
    """
    Return which positions (M, 2) are usable: finite, on earth, and where a speed leads.

    The drive is cut where a step is longer than its `Reach`, and as few positions as possible are
    left out so that as few jumps as possible are left. A jump costs as much as ``BELIEVED``
    positions, and those of the time that the vehicle would take for it. A jump after which all
    positions agree stays: localisation was moved, or the vehicle.
    """
    usable = usable_places(positions)
    left = -1
    # Many wrong positions spoil what is learned of speeds, and without the worst there are fewer.
    while left != np.count_nonzero(usable):
        left = int(np.count_nonzero(usable))
        rows, drives = np.flatnonzero(usable & (stamps > 0)), []
        # The parts in which the clock did not go back, sorted by stamps.
        for part in np.split(rows, np.flatnonzero(np.diff(stamps[rows]) < -LATE_NS) + 1):
            # The first of those with the same stamp counts, and speaks for all.
            known, first, which = np.unique(stamps[part], return_index=True, return_inverse=True)
            if len(known) > 1:
                drive = _drive((known - known[0]) * 1e-9, positions[part[first]])
                of_rows = drive.places_of_rows[which]
                drives.append(replace(drive, rows=part, places_of_rows=of_rows))
        reach = _reach(drives)
        if reach is None:
            break
        for drive in drives:
            kept = _longest_chain(drive, reach)
            usable[drive.rows] = kept[drive.places_of_rows]
    return usable


def sustained_speed(seconds: Floats, places: Floats) -> float:
    """Return the fastest driving for fifteen steps between seconds (m,) and places (m, 2), m/s."""
    if len(seconds) <= 3 * WINDOW:
        return 0.0
    drive = _drive(seconds, places)
    return _sustained(drive, float(np.median(drive.took))) if len(drive.places) > 1 else 0.0


def measure_reach(seconds: Floats, places: Floats) -> Reach | None:
    """Learn how far from increasing seconds (m,) and places (m, 2); ``None`` if too few."""
    return _reach([_drive(seconds, places)])


def unexplained_steps(seconds: Floats, places: Floats) -> Bools:
    """Return which steps (m - 1,) between increasing seconds (m,) and places are out of reach."""
    jumps = np.zeros(max(len(seconds) - 1, 0), dtype=np.bool_)
    if not len(jumps):
        return jumps
    drive = _drive(seconds, places)
    reach = _reach([drive])
    if reach is not None:
        began = np.searchsorted(drive.places_of_rows, np.arange(1, len(drive.places)))
        jumps[began - 1] = drive.metres > reach.metres(drive.took)
    return jumps


@dataclass(frozen=True)
class _Drive:
    """Places in the order of time; one that is given again says nothing new, and is there once."""

    rows: Ints  # (r,) rows of the stream
    places_of_rows: Ints  # (r,) which place each gives
    places: Floats  # (m, 2) metres
    began: Floats  # (m,) when each was first given, seconds
    ended: Floats  # (m,) and last
    # For how long each holds: a slow receiver is repeated until its next position.
    held: Floats
    took: Floats  # (m - 1,) duration of each step, seconds
    metres: Floats  # (m - 1,) and length


def _drive(seconds: Floats, places: Floats) -> _Drive:
    new = np.append(True, (np.diff(places, axis=0) != 0.0).any(axis=1))
    first = np.flatnonzero(new)
    began, ended = seconds[first], seconds[np.append(first[1:], len(seconds)) - 1]
    held = np.minimum(ended - began, np.median(ended - began))
    rows, places = np.arange(len(seconds)), places[first]
    took = began[1:] - ended[:-1] + held[:-1]
    metres = np.linalg.norm(np.diff(places, axis=0), axis=1)
    return _Drive(rows, np.cumsum(new) - 1, places, began, ended, held, took, metres)


def _reach(drives: list[_Drive]) -> Reach | None:
    """Learn how far positions may be apart; ``None`` if they are too few to know."""
    took = np.concatenate([np.zeros(0), *[each.took for each in drives]])
    if len(took) < 3 * WINDOW:
        return None
    interval_s = float(np.median(took))
    fastest = max(_sustained(each, interval_s) for each in drives)
    if not fastest:
        # It drives nowhere for long: nothing but the speed of the tremble is known.
        metres = np.concatenate([each.metres for each in drives])
        fastest = float(np.quantile(metres / np.maximum(took, interval_s), 0.95))
    # How far each place is from the line between its neighbours.
    trembles = [np.zeros(0)]
    for drive in drives:
        places, steps_s = drive.places, drive.took
        share = (steps_s[:-1] / (steps_s[:-1] + steps_s[1:]))[:, None]
        between = places[:-2] * (1.0 - share) + places[2:] * share
        trembles.append(np.linalg.norm(places[1:-1] - between, axis=1))
    every = np.concatenate(trembles)
    tremble_m = float(np.median(every)) if len(every) else 0.0
    # Normal noise reaches six times the median tremble.
    return Reach(SPEEDS * fastest, 10.0 * tremble_m, interval_s)


def _sustained(drive: _Drive, interval_s: float) -> float:
    """Return the highest median speed that three windows in a row have; 0 if there is none."""
    # Driving gets half as far as its steps are long, as no parked vehicle does.
    metres, places = drive.metres, drive.places
    if len(metres) < 3 * WINDOW:
        return 0.0
    lengths = np.median(sliding_window_view(metres, WINDOW), axis=1)
    speeds = sliding_window_view(metres / np.maximum(drive.took, interval_s), WINDOW)
    far = np.linalg.norm(places[WINDOW:] - places[:-WINDOW], axis=1)
    driven = np.where(far >= 0.5 * WINDOW * lengths, np.median(speeds, axis=1), 0.0)
    three = np.minimum(driven[: -2 * WINDOW], driven[WINDOW:-WINDOW])
    return float(np.minimum(three, driven[2 * WINDOW :]).max())


def _longest_chain(drive: _Drive, reach: Reach) -> Bools:
    """Return which places (m,) stay, see `explained`."""
    places, metres = drive.places, drive.metres
    kept = np.ones(len(places), dtype=np.bool_)
    cuts = np.flatnonzero(metres > reach.metres(drive.took)) + 1
    if not len(cuts):
        return kept
    begins, ends = np.append(0, cuts), np.append(cuts, len(places))
    # A place that is given for long counts for all of that time.
    longer = (drive.ended - drive.began - drive.held) / reach.interval_s
    before = np.append(0.0, np.cumsum(1.0 + longer))
    # And as many positions as come in the time that the vehicle would take for it.
    per_position_m = max(reach.speed_mps * reach.interval_s, np.finfo(float).tiny)
    jumps = BELIEVED + metres[cuts - 1] / per_position_m
    # The least that it costs to come to a piece, and the piece before it that is not left out.
    costs = before[begins]
    previous = np.full(len(begins), -1)
    for piece in range(1, len(begins)):
        first = begins[piece]
        # For time: more jumps in a row are not one fault.
        others = np.arange(max(piece - 2_000, 0), piece)
        last = ends[others] - 1
        took = drive.began[first] - drive.ended[last] + drive.held[last]
        apart = np.linalg.norm(places[first] - places[last], axis=1)
        left = np.where(apart <= reach.metres(took), before[first] - before[ends[others]], np.inf)
        ways = costs[others] + left
        ways[-1] = costs[piece - 1] + jumps[piece - 1]
        best = int(np.argmin(ways))
        if ways[best] < costs[piece]:
            costs[piece], previous[piece] = ways[best], others[best]
    piece = int(np.argmin(costs + before[-1] - before[ends]))
    kept[ends[piece] :] = False
    while piece >= 0:
        back = int(previous[piece])
        kept[ends[back] if back >= 0 else 0 : begins[piece]] = False
        piece = back
    return kept


HALF_NS = 500_000_000
"""Time over which the IMU is averaged, which takes vibration and noise out and leaves bends."""

DRIVES = 0.3
"""Spread of the IMU in a stretch over that in the rest, from which on the vehicle drives."""


def frozen_places(stamps: Ints, positions: Floats, sampled: Ints, samples: Floats) -> Bools:
    """
    Return which positions (M,) repeat to the last digit while the IMU shows a drive.

    A camera that lost the vehicle, or a localisation that died, gives its last place, zeros, or
    another constant. What comes rarely may repeat for five of its usual intervals. The drive is
    shown by the accelerometer, as one who turns on the spot is not lost, or by the gyroscope if
    the other is dead. Positions are (M, 2), samples of the IMU (N, 6), or of other sensors (N, k).
    """
    frozen = np.zeros(len(stamps), dtype=np.bool_)
    rows = np.flatnonzero(usable_places(positions) & (stamps > 0))
    finite = np.isfinite(samples).all(axis=1) & (sampled > 0)
    if len(rows) < 2 or not finite.any():
        return frozen
    new = np.flatnonzero(np.append(True, (np.diff(positions[rows], axis=0) != 0).any(axis=1)))
    first, last = rows[new], rows[np.append(new[1:], len(rows)) - 1]
    usual_ns = int(np.median(np.diff(stamps[first]))) if len(first) > 1 else 0
    # While it drives no place repeats to the last digit for longer.
    runs = np.flatnonzero(stamps[last] - stamps[first] > max(1_000_000_000, 5 * usual_ns))
    if not len(runs):
        return frozen
    halves, of_half, counts = np.unique(
        sampled[finite] // HALF_NS, return_inverse=True, return_counts=True
    )
    # Another sensor has fewer channels, or more.
    known = np.pad(samples[finite, :6], ((0, 0), (0, max(6 - samples.shape[1], 0))))
    known = known - known.mean(axis=0)
    squares = np.diff(known, axis=0, prepend=known[:1]) ** 2
    means, steps = (
        np.stack([np.bincount(of_half.ravel(), weights=each) / counts for each in of.T], axis=1)
        for of in (known, squares)
    )
    means, steps = means.reshape(-1, 2, 3), steps.reshape(-1, 2, 3)
    # Whole half seconds in which a place is given; until an interval later the vehicle may brake.
    since, until = np.searchsorted(
        halves * HALF_NS, [stamps[first[runs]] + usual_ns, stamps[last[runs]] - HALF_NS + 1]
    )
    outside = np.ones(len(halves), dtype=np.bool_)
    for begin, end in zip(since, until, strict=True):
        outside[begin:end] = False
    if outside.sum() < 2:
        return frozen
    usual = means[outside].var(axis=0).sum(axis=1)
    sensor = 0 if usual[0] > 0.0 else 1
    for run, begin, end in zip(runs, since, until, strict=True):
        if end - begin > 1:
            # Squared steps between samples are twice the noise, which vibration adds to the means.
            noise = (steps[begin:end, sensor].sum(axis=1) / counts[begin:end]).mean()
            spread = means[begin:end, sensor].var(axis=0).sum() - noise
            frozen[first[run] : last[run] + 1] = spread > DRIVES**2 * usual[sensor] > 0.0
    return frozen
