# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter of an atlas: which known route is driven, and a filter on each that may be it."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
import math
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.filtering.coarse import CoarseBelief
from two_manifold_ros.filtering.estimate import Estimate, limits_of
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.network_lines import Branch
from two_manifold_ros.filtering.status import StateMachine, Status
from two_manifold_ros.model.model import AtlasModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from two_manifold_ros.model.model import ModelHead
    from two_manifold_ros.typing import Bools, Floats

    Stamped: TypeAlias = tuple[int, Sequence[float] | Floats]

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

CATCH_UP = 8
"""Samples of the past that a filter which woke up takes with each new one: answers are delayed."""

MOST_RECENT = 2**16
"""Samples of the past that are kept at the most, whatever their stamps: 13 s at 5 kHz."""

MOST_ODDS = 1e12
"""Of a route against any unknown road: one minus a probability has no more digits."""


def make_filter(
    model: ModelHead,
    places_hz: float = 0.0,
    ellipse_m: tuple[float, float] = (0.0, 0.0),
    reorder_ns: int = 0,
) -> Filter:
    """Return the filter of any model, of one route or of many; see `Filter` and `limits_of`."""
    if isinstance(model, AtlasModel):
        rest = places_hz, ellipse_m, reorder_ns
        return AtlasFilter(model, [make_filter(each, *rest) for each in model.members])
    limits = limits_of(model, *ellipse_m)
    return Filter(model, places_hz, limits=limits, reorder_ns=reorder_ns)


