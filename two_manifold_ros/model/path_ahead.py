# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The path ahead: along the places of the route, through the positions at the horizons.

The walk starts at the place that fits an estimate best, goes on as most drives did, leaves out
places that noise puts beside the road or behind, and passes a horizon where it is nearest to the
position there. Between horizons time passes as usual on these places, and the distance of the
estimate from the walk changes evenly.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.model.model import RouteModel

SPACING_S, SPACING_M, SPACING_RAD = 0.25, 1.0, math.radians(20.0)
"""Seconds, metres and turn from one pose of a path to the next, at most."""

MOST_POSES = 100
"""Poses of a path beside those at the horizons, at most: a node fills some 50,000 a second."""

FARTHEST = 2.0
"""Times the usual time within which a position ahead is looked for on the way."""

STRAY = 0.1
"""Weight of the distances at other horizons: roads cross, and laps pass a place again."""

ASIDE = math.cos(math.radians(45.0)) - 1e-9
"""Cosine of the angle from the road to a step of a walk, at least; rounding cuts no corner."""


class Ahead(NamedTuple):
    """Ticks ahead of an estimate (n,), from 0 on, and the positions then (n, 2), metres."""

    ticks: Floats
    positions: Floats


def is_dense(seconds: Floats) -> bool:
    """Return whether poses so many seconds ahead (n,) follow a route: horizons alone are fewer."""
    return len(seconds) > 1 and len(seconds) > min(seconds[-1] / SPACING_S, MOST_POSES)


