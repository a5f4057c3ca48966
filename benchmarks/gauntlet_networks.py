# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The cases of the gauntlet with many roads: networks on one map, and several routes in an atlas.

Each has what a world of `gauntlet_drives.py` has. Drives on a network take lines and errands in
another order than any in training, and are on the right branch where the position is nearer to
the truth than another road. Of several routes the model is an atlas; each is followed from a cold
start, and has to be named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
import math
from typing import Any, TYPE_CHECKING

from gauntlet_drives import (
    away_of_world,
    Case,
    case_names,
    Drive,
    ELSEWHERE_S,
    LEAST_LAPS,
    make_case,
    of_world,
    OTHER_DAYS,
    slow_days,
    slow_drives,
    SlowDrive,
    unknown,
)
from gauntlet_drives import other_days as days_of_world
import numpy as np
from scipy.spatial import KDTree
from worlds.drive import drive
from worlds.network import rounds, tracks, tram_network, travel, Yard, yard_network
from worlds.table import WORLDS

from two_manifold_ros.inspection.lag import AUTO, put_in_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from worlds.course import Course
    from worlds.drive import WorldDrive
    from worlds.network import Corner, Network
    from worlds.table import World

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats

HALT_LAPS, HALTS = 3, ((1.13, 10.0), (2.37, 60.0))
"""
A drive that shows how long a lap takes: its laps, and where a vehicle stands for a while on it, in
laps since the start, and for how many seconds.
"""

LINE_ROUNDS, FOLLOWED_LAPS = 4, 6
"""Rounds of each line that are trained on, and what is followed of all."""

ERRANDS, ERRANDS_A_LAP = 40, 4
"""Of each training drive in the yard, and as many as are about its usual length."""

TRACK_LAPS = (8, 3)
"""Laps of each track that are trained on and followed: there are a dozen of them."""

TRACKS_A_DAY = 4
"""Tracks that are driven on each of the other days, not the same ones every day."""

PAUSE_NS = 600 * 10**9
"""Between drives on two tracks: the kart is carried there, and the filter starts again."""

ON_LINE_M = 8.0
"""Metres from all lines of a network beyond which a tram has left them: tracks are 4 m apart."""


APART_AT_M, DRIVEN_S, MOVES_MPS = 20.0, 5.0, 0.5
"""
Metres from all other lines at which a branch is one of its own, seconds of driving after that, and
the speed above which time counts as driving.
"""


class OneMap:
    """
    Roads that meet, of which one map is learned.

    Parameters
    ----------
    name
        In the tables.
    network
        The vehicle, and where it halts.
    taught
        Corners of each training drive.
    ahead
        From a number of laps and a seed to the corners of a drive in another order.
    branch_m
        See ``Case``.
    branched
        From true positions (N, 2) and their rate, Hz, to where the branch counts (N,).

    """

    def __init__(
        self,
        name: str,
        network: Network,
        taught: Sequence[Sequence[Corner]],
        ahead: Callable[[int, int], Sequence[Corner]],
        branch_m: float,
        branched: Callable[[Floats, float], Bools],
    ) -> None:
        self.name, self.world = name, network.world
        self.routes: tuple[str, ...] = ()
        self.branch_m = branch_m
        self._taught, self._ahead, self._branched = taught, ahead, branched
        self._go = partial(travel, network)

    def training(self) -> list[Recording]:
        """Return the training drives."""
        return [self._go(each, seed=seed).recording for seed, each in enumerate(self._taught)]

    def followed(self, name: str, **numbers: Any) -> Drive:  # noqa: ANN401 - passed on
        """Return a drive of a day."""
        return self._made(name, FOLLOWED_LAPS, **numbers)[0]

    def day(self, day: int) -> Drive:
        """Return a shorter drive of another day."""
        return self._made(f'day {day}', LEAST_LAPS, day=day, seed=10 + day)[0]

    def with_laps(
        self,
        laps: int,
        **numbers: Any,  # noqa: ANN401 - passed on
    ) -> tuple[Drive, Floats]:
        """Return a drive of some laps, and the laps since its start at each sample."""
        return self._made(f'day {numbers["day"]}', laps, **numbers)

    def _made(
        self,
        name: str,
        laps: int,
        **numbers: Any,  # noqa: ANN401 - passed on
    ) -> tuple[Drive, Floats]:
        made = self._go(self._ahead(laps, numbers['seed']), **numbers)
        branched = self._branched(made.truth, self.world.rate_hz)
        return replace(of_world(made, name), branched=branched), made.laps

    def elsewhere(self) -> Iterator[Drive]:
        """Yield drives on other roads."""
        for other in WORLDS:
            if other.rate_hz == self.world.rate_hz and other.live == self.world.live:
                made = drive(other, day=1, seconds=ELSEWHERE_S, seed=3)
                yield unknown(made.recording, other.name)


