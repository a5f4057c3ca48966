# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Schedule of the trainings while a route is driven, and of the time from which laps count."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.prequential import BLOCKS_PER_LAP
from two_manifold_ros.hse_hmm.readout import CHI_SQUARE

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_S = 10.0
"""
Seconds with positions before the first attempt, which counts laps and takes a tenth of a second.

With half of it shorter routes would have a model sooner; no lap of a recording is as short.
"""

GROWTH = 1.3
"""
Growth of the drive between two attempts while no lap is known.

A route that closes right after one lap is known to be closed at 1.3 laps, before it is learned.
"""

FEW_LAPS = 5
"""
Laps up to which a model is trained after each one, from the second: more hardly make it better.

After 2, 3, 5 and 8 laps instead a TPSR erred a tenth more over the first dozen laps.
"""

LATER_GROWTH = 2
"""
Growth of the drive between later trainings: all together take twice as long as the last one.

Where it was 1.3 the slot car took 4.4 % of a core.
"""

RISE = 1.5
"""
Error of a part over the largest usual one, in metres or in standard deviations, from which on it
is unlike those before.

The largest, because a filter errs more in some parts of each lap.
"""

USUAL_PARTS = 2 * BLOCKS_PER_LAP
"""
Newest parts that are usual, and parts from the first unlike one to another that are a change.

Two laps: as many as a new route takes to be learned. What is wrong for less is left out: a lap,
parts of which it is the start or the end, and the time in which the filter finds its place again.
"""


