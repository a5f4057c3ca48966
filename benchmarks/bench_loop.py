# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The loop of a drive from its IMU alone, and phases from marks alone, against positions.

Run `./run bench loop`, with `--days N` for other seeds, and names of drives. Positions judge and
are not used: those of recordings, and the true laps of worlds. Phases are judged against the mean
share of a lap's time at which a place is passed, after the best shift; lines of drives that do
not repeat say what is claimed of them. At last both limits of the search are chosen again without
each drive, in the middle of those that judge most of the others right, and judge the drive. Real
recordings are looked for in `shared/recordings` beside the checkout and passed over where they are
absent.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

from gauntlet_drives import RECORDINGS
import numpy as np
from worlds.drive import drive
from worlds.shuttle import Line, shuttle
from worlds.table import world_named, WORLDS

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.motion import count_laps, lap_spans, put_together
from two_manifold_ros.laps.alignment import align_marks
from two_manifold_ros.laps.loop import best_ring, find_loop, LEAST_EXPLAINED, rings_of, usual_lap
from two_manifold_ros.laps.series import drive_series
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.ticks.segments import positions_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from worlds.drive import WorldDrive

    from two_manifold_ros.laps.loop import Ring
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints

REAL = (
    *('f1tenth_ipz10', 'f1tenth_ipz17', 'f1tenth_ipz19', 'ridge_car'),
    *(f'f1tenth_ipz20/run_{run}' for run in range(1, 8)),
)

WILD = (
    *(f'f1tenth_ipz8/run_{run}' for run in range(1, 8)),
    *('f1tenth_frictionmaps_ds1', 'f1tenth_frictionmaps_ds2'),
)
"""Drives with crashes and spins, and drives at the limit of grip in changing circles."""

LONG = ('tram', 'agv', 'car', 'car_5hz')

SLOT_LAPS, SLOT_SPANS, HOUR_LAPS = 55, (100.0, 200.0, 300.0), 395
"""Laps of the README's drive, the parts of it, s, that are searched, and laps of an hour."""

UNEVEN = np.arange(0.3, 1.31, 0.05).round(2).tolist()
DOUBTS = np.geomspace(1e-3, 0.5, 28).tolist()
"""Limits among which those of the search are chosen again."""

MARKS = 11
"""Crossings of the line that are given: ten laps."""


@dataclass(frozen=True)
class Lapped:
    """A drive, how many laps it has and how long one usually takes; none where it has no loop."""

    name: str
    recording: Recording
    laps: float = 0.0
    lap_s: float = math.nan


def healthy(days: int) -> Iterator[Lapped]:
    yield from _real(REAL)
    for world in WORLDS:
        laps = 5 if world.name in LONG else 12
        for day in range(days):
            yield _true(f'{world.name} {day}', drive(world, day=day, laps=laps, seed=day))


def wild(_: int) -> Iterator[Lapped]:
    yield from _real(WILD)


def other_loops(days: int) -> Iterator[Lapped]:
    """Drive to and fro: the loop is there and back."""
    for day in range(days):
        for name, line in (('shuttle', Line()), ('shuttle turns', Line(turns=True))):
            recording = shuttle(16, line, day=day, seed=day).recording
            yield _by_positions(f'{name} {day}', recording)


def slot_cars(days: int) -> Iterator[Lapped]:
    """Cars of the demo, each from its begin on, and an hour: seeds that no limit was chosen on."""
    hour = run_to_recording(simulate(SlotCarSettings(seed=8), laps=HOUR_LAPS))
    yield _by_positions(f'slot car 8, {HOUR_LAPS} laps', hour)
    for seed in range(9, 9 + 4 * days):
        whole = run_to_recording(simulate(SlotCarSettings(seed=seed), laps=SLOT_LAPS))
        seconds = float(whole.imu.last_stamp - whole.imu.first_stamp) * 1e-9
        for last in (*SLOT_SPANS, seconds):
            yield _by_positions(f'slot car {seed}, {last:.0f} s', whole.between(0.0, last))


