# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The drives of the gauntlet: what each case trains on, follows, and is to keep silent on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
import itertools
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np
from worlds.drive import drive
from worlds.table import world_named, WORLDS

from two_manifold_ros.inspection.lag import AUTO, put_in_step
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import PositionStream, Recording
from two_manifold_ros.ticks.segments import positions_at
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from worlds.drive import WorldDrive
    from worlds.table import World


RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'

SPLIT = 0.7
"""Share of a single recording that is trained on."""

FEW_S = 60.0
"""Laps that last longer are fewer, so that a drive stays within some tens of minutes."""

LAPS_OF_SHORT, LAPS_OF_LONG = (12, 8), (8, 5)
"""Laps trained on and laps followed."""

ELSEWHERE_S = 60.0
"""Of another world that is followed: twenty windows of three seconds."""

AWAY_LAPS = 3
"""Laps of a drive with a pit lane or another loop: one before it, one or two after."""

SUDDEN = 3.0
"""A step of a real position this many times quicker than 95 % of them is no motion."""

SUDDEN_S = 2.0
"""Seconds around such a step in which the truth is taken for unknown: a receiver comes back."""


@dataclass(frozen=True)
class Drive:
    """A stream with the truth beside it."""

    name: str  # in the tables
    stamps: Ints  # (N,) int64, as a driver sent them
    samples: Floats  # (N, 6)
    truths: Floats  # (N, 2), position at each stamp, metres, NaN where unknown
    on_route: Bools  # (N,) bool, whether the vehicle is on the trained route
    # (N,) bool, whether it has left all other roads of a network for long enough to be on the
    # right one.
    branched: Bools | None = None
    # Names of the known routes that it drives on one after the other, where a model knows several,
    # and the indices of the samples at which all but the first begin. Each is a drive of its own,
    # which a filter starts on without knowing anything.
    routes: tuple[str, ...] = ('',)
    begins: tuple[int, ...] = ()

    def truths_at(self, stamps: Ints) -> Floats:
        """Return the true positions at (T,) stamps, NaN where unknown: (T, 2)."""
        stream = PositionStream('', '', '', self.stamps, self.truths)
        return positions_at(stream, stamps)

    def part(self, begin: int, end: int, route: str = '') -> Drive:
        return Drive(
            self.name,
            self.stamps[begin:end],
            self.samples[begin:end],
            self.truths[begin:end],
            self.on_route[begin:end],
            branched=None if self.branched is None else self.branched[begin:end],
            routes=(route,),
        )

    def by_route(self) -> Iterator[Drive]:
        """Yield the drive on each of its routes."""
        ends = (0, *self.begins, len(self.stamps))
        for name, (begin, end) in zip(self.routes, itertools.pairwise(ends), strict=True):
            yield self.part(begin, end, name)


@dataclass(frozen=True)
class Case:
    """Data and trials of one vehicle."""

    name: str  # in the tables and on the command line
    training: Sequence[Recording]  # recordings with positions
    followed: Drive  # drive along the trained route that was not trained on
    lap_s: float  # seconds a lap takes
    elsewhere: tuple[Drive, ...] = ()  # drives on other routes, or off this one for a while
    lag: str = AUTO  # of the positions, as `two-manifold train --position-lag`
    # Name of the route of each recording, where they are of several: of each a map is learned, and
    # a model knows all. Empty where one map holds all.
    routes: tuple[str, ...] = ()
    # On roads that meet: a position nearer to the truth is on the right one.
    branch_m: float = math.inf


@dataclass(frozen=True)
class Real:
    """A case from recordings."""

    folders: tuple[str, ...]  # under `RECORDINGS`; of several the last is followed, and one is cut
    lap_s: float  # seconds a lap takes, from the table that comes with the recordings, or counted
    # Where to cut one, seconds from its start; by default at `SPLIT` of it.
    cut_s: float | None = None
    others: tuple[str, ...] = ()  # folders with other routes of the same vehicle


_IPZ20 = tuple(f'f1tenth_ipz20/run_{run}' for run in range(1, 8))
_IPZ8 = tuple(f'f1tenth_ipz8/run_{run}' for run in range(1, 8))

REAL = {
    'f1tenth_ipz10': Real(('f1tenth_ipz10',), 9.7),
    'f1tenth_ipz20': Real(_IPZ20, 7.7, others=_IPZ8),
    'f1tenth_ipz8': Real(_IPZ8, 8.0, others=_IPZ20),
    'f1tenth_ipz19': Real(('f1tenth_ipz19',), 8.0),
    'f1tenth_ipz17': Real(('f1tenth_ipz17',), 7.0),
    'frictionmaps_ds1': Real(('f1tenth_frictionmaps_ds1',), 14.0),
    'frictionmaps_ds2': Real(('f1tenth_frictionmaps_ds2',), 33.0),
    'ridge_car': Real(('ridge_car',), 134.0, cut_s=2300.0),
}


