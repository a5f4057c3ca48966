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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
import math
from typing import Any, TYPE_CHECKING

from gauntlet_drives import (
    Case,
    case_names,
    Drive,
    ELSEWHERE_S,
    LAP_RATIOS,
    LEAST_LAPS,
    make_case,
    of_world,
    OTHER_DAYS,
    other_worlds,
    REAL,
    Roads,
    SLOW_DAYS,
    SlowDrive,
    unknown,
)
import numpy as np
from scipy.spatial import KDTree
from worlds.drive import drive
from worlds.network import rounds, tracks, tram_network, travel, Yard, yard_network
from worlds.table import world_named

from two_manifold_ros.inspection.lag import AUTO
from two_manifold_ros.typing import Bools, Floats

if TYPE_CHECKING:
    from worlds.course import Course
    from worlds.network import Corner, Network
    from worlds.table import World

    from two_manifold_ros.recordings.recording import Recording


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


class OneMap(Roads):
    """Roads that meet, of which one map is learned."""

    def __init__(
        self,
        network: Network,
        taught: Mapping[int, Sequence[Corner]],  # corners of each training drive, by its seed
        ahead: Callable[[int, int], Sequence[Corner]],  # of laps and a seed: in another order
        branch_m: float,  # see `Case`
        branched: Callable[[Floats, float], Bools],  # of positions and their rate: where it counts
        stranger: Callable[[], Drive],  # a drive on roads beside the known ones
    ) -> None:
        super().__init__(network.world)
        self.branch_m = branch_m
        self._taught, self._ahead, self._branched = taught, ahead, branched
        self._go, self._stranger = partial(travel, network), stranger

    def training(self) -> list[Recording]:
        return [self._go(each, seed=seed).recording for seed, each in self._taught.items()]

    def followed(self) -> Drive:
        return self.with_laps(FOLLOWED_LAPS, day=1, seed=50)[0]

    def day(self, day: int) -> Drive:
        return self.with_laps(LEAST_LAPS, day=day, seed=10 + day)[0]

    def with_laps(
        self,
        laps: int,
        **numbers: Any,  # noqa: ANN401 - passed on
    ) -> tuple[Drive, Floats]:
        made = self._go(self._ahead(laps, numbers['seed']), **numbers)
        branched = self._branched(made.truth, self.world.rate_hz)
        return replace(of_world(made, f'day {numbers["day"]}'), branched=branched), made.laps

    def elsewhere(self) -> Iterator[Drive]:
        yield from other_worlds(self.world)
        yield self._stranger()

    def lap_s(self) -> float:
        return halting_lap_s(self)


def halting_lap_s(roads: Roads) -> float:
    """Return how long a lap takes without the halts."""
    standing, laps = roads.with_laps(HALT_LAPS, day=1, seed=2, halts=HALTS)
    seconds = float(standing.stamps[-1] - standing.stamps[0]) * 1e-9
    return (seconds - sum(halt for _, halt in HALTS)) / float(laps[-1])


def _trams() -> OneMap:
    """Return three lines with a shared trunk."""
    known = tram_network()
    return OneMap(
        known,
        {seed: rounds(known, [name] * LINE_ROUNDS) for seed, name in enumerate(known.lines)},
        _lines_in_another_order,
        APART_AT_M,
        _on_a_branch,
        _new_line,
    )


def _new_line() -> Drive:
    """Return a drive that leaves the trunk for a line that no tram was trained on."""
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
    return replace(of_world(made, 'new line'), on_route=near < ON_LINE_M)


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


def aisles(first: int = 0) -> OneMap:
    """Return a yard, its aisles known from drives of four seeds from the ``first`` on."""
    yard, other = Yard(), Yard(4, 5, (11.0, 12.5)).errands(ERRANDS_A_LAP, 3)
    return OneMap(
        yard_network(),
        {seed: yard.errands(ERRANDS, seed) for seed in range(first, first + 4)},
        lambda laps, seed: yard.errands(ERRANDS_A_LAP * laps, 100 + seed),
        # Half as far as two aisles are apart.
        0.5 * min(yard.apart_m),
        lambda truth, _: np.ones(len(truth), dtype=np.bool_),
        lambda: unknown(travel(yard_network(), other, day=1, seed=3).recording, 'other yard'),
    )


