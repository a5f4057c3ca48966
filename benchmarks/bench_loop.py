# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The loop of a drive from its IMU alone: how many laps, of how many seconds, against positions.

Run `./run bench loop`, with `--days N` for other seeds, and names of drives. Positions judge and
are not used: those of recordings, and the true laps of worlds. Lines of drives that do not repeat
say what is claimed of them. Real recordings are looked for in `shared/recordings` beside the
checkout and passed over where they are absent. Phases are judged by `./run bench laps`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
import math
from typing import TYPE_CHECKING

from gauntlet_drives import RECORDINGS
import numpy as np
from tables import table
from worlds.drive import drive
from worlds.shuttle import Line, shuttle
from worlds.table import world_named, WORLDS

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.motion import count_laps, put_together
from two_manifold_ros.laps.unplaced import find_loop, usual_lap
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from worlds.drive import WorldDrive

    from two_manifold_ros.recordings.recording import Recording


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
        for kind, samples in _strange(kart.imu.samples, day):
            strange = replace(kart, imu=replace(kart.imu, samples=samples), positions=None)
            yield Lapped(f'{kind} {day}', strange)


def _real(names: Sequence[str]) -> Iterator[Lapped]:
    for name in names:
        if (RECORDINGS / name).exists():
            yield _by_positions(name, read_recording(RECORDINGS / name))


def _by_positions(name: str, recording: Recording) -> Lapped:
    both = put_together(recording.positions, recording.imu) if recording.positions else None
    laps = count_laps(both) if both else None
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


def _strange(samples: Floats, seed: int) -> Iterator[tuple[str, Floats]]:
    """Yield samples as of a kart, 100 a second, that do not repeat."""
    for kind, memory, scale in (
        ('noise', 0.0, 1.0), ('slow noise', 0.99, 1.0), ('standing', 0.9, 1e-3),
    ):  # fmt: skip
        noise = np.random.default_rng(seed).standard_normal(samples.shape)
        for i in range(1, len(noise)):
            noise[i] += memory * noise[i - 1]
        yield kind, scale * noise
    # Five-second pieces in an order that does not repeat.
    pieces = np.array_split(np.arange(len(samples)), len(samples) // 500)
    order = np.random.default_rng(seed).permutation(len(pieces))
    yield 'shuffled kart', samples[np.concatenate([pieces[each] for each in order])]
    # Random bends, stops and straights, smooth as a vehicle drives them.
    random = np.random.default_rng(seed)
    errands, at = 0.05 * random.standard_normal(samples.shape), 0
    while at < len(errands):
        length = int(random.uniform(1.0, 8.0) * 100)
        turn, thrust = random.choice([0.0, 0.0, 0.5, -0.5, 1.0, -1.0], 1)[0], random.normal()
        bump = np.sin(np.linspace(0.0, np.pi, length))[: len(errands) - at]
        errands[at : at + length, [0, 1, 5]] += bump[:, None] * [thrust, 6.0 * turn, turn]
        at += length
    yield 'errands', errands


def judge(drive: Lapped) -> tuple[list[str], bool]:
    """Return the cells of a drive, and whether what was claimed of it is right."""
    row = [drive.name, f'{drive.laps:.2f}', f'{drive.lap_s:.2f}']
    try:
        loop = find_loop(replace(drive.recording, positions=None))
    except InputError as error:
        return [*row, str(error).split(': ', 2)[2].split(';')[0][:62]], False
    wrong = 100.0 * (loop.lap_s / drive.lap_s - 1.0)
    found = (f'{each:.2f}' for each in (loop.laps, loop.lap_s, wrong, loop.confidence))
    return [*row, 'found', *found], abs(loop.laps - drive.laps) <= 0.5 and abs(wrong) <= 1.0


HEAD = 'drive, laps, lap s, loop, laps found, lap s found, wrong %, confidence'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', metavar='NAME', help='beginnings of names of drives')
    parser.add_argument('--days', type=int, default=3, help='days of each world')
    args = parser.parse_args()
    for part in (healthy, wild, other_loops, slot_cars, without_a_loop):
        drives = (
            each
            for each in part(args.days)
            if not args.names or each.name.startswith(tuple(args.names))
        )
        if judged := [judge(each) for each in drives]:
            rows = [row for row, _ in judged]
            claimed = sum('found' in row for row in rows)
            right = sum(right for _, right in judged)
            kind = part.__name__.replace('_', ' ')
            print(f'{kind}: {len(rows)} drives, {claimed} claimed, {right} of them right')
            print(table(HEAD, rows), flush=True)


if __name__ == '__main__':
    main()