OTHER_DAYS, LEAST_LAPS = range(2, 7), 4
"""Days besides the trained and the followed one, and laps on each: half as many, but those."""


LAP_RATIOS, SLOW_DAYS = (1.0, 0.9, 1.0, 0.7, 1.0, 0.5, 1.0), (1, 2, 3, 4)
"""Speed ratios of the laps of a drive, and the days of such drives."""

LAP_NAMES = (
    'usual',
    *(
        f'after {before:g}' if ratio == 1.0 else f'{ratio:g}'
        for before, ratio in itertools.pairwise(LAP_RATIOS)
    ),
)
"""Of these laps in the tables; laps of one name count together."""


@dataclass(frozen=True)
class SlowDrive:
    """A drive along the route with slow laps."""

    drive: Drive  # of a world
    laps: Ints  # (N,) int64, which lap it was in at each of the stamps

    def names_at(self, stamps: Ints) -> list[str]:
        """Return what the lap is at each of (T,) stamps."""
        last = (np.searchsorted(self.drive.stamps, stamps, side='right') - 1).clip(0)
        return [LAP_NAMES[lap] for lap in self.laps[last].clip(max=len(LAP_NAMES) - 1)]


def case_names() -> list[str]:
    return [*REAL, *(world.name for world in WORLDS)]


def is_absent(name: str) -> bool:
    """Return whether a recording of a case is not beside the checkout."""
    return name in REAL and not all((RECORDINGS / each).exists() for each in REAL[name].folders)


def make_case(name: str, lag: str = AUTO) -> Case:
    """
    Return a case by its name.

    ``name``: one of ``case_names``. ``lag``: as ``two-manifold train --position-lag``, for
    training and truth alike.
    """
    if name in REAL:
        return _real_case(name, REAL[name], lag)
    return Roads(world_named(name)).case(name, lag)


def _real_case(name: str, real: Real, lag: str) -> Case:
    read = [read_recording(RECORDINGS / folder) for folder in real.folders]
    # One setup: the other recordings show the lag of the one that is followed better.
    recordings = put_in_step(read, lag)
    if len(recordings) > 1:
        training, followed = recordings[:-1], recordings[-1]
    else:
        cut = real.cut_s or SPLIT * _seconds(recordings[0])
        training, followed = [recordings[0].between(None, cut)], recordings[0].between(cut, None)
    others = (RECORDINGS / folder for folder in real.others)
    elsewhere = tuple(
        unknown(read_recording(each), f'{each.parent.name[8:]} {each.name}')
        for each in others
        if each.exists()
    )
    return Case(name, training, _recorded(followed, name), real.lap_s, elsewhere, lag=lag)


def _seconds(recording: Recording) -> float:
    return int(recording.imu.stamps[-1] - recording.imu.first_stamp) * 1e-9


def _recorded(recording: Recording, name: str) -> Drive:
    imu, stream = recording.imu, recording.positions
    if stream is not None:
        stream = stream.select(~_sudden(stream))
    truths = positions_at(stream, imu.stamps)
    return Drive(name, imu.stamps, imu.samples, truths, np.ones(len(imu.stamps), dtype=np.bool_))


def unknown(recording: Recording, name: str) -> Drive:
    """Return a drive on another route, where no position is right."""
    imu = recording.imu
    count = len(imu.stamps)
    nowhere = np.zeros(count, dtype=np.bool_)
    return Drive(name, imu.stamps, imu.samples, np.full((count, 2), np.nan), nowhere)


def _sudden(stream: PositionStream) -> Bools:
    """Return which positions are around a step that no vehicle makes."""
    order = np.argsort(stream.stamps, kind='stable')
    stamps = stream.stamps[order]
    steps = np.linalg.norm(np.diff(stream.positions[order], axis=0), axis=1)
    seconds = np.diff(stamps) * 1e-9
    speeds = np.divide(steps, seconds, out=np.zeros(len(steps)), where=seconds > 0.0)
    jumps = stamps[:-1][speeds > SUDDEN * np.nanquantile(speeds, 0.95)]
    wide = round(SUDDEN_S * 1e9)
    near = np.zeros(len(stream.stamps), dtype=np.bool_)
    for jump in jumps.tolist():
        near |= np.abs(stream.stamps - jump) < wide
    return near


