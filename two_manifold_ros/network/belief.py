# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Belief over where on a network of roads a vehicle is: a histogram of places and speed ratios.

In a network of look-alike roads no observation shows the place. What shows it is how far the
vehicle turned, and how far it drove in between. So the turn in a tick by the IMU is compared with
the change of heading along each move, and how much the observations shake with the speed. Where
the vehicle turns as no road does from where it may be, it is elsewhere. From a known beginning all
that adds up; from anywhere a grid is the same to an IMU, turned or moved.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from two_manifold_ros.compilation import compiled, subroutine
from two_manifold_ros.route.belief import plain, RouteBelief, unsigned
from two_manifold_ros.route.route import (
    HYPOTHESES,
    ON,
    Route,
    RouteGeometry,
    RouteMotion,
    ROWS,
    SLOW,
    STANDS,
)
from two_manifold_ros.route.steps import mean_state
from two_manifold_ros.typing import Bools, Floats, Indices, Ints

STOPPING = (0.15, 0.3, 0.45, 0.6, 0.75)
"""Speed ratios between standing and driving as usual: of who brakes, lifts or pulls away."""

USUAL = tuple(0.85 * 1.06**step for step in range(11))
"""Usual speed ratios: as fine as drivers of one day differ from those of another."""

RATIOS = np.array([0.0, *STOPPING, *STOPPING, *USUAL])
"""All speed ratios of a cell: of standing, braking, pulling away and driving as usual."""

FIRST_USUAL = 1 + 2 * len(STOPPING)
"""First of the usual speed ratios."""

RATIO_MEMORIES = 9.0
"""Memories of the observations until a usual speed ratio is forgotten."""

BRAKES, CHANGES, STOPS, DRIVES_ON = 23.0, 0.75, 4.5, 1.3
"""Memories until a driver brakes, is at the next of ``STOPPING``, stands, and drives on."""


class Network(NamedTuple):
    """
    Headings of the roads, and what shows how fast a vehicle is wherever it is.

    At each place (P,) there are the heading of the road in ``courses``, rad, and the usual speed.
    A vehicle turns in a tick to the left by ``turning`` (d,) times the observation plus
    ``turning_offset``, rad, with the standard deviation ``turning_spread`` from the change of the
    courses along a move. On any road turns in a tick, ascending ``turns`` (n,), rad, have the
    likelihoods ``chances`` (n,) over that of a turn that is as expected. At some ``speeds`` (s,),
    ascending, m/s, the samples within a tick shake by ``shakes`` (s, d), logarithms of
    standardised spreads, see `shakes_of`, with ``scales`` about them. Above ``largest_misfit``, a
    mean of `misfits` over a window of ticks, a vehicle is not the trained one.
    """

    courses: Floats
    usual_mps: Floats
    turning: Floats
    turning_offset: float
    turning_spread: float
    turns: Floats
    chances: Floats
    speeds: Floats
    shakes: Floats
    scales: Floats
    largest_misfit: float


def usual_ratios(spread: float) -> Floats:
    """Return the probabilities (R,) of ``RATIOS`` of vehicles that drive as usual."""
    chances = np.zeros(len(RATIOS))
    chances[FIRST_USUAL:] = np.exp(-0.5 * np.square(np.log(RATIOS[FIRST_USUAL:]) / spread))
    return np.asarray(chances / chances.sum())


def exchanges_of_ratios(spread: float, period_s: float, memory_s: float) -> Floats:
    """
    Return the probabilities (R, R) per tick to change from one of ``RATIOS`` to another.

    Usual ones wander about 1 with that standard deviation, each to the next. A driver who brakes
    goes down step by step, stands or not, and comes up step by step.
    """
    ticks = memory_s / period_s
    steps, count = len(STOPPING), len(RATIOS)
    step = math.log(USUAL[1] / USUAL[0])
    # An Ornstein-Uhlenbeck process, as a random walk on the grid.
    diffuses = spread * spread / (RATIO_MEMORIES * ticks) / (step * step)
    usual = usual_ratios(spread)
    chances = np.zeros((count, count))
    changes, brakes, stops, goes = (
        -math.expm1(-1.0 / (each * ticks)) for each in (CHANGES, BRAKES, STOPS, DRIVES_ON)
    )
    for i in range(FIRST_USUAL, count):
        drawn = -0.5 * math.log(RATIOS[i]) / (RATIO_MEMORIES * ticks * step)
        if i < count - 1:
            chances[i, i + 1] = max(diffuses + drawn, 0.0)
        if i > FIRST_USUAL:
            chances[i, i - 1] = max(diffuses - drawn, 0.0)
        chances[i, steps] += brakes
    for down in range(1, 1 + steps):
        up = down + steps
        chances[down, down - 1] = changes if down > 1 else stops
        chances[down, up] = changes
        if up < FIRST_USUAL - 1:
            chances[up, up + 1] = changes
        else:
            chances[up] += changes * usual
        chances[up, down] = brakes
    chances[0, 1 + steps] = goes
    # Where ticks are as long as a memory, more than all would change.
    chances /= np.maximum(chances.sum(axis=1), 1.0)[:, None]
    return chances + np.diag(1.0 - chances.sum(axis=1))