class Trams(OneMap):
    """Three lines with a shared trunk."""

    def __init__(self) -> None:
        lines = tram_network().lines
        super().__init__(
            'tram_network',
            tram_network(),
            [rounds(tram_network(), [name] * LINE_ROUNDS) for name in lines],
            _lines_in_another_order,
            APART_AT_M,
            _on_a_branch,
        )

    def elsewhere(self) -> Iterator[Drive]:
        """Yield a drive that leaves the trunk for a line that no tram was trained on, too."""
        yield from super().elsewhere()
        known = tram_network()
        east = known.lines['east']
        depot = (
            ((600.0, 38.0, 30.0), (560.0, -60.0, 60.0), (420.0, -180.0, 60.0)),
            ((380.0, -260.0, 22.0), (340.0, -220.0, 22.0), (380.0, -185.0, 22.0)),
            ((424.0, -176.0, 56.0), (564.0, -56.0, 56.0), (603.0, 42.0, 34.0)),
        )
        # The same way to the fork, and from there on.
        line = (*east[:7], *(corner for part in depot for corner in part), *east[-2:])
        made = travel(known, [*east, *line, *east], day=1, seed=3)
        near = np.min([path.query(made.truth)[0] for path in _line_paths()], axis=0)
        yield replace(of_world(made, 'new line'), on_route=near < ON_LINE_M)


def _lines_in_another_order(laps: int, seed: int) -> list[Corner]:
    lines = [*tram_network().lines] * math.ceil(laps / len(tram_network().lines))
    order = np.random.default_rng(seed).permutation(lines).tolist()
    return rounds(tram_network(), order[:laps])


@cache
def _line_paths() -> list[KDTree]:
    """Return the true positions of each line."""
    network = tram_network()
    return [
        KDTree(travel(network, rounds(network, [name]), seed=77).truth) for name in network.lines
    ]


def _on_a_branch(truth: Floats, rate_hz: float) -> Bools:
    """Return where a tram has driven for long enough on a branch of its own."""
    apart = np.sort([path.query(truth)[0] for path in _line_paths()], axis=0)[1] > APART_AT_M
    speeds = rate_hz * np.linalg.norm(np.gradient(truth, axis=0), axis=1)
    driven = np.cumsum(np.where(speeds > MOVES_MPS, 1.0 / rate_hz, 0.0))
    began = np.maximum.accumulate(np.where(apart, -np.inf, driven))
    return np.asarray(apart & (driven - began > DRIVEN_S))


class Errands(OneMap):
    """Errands between the crossings of a yard."""

    def __init__(self) -> None:
        yard = Yard()
        super().__init__(
            'yard',
            yard_network(),
            [yard.errands(ERRANDS, seed) for seed in range(4)],
            lambda laps, seed: yard.errands(ERRANDS_A_LAP * laps, 100 + seed),
            # Half as far as two aisles are apart.
            0.5 * min(yard.apart_m),
            lambda truth, _: np.ones(len(truth), dtype=np.bool_),
        )

    def elsewhere(self) -> Iterator[Drive]:
        """Yield errands in another yard, too."""
        yield from super().elsewhere()
        other = Yard(4, 5, (11.0, 12.5)).errands(ERRANDS_A_LAP, 3)
        yield unknown(travel(yard_network(), other, day=1, seed=3).recording, 'other yard')


@dataclass(frozen=True)
class Road:
    """A route of several, and how it is driven."""

    name: str
    world: World
    course: Course = 'route'

    def drive(self, **numbers: Any) -> WorldDrive:  # noqa: ANN401 - passed on
        """Drive on it, see `worlds.drive.drive`."""
        return drive(self.world, course=self.course, **numbers)

    def along(self, name: str, made: WorldDrive) -> Drive:
        """Return what was made as a drive on this route."""
        on_route = np.ones(len(made.truth), dtype=np.bool_)
        return replace(of_world(made, name), on_route=on_route, routes=(self.name,))


