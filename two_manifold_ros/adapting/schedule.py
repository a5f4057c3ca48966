# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""When a model of a route is trained while the route is driven, and since when laps count."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Any, NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST_S = 10.0
"""Seconds with positions before the first attempt; one that fails takes a tenth of a second."""

GROWTH = 1.3
"""
Times that the drive has become as long at each look at it as long as no lap is known.

A route that closes right after a look is then known to be closed at 1.3 laps, before the first
training is due; a look takes some milliseconds.
"""

TURNS = (1.5, 2.0, 3.0, 4.0, 5.0)
"""
Laps after which a model is trained, as long as there are few.

At the first one half of the route was met twice, which is the least to judge a model by. At the
second all of it was: before, a filter is mostly lost where it was met once. From the last one on
more laps hardly make a model better, see the gauntlet.
"""

NEAR = 0.25
"""
Laps before a turn from which on a training is the one of that turn.

The time of a lap is known from one or two of them, and laps of a drive vary by a tenth. At 0 two
trainings would follow each other where the first came just before its turn; at .5 that of two laps
might be one of one and a half.
"""

LATER_GROWTH = 2.0
"""
Times that the drive has become as long when its model is learned again, after these turns.

All later trainings together take twice as long as the last one. What is not learned yet is learned
when positions end.
"""

PART_LAPS = 0.5
"""Laps of which the error is judged together."""

RISE, LEAST_PARTS, MOST_PARTS = 1.5, 4, 16
"""
Error of two halves of a lap in a row over the median of the newest ones that begins the trainings
anew, and how many have to be known and are remembered.

After one half a filter was mostly lost for a moment: to begin anew then cost the map of rc_car
13 % of a core. With two whole laps the slot car was back five laps after a sign had turned, and so
after three.
"""

WORTH = 1.02
"""
Times that the drive has become as long since the last training for one to be worth it when
positions end: what was not learned by then would never be.
"""

ENDED_LAPS = 1.0
"""
Laps without a position after which positions have ended.

In a tunnel, or where a camera does not see, they fail on each lap: on the slot car, where they
fail every minute, trainings after each such time took a third of all.
"""

QUIET_PARTS = 2
"""
Halves of a lap in a row of which the error is as usual again after which a rise is over.

As many as begin one: after one half, a filter that is lost in the other half of each lap would
never have its model trained soon.
"""

LATELY_LAPS = 2.0
"""
Laps since a rise from which a model of them alone is tried.

With less nothing could be judged, as all of it was met once; each lap more is a lap longer until
what changed is learned.
"""


class _Usual(NamedTuple):
    """
    What was usual before errors had risen.

    Parameters
    ----------
    error_m
        Of a part.
    since_s
        Of the seconds with positions, where laps began to count.
    since_ns, epoch_ns
        As of `Schedule`.
    left_s
        From the training before until the next one that was planned.

    """

    error_m: float
    since_s: float
    since_ns: int
    epoch_ns: int
    left_s: float


