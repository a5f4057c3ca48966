# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps where no positions are known: by marks, or by the loop that an IMU alone shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import math
from operator import attrgetter
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from two_manifold_ros.errors import InputError
from two_manifold_ros.laps.alignment import (
    align_marks,
    align_steps,
    drive_series,
    extended,
    FINE,
    most_likely_way,
    Series,
)
from two_manifold_ros.laps.ring import on_line
from two_manifold_ros.names import MARKS
from two_manifold_ros.recordings.reading import read_stamps
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording


SHORTEST_S = 2.0
"""Shortest windows that are compared, s; longer ones follow, each of twice the length."""

ANCHORS, NEAREST = 150, 3
"""Windows of each length that are compared with all others; so many most alike ones count."""

REACH = 6
"""Windows in a row between two that are compared, at most: every lap is among a few of them."""

PHASES, MOST_STEPS = 100, 40_000
"""Phases of a lap, and steps of a drive, at most: an hour of 400 laps takes seconds then."""

ROUNDS, STARTS = 5, 3
"""Times that path and means are found in turn, and stretches of the drive to begin with."""

LEAST_PHASES = 8
"""Phases of a ring, at least."""

STAYS, SKIPS = 0.15, 0.15
"""Chances to stay in a phase, and to go on by two, until the steps of a drive are counted."""

OUTLIER = 3.0
"""Standard deviations in each channel beyond which an observation says nothing of its phase."""

MOST_DOUBT = 0.05
"""Share of what is read that each further lap leaves unexplained, to the power of these laps."""

ALMOST = 0.03
"""Share of the information by which the shorter of two loops may have less: two are one, too."""

WIDE = 0.02
"""Width, in the logarithm of a lag, of what is one peak: drivers differ by some per cent a lap."""


@dataclass(frozen=True)
class Loop:
    """
    The loop of a drive of so many laps, each of usually ``lap_s``.

    Other laps explain a share ``explained`` of what the IMU reads; ``confidence`` is one less the
    doubt, see `MOST_DOUBT`. At ``stamps`` (T,), ns, ``phases`` (T,) laps are gone.
    """

    lap_s: float
    laps: float
    explained: float
    confidence: float
    stamps: Ints
    phases: Floats


class Ring(NamedTuple):
    """
    A drive laid around a ring of so many phases, by steps of so many ticks.

    ``way`` (T,) are the phases gone at each step, unwrapped. The other laps hold so much
    ``information`` on an observation, nats; for ``uneven`` see `unevenness`.
    """

    phases: int
    ticks: float
    way: Ints
    information: float
    explained: float
    uneven: float

    @property
    def laps(self) -> float:
        """Laps gone."""
        return float(self.way[-1] - self.way[0]) / self.phases

    @property
    def middles(self) -> Floats:
        """Middle of each step, in ticks: (T,)."""
        middles: Floats = (np.arange(float(len(self.way))) + np.float64(0.5)) * self.ticks
        return middles

    @property
    def doubt(self) -> float:
        """See `MOST_DOUBT`."""
        return float((1.0 - min(max(self.explained, 0.0), 1.0)) ** max(self.laps - 1.0, 0.0))


def find_loop(recording: Recording) -> Loop:
    """Find the loop of a drive in its IMU alone; an ``InputError`` says what is against one."""
    series = drive_series(recording)
    rings = [lay_around(series, lag) for lag in candidate_lags(series)]
    # On a loop the speed spreads by .7 at most, see `unevenness`.
    even = [each for each in rings if each.uneven <= 0.75 and each.information > 0.0]
    # The ring whose laps say most of each other; of several the shortest.
    least = (1.0 - ALMOST) * max((each.information for each in even), default=0.0)
    alike = [each for each in even if each.information >= least]
    # Those of two laps have half as many. Of one loop there may be several, at lags around it.
    many = 0.75 * max((each.laps for each in alike), default=0.0)
    shortest = [each for each in alike if each.laps > many]
    ring = max(shortest, key=attrgetter('information'), default=None)
    # Other laps explain .7 and more on loops, .54 at most without one.
    if ring is not None and ring.explained >= 0.6 and ring.doubt <= MOST_DOUBT:
        return _loop_of(series, ring)
    doubt = 'no part of it looks like another one'
    if ring is not None:
        share = max(ring.explained, 0.0)
        doubt = f'{ring.laps:.1f} laps of the best loop explain {share:.0%} of it'
    elif rings:
        doubt = 'what looks alike in it comes in another order each time'
    seconds = len(series.values) * series.period_s
    raise InputError(
        f'{recording.name}: nothing repeats in the {seconds:.0f} s of {recording.imu.topic}: '
        f'{doubt}; drive one route three times or more, the same way round'
    )