class PathAhead:
    """Paths along the map of a route, which messages and pages compute, and no tick does."""

    def __init__(self, model: RouteModel) -> None:
        readout, geometry = model.route.readout, model.route.geometry
        self.horizons = np.array(model.horizons, dtype=np.float64)
        self._period_s = model.period_ns * 1e-9
        self._places = readout.targets[:, 0]
        # Two measured positions of one point, each in its 95 % ellipse, are less than that apart.
        widest = np.linalg.eigvalsh(readout.covariances[:, 0])[:, -1]
        self._apart = 2.0 * np.sqrt(-2.0 * math.log(0.05) * widest)
        # About their centre, as squares of large coordinates lose the digits of small differences.
        self._centre = self._places.mean(axis=0)
        ahead = (readout.targets[:, :-1] - self._centre).reshape(len(self._places), -1)
        self._weights = np.full(ahead.shape[1], STRAY**2)
        self._weights[:2] = 1.0
        self._ahead, self._squares = ahead, np.square(ahead) @ self._weights
        single = np.flatnonzero(geometry.steps_of == 1)
        self._from = np.repeat(np.arange(len(self._places)), np.diff(geometry.begins))[single]
        self._to, self._shares = geometry.targets_of[single], geometry.shares_of[single]
        # No vehicle passes more places in a tick than there are.
        rates = np.clip(model.route.motion.rates, 1e-9, len(self._places))
        self._lasts: list[float] = (1.0 / rates).tolist()
        self._onwards = {'': self._go_on()}
        if model.lines is not None:
            onwards = map(self._go_on, model.lines.passes.T)
            self._onwards |= dict(zip(model.lines.names, onwards, strict=True))

    def along(
        self, positions: Floats, name: str = '', drawn: Callable[[Floats], Floats] | None = None
    ) -> Ahead:
        """
        Return the path through positions (H, 2) at the horizons; without poses if one is NaN.

        Where the way forks the path is along the line of this ``name``, or the way of most drives.
        If the path is not on the map, ``drawn`` returns where positions (n, 2) of the map are.
        """
        ticks = self.horizons
        there = positions if drawn is None else drawn(positions)
        known = len(ticks) if np.isfinite(positions).all() else 0
        if known < 2:
            return Ahead(ticks[:known], there[:known])
        # From the place from which a vehicle would be where the estimate expects it.
        weights = self._weights * (positions - self._centre).ravel()
        place = int(np.argmin(self._squares - 2.0 * (self._ahead @ weights)))
        walked, spots = self._walk(place, name)
        steps = np.diff(spots, axis=0)
        metres = np.concatenate([[0.0], np.cumsum(np.hypot(*steps.T))])
        met = np.zeros(len(ticks))
        for index, goal in enumerate(positions[1:], 1):
            begin, usual = met[index - 1], met[index - 1] + ticks[index] - ticks[index - 1]
            # When the walk is nearest to the goal, rather as late as is usual.
            squares = np.maximum(np.square(steps).sum(axis=1), 1e-18)
            share = (((goal - spots[:-1]) * steps).sum(axis=1) / squares).clip(0.0, 1.0)
            when = walked[:-1] + share * np.diff(walked)
            apart = np.square(spots[:-1] + share[:, None] * steps - goal).sum(axis=1)
            late = metres[:-1] + share * np.diff(metres) - np.interp(usual, walked, metres)
            apart += np.square(STRAY * late)
            apart[(when < begin) | (when > FARTHEST * usual)] = np.inf
            # A dead end may leave none.
            best = int(np.argmin(apart)) if len(apart) else -1
            is_met = best >= 0 and np.isfinite(apart[best])
            met[index] = float(when[best]) if is_met else begin
        left = positions - _between(met, walked, spots)
        inner = walked[(walked > 0.0) & (walked < met[-1])]
        corners = np.unique(np.concatenate([ticks, np.interp(inner, met, ticks)]))
        line = _between(np.interp(corners, ticks, met), walked, spots)
        line += _between(corners, ticks, left)
        return self._spaced(Ahead(corners, line if drawn is None else drawn(line)), there)

    def _spaced(self, line: Ahead, positions: Floats) -> Ahead:
        """Return points near enough to each other on a line, and positions (H, 2) at horizons."""
        seconds = np.diff(line.ticks) * self._period_s
        steps = np.diff(line.positions, axis=0)
        metres = np.hypot(*steps.T)
        # Of what is hardly a step the direction is noise.
        goes = metres > 1e-3 * metres.max(initial=0.0)
        turns = np.zeros(len(steps))
        corners = np.abs(np.diff(np.unwrap(np.arctan2(*steps[goes].T[::-1]))))
        # Half of the turn at each end.
        turns[goes] = 0.5 * (np.append(0.0, corners) + np.append(corners, 0.0))[: goes.sum()]
        need = [seconds / SPACING_S, metres / SPACING_M, turns / SPACING_RAD]
        count = np.concatenate([[0.0], np.cumsum(np.max(need, axis=0))])
        ends = np.interp(self.horizons, line.ticks, count)
        # Rounding shall add no pose.
        legs = np.ceil(np.diff(ends) / max(1.0, ends[-1] / MOST_POSES) - 1e-6)
        legs = np.maximum(legs, 1.0).astype(np.int64)
        exact = np.concatenate([[0], np.cumsum(legs)])
        at = np.interp(np.arange(exact[-1] + 1.0), exact, ends)
        ticks = np.interp(at, count, line.ticks)
        found = Ahead(ticks, _between(at, count, line.positions))
        found.ticks[exact], found.positions[exact] = self.horizons, positions
        return found

    def _walk(self, place: int, name: str) -> tuple[Floats, Floats]:
        """Return ticks (n,) from a place on, at the usual speed, and positions then (n, 2)."""
        onward = self._onwards.get(name, self._onwards[''])
        places, ticks, spent = [place], [0.0], 0.0
        # Who stood, or is slow, is on the way for longer; and a dead end leads nowhere.
        while spent < FARTHEST * self.horizons[-1] and onward.get(place, place) != place:
            spent += self._lasts[place]
            place = onward[place]
            # More places add noise and no shape.
            if (spent - ticks[-1]) * self._period_s >= SPACING_S / 4.0:
                places.append(place)
                ticks.append(spent)
        positions = self._places[places]
        spots: list[complex] = (positions @ [1.0, 1.0j]).tolist()
        apart: list[float] = self._apart[places].tolist()
        # The road leads from the last place before to the first one after that are farther than
        # noise, so the walk turns back where a road does.
        kept, before, after = [0], 0, 0
        for index, here in enumerate(spots[1:], 1):
            after = max(after, index)
            while after < len(spots) - 1 and abs(spots[after] - here) <= apart[index]:
                after += 1
            while before < index - 1 and abs(spots[before + 1] - here) > apart[index]:
                before += 1
            road, step = spots[after] - spots[before], here - spots[kept[-1]]
            if (road.conjugate() * step).real >= ASIDE * abs(road) * abs(step):
                kept.append(index)
        return np.array(ticks)[kept], positions[kept]

    def _go_on(self, passes: Floats | float = 1.0) -> dict[int, int]:
        """Return the next place after each, on a line with such ``passes`` (P,) or on any."""
        liking = self._shares * np.broadcast_to(passes, len(self._places))[self._to]
        # Off the line the way of most drives; of two as usual the one in the order of the places.
        best = np.lexsort((self._to == self._from + 1, self._shares, liking, self._from))
        # The last one of a place counts.
        return dict(zip(self._from[best].tolist(), self._to[best].tolist(), strict=True))


def _between(at: Floats, ticks: Floats, positions: Floats) -> Floats:
    """Return positions (n, 2) at some ticks, of a line through others."""
    return np.column_stack([np.interp(at, ticks, each) for each in positions.T])
