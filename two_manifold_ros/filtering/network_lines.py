# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which line of a network is driven on one map, and the way ahead on each that may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.filtering.status import StateMachine
from two_manifold_ros.route.route import OFF
from two_manifold_ros.typing import Floats, Indices

if TYPE_CHECKING:
    from two_manifold_ros.model.model import NetworkLines
    from two_manifold_ros.route.belief import RouteBelief

CLEARLY = 0.5
"""
Chance of the named line beside that of the likeliest below which the name changes: lines that
share their road are as likely, and the name of the last one stays.
"""


class Branch(NamedTuple):
    """
    A way ahead that the vehicle may drive, ``ahead_s`` (H,) and where it is then (H, 2), metres.

    The name is of the route or line, or of several lines that go the same way, joined by ``+``.
    """

    name: str
    chance: float
    ahead_s: tuple[float, ...]
    positions: Floats


@dataclass(frozen=True)
class LineState:
    """
    What is known about lines at a tick: which one is driven, and the probability of each.

    In an atlas ``route`` is the name of the map that is driven, and ``chances`` are of all routes.
    Of ``branches`` the likeliest is the first; there are none if all lines go the same way.
    ``fork`` is the index of the first horizon at which they differ.
    """

    name: str = ''
    chances: Mapping[str, float] = field(default_factory=dict)
    branches: tuple[Branch, ...] = ()
    fork: int | None = None
    route: str = ''


@compiled
def _on_lines(chances: Floats, active: Indices, passes: Floats, shares: Floats) -> float:
    """Fill the shares (L,) of a belief (P, 7) on each line; return how narrow it is, 0 to 1."""
    shares[:] = 0.0
    whole, squares = 0.0, 0.0
    for i in active:
        weight = 0.0
        for h in range(OFF):
            weight += chances[i, h]
        whole += weight
        squares += weight * weight
        for line in range(len(shares)):
            shares[line] += weight * passes[i, line]
    if not squares > 0.0:
        return 0.0
    return max(1.0 - whole * whole / (squares * len(chances)), 0.0)


class LineFollower:
    """
    The chances of lines while the belief about the place moves.

    How well a line fits is the share of the belief that is on its places, beside that of the line
    that fits best, to the power of how narrow the belief is: of a belief that is anywhere a long
    line has most. A line is as likely as it has fitted worst since, as neighbouring places are the
    same evidence, and recovers as another line may be driven by then.
    """

    def __init__(
        self, lines: NetworkLines, belief: RouteBelief, ahead_s: Sequence[float], period_s: float
    ) -> None:
        self._lines, self._belief = lines, belief
        self._ahead_s = tuple(ahead_s)
        self._kept_ticks = lines.kept_s / period_s
        self._passes = np.ascontiguousarray(lines.passes)
        self._shares = np.zeros(len(lines.names))
        self._fits = np.ones(len(lines.names))
        self._named = 0
        self._is_fork = np.zeros(len(lines.passes), dtype=np.bool_)
        self._is_fork[lines.forks] = True
        self._targets = [
            belief.targets_with(lines.forks, lines.ahead[:, each])
            for each in range(len(lines.names))
        ]

    def start(self) -> None:
        """Forget which line was driven."""
        self._fits[:] = 1.0
        self._named = 0

    def follow(self, ticks: int = 1) -> None:
        """Take the belief after some more ticks."""
        belief, fits, shares = self._belief, self._fits, self._shares
        fits += (1.0 - fits) * -math.expm1(-ticks / self._kept_ticks)
        narrow = _on_lines(belief.chances, belief.support, self._passes, shares)
        best = float(shares.max())
        if best > 0.0:
            np.minimum(fits, (shares / best) ** narrow, out=fits)
            fits /= fits.max()
        if fits[self._named] < CLEARLY:
            self._named = int(np.argmax(fits))

    def read(self) -> LineState:
        """Return the chances of the lines, and the ways ahead where they differ."""
        names, belief = self._lines.names, self._belief
        chances = self._fits / self._fits.sum()
        on_map = 1.0 - max(1.0 - belief.shares.on_route, 0.0)
        name = names[self._named]
        driven = dict(zip(names, (on_map * chances).tolist(), strict=True))
        # What is less likely does not make a position unsure either.
        likely = np.flatnonzero(chances >= StateMachine.leaving)
        if len(likely) < 2 or not self._is_fork[belief.support].any():
            return LineState(name, driven)
        order = likely[np.argsort(-chances[likely], kind='stable')].tolist()
        paths = {
            each: belief.read_among(self._passes[:, each], self._targets[each])[:-1]
            for each in order
        }
        ways: list[list[int]] = []
        for each in order:
            for way in ways:
                if self._apart(paths[way[0]], paths[each]) is None:
                    way.append(each)
                    break
            else:
                ways.append([each])
        if len(ways) < 2:
            return LineState(name, driven)
        firsts = [paths[way[0]] for way in ways]
        forks = [self._apart(*pair) for pair in itertools.combinations(firsts, 2)]
        branches = [
            Branch(
                '+'.join(names[each] for each in sorted(way)),
                on_map * float(chances[way].sum()),
                self._ahead_s,
                np.average([paths[each] for each in way], axis=0, weights=chances[way]),
            )
            for way in ways
        ]
        branches.sort(key=lambda each: -each.chance)
        fork = min(each for each in forks if each is not None)
        return LineState(name, driven, tuple(branches), fork)

    def _apart(self, one: Floats, other: Floats) -> int | None:
        """Return the first horizon at which two paths (H, 2) are on different roads, if any."""
        far = np.flatnonzero(np.linalg.norm(one - other, axis=1) > self._lines.apart_m)
        return int(far[0]) if len(far) else None