def repetitions(series: Series, phases: Floats, marks: Floats) -> int:
    """
    Return how many alike parts laps have, by phases (T,) of ticks between marks: 0 if laps differ.

    Two or three are of a route with as many alike parts, or of one whose marks were mostly missed.
    """
    begin, end = marks[[0, -1]]
    first, last = np.interp(marks[[0, -1]], np.arange(float(len(phases))), phases)
    lap = (end - begin) / (last - first)
    held = []
    # A beacon that misses more laps between two marks is no beacon.
    for parts in range(1, max(min(3, int(lap * series.period_s / SHORTEST_S)), 1) + 1):
        middles, seen = series.averaged(max(lap / (parts * PHASES), 1.0))
        inside = (middles >= begin) & (middles <= end) & np.isfinite(seen).all(axis=1)
        if not inside.any():
            return 0
        at = np.interp(middles[inside], np.arange(float(len(phases))), phases)
        way = np.floor(parts * PHASES * at).astype(np.int64)
        rows = seen[inside]
        held.append(_information(rows, way - way.min(), PHASES, rows.var(axis=0) + 1e-9))
    # Parts of a lap that do not repeat have .4.
    alike = (parts for parts, each in enumerate(held, 1) if each >= 0.55 * held[0] > 0.0)
    return max(alike, default=0)


def _loop_of(series: Series, ring: Ring) -> Loop:
    """Align the laps of a ring in fine steps."""
    at, rough = ring.middles, ring.way / ring.phases
    usual = usual_lap(at, rough)
    # Each time from the last: phases change by .1 % then.
    for _ in range(3):
        middles, seen = series.averaged(usual / FINE.steps)
        # A slack of as much as a few coarse phases.
        own = align_steps(seen, np.interp(middles, at, rough), 0.05)
        if abs((own[-1] - own[0]) / (rough[-1] - rough[0]) - 1.0) > ALMOST:
            # Fine steps are lost on the way, as in a long hole: the coarse ones stand.
            break
        at, rough = middles, own
        usual = usual_lap(at, rough)
    ends = np.arange(float(len(series.stamps))) + np.float64(0.5)
    phases = extended(ends, at, rough - rough[0], usual)
    return Loop(
        lap_s=usual * series.period_s,
        laps=float(phases[-1] - phases[0]),
        explained=ring.explained,
        confidence=1.0 - ring.doubt,
        stamps=series.stamps,
        phases=phases,
    )


def usual_lap(times: Floats, phases: Floats) -> float:
    """Return the median time between equal phases a lap apart, of rising phases."""
    rising = phases + 1e-9 * np.arange(len(phases))
    at = np.arange(rising[0], rising[-1] - 1.0, 0.02)
    return float(np.median(np.interp(at + 1.0, rising, times) - np.interp(at, rising, times)))


def candidate_lags(series: Series) -> list[float]:
    """Return lags, ticks, at which windows look alike most often, up to half of the drive."""
    # Of windows of each length there are peaks of votes in the logarithm of the lag.
    total = len(series.values)
    found: list[tuple[float, float]] = []
    width_s = SHORTEST_S
    while width_s <= total * series.period_s / 6.0:
        ticks = max(0.05 * width_s / series.period_s, 1.0)
        _, seen = series.averaged(ticks)
        width = max(round(width_s / series.period_s / ticks), 4)
        width_s *= 2.0
        if len(seen) < 4 * width:
            break
        lags, votes = _alike(np.nan_to_num(seen), width)
        if not len(lags):
            continue
        logs = np.log(lags * ticks)
        grid = np.arange(logs.min() - 3 * WIDE, logs.max() + 3 * WIDE, 0.25 * WIDE)
        heights = np.zeros(len(grid))
        for log, vote in zip(logs, votes, strict=True):
            heights += vote * np.exp(-0.5 * np.square((grid - log) / WIDE))
        inner = heights[1:-1]
        top = (inner > heights[:-2]) & (inner >= heights[2:])
        # Lower ones are not tried.
        top &= inner > 0.2 * heights.max()
        found += [
            (math.exp(float(grid[k])), float(heights[k] / heights.max()))
            for k in (np.flatnonzero(top) + 1).tolist()
        ]
    found.sort(key=lambda each: -each[1])
    kept: list[float] = []
    for lag, _ in found:
        if lag <= total / 2.0 and all(abs(math.log(lag / other)) > 2.0 * WIDE for other in kept):
            kept.append(lag)
    # Those at which most windows look alike: chosen, not measured.
    return sorted(kept[:8])