def without_a_loop(days: int) -> Iterator[Lapped]:
    for day in range(days):
        for world in WORLDS:
            whole = drive(world, day=day, laps=2, seed=day).recording
            last = float(whole.imu.stamps[-1] - whole.imu.first_stamp) * 1e-9
            yield Lapped(f'{world.name} one lap {day}', whole.between(0.1 * last, 0.58 * last))
        kart = drive(world_named('kart'), day=day, laps=6, seed=day).recording
        yield Lapped(f'noise {day}', _noise(kart, day, 0.0))
        yield Lapped(f'slow noise {day}', _noise(kart, day, 0.99))
        yield Lapped(f'shuffled kart {day}', _shuffled(kart, day))
        yield Lapped(f'standing {day}', _noise(kart, day, 0.9, 1e-3))
        yield Lapped(f'errands {day}', _errands(day))


def _real(names: Sequence[str]) -> Iterator[Lapped]:
    for name in names:
        if (RECORDINGS / name).exists():
            yield _by_positions(name, read_recording(RECORDINGS / name))


def _by_positions(name: str, recording: Recording) -> Lapped:
    both = put_together(recording.positions, recording.imu) if recording.positions else None
    laps = count_laps(both.motion) if both else None
    return Lapped(name, recording, laps.count, laps.time_s) if laps else Lapped(name, recording)


def _true(name: str, made: WorldDrive) -> Lapped:
    """Return a drive in a world with its true laps, those of its dwells and slow laps too."""
    seconds = (made.recording.imu.stamps - made.recording.imu.first_stamp) * 1e-9
    gone = np.maximum.accumulate(made.laps)
    return Lapped(
        name,
        made.recording,
        float(gone[-1] - gone[0]),
        usual_lap(np.asarray(seconds, np.float64), gone),
    )


def _noise(kart: Recording, seed: int, memory: float, scale: float = 1.0) -> Recording:
    random = np.random.default_rng(seed)
    samples = random.standard_normal(kart.imu.samples.shape)
    for i in range(1, len(samples)):
        samples[i] += memory * samples[i - 1]
    return replace(kart, imu=replace(kart.imu, samples=scale * samples), positions=None)


def _shuffled(kart: Recording, seed: int) -> Recording:
    """Return five-second pieces in an order that does not repeat."""
    rate = len(kart.imu.stamps) / (float(kart.imu.stamps[-1] - kart.imu.stamps[0]) * 1e-9)
    pieces = np.array_split(np.arange(len(kart.imu.stamps)), int(len(kart.imu.stamps) / rate / 5))
    order = np.random.default_rng(seed).permutation(len(pieces))
    rows = np.concatenate([pieces[each] for each in order])
    return replace(kart, imu=replace(kart.imu, samples=kart.imu.samples[rows]), positions=None)


def _errands(seed: int) -> Recording:
    """Return random bends, stops and straights, smooth as a vehicle drives them."""
    random = np.random.default_rng(seed)
    base = drive(world_named('kart'), laps=6, seed=seed).recording
    count = len(base.imu.stamps)
    samples = 0.05 * random.standard_normal((count, 6))
    at = 0
    while at < count:
        length = int(random.uniform(1.0, 8.0) * 100)
        turn, thrust = random.choice([0.0, 0.0, 0.5, -0.5, 1.0, -1.0], 1)[0], random.normal()
        bump = np.sin(np.linspace(0.0, np.pi, length))[: count - at]
        samples[at : at + length, 5] += turn * bump
        samples[at : at + length, 1] += 6.0 * turn * bump
        samples[at : at + length, 0] += thrust * bump
        at += length
    return replace(base, imu=replace(base.imu, samples=samples), positions=None)


