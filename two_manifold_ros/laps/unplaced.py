# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings to train from where no positions are known: laps by marks, or by the IMU alone."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.laps.alignment import align_marks, drive_series, Series
from two_manifold_ros.laps.loop import find_loop, lay_around, repetitions
from two_manifold_ros.laps.ring import on_line
from two_manifold_ros.names import MARKS
from two_manifold_ros.recordings.reading import read_stamps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints

APART_NS = 10_000_000_000
"""Time put between recordings that are searched for one loop: a gap, as where nothing was seen."""

SHORTEST_LAP_S = 1.0
"""Shortest lap, s: any topic that a driver publishes has more messages, slot cars have none."""


class Placed(NamedTuple):
    """
    Recordings with positions by their laps, on a ring or on a line through their fixes.

    There are so many laps in all of them, each of usually ``lap_s``; the ``sentence`` says so.
    """

    recordings: list[Recording]
    lap_s: float
    laps: float
    sentence: str


def place(recordings: Sequence[Recording], marks: str | None) -> Placed:
    """
    Place drives by marks of the start line, or by the loop in the IMU of all.

    Marks are a topic of the recordings, with a message of any type at each passage.
    """
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
            msg = (
                f'{recording.name}: {inside.sum()} of {len(own)} marks{where} fall into the '
                f'{1e-9 * (end - begin):.0f} s of the IMU; give three or more, by the same clock'
            )
            raise InputError(msg)
        own_ticks, numbers = passages_of(series, at[inside], recording.name)
        phases = align_marks(series, own_ticks, numbers)
        # At each mark a lap begins, to the tick.
        found = np.interp(own_ticks, ticks, phases)
        # By what is passed and not by time: a vehicle that stands stays where it is.
        phases += np.interp(phases, found, numbers - found)
        repeated.append(repetitions(series, phases, own_ticks))
        if not repeated[-1]:
            msg = (
                f'{recording.name}: what the IMU reads between the marks does not repeat, so they '
                'are no passages of one line; give their times by the clock of the IMU'
            )
            raise InputError(msg)
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
    around a ring of a usual lap (`lay_around`). An ``InputError`` says of the recording of this
    ``name`` that fewer than three are left, or that they come too often for laps.
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
        msg = (
            f'{name}: {len(marks)} marks{apart} are no laps: give three passages of the line or '
            f'more, {SHORTEST_LAP_S:g} s apart at least, and no other messages'
        )
        raise InputError(msg)
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
        shifts.append(end + APART_NS - each.imu.first_stamp)
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
