# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The tick filter of an atlas: which known route is driven, and where on each that may be it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.coarse import CoarseBelief
from two_manifold_ros.filtering.network_lines import Branch, LineState
from two_manifold_ros.filtering.status import StateMachine, TickDiagnostics
from two_manifold_ros.filtering.tracker import half_axis, RouteTracker, TickFilter
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.typing import Bools, Floats

if TYPE_CHECKING:
    from two_manifold_ros.filtering.fixes import Fix
    from two_manifold_ros.model.model import AtlasModel, RouteModel

MOST_AWAKE = 3
"""Routes followed at once at most: the route of the estimates, and two more in a search."""

FAINT = 1e-3
"""Chance below which a route sleeps once another is known; a smaller one keeps more awake."""

UNLIKELY = 0.02
"""Share of the likeliest route in the coarse belief, which decides alone if this is larger."""

TIMES = 3.0
"""
How much likelier than a route another one has to be to be followed, or chosen, in its place: with
less, equally likely routes take turns.
"""

SAYS = 0.25
"""
Exponent of the share of a route in the coarse belief beside its odds: with a half, a share that is
wrong while the vehicle pulls away decides; with none, roads of similar bends take turns.
"""

CATCH_UP = 8
"""Ticks of the past that a tracker which woke up takes with each new one: answers are delayed."""

MOST_ODDS = 1e12
"""Of a route against any unknown road: one minus a probability has no more digits."""


class Heard(NamedTuple):
    """What the tracker of a route said at a tick, and where it puts the vehicle."""

    shown: TickDiagnostics
    positions: Floats
    velocity: Floats
    ellipse_m: float


class KnownRoute:
    """
    One route of an atlas: its ``tracker``, and what that said at the newest tick, if it is heard.

    It is not while it sleeps, or has to catch up with ticks of the past. The ``odds`` say how much
    likelier the route is than any unknown road.
    """

    def __init__(self, name: str, model: RouteModel, *, with_places: bool) -> None:
        self.name, self.model = name, model
        self.tracker = RouteTracker(model, with_places=with_places)
        self._ahead_s = tuple(each * model.period_ns / 1e9 for each in model.horizons)
        self._behind: deque[Floats] = deque()
        self.sleep()

    @property
    def is_known(self) -> bool:
        """Whether its tracker has seen a window, or a fix there."""
        return self.located or self.tracker.seen >= self.model.window

    def sleep(self) -> None:
        """Say nothing more."""
        self._behind.clear()
        self.heard: Heard | None = None
        self.awake, self.located, self.odds = False, False, 0.0

    def wake(self, past: Iterable[Floats] = ()) -> None:
        """Start anywhere, and catch up with ticks of the ``past``."""
        self.sleep()
        self.awake = True
        self.tracker.start()
        self._behind.extend(past)

    def catch_up(self) -> RouteTracker:
        """Return its tracker after all ticks of the past."""
        while self._behind:
            self.tracker.update(self._behind.popleft())
        return self.tracker

    def take(self, values: Floats) -> None:
        """Take the (c,) means of a tick; only what is said about the present counts."""
        self._behind.append(values)
        for _ in range(min(CATCH_UP, len(self._behind))):
            shown = self.tracker.update(self._behind.popleft())
        if not self._behind:
            means, covariances = self.tracker.read()
            self.heard = Heard(shown, means[:-1], means[-1], half_axis(covariances[0]))
            self.odds = (1.0 - shown.off_route) / max(shown.off_route, 1.0 / MOST_ODDS)

    def chances(self, chance: float) -> dict[str, float]:
        """Return the chances of its lines, or of the route itself if it has none."""
        own, lines = self.model.route_names or (self.name,), self.tracker.lines.chances
        if len(own) == 1 or self.heard is None:
            return dict.fromkeys(own, chance / len(own))
        whole = sum(lines.values()) or 1.0
        return {line: chance * each / whole for line, each in lines.items()}

    def ways(self, heard: Heard, chance: float) -> list[Branch]:
        """Return the ways ahead on it, whose chances sum to that of the route."""
        lines = self.tracker.lines
        alone = Branch(lines.name or self.name, 1.0, self._ahead_s, heard.positions)
        ways = lines.branches or (alone,)
        whole = sum(each.chance for each in ways) or 1.0
        return [each._replace(chance=chance * each.chance / whole) for each in ways]


def _said(
    routes: Sequence[KnownRoute], chosen: int, chances: Floats, heard: dict[int, Heard]
) -> LineState:
    """Return the chances of all routes and lines, and the ways ahead on those in ``heard``."""
    by_name: dict[str, float] = {}
    for route, chance in zip(routes, chances.tolist(), strict=True):
        by_name |= route.chances(chance)
    own, *others = (routes[each].ways(said, float(chances[each])) for each, said in heard.items())
    branches = own + sorted(itertools.chain(*others), key=lambda each: -each.chance)
    branched = tuple(branches) if len(branches) > 1 else ()
    lines = routes[chosen].tracker.lines
    return LineState(lines.name, by_name, branched, lines.fork, routes[chosen].name)