class Routes:
    """Several routes of one vehicle, of each of which a map is learned; see `OneMap`."""

    def __init__(self, name: str, roads: Sequence[Road], strangers: Sequence[World]) -> None:
        self.name, self.world = name, roads[0].world
        self.routes = tuple(road.name for road in roads)
        self.branch_m = math.inf
        self._roads, self._strangers = roads, strangers

    def training(self) -> list[Recording]:
        """Return a training drive on each."""
        laps, _ = TRACK_LAPS
        roads = enumerate(self._roads)
        return [road.drive(laps=laps, seed=seed).recording for seed, road in roads]

    def followed(self, name: str, **numbers: Any) -> Drive:  # noqa: ANN401 - passed on
        """Return drives on all of them, one after the other."""
        return self._one_by_one(name, self._roads, laps=TRACK_LAPS[1], **numbers)

    def day(self, day: int) -> Drive:
        """Return drives of another day on some of them."""
        few = min(TRACKS_A_DAY, len(self._roads))
        roads = [self._roads[(day * few + each) % len(self._roads)] for each in range(few)]
        return self._one_by_one(f'day {day}', roads, laps=LEAST_LAPS, day=day, seed=10 + day)

    def with_laps(
        self,
        laps: int,
        **numbers: Any,  # noqa: ANN401 - passed on
    ) -> tuple[Drive, Floats]:
        """Return a drive on the one whose turn it is on that day, and its laps."""
        road = self._roads[numbers['day'] % len(self._roads)]
        made = road.drive(laps=laps, **numbers)
        return road.along(f'day {numbers["day"]}', made), made.laps

    def _one_by_one(
        self,
        name: str,
        roads: Sequence[Road],
        **numbers: Any,  # noqa: ANN401 - passed on
    ) -> Drive:
        drives = [road.along(name, road.drive(**numbers)) for road in roads]
        stamps = [drives[0].stamps]
        for each in drives[1:]:
            stamps.append(each.stamps + (stamps[-1][-1] + PAUSE_NS - each.stamps[0]))
        return Drive(
            name,
            np.concatenate(stamps),
            np.concatenate([each.samples for each in drives]),
            np.concatenate([each.truths for each in drives]),
            np.concatenate([each.on_route for each in drives]),
            routes=tuple(road.name for road in roads),
            begins=tuple(np.cumsum([len(each.stamps) for each in drives])[:-1].tolist()),
        )

    def elsewhere(self) -> Iterator[Drive]:
        """Yield drives off the first of them, and on routes that are not known."""
        both_ways = any(road.course == 'reverse' for road in self._roads)
        for each in away_of_world(self.world):
            if each.name != 'reverse' or not both_ways:
                yield each
        for world in self._strangers:
            made = drive(world, day=1, seconds=ELSEWHERE_S, seed=3)
            yield unknown(made.recording, world.name)


def _both_ways() -> Routes:
    world = tracks()[2]
    return Routes('both_ways', [Road('there', world), Road('back', world, 'reverse')], ())


def _kart_tracks() -> Routes:
    known = tracks()
    roads = [Road(world.name, world) for world in known]
    return Routes('kart_tracks', roads, tracks(len(known) + 2)[len(known) :])


NETWORKS: dict[str, Callable[[], OneMap | Routes]] = {
    'tram_network': Trams,
    'yard': Errands,
    'kart_tracks': _kart_tracks,
    'both_ways': _both_ways,
}

SEVERAL = ('kart_tracks', 'both_ways')
"""Cases whose model holds several maps, which no method but the default has."""


def all_names() -> list[str]:
    """Return the names of all cases."""
    return [*case_names(), *NETWORKS]


def any_case(name: str, lag: str = AUTO) -> Case:
    """Return a case by its name, one of ``all_names``; see `make_case`."""
    if name not in NETWORKS:
        return make_case(name, lag)
    roads = NETWORKS[name]()
    training = put_in_step(roads.training(), lag)
    followed = roads.followed(name, day=1, seed=50)
    standing, laps = roads.with_laps(HALT_LAPS, day=1, seed=2, halts=HALTS)
    lap_s = float(standing.stamps[-1] - standing.stamps[0]) * 1e-9
    lap_s = (lap_s - sum(seconds for _, seconds in HALTS)) / float(laps[-1])
    return Case(
        name,
        training,
        followed,
        lap_s,
        tuple(roads.elsewhere()),
        lag,
        roads.routes,
        roads.branch_m,
    )


def days_of(name: str) -> Iterator[Drive]:
    """Yield drives of other days."""
    if name not in NETWORKS:
        yield from days_of_world(name)
        return
    roads = NETWORKS[name]()
    for day in OTHER_DAYS:
        yield roads.day(day)


def slow_of(name: str) -> Iterator[SlowDrive]:
    """Yield drives with slow laps."""
    if name not in NETWORKS:
        yield from slow_drives(name)
        return
    roads = NETWORKS[name]()
    for day, ratios, names in slow_days(roads.world):
        made, laps = roads.with_laps(len(ratios), day=day, seed=20 + day, lap_ratios=ratios)
        yield SlowDrive(made, laps.astype(np.int64), names)