class Roads:
    """Where a simulated vehicle drives; without more, the route of its world."""

    routes: tuple[str, ...] = ()
    branch_m = math.inf

    def __init__(self, world: World) -> None:
        self.world = world

    def case(self, name: str, lag: str) -> Case:
        return Case(
            name,
            put_in_step(self.training(), lag),
            replace(self.followed(), name=name),
            self.lap_s(),
            tuple(self.elsewhere()),
            lag,
            self.routes,
            self.branch_m,
        )

    def lap_s(self) -> float:
        return _seconds(drive(self.world, laps=3, seed=9).recording) / 3.0

    def _laps(self) -> tuple[int, int]:
        """Return how many laps are trained on and followed."""
        return LAPS_OF_LONG if self.lap_s() > FEW_S else LAPS_OF_SHORT

    def training(self) -> list[Recording]:
        return [drive(self.world, laps=self._laps()[0]).recording]

    def followed(self) -> Drive:
        """Return a drive of the day after."""
        return self.with_laps(self._laps()[1], day=1, seed=1)[0]

    def day(self, day: int) -> Drive:
        """Return a shorter drive of another day, with another seed."""
        return self.with_laps(max(self._laps()[1] // 2, LEAST_LAPS), day=day, seed=10 + day)[0]

    def with_laps(
        self,
        laps: int,
        **numbers: Any,  # noqa: ANN401 - passed on
    ) -> tuple[Drive, Floats]:
        """Return a drive of some laps, and the laps since its start at each sample."""
        made = drive(self.world, laps=laps, **numbers)
        return of_world(made, f'day {numbers["day"]}'), made.laps

    def elsewhere(self) -> Iterator[Drive]:
        """Yield drives off the route, and on other routes."""
        for course in ('pit_lane', 'off_route'):
            made = drive(self.world, day=1, laps=AWAY_LAPS, seed=3, course=course)
            yield of_world(made, course)
        back = drive(self.world, day=1, seconds=ELSEWHERE_S, seed=3, course='reverse')
        yield of_world(back, 'reverse')
        yield from other_worlds(self.world)


def other_worlds(world: World) -> Iterator[Drive]:
    """Yield drives in other worlds with an IMU of the same kind."""
    for other in WORLDS:
        alike = other.rate_hz == world.rate_hz and other.live == world.live
        if alike and other.name != world.name:
            made = drive(other, day=1, seconds=ELSEWHERE_S, seed=3)
            yield unknown(made.recording, other.name)


def of_world(made: WorldDrive, name: str) -> Drive:
    imu = made.recording.imu
    return Drive(name, imu.stamps, imu.samples, made.truth, made.on_route)


def spliced(
    drive_: Drive, count: int, lead_s: float, tail_s: float, apart_m: float, seed: int
) -> Iterator[tuple[Drive, int]]:
    """
    Cut a drive and go on at another place, the stamps going on; yield it and when it went on.

    ``drive_``: along the route. ``count``: of splices; fewer where the drive is too short.
    ``lead_s``, ``tail_s``: seconds before and after. ``apart_m``: least distance between the two
    places. ``seed``: draws the places.
    """
    random = np.random.default_rng(seed)
    stamps, truths = drive_.stamps, drive_.truths
    period = int(np.median(np.diff(stamps)))
    lead, tail = round(lead_s * 1e9 / period), round(tail_s * 1e9 / period)
    tail = min(tail, len(stamps) // 3)
    lead = min(lead, len(stamps) - tail - 1)
    moving = _moving(drive_, period)
    begins = np.array(drive_.begins, dtype=np.int64)
    for _ in range(50 * count):
        if not count:
            return
        taken = int(random.integers(lead, len(stamps)))
        put = int(random.integers(0, len(stamps) - tail))
        known = np.isfinite(truths[[taken, put]]).all() and moving[put : put + tail].all()
        # Neither before nor after it another drive begins.
        whole = not any(
            ((begin < begins) & (begins < end)).any()
            for begin, end in ((taken - lead, taken), (put, put + tail))
        )
        if not known or not whole or np.linalg.norm(truths[taken] - truths[put]) < apart_m:
            continue
        count -= 1
        before, after = drive_.part(taken - lead, taken), drive_.part(put, put + tail)
        shift = before.stamps[-1] + period - after.stamps[0]
        yield (
            Drive(
                'spliced',
                np.concatenate([before.stamps, after.stamps + shift]),
                np.concatenate([before.samples, after.samples]),
                np.concatenate([before.truths, after.truths]),
                np.concatenate([before.on_route, after.on_route]),
            ),
            int(before.stamps[-1] + period),
        )


def _moving(drive_: Drive, period: int) -> Bools:
    """Return where the vehicle moves: put down at a stop it could not find itself."""
    # Over a second, so that noise of positions is no motion.
    wide = max(1, math.ceil(0.5e9 / period))
    ahead = np.concatenate([drive_.truths[wide:], np.full((wide, 2), np.nan)])
    behind = np.concatenate([np.full((wide, 2), np.nan), drive_.truths[:-wide]])
    speeds = np.linalg.norm(ahead - behind, axis=1)
    usual = np.nanmedian(speeds)
    # An unknown truth says nothing against it.
    return np.asarray(~(speeds < 0.1 * usual))
