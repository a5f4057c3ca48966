# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Schedule of the trainings while a route is driven, and of the time from which laps count."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP

FIRST_S = 10.0
"""Seconds with positions before the first attempt, which counts laps: no lap is as short."""

GROWTH = 1.3
"""Growth of the drive between two attempts while no lap is known."""

RISE = 1.5
"""Error of a part over the largest usual one from which on it is unlike those before."""

USUAL_PARTS = 2 * BLOCKS_PER_LAP
"""Newest parts that are usual, and those between two unlike ones of a change: two laps."""


@dataclass
class Schedule:
    """
    Schedule of the trainings from a stream, and what of the stream is learned.

    The length of the drive is the time with positions. A training is due after 2, 3, 5, 8, 13 laps
    and so on, and once more when positions end. If errors have risen for two laps, a new drive
    starts: what has changed is learned as soon as a new route would be.
    """

    known_s: float = 0.0  # seconds with positions
    due_s: float = FIRST_S  # seconds with positions at which the next training is due
    since_ns: int = 0  # stamp of a change that no model was learned of yet; 0 for none
    newest_ns: int | None = None  # stamp of the newest position
    ended: bool = False  # whether positions have ended
    # Seconds with positions at which laps started to count, and at the newest training.
    _since_s: float = 0.0
    _last_s: float = 0.0
    # Errors of the newest usual parts, metres.
    _parts: deque[float] = field(default_factory=lambda: deque(maxlen=USUAL_PARTS))
    # Whether parts were unlike since the first that was, and the stamp at which that started. It
    # is over after a lap of usual ones: a stretch that was rebuilt is unlike once in each lap.
    _unlike: list[bool] = field(default_factory=list)
    _began_ns: int = 0

    @property
    def is_due(self) -> bool:
        """Return whether the drive has become long enough for a training."""
        return self.known_s >= self.due_s

    def count(self, stamp_ns: int, longest_step_ns: int) -> None:
        """Count the time since the position before, unless the step between is longer."""
        if self.newest_ns is not None and 0 < stamp_ns - self.newest_ns <= longest_step_ns:
            self.known_s += (stamp_ns - self.newest_ns) * 1e-9
        self.newest_ns, self.ended = stamp_ns, False

    def look_for_end(self, stamp_ns: int, longest_step_ns: int, lap_s: float) -> None:
        """Note in ``ended`` if no position came for a lap; what is not learned yet is due."""
        has_lap, newest_ns = lap_s > 0.0, self.newest_ns
        if self.ended or newest_ns is None:
            return
        if stamp_ns - newest_ns > max(longest_step_ns, round(1e9 * lap_s) if has_lap else 0):
            self.ended = True
            if self.known_s - self._last_s >= (lap_s / BLOCKS_PER_LAP if has_lap else FIRST_S):
                self.due_s = min(self.due_s, self.known_s)

    def begin_training(self, lap_s: float, kept_s: float) -> None:
        """Note that a training starts, of drives that last ``kept_s``."""
        driven_s = min(self.known_s - self._since_s, kept_s)
        self.due_s = self.known_s + _left_s(driven_s, lap_s)
        self._last_s = self.known_s

    def count_laps(self, laps: float, lap_s: float) -> None:
        """
        Note how many laps were driven when the last training started, and how long one takes.

        A start from rest or a stop make a drive longer, but not more laps.
        """
        self._since_s = self._last_s - laps * lap_s
        self.due_s = self._last_s + _left_s(laps * lap_s, lap_s)

    def judge(self, error_m: float, rise_ns: int, end_ns: int, lap_s: float) -> bool:
        """
        Take how a part until ``end_ns`` went, and since when errors were higher than before.

        Return whether the part is like those before it.
        """
        rises = len(self._parts) == USUAL_PARTS and error_m > RISE * max(self._parts)
        if not rises:
            self._parts.append(error_m)
        if rises and not self._unlike:
            self._began_ns = rise_ns
        if rises or self._unlike:
            self._unlike.append(rises)
        if not any(self._unlike[-BLOCKS_PER_LAP:]):
            self._unlike.clear()
        if rises and len(self._unlike) >= USUAL_PARTS:
            # What came since the first unlike part is learned alone: something has changed.
            self._parts.clear()
            self._unlike.clear()
            self.since_ns = self._began_ns
            self._since_s = self.known_s - max(end_ns - self._began_ns, 0) * 1e-9
            self.due_s = min(self.due_s, self._since_s + _left_s(0.0, lap_s))
        return not rises

    def interrupt(self) -> None:
        """Count unlike parts again from here: what follows is not the next one."""
        self._unlike.clear()

    def set_back(self) -> None:
        """Count the whole stream as recent: earlier stamps have lost their meaning."""
        self.since_ns, self.newest_ns = 0, None
        self.interrupt()


def _left_s(driven_s: float, lap_s: float) -> float:
    """Return how much longer a drive is to become until its model is trained again."""
    if not lap_s > 0.0:
        return (GROWTH - 1.0) * driven_s
    # Laps vary: a training a little early is the one of its lap. A place is to be met twice. From
    # training to training the drive grows by 1.6: all together take 2.6 times as long as the last.
    laps, before, due = round(driven_s / lap_s), 1, 2
    while due <= laps:
        before, due = due, before + due
    return due * lap_s - driven_s