@dataclass
class Schedule:
    """
    Schedule of the trainings from a stream, and of the time from which the stream is learned.

    The length of the drive is the time with positions. A training is due when the drive has grown
    by a share, and once more when positions end. Where errors have risen for two laps, a new drive
    starts: what has changed is learned as soon as a new route would be. What contradicts the
    filter for less, because a sensor was stuck or positions were wrong, is not learned. Where the
    filter itself knows that it is lost, it has something to learn.
    """

    known_s: float = 0.0  # seconds with positions
    due_s: float = FIRST_S  # seconds with positions at which the next training is due
    since_ns: int = 0  # stamp since when the stream is as it is now; 0 for all
    epoch_ns: int = 0  # stamp from which on it is learned; 0 for all
    newest_ns: int | None = None  # stamp of the newest position
    ended: bool = False  # whether positions have ended
    outliers: list[tuple[int, int]] = field(default_factory=list)  # what is not learned, ns
    # Seconds with positions at which laps started to count, and at the newest training.
    _since_s: float = 0.0
    _last_s: float = 0.0
    # Errors of the newest usual parts, and how much they contradicted the filter.
    _parts: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=USUAL_PARTS))
    # Parts since the first unlike one, 0 if that is over, those that were usual again, and the
    # stamp at which it started. It is over after a lap of usual ones: a stretch that was rebuilt
    # is unlike once in each lap.
    _unlike: int = 0
    _usual: int = 0
    _began_ns: int = 0

    @property
    def is_due(self) -> bool:
        """Return whether the drive has become long enough for a training."""
        return self.known_s >= self.due_s

    def has_grown(self, lap_s: float) -> bool:
        """Return whether a part of a lap is to be learned, by a training that may be the last."""
        least_s = lap_s / BLOCKS_PER_LAP if lap_s > 0.0 else FIRST_S
        return self.known_s - self._last_s >= least_s

    def count(self, stamp_ns: int, longest_step_ns: int) -> None:
        """Count the time since the position before, unless the step between is longer."""
        if self.newest_ns is not None:
            step_ns = stamp_ns - self.newest_ns
            if 0 < step_ns <= longest_step_ns:
                self.known_s += step_ns * 1e-9
        self.newest_ns, self.ended = stamp_ns, False

    def has_stopped(self, stamp_ns: int, longest_step_ns: int, lap_s: float) -> bool:
        """Return whether positions have ended for a lap, which is to be noted in ``ended``."""
        if self.ended or self.newest_ns is None:
            return False
        lap_ns = round(1e9 * lap_s) if lap_s > 0.0 else 0
        return stamp_ns - self.newest_ns > max(longest_step_ns, lap_ns)

    def begin_training(self, lap_s: float, kept_s: float, oldest_ns: int) -> bool:
        """
        Note that a training starts; return whether to try a model of the newest laps alone.

        ``lap_s`` is NaN if not known; drives that are kept last ``kept_s`` since ``oldest_ns``,
        others are not learned again.
        """
        self.outliers = [each for each in self.outliers if each[1] > oldest_ns]
        driven_s = min(self.known_s - self._since_s, kept_s)
        self.due_s = self.known_s + _left_s(driven_s, lap_s)
        self._last_s = self.known_s
        return self.since_ns > self.epoch_ns

    def count_laps(self, laps: float, lap_s: float) -> None:
        """
        Note how many laps were driven when the last training started, and how long one takes.

        A start from rest or a stop make a drive longer, but not more laps.
        """
        self._since_s = self._last_s - laps * lap_s
        self.due_s = self._last_s + _left_s(laps * lap_s, lap_s)

    def end_training(self, since_ns: int, epoch_ns: int) -> None:
        """Note that a model runs, with ``since_ns`` of its training and its own ``epoch_ns``."""
        # Where errors have risen again meanwhile, all is learned from once more.
        if since_ns == self.since_ns:
            self.epoch_ns = epoch_ns

    def judge(
        self, error_m: float, contradiction: float, rise_ns: int, end_ns: int, lap_s: float
    ) -> None:
        """
        Take how a part until ``end_ns`` went, and since when its errors were higher than before.

        See `Prequential`: an error of a filter that says that it is lost does not contradict it.
        """
        rises = contradicts = False
        if len(self._parts) == USUAL_PARTS:
            error_before, before = np.max(self._parts, axis=0).tolist()
            rises = error_m > RISE * error_before
            # Of standard deviations the square.
            contradicts = contradiction > max(CHI_SQUARE[-1], RISE**2 * before)
        is_usual = not (rises or contradicts)
        if is_usual:
            self._parts.append((error_m, contradiction))
        if self._unlike:
            self._unlike += 1
            self._usual = self._usual + 1 if is_usual else 0
            if self._usual == BLOCKS_PER_LAP:
                self._unlike = 0
        elif not is_usual:
            self._unlike, self._usual, self._began_ns = 1, 0, rise_ns
        if is_usual:
            return
        if self._unlike >= USUAL_PARTS:
            self._begin_again(end_ns, lap_s)
        elif contradicts:
            # All from the first such part on is one outlier.
            if self.outliers and self.outliers[-1][1] > self._began_ns:
                rise_ns, _ = self.outliers.pop()
            self.outliers.append((rise_ns, end_ns))

    def _begin_again(self, end_ns: int, lap_s: float) -> None:
        """Learn what came since the first unlike part alone: something has changed."""
        self.outliers = [each for each in self.outliers if each[1] <= self._began_ns]
        # What is usual now is not known yet.
        self._parts.clear()
        self._unlike = 0
        self.since_ns, self.epoch_ns = self._began_ns, 0
        self._since_s = self.known_s - max(end_ns - self._began_ns, 0) * 1e-9
        self.due_s = min(self.due_s, self._since_s + _left_s(0.0, lap_s))

    def interrupt(self) -> None:
        """Count unlike parts again from here: what follows is not the next one."""
        self._unlike = 0

    def set_back(self) -> None:
        """Count the whole stream as recent: earlier stamps have lost their meaning."""
        self.since_ns = self.epoch_ns = 0
        self.newest_ns = None
        self.outliers.clear()
        self.interrupt()

    def saved(self) -> dict[str, Any]:
        """Return the state to save, as JSON values."""
        kept = {name.lstrip('_'): value for name, value in vars(self).items()}
        del kept['newest_ns'], kept['ended']
        # An estimate without a covariance contradicts without bound, which is no JSON number.
        parts = [(error, other if other < math.inf else 'inf') for error, other in self._parts]
        return kept | {'parts': parts}

    @classmethod
    def restored(cls, numbers: Mapping[str, Any]) -> Schedule:
        """Return a schedule restored from ``saved``; any error if a value is not a number."""
        schedule = cls()
        schedule.known_s, schedule.due_s = float(numbers['known_s']), float(numbers['due_s'])
        schedule._last_s, schedule._since_s = float(numbers['last_s']), float(numbers['since_s'])
        schedule.since_ns, schedule.epoch_ns = int(numbers['since_ns']), int(numbers['epoch_ns'])
        schedule._parts.extend((float(error), float(other)) for error, other in numbers['parts'])
        schedule.outliers = [(int(begin), int(end)) for begin, end in numbers['outliers']]
        schedule._unlike, schedule._usual = int(numbers['unlike']), int(numbers['usual'])
        schedule._began_ns = int(numbers['began_ns'])
        return schedule


def _left_s(driven_s: float, lap_s: float) -> float:
    """Return how much longer a drive is to become until its model is trained again."""
    if not lap_s > 0.0:
        return (GROWTH - 1.0) * driven_s
    # Laps vary: a training a little early is the one of its lap. A place is to be met twice.
    laps = max(1, round(driven_s / lap_s))
    return (laps + 1 if laps < FEW_LAPS else LATER_GROWTH * laps) * lap_s - driven_s