def true_phases(recording: Recording, stamps: Ints) -> tuple[Floats, Floats]:
    """Return the phase of each of (T,) stamps by positions, laps, and the crossings (L,), s."""
    if recording.positions is None:
        raise TypeError
    both = put_together(recording.positions, recording.imu)
    if both is None:
        return np.full(len(stamps), np.nan), np.empty(0)
    spans = lap_spans(both.motion)
    if len(spans) < 2:
        return np.full(len(stamps), np.nan), np.empty(0)
    seconds = (stamps - recording.imu.first_stamp) * 1e-9
    places = positions_at(recording.positions, stamps)
    # The places of a usual lap, and when they are passed in each: the nearest tick, in order.
    lasted = spans[:, 1] - spans[:, 0]
    first, last = spans[np.argmin(np.abs(lasted - np.median(lasted)))].tolist()
    count = 400
    track = np.stack(
        [np.interp(np.linspace(first, last, count, endpoint=False), seconds, each)
         for each in places.T], axis=1,
    )  # fmt: skip
    own, shares = np.full(len(stamps), np.nan), []
    for begin, end in spans.tolist():
        inside = np.flatnonzero((seconds >= begin) & (seconds < end))
        inside = inside[np.isfinite(places[inside]).all(axis=1)]
        if len(inside) < 10 or end - begin > 3.0 * np.median(lasted):
            continue
        nodes = _in_order(places[inside], track)
        own[inside] = nodes / count
        if abs((end - begin) / np.median(lasted) - 1.0) < 0.25:
            rising = nodes + 1e-6 * np.arange(len(nodes))
            share = (seconds[inside] - begin) / (end - begin)
            shares.append(np.interp(np.arange(count), rising, share))
    table = np.mean(shares, axis=0) if shares else np.linspace(0.0, 1.0, count, endpoint=False)
    found = np.interp(own * count, np.arange(count + 1), np.append(table, 1.0))
    crossed = np.unique(np.concatenate([spans[:, 0], spans[:, 1]]).round(3))
    return found, crossed