def shakes_of(spreads: Floats) -> Floats:
    """Return what shows how much ticks shake: logarithms of standardised spreads."""
    # A channel that is stuck has no spread.
    return np.log(spreads + 1e-4)


def misfits(shaken: Floats, shakes: Floats, scales: Floats) -> Floats:
    """Return how unlike that of any speed is what shakes in ticks (..., d): mean log densities."""
    apart = (shaken[..., None, :] - shakes) / scales
    # Of a t density with five degrees of freedom: a jolt does not decide alone.
    logs = np.log1p(np.square(apart) / 5.0)
    return np.asarray(logs.mean(axis=-1).min(axis=-1))


def interpolated(wanted: Floats | Ints, known: Floats | Ints, rows: Floats) -> Floats:
    """Return rows (n, d) known at ascending numbers, such as ticks, at wanted ones: (m, d)."""
    return np.stack([np.interp(wanted, known, column) for column in rows.T], axis=1)


STEPS_A_MPS = 20.0
"""Rows of the table of shakes to a metre a second."""

FARTHEST = 20.0
"""Largest negative log-likelihood of a turn: a jolt is no proof that the vehicle is elsewhere."""

LEAST = 1e-12
"""Probability that is not followed."""

FAINT, EVEN = 1e-5, 0.1
"""Probability of a place below which it is dropped, at most this share of an even one."""


class Roads(NamedTuple):
    """
    What follows of a map and a `Network` for the compiled steps.

    Between speed ratios ``ratios`` (R,) there are probabilities of ``exchanges`` (R, R);
    ``precision`` is half the inverse of the squared ``turning_spread``, ``rows_a_radian`` are
    those of the ``turns``. ``shakes`` and ``scales`` (S, d) are at speeds up to the fastest;
    ``rests`` and ``drives`` (S,) the shares of the time that a vehicle stands, and drives at each
    of these. ``leave`` is the probability per tick to leave the network, and a place below the
    probability ``faint`` is dropped.
    """

    ratios: Floats
    exchanges: Floats
    precision: float
    rows_a_radian: float
    shakes: Floats
    scales: Floats
    sharpness: float
    tail: float
    rests: float
    drives: Floats
    leave: float
    faint: float


class Grid(NamedTuple):
    """
    Arrays of the belief, all changed by a tick.

    ``now`` and ``next`` (P, R) are probabilities of places and speed ratios, before and after a
    move; ``active`` and ``order`` (P,) places with any probability, and those that it reaches;
    ``turned`` (1,) how far the vehicle turned, ``shaken`` (d,) how much it shakes within the tick
    and ``likelihoods`` (S,) those of that at each speed; ``changed`` (R,) is scratch.
    """

    now: Floats
    next: Floats
    active: Indices
    order: Indices
    reached: Bools
    likelihoods: Floats
    changed: Floats
    turned: Floats
    shaken: Floats


@subroutine
def _see(observation: Floats, observed: bool, grid: Grid, roads: Roads, network: Network) -> None:
    """Fill likelihoods of what shakes at each speed, over the largest, and how far it turned."""
    likelihoods, shaken = grid.likelihoods, grid.shaken
    grid.turned[0] = 0.0
    highest = -math.inf
    for s in range(len(likelihoods)):
        value = 0.0
        if observed:
            for k in range(len(observation)):
                apart = (shaken[k] - roads.shakes[s, k]) / roads.scales[s, k]
                value -= 0.5 * (roads.tail + 1.0) * math.log1p(apart * apart / roads.tail)
                value -= math.log(roads.scales[s, k])
        likelihoods[s] = roads.sharpness * value
        highest = max(highest, likelihoods[s])
    for s in range(len(likelihoods)):
        likelihoods[s] = math.exp(likelihoods[s] - highest)
    if observed:
        grid.turned[0] = network.turning_offset
        for k in range(len(observation)):
            grid.turned[0] += network.turning[k] * observation[k]


