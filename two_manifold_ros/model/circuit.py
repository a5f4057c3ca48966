# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The circuit: one lap of a route as a closed line, and where along it a vehicle is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
import math
from typing import cast, NamedTuple, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.compilation import exact

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

LIKE_A_LAP = 0.25
"""Deviation of the time of a lap from the usual one up to which it is a lap, as for `inspect`."""

NEARBY = 0.02
"""Share of a lap over which errors of timing are averaged, about a bend: chosen, not measured."""

ALIKE = 0.5
"""Cosine above which two directions are the same, as where laps are merged into places."""

UNSURE = 3.0
"""Standard deviations within which an estimate may be off."""

Known: TypeAlias = 'tuple[Floats, Floats, Floats, Floats, Floats]'
"""Points, headings, metres and seconds of a `Circuit`; its length, reach and sureness."""


class Spot(NamedTuple):
    """Where along the circuit a vehicle is, in [0, length), NaN off it, and how far aside."""

    metres: float
    aside_m: float
    deviation_m: float


@dataclass(frozen=True)
class Circuit:
    """
    One lap of a route as a closed line of n points at even distances, the first at the start line.

    ``points`` (n, 2) are in metres, ``headings`` (n, 2) unit vectors in the direction of travel,
    ``seconds`` (n + 1,) the usual times from the start line to each point, and of the whole lap.
    ``deviations`` (n,) are of the timing, s, on drives that were held out, zero without any, and
    ``spreads`` (n + 1,) root mean square errors, s, of laps `predicted` there. ``sureness`` is
    what errors of the timing are over what covariances of the filter make of them, ``repeated``
    the share of the deviations that is new on each lap. Up to ``reach_m`` from the line a vehicle
    is on it.
    """

    points: Floats
    headings: Floats
    seconds: Floats
    deviations: Floats
    spreads: Floats
    sureness: float
    repeated: float
    length_m: float
    reach_m: float

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.points)

    @cached_property
    def metres(self) -> Floats:
        """Way from the start line to each point, and at last the length of a lap: (n + 1,)."""
        return np.linspace(0.0, self.length_m, len(self) + 1)

    @property
    def lap_s(self) -> float:
        """Usual time of a lap."""
        return float(self.seconds[-1])

    @property
    def top_mps(self) -> float:
        """Usual speed on the fastest part of a lap, m/s."""
        ahead = max(round(NEARBY * len(self)), 1)
        took = self.seconds[ahead:] - self.seconds[:-ahead]
        return ahead / len(self) * self.length_m / max(float(took.min()), 1e-9)

    @cached_property
    def known(self) -> Known:
        """The circuit as compiled functions take it."""
        numbers = np.array([self.length_m, self.reach_m, self.sureness])
        arrays = self.points, self.headings, self.metres, self.seconds, numbers
        return cast('Known', tuple(np.ascontiguousarray(each) for each in arrays))

    def locate(
        self,
        position: Floats,
        direction: Floats,
        covariance: Floats | None = None,
        between: tuple[float, float] | None = None,
    ) -> Spot:
        """
        Return the spot of a (2,) position: the nearest of those that go in its direction.

        If the ``direction`` (2,) is zero every direction counts, and so it does ``between`` where
        the vehicle can be by the way before, metres after the start of any lap.
        """
        low, high = between or (0.0, -1.0)
        covariance = np.zeros((2, 2)) if covariance is None else covariance
        return Spot(*find_spot(position, direction, covariance, low, high - low, self.known))

    def seconds_along(self, metres: Floats) -> Floats:
        """Return the usual times from the start of lap 0 to places so many metres on (T,)."""
        laps, rest = np.divmod(metres, self.length_m)
        return laps * self.lap_s + np.interp(rest, self.metres, self.seconds)

    def starting_at(self, metres: float) -> Circuit:
        """Return the same circuit with the start line at the point nearest to so many metres."""
        first = round(metres / (self.length_m / len(self))) % len(self)
        columns = self.points, self.headings, self.deviations
        points, headings, deviations = (np.roll(each, -first, axis=0) for each in columns)
        steps = np.roll(np.diff(self.seconds), -first)
        return replace(
            self, points=points, headings=headings, deviations=deviations,
            seconds=np.concatenate([[0.0], np.cumsum(steps)]),
        )  # fmt: skip

    def surest_start(self) -> Circuit:
        """Return the same circuit with the start line where timing is surest."""
        timed = self.deviations if self.deviations.any() else np.diff(self.seconds)
        return self.starting_at(float(self.metres[int(np.argmin(timed))]))