def _alike(seen: Floats, width: int) -> tuple[Floats, Floats]:
    """Return how far away, in steps, the windows most alike are, and how much alike, squared."""
    count = len(seen) - width + 1
    windows = sliding_window_view(seen, width, axis=0).reshape(count, -1)
    squares = np.einsum('ij,ij->i', windows, windows)
    lags, votes = [], []
    for anchor in np.linspace(0, count - 1, min(ANCHORS, count)).astype(np.int64).tolist():
        near = slice(max(0, anchor - REACH * width), anchor + REACH * width + 1)
        numbers = np.arange(count)[near]
        apart = squares[near] + squares[anchor] - 2.0 * (windows[near] @ windows[anchor])
        far = np.abs(numbers - anchor) > width
        usual = float(np.median(apart[far])) if far.any() else 0.0
        apart[~far] = np.inf
        for _ in range(NEAREST):
            best = int(np.argmin(apart))
            if not apart[best] < usual:
                break
            lags.append(abs(int(numbers[best]) - anchor))
            votes.append((1.0 - max(float(apart[best]), 0.0) / usual) ** 2)
            apart[max(0, best - width) : best + width] = np.inf
    return np.array(lags, dtype=np.float64), np.array(votes)


def lay_around(series: Series, lap: float) -> Ring:
    """Lay a drive around a ring of a lap of so many ticks, from the best of some stretches."""
    ticks = max(lap / PHASES, len(series.values) / MOST_STEPS, 1.0)
    phases = max(round(lap / ticks), LEAST_PHASES)
    _, seen = series.averaged(ticks)
    channels = seen.shape[1]
    known = np.asarray(np.isfinite(seen).all(axis=1))
    rows = np.where(known[:, None], seen, np.nan)
    spread = seen[known].var(axis=0) + 1e-9
    usual = np.array([STAYS, 1.0 - STAYS - 1.1 * SKIPS, SKIPS, 0.1 * SKIPS])
    # Steps are independent, unlike in aligning: a wrong ring has to show by uneven speed.
    gears = np.array([[0.0, 0.5 * OUTLIER**2 * channels]])
    rings = []
    for start in [int((len(seen) - phases) * (k + 1) / (STARTS + 1)) for k in range(STARTS)]:
        means, noises, steps = np.nan_to_num(seen[start : start + phases]), 0.5 * spread, usual
        way = low = np.zeros(len(seen), dtype=np.int64)
        for _ in range(ROUNDS):
            moves = np.zeros((len(steps), 4))
            moves[:, 2], moves[:, 3] = np.arange(len(steps)), -np.log(steps)
            way = most_likely_way(rows, means, 0.5 / noises, low, phases, moves, gears)
            means, noises = _usual(seen[known], way[known] % phases, means, spread)
            counts = np.bincount(np.diff(way), minlength=len(usual))
            steps = (counts + phases * usual) / (counts.sum() + phases)
        information = _information(seen[known], way[known], phases, spread)
        explained = 1.0 - math.exp(-2.0 * information / channels)
        uneven = unevenness(way, phases, known)
        rings.append(Ring(phases, ticks, way, information, explained, uneven))
    return max(rings, key=attrgetter('information'))