class Routes(Roads):
    """Several routes of one vehicle, of each of which a map is learned."""

    def __init__(
        self,
        routes: dict[str, tuple[World, Course]],  # how each is driven, by name
        strangers: Sequence[World],  # routes that are not known
    ) -> None:
        super().__init__(next(iter(routes.values()))[0])
        self.routes = tuple(routes)
        self._known, self._strangers = routes, strangers

    def training(self) -> list[Recording]:
        laps, _ = TRACK_LAPS
        return [
            drive(world, course=course, laps=laps, seed=seed).recording
            for seed, (world, course) in enumerate(self._known.values())
        ]

    def followed(self) -> Drive:
        """Return drives on all of them, one after the other."""
        return self._one_by_one(self.routes, laps=TRACK_LAPS[1], day=1, seed=50)

    def day(self, day: int) -> Drive:
        """Return drives of another day on some of them."""
        few = min(TRACKS_A_DAY, len(self.routes))
        names = [self.routes[(day * few + each) % len(self.routes)] for each in range(few)]
        return self._one_by_one(names, laps=LEAST_LAPS, day=day, seed=10 + day)

    def with_laps(
        self,
        laps: int,
        **numbers: Any,  # noqa: ANN401 - passed on
    ) -> tuple[Drive, Floats]:
        """Return a drive on the one whose turn it is on that day, and its laps."""
        return self._along(self.routes[numbers['day'] % len(self.routes)], laps=laps, **numbers)

    def _along(
        self,
        name: str,
        **numbers: Any,  # noqa: ANN401 - passed on
    ) -> tuple[Drive, Floats]:
        world, course = self._known[name]
        made = drive(world, course=course, **numbers)
        on_route = np.ones(len(made.truth), dtype=np.bool_)
        along = of_world(made, f'day {numbers["day"]}')
        return replace(along, on_route=on_route, routes=(name,)), made.laps

    def _one_by_one(
        self,
        names: Sequence[str],
        **numbers: Any,  # noqa: ANN401 - passed on
    ) -> Drive:
        drives = [self._along(name, **numbers)[0] for name in names]
        stamps = [drives[0].stamps]
        for each in drives[1:]:
            stamps.append(each.stamps + (stamps[-1][-1] + PAUSE_NS - each.stamps[0]))
        return Drive(
            drives[0].name,
            np.concatenate(stamps),
            np.concatenate([each.samples for each in drives]),
            np.concatenate([each.truths for each in drives]),
            np.concatenate([each.on_route for each in drives]),
            routes=tuple(names),
            begins=tuple(np.cumsum([len(each.stamps) for each in drives])[:-1].tolist()),
        )

    def elsewhere(self) -> Iterator[Drive]:
        """Yield drives off the first of them, and on routes that are not known."""
        both_ways = any(course == 'reverse' for _, course in self._known.values())
        for each in super().elsewhere():
            if each.name != 'reverse' or not both_ways:
                yield each
        for world in self._strangers:
            made = drive(world, day=1, seconds=ELSEWHERE_S, seed=3)
            yield unknown(made.recording, world.name)

    def lap_s(self) -> float:
        return halting_lap_s(self)


def _both_ways() -> Routes:
    world = tracks()[2]
    return Routes({'there': (world, 'route'), 'back': (world, 'reverse')}, ())


def _kart_tracks() -> Routes:
    known = tracks()
    roads: dict[str, tuple[World, Course]] = {world.name: (world, 'route') for world in known}
    return Routes(roads, tracks(len(known) + 2)[len(known) :])


NETWORKS: dict[str, Callable[[], Roads]] = {
    'tram_network': _trams,
    'yard': aisles,
    'kart_tracks': _kart_tracks,
    'both_ways': _both_ways,
}

SEVERAL = ('kart_tracks', 'both_ways')
"""Cases whose model holds several maps, which no method but the default has."""


def all_names() -> list[str]:
    """Return the names of all cases."""
    return [*case_names(), *NETWORKS]


def _roads(name: str) -> Roads:
    return NETWORKS[name]() if name in NETWORKS else Roads(world_named(name))


def any_case(name: str, lag: str = AUTO) -> Case:
    """Return a case by its name, one of ``all_names``; see `make_case`."""
    return _roads(name).case(name, lag) if name in NETWORKS else make_case(name, lag)


def days_of(name: str) -> Iterator[Drive]:
    """Yield drives of other days; no constant was chosen on them."""
    if name not in REAL:
        roads = _roads(name)
        yield from (roads.day(day) for day in OTHER_DAYS)


def slow_of(name: str) -> Iterator[SlowDrive]:
    """Yield drives with slow laps."""
    if name in REAL:
        return
    roads = _roads(name)
    for day in SLOW_DAYS:
        made, laps = roads.with_laps(
            len(LAP_RATIOS), day=day, seed=20 + day, lap_ratios=LAP_RATIOS
        )
        yield SlowDrive(made, laps.astype(np.int64))
