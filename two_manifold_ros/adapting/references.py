# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reference positions that can be trusted: where the vehicle can have driven since the last."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
import math
from statistics import median
from typing import NamedTuple

import numpy as np

from two_manifold_ros.recordings.excursions import FARTHEST_M, measure_reach, Reach, SPEEDS
from two_manifold_ros.ticks.stamps import JUMP_BACK_NS, StampGate, USED, Verdict

LONGEST_STEP_NS = 2_000_000_000
"""Longest step of references of unknown rate: a receiver of 1 Hz misses one position."""

LEAST_GAP_NS = 250_000_000
"""Step between two positions across which they are interpolated at any rate, as in training."""

MOVED_NS = 1_000_000_000
"""How long positions elsewhere follow each other until the reference counts as moved, at least."""

RELEARNED = 20
"""Positions after which the reach is learned again; the rate is that of as many steps."""

NEWEST = 300
"""Newest positions that the reach is learned from: most have to be right."""


class Fix(NamedTuple):
    """A reference position, metres."""

    stamp_ns: int
    x: float
    y: float

    def distance(self, other: Fix) -> float:
        """Return the distance to another one, metres."""
        return math.dist(self[1:], other[1:])


class ReferenceMonitor:
    """
    Use reference positions where the vehicle can have driven since the last one that was used.

    What a vehicle can is learned from the newest positions, used or refused (`Reach`): so whatever
    a reference becomes, it is known after a while. A position that is farther away waits. If one
    after it can be reached again, those that waited were wrong. If three or more that wait follow
    each other, they are believed in one of two cases:

    * Faster than ever: an acceleration that a vehicle can have leads to them from the last
      positions that were used. All are used, and the drive may be as fast from then on.
    * Moved: they last for ``MOVED_NS``. Positions are used from the newest on, and nothing is
      interpolated between the old place and the new.

    Stamps are judged as those of samples: one that goes back by more than those may, which the
    next one goes on from, restarts the monitor.
    """

    def __init__(self) -> None:
        # Positions used, and refused by cause; moved is how often the reference was moved.
        self.counters: Counter[str] = Counter()
        # The positions that the newest call made usable, oldest first.
        self.taken: list[Fix] = []
        # How late positions are, and the longest step that is interpolated: three usual steps of
        # a slow reference.
        self.lag_ns, self.gap_ns = 0, LEAST_GAP_NS
        self._steps: deque[int] = deque(maxlen=RELEARNED)
        self._newest: deque[Fix] = deque(maxlen=NEWEST)
        self._unlearned = 0
        self._reach: Reach | None = None
        # Until the rate is known, as for a reference that is slow.
        self._gate: StampGate[Fix] = StampGate(JUMP_BACK_NS, LONGEST_STEP_NS)
        self._restart()

    def _restart(self) -> None:
        # Those of the newest two seconds that were used, and how many were since.
        self._used: deque[Fix] = deque(maxlen=4096)
        self._known = 0
        self._newest.clear()
        # Where the vehicle was, without repeats, and positions that are too far from there.
        self._track: deque[Fix] = deque(maxlen=64)
        self._waiting: list[Fix] = []

    @property
    def longest_step_ns(self) -> int:
        """Longest step between two positions of one drive; across a longer one there are none."""
        return max(self.gap_ns, LONGEST_STEP_NS)

    @property
    def newest_ns(self) -> int:
        """Up to when positions are known; 0 before the first."""
        return self._used[-1].stamp_ns if self._used else 0

    @property
    def known_until_ns(self) -> int:
        """Stamp of the sensor up to which positions are known."""
        return self.newest_ns - self.lag_ns

    def position_at(self, stamp_ns: int) -> tuple[float, float] | None:
        """Return the position at a stamp of the sensor; ``None`` where unknown."""
        stamp_ns += self.lag_ns
        later = None
        for fix in reversed(self._used):
            if fix.stamp_ns == stamp_ns:
                return fix.x, fix.y
            if fix.stamp_ns < stamp_ns:
                break
            later = fix
        else:
            return None
        if later is None or later.stamp_ns - fix.stamp_ns > self.gap_ns:
            return None
        share = (stamp_ns - fix.stamp_ns) / (later.stamp_ns - fix.stamp_ns)
        return fix.x + share * (later.x - fix.x), fix.y + share * (later.y - fix.y)

    def add(self, stamp_ns: int, x: float, y: float) -> bool:
        """Take a position in metres; return whether it, or one that waited, is used: ``taken``."""
        self.taken = []
        if not (math.isfinite(x) and math.isfinite(y)):
            self.counters['non_finite'] += 1
        elif max(abs(x), abs(y)) > FARTHEST_M:
            self.counters['out_of_range'] += 1
        else:
            for verdict, _, fix in self._gate.push(stamp_ns, Fix(stamp_ns, x, y)):
                is_back = verdict is Verdict.JUMP_BACK
                if is_back or verdict not in USED:
                    self.counters[verdict.value] += 1
                if is_back:
                    self._restart()
                if verdict in USED:
                    self._learn(fix)
                    self._take(fix)
        return bool(self.taken)

    def _take(self, fix: Fix) -> None:
        """Judge the place of a position."""
        track, waiting, reach = self._track, self._waiting, self._reach
        if reach is None or not track or self._is_near(track[-1], fix):
            self._use(fix)
            return
        self.counters['jumped'] += 1
        # Those before it that it does not follow are wrong.
        follows = _is_driven(waiting, fix, reach)
        if len(waiting) > 1 and not follows and not self._is_near(waiting[-1], fix):
            del waiting[:-1]
        waiting.append(fix)
        first, lasts_ns = waiting[0], fix.stamp_ns - waiting[0].stamp_ns
        if len(waiting) < 3:
            return
        if _is_driven(track, first, reach):
            self.counters['jumped'] -= len(waiting)
            # The drive is faster than it ever was.
            speed = first.distance(fix) * 1e9 / lasts_ns
            self._reach = replace(reach, speed_mps=max(reach.speed_mps, SPEEDS * speed))
            for each in waiting:
                self._use(each)
        elif lasts_ns >= max(MOVED_NS, self.gap_ns):
            self.counters['jumped'] -= 1
            self.counters['moved'] += 1
            self._used.clear()
            track.clear()
            track.extend(waiting[:-1])
            self._use(fix)

    def _use(self, fix: Fix) -> None:
        self.counters['used'] += 1
        self._known += 1
        self.taken.append(fix)
        self._waiting = []
        used, track = self._used, self._track
        used.append(fix)
        while len(used) > 2 and used[1].stamp_ns < fix.stamp_ns - LONGEST_STEP_NS:
            used.popleft()
        # A slow receiver is repeated until its next position; a vehicle that stands is for longer.
        repeats = bool(track) and track[-1][1:] == fix[1:]
        if not repeats or fix.stamp_ns - track[-1].stamp_ns > self.gap_ns:
            track.append(fix)

    def _is_near(self, before: Fix, fix: Fix) -> bool:
        """Return whether a speed of the drive leads from one position to another."""
        if self._reach is None:
            return True
        # While positions came that were refused, a way could lead to more and more of them.
        silent_ns = fix.stamp_ns - self._newest[-2].stamp_ns
        step_ns = min(fix.stamp_ns - before.stamp_ns, self.gap_ns + silent_ns)
        return bool(before.distance(fix) <= self._reach.metres(np.array(step_ns * 1e-9)))

    def _learn(self, fix: Fix) -> None:
        """Learn rate and reach from the newest positions, wrong ones too."""
        newest, steps = self._newest, self._steps
        if newest:
            steps.append(fix.stamp_ns - newest[-1].stamp_ns)
            # A single one, before all others, does not show how they follow.
            # Two odd ones of five do not change their median.
            if len(steps) >= 5:
                self.gap_ns = self._gate.jump_ns = max(LEAST_GAP_NS, 3 * int(median(steps)))
        newest.append(fix)
        self._unlearned += 1
        if self._unlearned < RELEARNED:
            return
        self._unlearned = 0
        if len(newest) < NEWEST and 2 * self._known <= len(newest):
            # Too few to say that it was not those that are wrong.
            return
        stamps, *places = zip(*newest, strict=True)
        seconds = np.array([(each - stamps[0]) * 1e-9 for each in stamps])
        reach = measure_reach(seconds, np.stack(places, axis=1))
        if reach is not None:
            # A standing vehicle can drive as fast as before.
            before = 0.0 if self._reach is None else self._reach.speed_mps
            self._reach = replace(reach, speed_mps=max(before, reach.speed_mps))


def _is_driven(track: Sequence[Fix], fix: Fix, reach: Reach) -> bool:
    """Return whether an acceleration that a vehicle can have leads from positions to another."""
    if len(track) < 2:
        return False
    last = track[-1]
    step_ns = fix.stamp_ns - last.stamp_ns
    # A velocity over half the time that it is held for, or its noise would count too much.
    before = track[0]
    for each in reversed(track):
        if 2 * (last.stamp_ns - each.stamp_ns) >= step_ns and each is not last:
            before = each
            break
    base_ns = last.stamp_ns - before.stamp_ns
    share = step_ns / base_ns
    ahead = last.x + share * (last.x - before.x), last.y + share * (last.y - before.y)
    # Since the middle of the time over which the velocity is the mean.
    # No vehicle has 50 m/s^2, as racing cars brake; slot cars corner with 30.
    far = 0.5e-18 * 50.0 * step_ns * (step_ns + base_ns)
    return math.dist(ahead, fix[1:]) <= far + max(share, 1.0) * reach.tremble_m
