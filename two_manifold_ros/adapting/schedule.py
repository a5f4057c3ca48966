# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Schedule of the trainings while a route is driven, and of the time from which laps count."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class ScheduleSettings:
    """
    Settings of the schedule of trainings, in laps where a lap is known.

    Parameters
    ----------
    first_s
        Seconds with positions before the first attempt; one that fails takes a tenth of a second.
    growth
        Growth of the drive between two attempts while no lap is known, which take milliseconds.
        A route that closes right after one is known to be closed at 1.3 laps, before the first
        training is due.
    turns
        Laps after which a model is trained while there are few. At 1.5 half of the route was met
        twice, the least to judge a model by; at 2 all of it was. From 5 on more laps hardly make a
        model better.
    near_laps
        Laps before a turn from which on a training is the one of that turn: laps vary by a tenth.
        At 0 two trainings would follow each other; at .5 that of two laps might be of 1.5.
    later_growth
        Growth of the drive between trainings after these turns. All later trainings together take
        twice as long as the last one.
    part_laps
        Laps whose error is judged together.
    rise, least_parts, most_parts
        Error of two parts in a row over the median of the newest parts that restarts the
        trainings, and how many have to be known and are remembered. After one part a filter was
        mostly lost for a moment: restarting then cost the map of rc_car 13 % of a core. With four
        parts the slot car was back five laps after a sign had turned, with two after three.
    quiet_parts
        Parts in a row with the usual error after which a rise is over. As many as start one: after
        one, a filter that is lost in half of each lap would never have its model trained soon.
    lately_laps
        Laps since a rise from which a model of them alone is tried. With less nothing was met
        twice; each lap more is a lap longer until what changed is learned.
    worth
        Growth of the drive since the last training for one to be worth it when positions end: what
        was not learned by then never would be.
    ended_laps
        Laps without a position after which positions have ended. On the slot car, where they fail
        every minute, trainings after each such time took a third of all.

    """

    first_s: float = 10.0
    growth: float = 1.3
    turns: tuple[float, ...] = (1.5, 2.0, 3.0, 4.0, 5.0)
    near_laps: float = 0.25
    later_growth: float = 2.0
    part_laps: float = 0.5
    rise: float = 1.5
    least_parts: int = 4
    most_parts: int = 16
    quiet_parts: int = 2
    lately_laps: float = 2.0
    worth: float = 1.02
    ended_laps: float = 1.0

    def left_s(self, driven_s: float, lap_s: float) -> float:
        """Return how much longer a drive is to become until its model is trained again."""
        for turn in self.turns:
            if turn * lap_s > driven_s + self.near_laps * lap_s:
                return turn * lap_s - driven_s
        growth = self.later_growth if lap_s > 0.0 else self.growth
        return (growth - 1.0) * driven_s


class _Usual(NamedTuple):
    """Usual values before errors rose; ``left_s`` is from one training to the next."""

    error_m: float
    since_s: float
    since_ns: int
    epoch_ns: int
    left_s: float