@exact
def evenly(values: Floats, phase: float) -> float:
    """Return (n + 1,) values at even steps, interpolated at a phase from 0 to 1."""
    if math.isnan(phase):
        return math.nan
    steps = len(values) - 1
    at = min(max(phase, 0.0), 1.0) * steps
    before = min(int(at), steps - 1)
    value: float = values[before] + (at - before) * (values[before + 1] - values[before])
    return value


@exact
def seconds_at(metres: float, known: Known) -> float:
    """Return the usual time from the start of lap 0 to a place ``metres`` on."""
    seconds, length = known[3], known[4][0]
    laps, rest = divmod(metres, length)
    time_s: float = laps * seconds[-1] + evenly(seconds, rest / length)
    return time_s


@exact
def metres_at(time_s: float, known: Known) -> float:
    """Return how far a vehicle usually is so many seconds after the start of lap 0."""
    metres, seconds = known[2], known[3]
    laps, rest = divmod(time_s, seconds[-1])
    low, high = 0, len(seconds)
    while low < high:
        middle = (low + high) // 2
        if rest >= seconds[middle]:
            low = middle + 1
        else:
            high = middle
    before = min(low, len(seconds) - 1) - 1
    took = seconds[before + 1] - seconds[before]
    slope = (metres[before + 1] - metres[before]) / took if took > 0.0 else 0.0
    way: float = laps * known[4][0] + (slope * (rest - seconds[before]) + metres[before])
    return way


@exact
def deviation_at(metres: float, deviation_m: float, known: Known) -> float:
    """Return the time that a deviation along the way takes there, by stops as well."""
    ahead = seconds_at(metres + deviation_m, known)
    time_s: float = known[4][2] * 0.5 * (ahead - seconds_at(metres - deviation_m, known))
    return time_s


@exact
def find_spot(
    position: Floats, direction: Floats, covariance: Floats, low: float, span: float, known: Known
) -> tuple[float, float, float]:
    """Return a `Spot` as `Circuit.locate`: in ``span`` metres from ``low`` on, if not negative."""
    points, headings, metres, numbers = known[0], known[1], known[2], known[4]
    length = numbers[0]
    reach_m = numbers[1] + UNSURE * math.sqrt(covariance[0, 0] + covariance[1, 1])
    nearest, least = 0, math.inf
    for i in range(len(points)):
        if (metres[i] - low) % length <= span:
            x, y = position[0] - points[i, 0], position[1] - points[i, 1]
            if x * x + y * y < least:
                nearest, least = i, x * x + y * y
    if not least <= reach_m * reach_m:
        speed = math.hypot(direction[0], direction[1])
        nearest, least = 0, math.inf
        for i in range(len(points)):
            alike = headings[i, 0] * direction[0] + headings[i, 1] * direction[1]
            if speed > 0.0 and alike < ALIKE * speed:
                continue
            x, y = position[0] - points[i, 0], position[1] - points[i, 1]
            if x * x + y * y < least:
                nearest, least = i, x * x + y * y
    x, y = position[0] - points[nearest, 0], position[1] - points[nearest, 1]
    ahead_x, ahead_y = headings[nearest, 0], headings[nearest, 1]
    along, aside = x * ahead_x + y * ahead_y, abs(x * -ahead_y + y * ahead_x)
    first = ahead_x * covariance[0, 0] + ahead_y * covariance[1, 0]
    second = ahead_x * covariance[0, 1] + ahead_y * covariance[1, 1]
    deviation = math.sqrt(first * ahead_x + second * ahead_y)
    if not math.isfinite(least) or aside > reach_m:
        return math.nan, aside, deviation
    # A point is nearest from half a step before it; farther only on the inside of a bend.
    step = length / len(points)
    return (metres[nearest] + min(max(along, -step), step)) % length, aside, deviation


@exact
def predicted(course: Floats, elapsed: float, passed: float) -> float:
    """
    Return the time that a lap will have taken, s.

    The rest takes as long as on the ``course`` (n + 1,), times the root of how much longer
    this lap took so far than usually to the same place, ``passed``.
    """
    # Just after the line nothing is known of this lap yet: what is a moment off counts for little.
    moment = NEARBY * course[-1]
    slower = math.sqrt((max(elapsed, 0.0) + moment) / (passed + moment))
    slower = min(max(slower, 1.0 - LIKE_A_LAP), 1.0 + LIKE_A_LAP)
    lap: float = elapsed + (course[-1] - passed) * slower
    return lap