@subroutine
def _elsewhere(grid: Grid, roads: Roads, network: Network) -> float:
    """Return the likelihood of a turn and a shake on any road at any speed, or standing."""
    turned, likelihoods, chances = grid.turned[0], grid.likelihoods, network.chances
    place = (turned - network.turns[0]) * roads.rows_a_radian
    place = min(max(place, 0.0), len(chances) - 1.001)
    low = int(place)
    chance = chances[low] * (1.0 - place + low) + chances[low + 1] * (place - low)
    still = math.exp(-min(roads.precision * turned * turned, FARTHEST))
    shaken = 0.0
    for s in range(len(likelihoods)):
        shaken += roads.drives[s] * likelihoods[s]
    return float(shaken * chance + roads.rests * likelihoods[0] * still)


@subroutine
def _move_on(
    i: int, observed: bool, grid: Grid, roads: Roads, network: Network, motion: RouteMotion,
    geometry: RouteGeometry, met: int,
) -> int:  # fmt: skip
    """Move the probability of a place along the roads; return how many places are reached."""
    then, reached, order, changed = grid.next, grid.reached, grid.order, grid.changed
    ratios, moves, likelihoods = roads.ratios, motion.moves, grid.likelihoods
    count, last = len(ratios), len(moves) - 1
    begins, targets, steps, shares = geometry
    for r in range(count):
        changed[r] = 0.0
        for q in range(count):
            changed[r] += grid.now[i, q] * roads.exchanges[q, r]
    for way in range(begins[i], begins[i + 1]):
        target = targets[way]
        if not reached[target]:
            reached[target] = True
            order[met] = target
            met += 1
            for r in range(count):
                then[target, r] = 0.0
        likely = 1.0
        if observed:
            apart = network.courses[target] - network.courses[i] - grid.turned[0]
            apart -= 2.0 * math.pi * math.floor(apart / (2.0 * math.pi) + 0.5)
            likely = math.exp(-min(roads.precision * apart * apart, FARTHEST))
        for r in range(count):
            if changed[r] < LEAST:
                continue
            row = min(motion.rates[i] * ratios[r] * motion.moves_a_row, last - 1e-9)
            low = int(row)
            high = row - low
            part = moves[low, steps[way]] * (1.0 - high) + moves[low + 1, steps[way]] * high
            place = min(network.usual_mps[i] * ratios[r] * STEPS_A_MPS, len(likelihoods) - 1.001)
            at = int(place)
            shaken = likelihoods[at] * (1.0 - place + at) + likelihoods[at + 1] * (place - at)
            then[target, r] += changed[r] * part * shares[way] * shaken * likely
    return met


@compiled
def follow(
    observation: Floats, observed: bool, buffers: Any, known: Any, cells: Any,  # noqa: ANN401
    totals: Floats, count: int, elsewhere: float,
) -> tuple[float, int]:  # fmt: skip
    """
    Predict by a tick and, if it was ``observed``, update with its observation (d,).

    ``buffers`` and ``known`` are a `Grid`, and a `Roads`, `Network`, `RouteMotion` and
    `RouteGeometry`, as plain tuples; the ``cells`` (P, 7) of a belief and the ``totals`` (8,) of
    ``HYPOTHESES`` are filled. What is ``elsewhere`` stays there: nothing shows where it came back.
    Returns the mean likelihood, 0 if nothing is left, and how many places have any probability.
    """
    grid, roads, network = Grid(*buffers), Roads(*known[0]), Network(*known[1])
    motion, geometry = RouteMotion(*known[2]), RouteGeometry(*known[3])
    _see(observation, observed, grid, roads, network)
    met = 0
    for a in range(count):
        met = _move_on(grid.active[a], observed, grid, roads, network, motion, geometry, met)
    on = 0.0
    for a in range(met):
        for r in range(len(roads.ratios)):
            on += grid.next[grid.order[a], r]
    away = elsewhere * (_elsewhere(grid, roads, network) if observed else 1.0)
    total = on + away
    if not total > 0.0:
        return 0.0, count
    kept = _keep(grid, roads, cells, totals, (1.0 - roads.leave) / total, met)
    totals[len(totals) - 1] = (away + roads.leave * on) / total
    return total, kept