class Schedule:
    """
    Schedule of the trainings from a stream, and of the time from which the stream is learned.

    The length of the drive is the time with positions. A training is due when the drive has grown
    by a share, and once more when positions end. Where errors have risen for a lap, the drive
    starts there: what has changed is learned as soon as a new route would be. Where they are as
    usual again, by a new model or because a filter was just lost for a while, it goes on as if
    they had not risen.

    Attributes
    ----------
    known_s, due_s
        Seconds with positions, and at how many of them a training is due.
    since_ns, epoch_ns
        Stamps since when the stream is as it is now, and from which on it is learned; 0 for all.
    newest_ns
        Stamp of the newest position; ``None`` before the first.
    ended
        Whether positions have ended.

    """

    def __init__(self) -> None:
        self.settings = ScheduleSettings()
        self.known_s, self.due_s = 0.0, self.settings.first_s
        self.since_ns = self.epoch_ns = 0
        self.newest_ns: int | None = None
        self.ended = False
        # Seconds with positions at which laps started to count, and at the newest training.
        self._since_s = self._last_s = 0.0
        self._parts: deque[float] = deque(maxlen=self.settings.most_parts)
        # Start of the newest part, if its error had risen.
        self._risen_ns: int | None = None
        # Before a rise that is not over, and how many parts in a row were as usual since.
        self._before: _Usual | None = None
        self._quiet = 0

    @property
    def is_due(self) -> bool:
        """Return whether the drive has become long enough for a training."""
        return self.known_s >= self.due_s

    @property
    def has_grown(self) -> bool:
        """Return whether the drive has become long enough for a training that may be the last."""
        settings = self.settings
        return self.known_s >= settings.first_s and self.known_s > settings.worth * self._last_s

    def count(self, stamp_ns: int, longest_step_ns: int) -> None:
        """Count the time since the position before, unless the step between is longer."""
        if self.newest_ns is not None:
            step_ns = stamp_ns - self.newest_ns
            if 0 < step_ns <= longest_step_ns:
                self.known_s += step_ns * 1e-9
        self.newest_ns, self.ended = stamp_ns, False

    def has_stopped(self, stamp_ns: int, longest_step_ns: int, lap_s: float) -> bool:
        """Return whether positions have just ended, which is to be noted in ``ended``."""
        if self.ended or self.newest_ns is None:
            return False
        lap_ns = round(1e9 * self.settings.ended_laps * lap_s) if lap_s > 0.0 else 0
        return stamp_ns - self.newest_ns > max(longest_step_ns, lap_ns)

    def begin_training(self, lap_s: float, kept_s: float) -> bool:
        """
        Note that a training starts; return whether to try a model of the newest laps alone.

        ``lap_s`` is NaN if not known; drives that are kept last ``kept_s``, others are not learned
        again.
        """
        grown_s = min(self.known_s - self._since_s, kept_s)
        self.due_s = self.known_s + self.settings.left_s(grown_s, lap_s)
        self._last_s = self.known_s
        return self.since_ns > self.epoch_ns and grown_s >= self.settings.lately_laps * lap_s

    def count_laps(self, laps: float, lap_s: float) -> None:
        """
        Note how many laps were driven when the last training started, and how long one takes.

        A start from rest or a stop make a drive longer, but not more laps.
        """
        driven_s = laps * lap_s
        self._since_s = self._last_s - driven_s
        self.due_s = self._last_s + self.settings.left_s(driven_s, lap_s)

    def end_training(self, since_ns: int, epoch_ns: int) -> None:
        """Note that a model runs, with ``since_ns`` of its training and its own ``epoch_ns``."""
        self._risen_ns = None
        # Where errors have risen again meanwhile, all is learned from once more.
        if since_ns == self.since_ns:
            self.epoch_ns = epoch_ns

    def judge(self, error_m: float, rise_ns: int, lap_s: float) -> None:
        """Restart the drive if the errors of two parts in a row, since ``rise_ns``, have risen."""
        settings = self.settings
        self._judge_calm(error_m, lap_s)
        few = len(self._parts) < settings.least_parts
        if few or error_m <= settings.rise * median(self._parts):
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
            self.due_s = min(self.due_s, self._since_s + settings.turns[0] * lap_s)

    def _usual(self, error_m: float) -> _Usual:
        """Return the usual values until errors rose now."""
        if self._before is not None and self.epoch_ns != self.since_ns:
            # The last rise is not over: what was before it is what to go back to.
            return self._before._replace(error_m=error_m)
        left_s = self.due_s - self._last_s
        return _Usual(error_m, self._since_s, self.since_ns, self.epoch_ns, left_s)

    def _judge_calm(self, error_m: float, lap_s: float) -> None:
        """Continue as before a rise if the newest parts err no more than those before it."""
        before, settings = self._before, self.settings
        if before is None:
            return
        self._quiet = self._quiet + 1 if error_m <= settings.rise * before.error_m else 0
        if not self._quiet:
            return
        if self._quiet < settings.quiet_parts:
            # No training before it is known whether one is wanted.
            self.due_s = max(self.due_s, self.known_s + settings.part_laps * lap_s)
            return
        self._since_s, self._before = before.since_s, None
        self.due_s = self._last_s + before.left_s
        # Unless what came since is learned alone, and what was before is forgotten.
        if self.epoch_ns != self.since_ns:
            self.since_ns, self.epoch_ns = before.since_ns, before.epoch_ns

    def interrupt(self) -> None:
        """Forget that the newest part had a risen error: what follows is not the next one."""
        self._risen_ns = None

    def set_back(self) -> None:
        """Count the whole stream as recent: earlier stamps have lost their meaning."""
        self.since_ns = self.epoch_ns = 0
        self.newest_ns = None
        self._before = None
        self.interrupt()

    def saved(self) -> dict[str, Any]:
        """Return the state to save, as JSON values."""
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
        """Return a schedule restored from ``saved``; any error if a value is not a number."""
        schedule = cls()
        schedule.known_s, schedule.due_s = float(numbers['known_s']), float(numbers['due_s'])
        schedule._last_s, schedule._since_s = float(numbers['last_s']), float(numbers['since_s'])
        schedule.since_ns, schedule.epoch_ns = int(numbers['since_ns']), int(numbers['epoch_ns'])
        if numbers['before'] is not None:
            kinds = float, float, int, int, float
            before = zip(kinds, numbers['before'], strict=True)
            schedule._before = _Usual(*(kind(each) for kind, each in before))
        schedule._quiet = int(numbers['quiet'])
        schedule._parts.extend(float(each) for each in numbers['parts'])
        return schedule
