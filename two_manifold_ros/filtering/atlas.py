# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The filter of an atlas: a filter on each known route beside the others, and which one it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.estimate import limits_of
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.network_lines import Branch
from two_manifold_ros.filtering.status import StateMachine, Status
from two_manifold_ros.model.atlas import AtlasModel

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.status import Finding
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.model.model import TpsrModel
    from two_manifold_ros.tpsr.thin_svd import Move
    from two_manifold_ros.typing import Bools, Floats

SEARCH = 10
"""
Windows of a search, from a start or from when all those followed were left.

After it a tick costs no more than those of ``MOST_AWAKE`` routes, however many are known.
"""

MOST_AWAKE = 3
"""Routes that are followed when one is known to be driven, or the search is over."""

FAINT = 1e-3
"""
Chance below which a route sleeps once another one is known to be driven.

A smaller one keeps routes awake for longer; one that sleeps too soon is missed for half a window
and the time that it takes to find the way from anywhere.
"""

MOST_ODDS = 1e12
"""Of a route against any unknown road: one minus a probability has no more digits."""


def make_filter(
    model: ModelHead,
    places_hz: float = 0.0,
    ellipse_m: tuple[float, float] = (0.0, 0.0),
    reorder_ns: int = 0,
) -> Filter:
    """
    Return the filter of any model, of one route or of many.

    Parameters
    ----------
    model, places_hz, reorder_ns
        See `Filter`.
    ellipse_m
        Limits of the ellipse, metres, as those of `limits_of`.

    """
    if isinstance(model, AtlasModel):
        return AtlasFilter(model, places_hz, ellipse_m, reorder_ns)
    limits = limits_of(model, *ellipse_m)
    return Filter(model, places_hz, limits=limits, reorder_ns=reorder_ns)


NOWHERE = (math.nan, math.nan)

KNOWN, LEFT, SEARCHING, TURN = 'known', 'left', 'searching', 'turn'
"""Since when, by stamps: one is known, it is left, all are followed, the present ones are."""