def _in_order(places: Floats, track: Floats) -> Floats:
    """Return the node of the track at each place (n,), which rises: the cheapest monotone way."""
    apart = np.square(places[:, None] - track).sum(axis=2)
    count, most = len(track), max(3, 4 * len(track) // len(places))
    # A lap begins at the line, also where another part of it passes there.
    score, back = apart[0].copy(), np.zeros(apart.shape, dtype=np.int64)
    score[count // 20 :] = np.inf
    for t in range(1, len(places)):
        choices = np.full((most + 1, count), np.inf)
        for step in range(most + 1):
            choices[step, step:] = score[: count - step]
        back[t] = choices.argmin(axis=0)
        score = choices.min(axis=0) + apart[t]
    nodes = np.zeros(len(places))
    at = int(score.argmin())
    for t in range(len(places) - 1, -1, -1):
        nodes[t] = at
        at -= back[t, at]
    return nodes


def phase_error(found: Floats, truth: Floats) -> float:
    """Return the median distance of phases around the lap after the best shift, per cent."""
    known = np.isfinite(found) & np.isfinite(truth)
    if not known.any():
        return float('nan')
    away = (found - truth)[known]
    middle = np.angle(np.exp(2j * np.pi * away).mean()) / (2.0 * np.pi)
    rest = (away - middle + 0.5) % 1.0 - 0.5
    rest -= np.median(rest)
    return float(100.0 * np.median(np.abs(rest)))


class Judged(NamedTuple):
    """A drive, whether a loop was claimed of it and whether the claim was right, and its rings."""

    drive: Lapped
    claimed: bool
    right: bool
    rings: list[Ring]


def judge(drive: Lapped) -> tuple[str, Judged]:
    recording, laps = drive.recording, drive.laps
    row = f'{drive.name:24s} {laps:6.2f} {drive.lap_s:7.2f}'
    claimed = right = False
    try:
        loop = find_loop(replace(recording, positions=None))
    except InputError as error:
        row += f'  refused: {str(error).split(": ", 2)[2].split(";")[0][:62]}'
    else:
        truth, _ = true_phases(recording, loop.stamps) if laps else (np.full(1, np.nan), None)
        wrong = 100.0 * (loop.lap_s / drive.lap_s - 1.0)
        row += f' {loop.laps:7.2f} {loop.lap_s:8.2f} {wrong:7.2f}'
        row += f' {phase_error(loop.phases, truth):6.2f} {loop.confidence:7.3f}'
        claimed, right = True, is_right(loop.laps, drive) and abs(wrong) <= 1.0
    if laps and not math.isnan(drive.lap_s):
        row += marks_row(recording)
    bare = replace(drive, recording=replace(recording, positions=None))
    return row, Judged(bare, claimed, right, rings_of(drive_series(recording)))


def is_right(laps: float, drive: Lapped) -> bool:
    return abs(laps - drive.laps) <= 0.5


def left_out(drives: Sequence[Judged]) -> str:
    """Choose both limits without each drive, so that most others are right, and judge it."""
    limits = list(itertools.product(UNEVEN, DOUBTS))
    right = np.zeros((len(drives), len(limits)))
    for one, (own, _, _, rings) in enumerate(drives):
        for other, (uneven, doubt) in enumerate(limits):
            found = best_ring(rings, uneven)
            if found is None or found.doubt > doubt or found.explained < LEAST_EXPLAINED:
                right[one, other] = not own.laps
            else:
                right[one, other] = is_right(found.laps, own)
    sums = right.sum(axis=0)
    chosen = [_middle(limits, sums - each) for each in right]
    judged = sum(each[place] for each, place in zip(right, chosen, strict=True))
    uneven, doubt = limits[_middle(limits, sums)]
    return (
        f'limits chosen on all: {uneven:.2f} and {doubt:.3f}; chosen without it they judge '
        f'{judged:.0f} of {len(drives)} (at most {sums.max():.0f})'
    )


def _middle(limits: list[tuple[float, float]], sums: Floats) -> int:
    """Return the limits in the middle of the best ones."""
    best = np.flatnonzero(sums == sums.max()).tolist()
    places = np.array(
        [(UNEVEN.index(limits[each][0]), DOUBTS.index(limits[each][1])) for each in best]
    )
    apart = np.abs(places - np.median(places, axis=0)).sum(axis=1)
    return int(best[int(np.argmin(apart))])


def marks_row(recording: Recording) -> str:
    """Judge phases from ten laps of marks."""
    series = drive_series(recording)
    truth, crossed = true_phases(recording, series.stamps)
    seconds = (series.stamps - recording.imu.first_stamp) * 1e-9
    if len(crossed) < 3:
        return '  too few marks'
    usual = np.median(np.diff(crossed))
    # Marks in a row, without a lap between them that was not seen.
    runs = np.split(crossed, np.flatnonzero(np.diff(crossed) > 1.6 * usual) + 1)
    crossed = max(runs, key=len)[:MARKS]
    if len(crossed) < 3:
        return '  too few marks'
    marks = np.interp(crossed, seconds, np.arange(len(seconds)))
    inside = (seconds >= crossed[0]) & (seconds <= crossed[-1])
    known = np.where(inside, truth, np.nan)
    error = phase_error(align_marks(series, marks), known)
    linear = phase_error(np.interp(seconds, crossed, np.arange(len(crossed))), known)
    return f'  {len(crossed)} marks: {error:.2f} (linear {linear:.2f})'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help='beginnings of names of drives')
    parser.add_argument('--days', type=int, default=3, help='days of each world')
    args = parser.parse_args()
    print(f'{"drive":24s}   laps   lap s   found    lap s  wrong% phase% confid.')
    found: dict[str, list[Judged]] = {}
    for part in (healthy, wild, other_loops, slot_cars, without_a_loop):
        kind = part.__name__.replace('_', ' ')
        print(f'-- {kind}')
        for each in part(args.days):
            if not args.names or each.name.startswith(tuple(args.names)):
                row, judged = judge(each)
                print(row, flush=True)
                found.setdefault(kind, []).append(judged)
    print()
    for kind, drives in found.items():
        claimed = sum(each.claimed for each in drives)
        right = sum(each.right for each in drives)
        print(f'{kind}: {len(drives)} drives, {claimed} claimed, {right} of them right')
    parts = [found.get(each, []) for each in ('healthy', 'other loops', 'without a loop')]
    if all(parts):
        print(left_out(list(itertools.chain(*parts))))


if __name__ == '__main__':
    main()
