# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reference positions with stamps, checked, as positions at the ends of ticks."""

from __future__ import annotations

from collections import Counter
import math
from statistics import median

from two_manifold_ros.adapting.truth import Truth
from two_manifold_ros.ticks.stamps import JUMP_BACK_NS, StampRule, Verdict

HOLE_NS = 250_000_000
"""Step between two positions that is interpolated across; at low rates three usual steps are."""

LEAST_SPEEDS = 20
"""Speeds that have to be seen before one may be too high."""

TOO_FAST = 4.0
"""Times the highest usual speed that is a jump."""

PERSISTS_S = 1.0
"""For how long the positions after a jump have to agree before the reference was really moved."""

FADING = 0.999
"""By what the highest speed fades with each position."""

FARTHEST_M = 1e8
"""Distance from the origin beyond which no vehicle is."""

TREMBLE_M = 0.05
"""Distance that is never a jump."""


class Reference:
    """
    A gate for positions.

    A stamp that is zero, double or late is refused, and one that goes back by more than the
    stamps of samples may starts the gate anew. A position that is not finite is refused, and so
    is one that is farther away than the earth is large. One that could only be reached at more
    than ``TOO_FAST`` times the highest speed seen is a jump: it and all that follow it are
    refused until they have agreed among themselves for ``PERSISTS_S``; then the reference was
    moved, and positions are taken from there.

    Attributes
    ----------
    counters
        Positions ``used``, and refused by cause: ``non_finite``, ``out_of_range``, ``jumped``, and
        the names of `Verdict`; ``moved`` counts how often the reference was moved.

    """

    def __init__(self) -> None:
        self.counters: Counter[str] = Counter()
        self._rule = StampRule(JUMP_BACK_NS)
        self._hole_ns = HOLE_NS
        self._truth = Truth(HOLE_NS)
        self._last: tuple[int, float, float] | None = None
        self._apart: list[tuple[int, float, float]] = []
        self._fastest = 0.0
        self._steps: list[int] = []

    @property
    def hole_ns(self) -> int:
        """Step between two positions above which nothing is known between them."""
        return self._hole_ns

    @property
    def newest_ns(self) -> int:
        """Up to when positions are known; 0 before the first."""
        return self._truth.newest_ns or 0

    def add(self, stamp_ns: int, x: float, y: float) -> bool:
        """Take a position in metres; return whether it is used."""
        if not (math.isfinite(x) and math.isfinite(y)):
            self.counters['non_finite'] += 1
            return False
        if max(abs(x), abs(y)) > FARTHEST_M:
            self.counters['out_of_range'] += 1
            return False
        verdict = self._rule.judge(stamp_ns)
        if verdict in {Verdict.ZERO, Verdict.DUPLICATE, Verdict.OUT_OF_ORDER}:
            self.counters[verdict.value] += 1
            return False
        fix = (stamp_ns, x, y)
        if verdict is Verdict.JUMP_BACK:
            self.counters[verdict.value] += 1
            self._restart(fix)
        elif verdict is Verdict.ACCEPT and not self._reachable(fix):
            return self._wait(fix)
        self._take(fix)
        return True

    def at(self, stamp_ns: int) -> tuple[float, float] | None:
        """Return x and y at a time not after the newest position, ``None`` where unknown."""
        return self._truth.at(stamp_ns)

    def _take(self, fix: tuple[int, float, float]) -> None:
        self.counters['used'] += 1
        if self._last is not None and fix[0] > self._last[0]:
            self._fastest = max(FADING * self._fastest, _speed(self._last, fix))
            self._measure(fix[0] - self._last[0])
        self._last = fix
        self._apart.clear()
        self._truth.add(*fix)

    def _measure(self, step_ns: int) -> None:
        """Learn from the first steps how far apart positions usually are."""
        if len(self._steps) < LEAST_SPEEDS:
            self._steps.append(step_ns)
            if len(self._steps) == LEAST_SPEEDS:
                self._hole_ns = max(HOLE_NS, 3 * int(median(self._steps)))
                self._truth = Truth(self._hole_ns)

    def _reachable(self, fix: tuple[int, float, float]) -> bool:
        last = self._last
        if last is None or len(self._steps) < LEAST_SPEEDS:
            return True
        if math.dist(last[1:], fix[1:]) <= TREMBLE_M:
            return True
        # The longer the way could have taken, the more positions would pass: so not for ever.
        seconds = min(fix[0] - last[0], self._hole_ns) * 1e-9
        return math.dist(last[1:], fix[1:]) <= TOO_FAST * self._fastest * seconds

    def _wait(self, fix: tuple[int, float, float]) -> bool:
        """Keep a position that is apart from the others; take it if it has company for long."""
        self.counters['jumped'] += 1
        apart = self._apart
        if apart and _speed(apart[-1], fix) > TOO_FAST * self._fastest:
            apart.clear()
        apart.append(fix)
        if fix[0] - apart[0][0] < PERSISTS_S * 1e9:
            return False
        self.counters['moved'] += 1
        self._restart(fix)
        self._take(fix)
        return True

    def _restart(self, fix: tuple[int, float, float]) -> None:
        self._truth.clear()
        self._last = fix
        self._apart = []


def _speed(first: tuple[int, float, float], second: tuple[int, float, float]) -> float:
    return math.dist(first[1:], second[1:]) * 1e9 / (second[0] - first[0])