class AtlasFilter(Filter):
    """
    Filters on many known routes, of which the likeliest gives the estimates.

    Each filter is that of its route alone, with its own map, frame, scaling and ticks, so that an
    estimate errs as that of a model of this route. The belief of each says how much likelier its
    route is than any unknown road; from these odds follow the chances of all, by Bayes' rule with
    the same prior for each route and for none of them. A route whose position agrees with that of
    another in the same frame is no rival to it: then the place is known, and only the name is not.

    While one is known to be driven the others sleep. When it is left, or a gap or a clock that was
    set makes its filter start again, all wake up, and start anywhere. Those that are out of the
    question after a window and a half sleep again; after ``SEARCH`` windows the likeliest stay
    awake, and the others take turns.

    Parameters
    ----------
    model
        The routes.
    places_hz, reorder_ns
        See `Filter`.
    ellipse_m
        Limits of the ellipse, see `make_filter`.

    Attributes
    ----------
    chances
        Of each route at the newest tick, by name.

    """

    # Each attribute and method of a single filter is here again: that of its own would be of none.
    def __init__(  # see above
        self,
        model: AtlasModel,
        places_hz: float = 0.0,
        ellipse_m: tuple[float, float] = (0.0, 0.0),
        reorder_ns: int = 0,
    ) -> None:
        self._atlas = model
        self._members = [
            Filter(each, places_hz, limits=limits_of(each, *ellipse_m), reorder_ns=reorder_ns)
            for each in model.members
        ]
        planes = [(each.frame_id, each.origin) for each in model.members]
        self._planes = np.array([planes.index(each) for each in planes])
        self._window_ns = model.window_ns
        self._chosen = 0
        self.counters = Counter()
        self.latest: Estimate | None = None
        self._start()
        self._follow(0)

    def _start(self) -> None:
        """Follow all routes, each from anywhere on it."""
        self._awake = list(range(len(self._members)))
        self._newest: list[Estimate | None] = [None] * len(self._members)
        self._odds = np.zeros(len(self._members))
        for each in self._members:
            each.weigh_rivals(0.0)
        self.chances: dict[str, float] = dict.fromkeys(self._atlas.names, 0.0)
        self._times: dict[str, int] = {}
        self._settled = False
        self._next = 0
        self._ticked_ns: int | None = None
        # The route that was known last, and how long it may be left before all are searched.
        self._found = -1
        self._patience_ns = self._window_ns // 2

    def _follow(self, number: int) -> None:
        """Take the estimates of that route from now on, and go on with the counters."""
        before, self._chosen = self._members[self._chosen], number
        now = self._members[number]
        if now is not before:
            now.take_over(before)
            before.counters = Counter()
        self._show()

    def _show(self) -> None:
        now = self._members[self._chosen]
        self.limits, self.counters = now.limits, now.counters
        self.used, self.broke = now.used, now.broke
        if now.latest is None:
            self.latest = None

    @property
    def withheld(self) -> bool:
        """Whether no position may be used on any route, see `Filter`."""
        return self._members[self._chosen].withheld

    @withheld.setter
    def withheld(self, value: bool) -> None:
        for each in self._members:
            each.withheld = value

    @property
    def running(self) -> ModelHead:
        """The model of the route that the estimates are of."""
        return self._members[self._chosen].running

    @property
    def model(self) -> ModelHead:
        """The model with all the routes that it knows."""
        return self._atlas

    @property
    def route(self) -> str:
        """Name of the route that the estimates are of."""
        return self._atlas.names[self._chosen]

    @property
    def awake(self) -> int:
        """Number of routes that are followed."""
        return len(self._awake)

    @property
    def status(self) -> Status:
        """The present status on the likeliest route."""
        return self._members[self._chosen].status

    @property
    def cause(self) -> str:
        """The present cause as a short key, see ``Verdict``."""
        return self._members[self._chosen].cause

    @property
    def why(self) -> str:
        """The present status and cause in plain words."""
        return self._members[self._chosen].why

    @property
    def off_route(self) -> float:
        """Probability of being off the likeliest route as if no other were known."""
        return self._members[self._chosen].off_route

    def weigh_rivals(self, odds: float) -> None:
        """Take the ``odds`` of roads that the atlas does not know, on its likeliest route."""
        self._members[self._chosen].weigh_rivals(odds)

    @property
    def finding(self) -> Finding | None:
        """The gravest thing that is wrong with the input, even if no tick ends any more."""
        return self._members[self._chosen].finding

    @property
    def tick_ends(self) -> int:
        """Earliest stamp (ns) that can complete a tick; 0 if unknown."""
        return min(self._members[each].tick_ends for each in self._awake)

    @property
    def waiting(self) -> int:
        """Number of samples that wait for a later one."""
        return self._members[self._chosen].waiting

    def adopt(self, model: TpsrModel, move: Move) -> None:
        """Refuse parameters of a TPSR: no route of an atlas is one."""
        self._members[self._chosen].adopt(model, move)

    def warm_up(self) -> None:
        """Compile every hot loop; those of one kind of model are the same."""
        for each in {type(each.running): each for each in self._members}.values():
            each.warm_up()

    def take_over(self, previous: Filter) -> None:
        """Continue the counts of the filter that ran on the same stream before."""
        self._members[self._chosen].take_over(previous)
        self._show()

    def forget_latest(self) -> None:
        """Forget the newest estimate: it came from samples that are not of the present."""
        for each in self._members:
            each.forget_latest()
        self._show()

    def reset(self, cause: str) -> None:
        """Forget everything but the counters; ``cause`` is shown until the next sample."""
        for each in self._members:
            each.reset(cause)
        self._start()
        self._follow(0)

    def push(self, stamp_ns: int, sample: Sequence[float] | Floats) -> list[Estimate]:
        """Take one sample, see `Filter.push`; return the estimates of the likeliest route."""
        found: dict[int, list[Estimate]] = {}
        started = set()
        for number in self._awake:
            member = self._members[number]
            resets = member.counters['resets']
            estimates = member.push(stamp_ns, sample)
            if member.counters['resets'] > resets:
                started.add(number)
                # It knows nothing of what was before.
                self._newest[number], self._odds[number] = None, 0.0
            if estimates:
                found[number] = estimates
        if found or self._ticked_ns is None:
            self._ticked_ns = stamp_ns
        # Meanwhile the vehicle may have been carried to any route; one that swings as never on
        # the route that is followed gives no ticks at all there.
        silent = stamp_ns - self._ticked_ns > self._window_ns and self.awake < len(self._members)
        if self._chosen in started or silent:
            self._wake(range(len(self._members)))
            self._start()
        for number, estimates in found.items():
            self._note(number, estimates[-1])
        if found:
            self._weigh()
            self._choose(stamp_ns)
        self._show()
        estimates = [self._named(each) for each in found.get(self._chosen, ())]
        if estimates:
            self.latest = estimates[-1]
        return estimates

    def _named(self, estimate: Estimate) -> Estimate:
        """Return an estimate with the chances of all routes and lines, and the ways ahead."""
        names = self._atlas.names
        branches, others = self._ways(self._chosen, estimate), []
        # Where one route is as good as sure there is no other branch to look for.
        if self.chances[self.route] < 1.0 - StateMachine.leaving:
            same_place = self._agree(self._awake)[self._awake.index(self._chosen)]
            for number, is_same in zip(self._awake, same_place.tolist(), strict=True):
                other = self._newest[number]
                if (
                    other is not None
                    and self.chances[names[number]] >= StateMachine.leaving
                    and not math.isnan(other.ellipse_m)
                    and self._planes[number] == self._planes[self._chosen]
                    and not is_same
                ):
                    others += self._ways(number, other)
        branches += sorted(others, key=lambda each: -each.chance)
        chances: dict[str, float] = {}
        for number, name in enumerate(names):
            newest = self._newest[number]
            chances |= _spread_over_lines(
                self._atlas.members[number].route_names or (name,), self.chances[name], newest
            )
        return replace(
            estimate,
            route=self.route,
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

    def _weigh(self) -> None:
        """Compute the chances of all, and give each filter the odds of its rivals."""
        odds, whole = self._odds, 1.0 + float(self._odds.sum())
        awake = self._awake
        rivals = ~self._agree(awake) @ odds[awake]
        for number, each in zip(awake, rivals.tolist(), strict=True):
            self._members[number].weigh_rivals(each)
        self.chances = dict(zip(self._atlas.names, (odds / whole).tolist(), strict=True))

    def _agree(self, numbers: Sequence[int]) -> Bools:
        """Return whether positions on routes (n,) are the same place, each with each (n, n)."""
        newest = [self._newest[each] for each in numbers]
        places = np.array([NOWHERE if each is None else each.positions[0] for each in newest])
        reach_m = np.array([math.nan if each is None else each.ellipse_m for each in newest])
        planes = self._planes[numbers]
        apart_m = np.linalg.norm(places[:, None] - places, axis=2)
        agree: Bools = apart_m <= np.fmax(reach_m[:, None], reach_m)
        agree &= planes[:, None] == planes
        np.fill_diagonal(agree, val=True)
        return agree

    def _choose(self, stamp_ns: int) -> None:
        """Follow the likeliest route, and let those sleep that are out of the question."""
        chances = list(self.chances.values())
        filled = [each for each in self._awake if self._is_filled(each)] or self._awake
        best = max(filled, key=lambda each: (chances[each], each == self._chosen))
        if best != self._chosen:
            self._follow(best)
        known = chances[best] > 1.0 - StateMachine.leaving
        lasted = self._lasted(stamp_ns, known=known, left=bool(self._odds[best] < 1.0))
        span = self._window_ns
        if lasted[KNOWN] >= span:
            if not self._settled:
                # A search that finds the same route again makes the next one come later.
                again = min(2 * self._patience_ns, SEARCH * span)
                self._patience_ns = again if best == self._found else span // 2
                self._found, self._settled = best, True
            self._keep(chances, FAINT)
        elif self._settled and lasted[LEFT] >= self._patience_ns:
            self._settled = False
            self._wake(range(len(self._members)))
            self._times[SEARCHING] = stamp_ns
        elif not self._settled:
            self._search(chances, lasted)

    def _lasted(self, stamp_ns: int, *, known: bool, left: bool) -> dict[str, int]:
        """Return for how long each state lasts, ns."""
        times = self._times
        for what, holds in ((KNOWN, known), (LEFT, left), (SEARCHING, True), (TURN, True)):
            # A clock may be set back.
            if not holds or not times.get(what, math.inf) <= stamp_ns:
                times.pop(what, None)
            if holds:
                times.setdefault(what, stamp_ns)
        return {
            what: stamp_ns - times.get(what, stamp_ns) for what in (KNOWN, LEFT, SEARCHING, TURN)
        }

    def _search(self, chances: Sequence[float], lasted: Mapping[str, int]) -> None:
        """Let those sleep that had time to find their way, or all but a few, which take turns."""
        span = self._window_ns
        if lasted[SEARCHING] > SEARCH * span:
            self._keep(chances, 0.0)
            if lasted[LEFT] and lasted[TURN] >= 2 * span:
                self._times.pop(TURN)
                self._take_turns()
        elif 2 * lasted[SEARCHING] > 3 * span:
            faint = [each for each in self._awake if chances[each] <= FAINT]
            self._let_sleep({*faint} - {self._chosen})

    def _is_filled(self, number: int) -> bool:
        newest = self._newest[number]
        return newest is not None and newest.status is not Status.FILLING

    def _keep(self, chances: Sequence[float], least: float) -> None:
        """Let all sleep but the likeliest few whose chance is above ``least``, and the chosen."""
        others = [each for each in self._awake if each != self._chosen and chances[each] > least]
        others.sort(key=lambda each: -chances[each])
        kept = {self._chosen, *others[: MOST_AWAKE - 1]}
        self._let_sleep(set(self._awake) - kept)

    def _let_sleep(self, numbers: Collection[int]) -> None:
        for each in numbers:
            self._newest[each], self._odds[each] = None, 0.0
        self._awake = [each for each in self._awake if each not in numbers]

    def _wake(self, numbers: Iterable[int]) -> None:
        """Start filters anywhere on the routes of those numbers that sleep."""
        for each in set(numbers) - set(self._awake):
            self._members[each].reset('another route may be driven')
            self._members[each].weigh_rivals(0.0)
            self._awake.append(each)
        self._awake.sort()

    def _take_turns(self) -> None:
        """Let the next routes try in place of those that are followed beside the chosen one."""
        count = len(self._members)
        order = [(self._next + each) % count for each in range(count)]
        tried = [each for each in order if each not in self._awake][: MOST_AWAKE - 1]
        if tried:
            self._next = tried[-1] + 1
            self._keep([0.0] * count, 0.0)
            self._wake(tried)


def _spread_over_lines(
    names: Sequence[str], chance: float, newest: Estimate | None
) -> dict[str, float]:
    """Return the chances of the lines of a route, or of the route itself if it has none."""
    if len(names) == 1 or newest is None:
        return dict.fromkeys(names, chance / len(names))
    whole = sum(newest.chances.values()) or 1.0
    return {name: chance * each / whole for name, each in newest.chances.items()}