class AtlasFilter(Filter):
    """
    The ``members``, filters on many known routes, of which the likeliest gives the estimates.

    Each has its own map, frame, scaling and ticks, and says how much likelier its route is than
    any unknown road; from these odds follow the ``chances`` of all by name, by Bayes' rule with
    the same prior for each route and for none of them. Routes whose positions agree in one frame
    are no rivals: then the place is known, and only the name is not.

    While one route is known to be driven the others sleep. When it is left, or its filter starts
    again, at most ``MOST_AWAKE`` routes are followed: the likeliest by a `CoarseBelief` on all,
    each from where that sees the vehicle, and on a network from nowhere. A route that sleeps is to
    those that are followed as in the coarse belief. ``awake`` are the numbers of those.
    """

    def __init__(self, model: AtlasModel, members: list[Filter]) -> None:
        self._atlas, self._members = model, members
        planes = [(each.frame_id, each.origin) for each in model.members]
        self._planes = np.array([planes.index(each) for each in planes])
        self._window_ns = model.window_ns
        self._coarse = CoarseBelief(model.members)
        self._chosen = 0
        # No vehicle is corrected on several maps.
        self.correction = None
        self.latest: Estimate | None = None
        # Samples of the last window, and the stamps of the last two.
        self._recent: deque[Stamped] = deque(maxlen=MOST_RECENT)
        self._stamps: deque[int] = deque(maxlen=2)
        self._start(fresh=True)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as those of `Filter` are
        """Return what only the filter of the likeliest route has: it is read as that one."""
        return getattr(vars(self)['_members'][self._chosen], name)

    def take_over(self, previous: Filter) -> None:
        """Continue the counts of the filter that ran on the same stream before."""
        self.chosen.take_over(previous)

    def _start(self, *, fresh: bool = False) -> None:
        """Search from anywhere on each route; of a network where drives begin, if ``fresh``."""
        self._coarse.start()
        self.awake = [self._chosen]
        self._newest: list[Estimate | None] = [None] * len(self._members)
        self._odds = np.zeros(len(self._members))
        for each in self._members:
            each.rivals = 0.0
        self.chances: dict[str, float] = dict.fromkeys(self._atlas.names, 0.0)
        self._times: dict[str, int] = {}
        self._settled = self._searched = self._found = False
        self._fresh = fresh
        # Samples that filters which woke up have not taken yet, and the newest tick of each.
        self._behind: dict[int, deque[Stamped]] = {}
        self._ticked_ns: dict[int, int] = {}
        if fresh:
            self._recent.clear()
            self._stamps.clear()

    def _follow(self, number: int) -> None:
        """Take the estimates of that route from now on, and go on with the counters."""
        before, self._chosen = self.chosen, number
        if self.chosen is not before:
            self.chosen.take_over(before)
            before.counters = Counter()

    @property
    def chosen(self) -> Filter:
        """The filter of the route that the estimates are of."""
        return self._members[self._chosen]

    @property
    def withheld(self) -> bool:
        """Whether no position may be used on any route, see `Filter`."""
        return self.chosen.withheld

    @withheld.setter
    def withheld(self, value: bool) -> None:
        for each in self._members:
            each.withheld = value

    @property
    def model(self) -> ModelHead:
        """The model with all the routes that it knows."""
        return self._atlas

    @property
    def tick_ends(self) -> int:
        """Earliest stamp (ns) that can complete a tick; 0 if unknown."""
        return min(self._members[each].tick_ends for each in self.awake)

    def warm_up(self) -> None:
        """Compile every hot loop; those of one kind of model are the same."""
        for each in {type(each.running): each for each in self._members}.values():
            each.warm_up()
        CoarseBelief(self._atlas.members[:1]).warm_up()

    def reset(self, cause: str) -> None:
        """Forget everything but the counters; ``cause`` is shown until the next sample."""
        for each in self._members:
            each.reset(cause)
        self._follow(0)
        self._start(fresh=True)
        self.latest = None

    def lose(self) -> None:
        """Know, after a reset, that no drive begins here, see `Filter.lose`."""
        self._fresh = False
        self.chosen.lose()

    def push(self, stamp_ns: int, sample: Sequence[float] | Floats) -> list[Estimate]:
        """Take one sample, see `Filter.push`; return the estimates of the likeliest route."""
        self._stamps.append(stamp_ns)
        # Of one alone a stamp may be wrong.
        since, until = min(self._stamps) - self._window_ns, max(self._stamps)
        while self._recent and not since <= self._recent[0][0] <= until:
            self._recent.popleft()
        self._recent.append((stamp_ns, sample))
        found = self._feed(stamp_ns, sample)
        ended = self._coarse.push(stamp_ns, sample)
        if found:
            odds = self._odds
            if not self._settled:
                # The odds of routes that no filter has an estimate on, by those that one has.
                odds, shares = odds.copy(), self._coarse.shares
                heard = np.array([each is not None for each in self._newest])
                times = odds[heard].sum() / max(shares[heard].sum(), 1.0 / MOST_ODDS)
                odds[~heard] = np.minimum(times * shares[~heard], MOST_ODDS)
            rivals = ~self._agree(self.awake) @ odds
            for number, each in zip(self.awake, rivals.tolist(), strict=True):
                self._members[number].rivals = each
            chances = odds / (1.0 + odds.sum())
            self.chances = dict(zip(self._atlas.names, chances.tolist(), strict=True))
            self._choose(stamp_ns)
        if not self._settled and (ended or not self._searched):
            known = set(self.awake)
            self._search()
            for number in set(self.awake) - known:
                # A jump of the clock made the last sample but one wait: from it on the filter of
                # the estimates ticks, and so do all others of its rate.
                for back in range(-len(self._stamps), 0):
                    for estimate in self._members[number].push(*self._recent[back]):
                        self._note(number, estimate)
        estimates = [self._named(each) for each in found.get(self._chosen, ())]
        if estimates or self.chosen.latest is None:
            self.latest = estimates[-1] if estimates else None
        return estimates

    def _feed(self, stamp_ns: int, sample: Sequence[float] | Floats) -> dict[int, list[Estimate]]:
        """Let all that are followed take a sample; return the estimates of each."""
        found: dict[int, list[Estimate]] = {}
        started = set()
        for number in self.awake:
            member, behind = self._members[number], self._behind.get(number)
            resets = member.counters['resets']
            if behind is None:
                estimates = member.push(stamp_ns, sample)
            else:
                behind.append((stamp_ns, sample))
                for _ in range(min(CATCH_UP, len(behind))):
                    estimates = member.push(*behind.popleft())
                # Only what is said about the present counts.
                if behind:
                    estimates = []
                else:
                    del self._behind[number]
            if member.counters['resets'] > resets:
                started.add(number)
                # It knows nothing of what was before.
                self._forget(number)
            if estimates:
                found[number] = estimates
        self._ticked_ns.update(dict.fromkeys(found, stamp_ns))
        # Meanwhile the vehicle may have been carried to any route; one that swings as never on
        # the route that is followed gives no ticks at all there.
        ticked_ns = self._ticked_ns.setdefault(self._chosen, stamp_ns)
        silent = min(self._stamps) - ticked_ns > self._window_ns
        if self._chosen in started or (silent and self._settled):
            self._start()
        elif silent:
            self._forget(self._chosen)
        found = {each: found[each] for each in self.awake if each in found}
        for number, estimates in found.items():
            self._note(number, estimates[-1])
        return found

    def _named(self, estimate: Estimate) -> Estimate:
        """Return an estimate with the chances of all routes and lines, and the ways ahead."""
        names = self._atlas.names
        branches, others = self._ways(self._chosen, estimate), []
        # Where one route is as good as sure there is no other branch to look for.
        route = names[self._chosen]
        if self.chances[route] < 1.0 - StateMachine.leaving:
            rivals = ~self._agree([self._chosen])[0] & (self._planes == self._planes[self._chosen])
            for number in self.awake:
                other = self._newest[number]
                likely = self.chances[names[number]] >= StateMachine.leaving
                if rivals[number] and likely and other and not math.isnan(other.ellipse_m):
                    others += self._ways(number, other)
        branches += sorted(others, key=lambda each: -each.chance)
        chances: dict[str, float] = {}
        for number, name in enumerate(names):
            # Those of its lines, or of the route itself if it has none.
            own, newest = self._atlas.members[number].route_names or (name,), self._newest[number]
            if len(own) == 1 or newest is None:
                chances |= dict.fromkeys(own, self.chances[name] / len(own))
                continue
            whole = sum(newest.chances.values()) or 1.0
            for line, each in newest.chances.items():
                chances[line] = self.chances[name] * each / whole
        return replace(
            estimate,
            route=route,
            chances=chances,
            branches=tuple(branches) if len(branches) > 1 else (),
        )

    def _ways(self, number: int, estimate: Estimate) -> list[Branch]:
        """Return the ways ahead on a route by its own estimate, with chances among all routes."""
        name, model = self._atlas.names[number], self._members[number].running
        chance = self.chances[name]
        if estimate.branches:
            whole = sum(each.chance for each in estimate.branches) or 1.0
            return [
                each._replace(chance=chance * each.chance / whole) for each in estimate.branches
            ]
        ahead_s = tuple(each * model.period_ns / 1e9 for each in model.horizons)
        return [Branch(estimate.line or name, chance, ahead_s, estimate.positions)]

    def _note(self, number: int, estimate: Estimate) -> None:
        off_route = self._members[number].off_route
        self._newest[number] = estimate
        self._odds[number] = min((1.0 - off_route) / max(off_route, 1.0 / MOST_ODDS), MOST_ODDS)

    def _forget(self, number: int) -> None:
        self._newest[number], self._odds[number] = None, 0.0

    def _agree(self, numbers: Sequence[int]) -> Bools:
        """
        Return whether positions on routes (n,) are the same place as on each other (n, R).

        They are if they are not farther apart than the ellipses of both allow, and passed in no
        opposite directions; a route that sleeps is compared by the coarse belief, which sees no
        difference within a cell to either side, and no direction.
        """
        coarse, planes = self._coarse.positions, self._planes
        places, reach_m = coarse.copy(), np.zeros(len(coarse))
        cell_m, velocities = np.zeros(len(coarse)), np.zeros_like(coarse)
        heard = {each: newest for each in self.awake if (newest := self._newest[each])}
        # Ticks of filters end at different times, at which the vehicle is at different places.
        now_ns = max((each.stamp_ns for each in heard.values()), default=0)
        for number, newest in heard.items():
            since_s = (now_ns - newest.stamp_ns) / 1e9
            places[number] = newest.positions[0] + since_s * newest.velocity
            reach_m[number], velocities[number] = newest.ellipse_m, newest.velocity
            cell_m[number] = 2.0 * self._coarse.span_s * np.linalg.norm(newest.velocity)
        apart_m, coarse_m = (
            np.linalg.norm(each[numbers][:, None] - each, axis=2) for each in (places, coarse)
        )
        agree: Bools = apart_m <= np.hypot(reach_m[numbers][:, None], reach_m)
        agree &= velocities[numbers] @ velocities.T >= 0.0
        sleeps = np.isin(np.arange(len(coarse)), [*heard], invert=True)
        agree |= sleeps & (np.minimum(apart_m, coarse_m) <= cell_m[numbers][:, None])
        agree &= planes[numbers][:, None] == planes
        agree[np.arange(len(numbers)), numbers] = True
        return agree

    def _choose(self, stamp_ns: int) -> None:
        """Follow the likeliest route, and let those sleep that are out of the question."""
        chances, odds = list(self.chances.values()), self._odds
        best = self._likeliest(chances)
        if best != self._chosen:
            self._follow(best)
        known = chances[best] > 1.0 - StateMachine.leaving
        lasted, times = {}, self._times
        for what, holds in (('known', known), ('left', bool(odds[best] < 1.0))):
            # A clock may be set back.
            if not holds or not times.get(what, math.inf) <= stamp_ns:
                times.pop(what, None)
            if holds:
                times.setdefault(what, stamp_ns)
            lasted[what] = stamp_ns - times.get(what, stamp_ns)
        if lasted['known'] >= self._window_ns:
            self._settled = self._found = True
            self._let_sleep(each for each in self.awake if chances[each] <= FAINT)
        elif self._settled and 2 * lasted['left'] >= self._window_ns:
            # Follow other routes as if they had been followed for the last window already.
            self._settled = False
            self._search()
            for number in set(self.awake) - {self._chosen}:
                self._members[number].reset('another route may be driven')
                self._members[number].lose()
                self._forget(number)
                self._behind[number] = self._recent.copy()

    def _likeliest(self, chances: Sequence[float]) -> int:
        """Return the likeliest route that a filter has an estimate on."""
        newest = {each: found for each in self.awake if (found := self._newest[each])}
        heard = list(newest)
        # Once one was known, none takes its place before it has seen a window.
        may_be_any = not self._found and self._odds[self._chosen] < 1.0
        filled = [each for each in heard if newest[each].status is not Status.FILLING]
        filled = heard if may_be_any else filled
        # A filter compares its route with unknown roads, the coarse belief routes with each other;
        # where all are followed it has nothing to add.
        shares = self._coarse.shares
        if len(self.awake) == len(self._members):
            shares = np.ones(len(shares))
        odds = {each: chances[each] * math.sqrt(shares[each]) for each in filled or heard}
        best, chosen = max(odds, key=lambda each: (odds[each], each == self._chosen)), self._chosen
        if best == chosen or chosen not in odds:
            return best
        # Two at the same place would take turns, as the tick of the one or the other ends.
        fits = self._odds[chosen] * StateMachine.leaving > 1.0
        stays = fits or odds[best] <= TIMES * odds[chosen]
        return chosen if stays and self._agree([chosen])[0, best] else best

    def _search(self) -> None:
        """Follow the routes that are the likeliest by the coarse belief."""
        begins, self._searched = not self._searched, True
        shares = self._coarse.shares
        least = UNLIKELY * shares.max()
        for number in np.argsort(-shares, kind='stable')[:MOST_AWAKE].tolist():
            if number in self.awake or shares[number] < least:
                continue
            if len(self.awake) == MOST_AWAKE:
                others = set(self.awake) - {self._chosen}
                weakest = min(others, key=lambda each: (shares[each], each))
                if shares[number] < TIMES * shares[weakest]:
                    continue
                self._let_sleep([weakest])
            member = self._members[number]
            member.reset('another route may be driven')
            member.rivals = 0.0
            self.awake.append(number)
            if self._atlas.members[number].network is not None:
                if not (begins and self._fresh):
                    member.lose()
            elif not begins:
                # At the start a filter knows more of where drives begin.
                member.ticks.place(self._coarse.places(number))

    def _let_sleep(self, numbers: Iterable[int]) -> None:
        for each in {*numbers} - {self._chosen}:
            self._forget(each)
            self.awake.remove(each)
            self._behind.pop(each, None)