@subroutine
def _keep(grid: Grid, roads: Roads, cells: Any, totals: Floats, scale: float, met: int) -> int:  # noqa: ANN401
    """Normalise, drop faint places and fill the cells and totals; return how many are left."""
    chances, ratios, spreads = cells
    kept = 0
    totals[:] = 0.0
    for a in range(met):
        i = grid.order[a]
        grid.reached[i] = False
        whole = 0.0
        for h in range(chances.shape[1]):
            chances[i, h] = 0.0
        for r in range(len(roads.ratios)):
            grid.now[i, r] = scale * grid.next[i, r]
            whole += grid.now[i, r]
        if whole < roads.faint:
            continue
        grid.active[kept] = i
        kept += 1
        chances[i, STANDS] = grid.now[i, 0]
        totals[STANDS] += grid.now[i, 0]
        for h, low, high in ((SLOW, 1, FIRST_USUAL), (ON, FIRST_USUAL, len(roads.ratios))):
            chance, mean, square = 0.0, 0.0, 0.0
            for r in range(low, high):
                chance += grid.now[i, r]
                mean += grid.now[i, r] * roads.ratios[r]
                square += grid.now[i, r] * roads.ratios[r] * roads.ratios[r]
            chances[i, h] = chance
            totals[h] += chance
            if chance > 0.0:
                ratios[i, h] = mean / chance
                spreads[i, h] = max(square / chance - ratios[i, h] * ratios[i, h], 1e-6)
    return kept


class NetworkBelief(RouteBelief):
    """
    Belief about the place on a network, the speed ratio, and whether the vehicle is on it at all.

    It is read as a `RouteBelief` is, whose hypotheses *on*, *slow*, *stands* and *elsewhere* it
    has: with a usual speed ratio, one of ``STOPPING``, none, and on no way from where drives
    begin, as it is at a start with the chance ``starts_elsewhere``.
    """

    starts_elsewhere = 0.1

    def __init__(self, route: Route, network: Network, period_s: float) -> None:
        roads = _laid_out(route, network, period_s)
        places, ratios = route.places, len(RATIOS)
        self._now = np.zeros((places, ratios))
        self._shaken = np.zeros(len(network.turning))
        self._roads = plain((roads, network, route.motion, unsigned(route.geometry)))
        self._fresh, self._faint = usual_ratios(_ratio_spread(route)), roads.faint
        super().__init__(route)
        self._grid: Grid = plain(
            Grid(
                now=self._now,
                next=np.zeros((places, ratios)),
                active=self._active,
                order=np.zeros(places, dtype=np.uint32),
                reached=self._reached,
                likelihoods=np.zeros(len(roads.shakes)),
                changed=np.zeros(ratios),
                turned=np.zeros(1),
                shaken=self._shaken,
            )
        )

    def start(self) -> None:
        """Start where drives start, rolling or standing, or elsewhere."""
        super().start()
        beginnings = self._route.switching.beginnings
        # Of anywhere there is a share as well, the same at each place.
        known = beginnings - beginnings.min(axis=1, keepdims=True)
        rolls, stands = known / max(float(known.sum()), LEAST)
        on = 1.0 - self.starts_elsewhere
        self._begin(on * rolls, on * stands)

    def place(self, chances: Floats) -> None:
        """Be at the places with these ``chances`` (P,) in place of anywhere, after a start."""
        on = (1.0 - self.starts_elsewhere) / (self.placed_on + self.placed_stands) * chances
        self._begin(self.placed_on * on, self.placed_stands * on)

    def _reweigh(self, stayed: Floats, came: Floats, left: float) -> None:  # noqa: ARG002
        """Scale hypotheses on the route, and add what came, see `RouteBelief`."""
        # What is no longer followed is left in its cells.
        faint = np.ones(len(self._now), dtype=np.bool_)
        faint[self.support] = False
        self._now[faint] = 0.0
        self._now[:, 0] = self._now[:, 0] * stayed[STANDS] + came[1]
        self._now[:, 1:FIRST_USUAL] *= stayed[SLOW, :, None]
        self._now[:, FIRST_USUAL:] *= stayed[ON, :, None]
        self._now += came[0][:, None] * self._fresh
        self._show()

    def lose(self) -> None:
        """Be elsewhere until the next start."""
        nowhere = np.zeros(len(self._now))
        self._begin(nowhere, nowhere)

    def take(self, shaken: Floats) -> None:
        """Take how much the samples within the next tick shake (d,), see `shakes_of`."""
        self._shaken[:] = shaken

    def update(self, observation: Floats) -> float:
        """Predict by a tick and update with its (d,) observation; see `RouteBelief.update`."""
        evidence = self._follow(np.ascontiguousarray(observation), observed=True)
        if not evidence > 0.0:
            self.lose()
            return 0.0
        return min(evidence, 1.0)

    def skip(self, ticks: int) -> None:
        """Predict by some ticks without observations."""
        for _ in range(ticks):
            self._follow(self._shaken, observed=False)

    def _follow(self, observation: Floats, *, observed: bool) -> float:
        evidence, self._count = follow(
            observation, observed, self._grid, self._roads,
            (self.chances, self.ratios, self.spreads), self._totals, self._count, self.elsewhere,
        )  # fmt: skip
        self.elsewhere = float(self._totals[ROWS])
        mean_state(self.chances, self.support, self._route.readout.states, self.state)
        return float(evidence)

    def _begin(self, rolls: Floats, stands: Floats) -> None:
        """Roll and stand at places with these probabilities (P,); all else is elsewhere."""
        self._now[:] = rolls[:, None] * self._fresh
        self._now[:, 0] += stands
        self._show()

    def _show(self) -> None:
        """Drop faint places, and give the others to the rows of a `RouteBelief`."""
        self._now[self._now.sum(axis=1) < self._faint] = 0.0
        self.elsewhere = 1.0 - float(self._now.sum())
        self._reached[:] = False
        self.chances[:] = 0.0
        self.chances[:, STANDS] = self._now[:, 0]
        self.ratios[:] = 1.0
        self.ratios[:, STANDS] = 0.0
        for row, part in ((SLOW, slice(1, FIRST_USUAL)), (ON, slice(FIRST_USUAL, None))):
            self.chances[:, row] = whole = self._now[:, part].sum(axis=1)
            ratios = self._now[:, part] @ RATIOS[part]
            np.divide(ratios, whole, out=self.ratios[:, row], where=whole > 0.0)
        self.spreads[:] = self._route.motion.ratio_spread**2
        kept = np.flatnonzero(self._now.any(axis=1))
        self._count = len(kept)
        self._active[: self._count] = kept
        self._sum_up()