def unevenness(way: Ints, phases: int, known: Bools) -> float:
    """Return the range of the speed along a ring, but for tenths, over its median."""
    width = max(phases // 10, 2)
    if len(way) <= width:
        return math.inf
    unseen = np.concatenate([[0], np.cumsum(~known)])
    seen = unseen[width + 1 :] == unseen[: -width - 1]
    speeds = (way[width:] - way[:-width])[seen] / width
    if not len(speeds):
        return math.inf
    # At a fifth of its usual speed a vehicle stops.
    moving = speeds[speeds > 0.2 * max(float(np.median(speeds)), 0.5)]
    if not len(moving):
        return math.inf
    low, middle, high = np.quantile(moving, [0.1, 0.5, 0.9]).tolist()
    return float(high - low) / float(middle)


def _usual(seen: Floats, at: Ints, before: Floats, spread: Floats) -> tuple[Floats, Floats]:
    """Return the mean observation at each phase (n, d), and the variances (d,) around them."""
    count = len(before)
    visits = np.bincount(at, minlength=count).astype(np.float64)
    sums = np.stack([np.bincount(at, axis, count) for axis in seen.T], axis=1)
    # A phase that is passed over is as those beside it.
    sums = 0.5 * sums + 0.25 * (np.roll(sums, 1, axis=0) + np.roll(sums, -1, axis=0))
    visits = 0.5 * visits + 0.25 * (np.roll(visits, 1) + np.roll(visits, -1))
    means = np.where(visits[:, None] > 0.0, sums / np.maximum(visits, 1e-9)[:, None], before)
    squares = np.minimum(np.square(seen - means[at]) / spread, OUTLIER**2)
    return means, np.maximum(squares.mean(axis=0), 1e-4) * spread


def _information(seen: Floats, way: Ints, phases: int, spread: Floats) -> float:
    """Return half the log of how much of the variance of each channel other laps leave, summed."""
    at = way % phases
    sums = np.stack([np.bincount(at, axis, phases) for axis in seen.T], axis=1)
    visits = np.bincount(at, minlength=phases).astype(np.float64)
    cells, inverse = np.unique(way, return_inverse=True)
    own_sums = np.stack([np.bincount(inverse, axis, len(cells)) for axis in seen.T], axis=1)
    own = np.bincount(inverse, minlength=len(cells)).astype(np.float64)
    others = visits[at] - own[inverse]
    known = others > 0.0
    # What no other lap shows is unexplained.
    means = np.zeros_like(seen)
    means[known] = (sums[at] - own_sums[inverse])[known] / others[known, None]
    middle = seen.mean(axis=0)
    means[~known] = middle
    left = np.minimum(np.square(seen - means) / spread, OUTLIER**2).mean(axis=0)
    usual = np.minimum(np.square(seen - middle) / spread, OUTLIER**2).mean(axis=0)
    return float(-0.5 * np.log(np.maximum(left / np.maximum(usual, 1e-9), 1e-6)).sum())


SHORTEST_LAP_S = 1.0
"""Shortest lap, s: any topic that a driver publishes has more messages, slot cars have none."""


class Placed(NamedTuple):
    """Recordings with positions by their laps, and a ``sentence`` on these for the user."""

    recordings: list[Recording]
    lap_s: float
    laps: float
    sentence: str


def place(recordings: Sequence[Recording], marks: str | None) -> Placed:
    """Place drives by a topic of marks of the start line, or by the loop in the IMU of all."""
    if marks is not None:
        passed = [np.sort(read_stamps(each.name, marks, each.imu)) for each in recordings]
        return place_by_marks(recordings, passed)
    joined, shifts = _joined(recordings)
    loop = find_loop(joined)
    parts = []
    for recording, shift in zip(recordings, shifts, strict=True):
        stamps = loop.stamps - shift
        inside = (stamps >= recording.imu.first_stamp) & (stamps <= recording.imu.last_stamp)
        parts.append((recording, stamps[inside], loop.phases[inside]))
    sentence = (
        f'the IMU shows {loop.laps:.1f} laps of usually {loop.lap_s:.3f} s, which explain '
        f'{loop.explained:.0%} of what it reads; confidence {loop.confidence:.1%}'
    )
    return Placed(on_line(parts, loop.lap_s), loop.lap_s, loop.laps, sentence)


def place_by_marks(recordings: Sequence[Recording], marks: Sequence[Ints]) -> Placed:
    """Place drives along their laps, of which marks (L + 1,), ns, say when each begins."""
    parts, times, laps, repeated = [], [], 0.0, []
    for recording, own in zip(recordings, marks, strict=True):
        series = drive_series(recording)
        ticks = np.arange(len(series.stamps))
        begin, end = series.stamps[[0, -1]].tolist()
        since = (series.stamps - begin).astype(np.float64)
        at = np.interp((own - begin).astype(np.float64), since, ticks)
        inside = (own >= begin) & (own <= end)
        # Two laps, of which one repeats the other.
        if inside.sum() < 3:
            first, last = (f'{1e-9 * (each.sum() - begin):.3f}' for each in (own[:1], own[-1:]))
            where = f', which lie {first} to {last} s after its first stamp' if len(own) else ''
            raise InputError(
                f'{recording.name}: {inside.sum()} of {len(own)} marks{where} fall into the '
                f'{1e-9 * (end - begin):.0f} s of the IMU; give three or more, by the same clock'
            )
        own_ticks, numbers = passages_of(series, at[inside], recording.name)
        phases = align_marks(series, own_ticks, numbers)
        # At each mark a lap begins, to the tick.
        found = np.interp(own_ticks, ticks, phases)
        # By what is passed and not by time: a vehicle that stands stays where it is.
        phases += np.interp(phases, found, numbers - found)
        repeated.append(repetitions(series, phases, own_ticks))
        if not repeated[-1]:
            raise InputError(
                f'{recording.name}: what the IMU reads between the marks does not repeat, so they '
                'are no passages of one line; give their times by the clock of the IMU'
            )
        phases[(ticks < own_ticks[0]) | (ticks > own_ticks[-1])] = np.nan
        parts.append((recording, series.stamps, phases))
        times.append(np.diff(own_ticks) / np.diff(numbers) * series.period_s)
        laps += float(numbers[-1])
    lap_s = float(np.median(np.concatenate(times)))
    sentence = f'{laps:g} laps by marks, of usually {lap_s:.3f} s'
    # Two laps of a bag may be alike by chance.
    if (count := min(repeated)) > 1:
        sentence += (
            f'; the IMU repeats {count} times in each: if the route has no {count} parts that are '
            'alike, marks are missing; then use --marks none'
        )
    return Placed(on_line(parts, lap_s, MARKS), lap_s, laps, sentence)


def passages_of(series: Series, marks: Floats, name: str) -> tuple[Floats, Floats]:
    """
    Return the marks that are passages of the line, and the laps gone at each.

    Marks (L + 1,) are rising ticks. A mark that follows another one in less than half of the usual
    time, as of a button pressed twice, is left out. If it takes half as long again as usual to the
    next one, a beacon missed laps or the vehicle stood: as many laps are counted as the drive goes
    around a ring of a usual lap (`lay_around`).
    """
    # Several messages of one passage; those of a topic that never pauses are one passage too.
    shortest = SHORTEST_LAP_S / series.period_s
    marks = marks[np.diff(marks, prepend=-np.inf) >= shortest]
    usual = float(np.median(np.diff(marks))) if len(marks) > 1 else 0.0
    kept: list[float] = []
    for each in marks.tolist():
        if not kept or each - kept[-1] >= 0.5 * usual:
            kept.append(each)
    own = np.array(kept)
    lasted = np.diff(own)
    usual = float(np.median(lasted)) if len(lasted) else 0.0
    if len(own) < 3 or usual * series.period_s < SHORTEST_LAP_S:
        apart = f', {usual * series.period_s:.3g} s apart' if len(own) > 1 else ''
        raise InputError(
            f'{name}: {len(marks)} marks{apart} are no laps: give three passages of the line or '
            f'more, {SHORTEST_LAP_S:g} s apart at least, and no other messages'
        )
    gone = np.ones(len(lasted))
    if (lasted > 1.5 * usual).any():
        ring = lay_around(series, usual)
        around = np.diff(np.interp(own, ring.middles, ring.way / ring.phases))
        gone = np.where(lasted > 1.5 * usual, np.maximum(np.round(around), 1.0), 1.0)
    return own, np.concatenate([[0.0], np.cumsum(gone)])


def _joined(recordings: Sequence[Recording]) -> tuple[Recording, list[int]]:
    """Return one recording of all IMUs, and by how much later each is in it, ns."""
    first = recordings[0]
    shifts, end = [0], first.imu.last_stamp
    for each in recordings[1:]:
        # A gap, as where nothing was seen, parts recordings that are searched for one loop.
        shifts.append(end + 10_000_000_000 - each.imu.first_stamp)
        end = each.imu.last_stamp + shifts[-1]
    streams = [each.imu for each in recordings]
    stamps = [imu.stamps + shift for imu, shift in zip(streams, shifts, strict=True)]
    imu = replace(
        first.imu,
        stamps=np.concatenate(stamps),
        samples=np.concatenate([each.samples for each in streams]),
        receive_stamps=np.concatenate([each.receive_stamps for each in streams]),
    )
    names = ', '.join(each.name for each in recordings)
    return replace(first, name=names, imu=imu, positions=None), shifts