class Schedule:
    """
    When a model is trained from a stream, and from when on the stream is learned.

    The drive is as long as positions were given on it. A training is due when it has become longer
    by a part of what it was, and once more when positions end. Where errors have risen for a lap,
    the drive begins there: what has changed is learned as soon as a new route would be. Where they
    are as usual again, be it by a new model or because a filter was just lost for a while, it goes
    on as if they had not risen.

    Attributes
    ----------
    known_s
        Seconds with positions.
    due_s
        Of them, when a training is due.
    since_ns
        Stamp since when the stream was as it is now, 0 for all of it.
    epoch_ns
        Stamp from which on the stream is learned, 0 for all of it.
    newest_ns
        Stamp of the newest position; ``None`` before the first.
    ended
        Whether positions have ended.

    """

    def __init__(self) -> None:
        self.known_s, self.due_s = 0.0, FIRST_S
        self.since_ns = self.epoch_ns = 0
        self.newest_ns: int | None = None
        self.ended = False
        # Of the seconds with positions: where laps begin to count, and when training began last.
        self._since_s = self._last_s = 0.0
        self._parts: deque[float] = deque(maxlen=MOST_PARTS)
        # Begin of a part of which the error had risen, if the newest was one.
        self._risen_ns: int | None = None
        # Before a rise that is not over, and how many parts in a row were as usual since.
        self._before: _Usual | None = None
        self._quiet = 0

    @property
    def is_due(self) -> bool:
        """Whether the drive has become long enough for a training."""
        return self.known_s >= self.due_s

    @property
    def has_grown(self) -> bool:
        """Whether it has become long enough for a training that may be the last."""
        return self.known_s >= FIRST_S and self.known_s > WORTH * self._last_s

    def count(self, stamp_ns: int, longest_step_ns: int) -> None:
        """
        Count the time since the position before.

        Parameters
        ----------
        stamp_ns
            Of a position.
        longest_step_ns
            Between two positions, above which there are none.

        """
        if self.newest_ns is not None:
            step_ns = stamp_ns - self.newest_ns
            if 0 < step_ns <= longest_step_ns:
                self.known_s += step_ns * 1e-9
        self.newest_ns, self.ended = stamp_ns, False

    def is_silent(self, stamp_ns: int, longest_step_ns: int) -> bool:
        """Return whether no position has come for longer than a step between two."""
        return self.newest_ns is None or stamp_ns - self.newest_ns > longest_step_ns

    def has_stopped(self, stamp_ns: int, longest_step_ns: int, lap_s: float) -> bool:
        """Return whether positions have just ended, which is to be noted in ``ended``."""
        if self.ended or self.newest_ns is None:
            return False
        lap_ns = round(1e9 * ENDED_LAPS * lap_s) if lap_s > 0.0 else 0
        return self.is_silent(stamp_ns, max(longest_step_ns, lap_ns))

    def begin_training(self, lap_s: float, kept_s: float) -> bool:
        """
        Note that a training begins; return whether to try a model of what came lately alone.

        Parameters
        ----------
        lap_s
            How long a lap takes; NaN if that is not known.
        kept_s
            How long the drives are that are kept: others are not learned again.

        """
        grown_s = min(self.known_s - self._since_s, kept_s)
        self.due_s = self.known_s + _left_s(grown_s, lap_s)
        self._last_s = self.known_s
        return self.since_ns > self.epoch_ns and grown_s >= LATELY_LAPS * lap_s

    def count_laps(self, laps: float, lap_s: float) -> None:
        """
        Note how many laps were driven when the last training began, and how long one takes.

        A start from rest or a stop make a drive longer, but not more laps.
        """
        driven_s = laps * lap_s
        self._since_s = self._last_s - driven_s
        self.due_s = self._last_s + _left_s(driven_s, lap_s)

    def end_training(self, since_ns: int, epoch_ns: int) -> None:
        """
        Note that a model runs.

        Parameters
        ----------
        since_ns
            As it was when its training began.
        epoch_ns
            From when on it was trained.

        """
        self._risen_ns = None
        # Where errors have risen again meanwhile, all is learned from once more.
        if since_ns == self.since_ns:
            self.epoch_ns = epoch_ns

    def judge(self, error_m: float, rise_ns: int, lap_s: float) -> None:
        """
        Begin the drive anew if errors have risen over two parts in a row.

        Parameters
        ----------
        error_m
            Of the newest part.
        rise_ns
            Since when it was as large, if it has risen.
        lap_s
            How long a lap takes.

        """
        self._look_for_calm(error_m, lap_s)
        if len(self._parts) < LEAST_PARTS or error_m <= RISE * median(self._parts):
            self._parts.append(error_m)
            self._risen_ns = None
        elif self._risen_ns is None:
            self._risen_ns = rise_ns
        else:
            # Something has changed, and what is usual now is not known yet.
            self._before = self._usual(median(self._parts))
            self._quiet = 0
            self._parts.clear()
            rise_ns, self._risen_ns = self._risen_ns, None
            self.since_ns, self.epoch_ns = rise_ns, 0
            ago_s = ((self.newest_ns or rise_ns) - rise_ns) * 1e-9
            self._since_s = self.known_s - max(ago_s, 0.0)
            self.due_s = min(self.due_s, self._since_s + TURNS[0] * lap_s)

    def _usual(self, error_m: float) -> _Usual:
        """Return what was usual before errors have risen now."""
        if self._before is not None and self.epoch_ns != self.since_ns:
            # Not yet as before the last rise, but that is where it is to go on.
            return self._before._replace(error_m=error_m)
        left_s = self.due_s - self._last_s
        return _Usual(error_m, self._since_s, self.since_ns, self.epoch_ns, left_s)

    def _look_for_calm(self, error_m: float, lap_s: float) -> None:
        """Go on as before a rise if the newest parts err no more than those before it."""
        before = self._before
        if before is None:
            return
        self._quiet = self._quiet + 1 if error_m <= RISE * before.error_m else 0
        if not self._quiet:
            return
        if self._quiet < QUIET_PARTS:
            # No training before it is known whether one is wanted.
            self.due_s = max(self.due_s, self.known_s + PART_LAPS * lap_s)
            return
        self._since_s, self._before = before.since_s, None
        self.due_s = self._last_s + before.left_s
        # Unless what came since is learned alone, and what was before is forgotten.
        if self.epoch_ns != self.since_ns:
            self.since_ns, self.epoch_ns = before.since_ns, before.epoch_ns

    def interrupt(self) -> None:
        """Forget a part of which the error had risen: what follows is not the next one."""
        self._risen_ns = None

    def set_back(self) -> None:
        """Take all of the stream for as it is now: stamps of before say nothing any more."""
        self.since_ns = self.epoch_ns = 0
        self.newest_ns = None
        self._before = None
        self.interrupt()

    def saved(self) -> dict[str, Any]:
        """Return what is to be kept, as JSON values."""
        return {
            'known_s': self.known_s,
            'due_s': self.due_s,
            'last_s': self._last_s,
            'since_s': self._since_s,
            'epoch_ns': self.epoch_ns,
            'since_ns': self.since_ns,
            'parts': list(self._parts),
            'before': self._before and list(self._before),
            'quiet': self._quiet,
        }

    @classmethod
    def restored(cls, numbers: Mapping[str, Any]) -> Schedule:
        """
        Return one that goes on with what ``saved`` gave, in any mapping.

        Raises
        ------
        KeyError, TypeError, ValueError
            If a number is missing, or is none.

        """
        schedule = cls()
        schedule.known_s, schedule.due_s, schedule._last_s, schedule._since_s = (
            float(numbers[name]) for name in ('known_s', 'due_s', 'last_s', 'since_s')
        )
        schedule.since_ns, schedule.epoch_ns = (
            int(numbers[name]) for name in ('since_ns', 'epoch_ns')
        )
        if numbers['before'] is not None:
            error_m, since_s, since_ns, epoch_ns, left_s = numbers['before']
            schedule._before = _Usual(
                float(error_m), float(since_s), int(since_ns), int(epoch_ns), float(left_s)
            )
        schedule._quiet = int(numbers['quiet'])
        schedule._parts.extend(float(each) for each in numbers['parts'])
        return schedule


def _left_s(driven_s: float, lap_s: float) -> float:
    """Return how much longer a drive is to become until its model is learned again."""
    for turn in TURNS:
        if turn * lap_s > driven_s + NEAR * lap_s:
            return turn * lap_s - driven_s
    growth = LATER_GROWTH if lap_s > 0.0 else GROWTH
    return (growth - 1.0) * driven_s