def _laid_out(route: Route, network: Network, period_s: float) -> Roads:
    """Lay out a map and its network for the compiled steps."""
    likelihood = route.likelihood
    exchanges = exchanges_of_ratios(
        _ratio_spread(route), period_s, period_s / likelihood.persistence
    )
    fastest = float(network.usual_mps.max()) * RATIOS[-1]
    wanted = np.arange(int(fastest * STEPS_A_MPS) + 3) / STEPS_A_MPS
    # The shares of the time at each ratio that any vehicle comes to: it forgets how it began.
    balance = exchanges.T - np.eye(len(exchanges))
    balance[-1] = 1.0
    lasting = np.linalg.solve(balance, np.eye(len(exchanges))[-1])
    at = (network.usual_mps[:, None] * RATIOS[1:] * STEPS_A_MPS).round().astype(np.int64)
    drives = np.zeros(len(wanted))
    np.add.at(drives, at, np.broadcast_to(lasting[1:] / len(network.usual_mps), at.shape))
    on, elsewhere = HYPOTHESES.index('on'), HYPOTHESES.index('elsewhere')
    return Roads(
        ratios=RATIOS,
        exchanges=exchanges,
        precision=0.5 / network.turning_spread**2,
        rows_a_radian=1.0 / (network.turns[1] - network.turns[0]),
        shakes=interpolated(wanted, network.speeds, network.shakes),
        scales=interpolated(wanted, network.speeds, network.scales),
        sharpness=likelihood.sharpness,
        tail=likelihood.tail,
        rests=float(lasting[0]),
        drives=drives,
        # Half of those who leave a route are on a road of the same pieces: here, elsewhere too.
        leave=float(route.switching.exchanges[on, elsewhere] * 2.0),
        faint=min(FAINT, EVEN / route.places),
    )


def _ratio_spread(route: Route) -> float:
    """Return the standard deviation of the logarithms of usual speed ratios."""
    return max(route.motion.ratio_spread, math.log(RATIOS[-1] / RATIOS[-2]))