class AtlasTracker(TickFilter):
    """
    A `TickFilter` of many known routes, of which the likeliest is ``chosen``.

    Each has its own map, frame, scaling and densities, and says how much likelier its route is
    than any unknown road; from these odds follow the chances of all by name, by Bayes' rule with
    the same prior for each route and for none of them. Routes whose positions agree in one frame
    are no rivals: then the place is known, and only the name is not.

    While one route is known to be driven the others sleep. When it is left, or a stream starts
    again, at most ``MOST_AWAKE`` routes are followed: the likeliest by a `CoarseBelief` on all,
    each from where that sees the vehicle, and on a network from nowhere.
    """

    def __init__(self, model: AtlasModel, *, with_places: bool = False) -> None:
        self._routes = [
            KnownRoute(name, each, with_places=with_places)
            for name, each in zip(model.names, model.members, strict=True)
        ]
        planes = [(each.frame_id, each.origin) for each in model.members]
        self._planes = np.array([planes.index(each) for each in planes])
        self._coarse = CoarseBelief(model.members)
        self._recent: deque[Floats] = deque(maxlen=model.window)
        self.start()

    @property
    def awake(self) -> list[int]:
        """Numbers of the routes that are followed."""
        return [number for number, each in enumerate(self._routes) if each.awake]

    @property
    def seen(self) -> int:
        """Ticks in a row that were seen on the chosen route."""
        return self._routes[self.chosen].tracker.seen

    def start(self) -> None:
        """Search from anywhere on each route, and of a network from where drives begin."""
        for each in self._routes:
            each.sleep()
        self._coarse.start()
        self._recent.clear()
        self._choose(0)
        self._routes[0].wake()
        self._settled = self._searched = self._found = self._lost = False
        # Ticks in a row at which one route was as good as sure, and the chosen one was left.
        self._known = self._left = self._wrong_fixes = 0

    def lose(self) -> None:
        """Know, after a start, that no drive begins here."""
        self._lost = True
        self._routes[self.chosen].tracker.lose()

    def fix(self, fix: Fix, ago: float) -> float:
        """
        Take a position fix of so many ticks ago, see `TickFilter.fix`.

        Until one route is known to be driven, or where two fixes in a row contradict it, the
        routes that explain them best are followed, and of them the best one is chosen.
        """
        routes, likely = self._routes, StateMachine.likely
        right = {each: routes[each].catch_up().fix(fix, ago) for each in self.awake}
        if right[self.chosen] > likely and self._settled:
            self._wrong_fixes = 0
            return right[self.chosen]
        found = [each.tracker.weigh(fix, ago, usual=True) for each in routes]
        known = [each.density for each in found if each is not None]
        if not known:
            return math.nan
        # On a map in another frame it says as little as a gross error.
        gross = RouteBelief.fix_gross
        self._coarse.weigh(
            [
                np.full(route.model.route.places, gross * min(known))
                if each is None
                else each.density * (gross + (1.0 - gross) * each.near[-1])
                for route, each in zip(routes, found, strict=True)
            ]
        )
        self._wrong_fixes = 0 if right[self.chosen] > likely else self._wrong_fixes + 1
        self._settled = self._settled and self._wrong_fixes < 2
        if not self._settled:
            self._searched = True
            self._search(placed=False)
            awake = set(self.awake)
            right |= {each: routes[each].tracker.fix(fix, ago) for each in awake - set(right)}
            self._choose(max(awake, key=lambda each: (self._coarse.shares[each], -each)))
        for number, each in right.items():
            routes[number].located |= each > likely
            if math.isnan(each) and right[self.chosen] > likely:
                # Nobody is in two frames.
                routes[number].sleep()
        # On a route in another frame the fix says that it is not driven.
        return 0.0 if math.isnan(right[self.chosen]) else right[self.chosen]

    def coast(self, ticks: int) -> None:
        """Move on by some ticks without observations on all routes that are followed."""
        self._recent.clear()
        for number in self.awake:
            self._routes[number].catch_up().coast(ticks)

    def read(self) -> tuple[Floats, Floats]:
        """Return means and covariances of positions and velocity on the chosen route."""
        return self._routes[self.chosen].tracker.read()

    def places(self) -> Floats | None:
        """Return the (m, 3) modes of the position on the chosen route."""
        return self._routes[self.chosen].tracker.places()

    def update(self, values: Floats) -> TickDiagnostics:
        """Take the (c,) means of one tick; return what the chosen route is by all of them."""
        values, routes = values.copy(), self._routes
        if (self._coarse.push(values) or not self._searched) and not self._settled:
            self._search()
        self._recent.append(values)
        for number in self.awake:
            routes[number].take(values)
        heard = {number: each.heard for number, each in enumerate(routes) if each.heard}
        own = odds = np.array([each.odds for each in routes])
        if not self._settled:
            # The odds of routes that are not heard, by those of the ones that are.
            those, shares = [*heard], self._coarse.shares
            times = odds[those].sum() / max(shares[those].sum(), 1.0 / MOST_ODDS)
            odds = np.minimum(times * shares, MOST_ODDS)
            odds[those] = own[those]
        chances = odds / (1.0 + odds.sum())
        self._choose(self._likeliest(chances, heard))
        chosen, agree = heard[self.chosen], self._agree(self.chosen, heard)
        ways = {self.chosen: chosen}
        # Where one route is as good as sure there is no other branch to look for.
        if chances[self.chosen] < 1.0 - StateMachine.leaving:
            beside = ~agree & (self._planes == self._planes[self.chosen])
            beside &= chances >= StateMachine.leaving
            ways |= {each: heard[each] for each in heard if beside[each]}
        self.lines = _said(routes, self.chosen, chances, ways)
        self._settle(chances)
        # Bayes' rule with the rivals beside any unknown road.
        off_route = chosen.shown.off_route
        weight = (1.0 + float(odds[~agree].sum())) * off_route
        return chosen.shown._replace(off_route=weight / (1.0 - off_route + weight))

    def _choose(self, number: int) -> None:
        self.chosen, tracker = number, self._routes[number].tracker
        self.belief, self.steady = tracker.belief, tracker.steady

    def _likeliest(self, chances: Floats, heard: dict[int, Heard]) -> int:
        """Return the likeliest route that is heard."""
        chosen, routes = self.chosen, self._routes
        # Once one was known, none takes its place before it has seen a window, or a fix.
        full = [each for each in heard if routes[each].is_known]
        # A tracker compares its route with unknown roads, the coarse belief routes with each
        # other: at another speed ratio one follows a road of similar bends for a while.
        odds = chances * self._coarse.shares**SAYS
        few = full if full and (self._found or routes[chosen].odds >= 1.0) else [*heard]
        best = max(few, key=lambda each: (odds[each], each == chosen))
        if chosen not in few:
            return best
        # Two at the same place would take turns.
        fits = routes[chosen].odds * StateMachine.leaving > 1.0
        stays = fits or odds[best] <= TIMES * odds[chosen]
        return chosen if stays and self._agree(chosen, heard)[best] else best

    def _agree(self, number: int, heard: dict[int, Heard]) -> Bools:
        """
        Return whether the position on a route is the same place as those on the others (R,).

        It is if they are not farther apart than the ellipses of both allow, and passed in no
        opposite directions; a route that sleeps is compared by the coarse belief, which sees no
        difference within a cell to either side, and no direction.
        """
        own, coarse = heard[number], self._coarse.positions
        cells_m = 2.0 * self._coarse.span_s * np.linalg.norm(own.velocity)
        seen = own.positions[0], coarse[number]
        apart_m = np.min([np.linalg.norm(coarse - each, axis=1) for each in seen], axis=0)
        agree: Bools = apart_m <= cells_m
        for each, other in heard.items():
            apart_m = np.linalg.norm(other.positions[0] - own.positions[0])
            near = apart_m <= math.hypot(own.ellipse_m, other.ellipse_m)
            agree[each] = near and own.velocity @ other.velocity >= 0.0
        agree &= self._planes == self._planes[number]
        agree[number] = True
        return agree

    def _settle(self, chances: Floats) -> None:
        """Let those sleep that are out of the question, or search again where one was left."""
        chosen, window = self._routes[self.chosen], self._recent.maxlen or 0
        self._known = self._known + 1 if chances[self.chosen] > 1.0 - StateMachine.leaving else 0
        self._left = self._left + 1 if chosen.odds < 1.0 else 0
        if self._known > window:
            self._settled = self._found = True
            for each in self.awake:
                if chances[each] <= FAINT:
                    self._routes[each].sleep()
        elif self._settled and 2 * self._left > window:
            # Follow other routes as if they had been followed for the last window already.
            self._settled = False
            self._search()
            for each in set(self.awake) - {self.chosen}:
                self._routes[each].wake(self._recent)
                self._routes[each].tracker.lose()

    def _search(self, *, placed: bool = True) -> None:
        """Follow the routes that are the likeliest by the coarse belief, ``placed`` by it."""
        begins, self._searched = not self._searched, True
        shares, routes = self._coarse.shares, self._routes
        likely = shares >= UNLIKELY * shares.max()
        for number in np.argsort(-shares, kind='stable')[:MOST_AWAKE].tolist():
            awake, route = self.awake, routes[number]
            if route.awake or not likely[number]:
                continue
            if len(awake) == MOST_AWAKE:
                weakest = min({*awake} - {self.chosen}, key=lambda each: (shares[each], each))
                if shares[number] < TIMES * shares[weakest]:
                    continue
                routes[weakest].sleep()
            route.wake()
            if self._lost or not begins:
                route.tracker.lose()
            # At the start a tracker knows more of where drives begin.
            if placed and not begins and route.model.network is None:
                route.tracker.place(self._coarse.places(number))
