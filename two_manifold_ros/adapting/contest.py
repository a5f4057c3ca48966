# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Which of two filters runs: the one whose closed-loop error on recent data is smaller.

Errors are averaged over blocks of some seconds in which the vehicle moved, because errors in a
row are alike. The candidate replaces the incumbent when it is better by a margin, in most blocks,
and by more than chance. Whoever has come in so is on trial until it has shown the same again: the
other one still runs beside it and comes back by the same rule. Each time that happens the next
candidate has to convince for twice as long.

A filter that says nothing while the other one does is taken to err by more than one that always
says the mean position, and no error counts as worse than being lost.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from two_manifold_ros.adapting.prequential import Truth
from two_manifold_ros.interface.parameters import UpdaterParameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.typing import Floats


SILENT = math.inf
"""Error of a filter that said nothing while the other one did."""

_LATE_SLOTS = 200
"""For how many slots the one waits for the other, and predictions for the truth after its time."""


@dataclass(frozen=True)
class ContestSettings:
    """
    When one filter is better than another.

    Parameters
    ----------
    block_s
        Seconds that count as one observation, 2 at least; errors so far apart should be unlike.
    fewest, most
        Blocks before a decision, and blocks that are remembered.
    margin
        Share of the other's error that has to be undercut.
    useful
        Share of the error of the mean position that has to be undercut to be handed over: a
        filter that rightly says nothing is better than one that knows next to nothing.
    sure
        Of the t distribution: how surely the mean gain of a block has to be above zero. As it is
        asked block after block for days, near one.

    """

    block_s: float = 5.0
    fewest: int = 8
    most: int = 48
    margin: float = UpdaterParameters.hand_over_margin
    useful: float = 0.5
    sure: float = 0.9999


@dataclass(frozen=True)
class Prediction:
    """
    What a filter said.

    Parameters
    ----------
    stamp_ns
        When.
    positions : (H, 2)
        At its horizons, ``None`` if it said nothing.

    """

    stamp_ns: int
    positions: Floats | None


@dataclass(frozen=True)
class ErrorPair:
    """
    How far two filters were from the truth.

    Parameters
    ----------
    stamp_ns
        Of the truth, roughly: the two filters need not tick at the same instant.
    horizon
        Index of it.
    errors
        Metres, of the first and the second; ``SILENT`` where one said nothing.

    """

    stamp_ns: int
    horizon: int
    errors: tuple[float, float]


class PairedErrors:
    """
    Pairs what two filters said in the same slot of time and waits for the truth.

    Parameters
    ----------
    horizons_ns
        How far ahead the predictions are, in nanoseconds; the same for both.
    slot_ns
        Length of a slot: the longer one of the two periods. Of several predictions of a filter
        in one slot the first counts.
    max_gap_ns
        Longest step between reference positions that is interpolated across; a longer step back
        in time makes everything that waits be forgotten.

    """

    def __init__(self, horizons_ns: Sequence[int], slot_ns: int, max_gap_ns: int) -> None:
        self._horizons_ns = tuple(horizons_ns)
        self._slot_ns = slot_ns
        self._max_gap_ns = max_gap_ns
        self._truth = Truth(max_gap_ns)
        self._single: tuple[dict[int, Prediction], dict[int, Prediction]] = ({}, {})
        self._newest = [0, 0]
        self._waiting: list[deque[tuple[Prediction, Prediction]]] = [
            deque(maxlen=_LATE_SLOTS + ahead_ns // slot_ns) for ahead_ns in self._horizons_ns
        ]

    def forget(self) -> None:
        """Forget what waits, and all positions."""
        self._truth.clear()
        self._newest = [0, 0]
        for single in self._single:
            single.clear()
        for waiting in self._waiting:
            waiting.clear()

    def predict(self, side: int, stamp_ns: int, positions: Floats | None) -> None:
        """
        Take what a filter said.

        Parameters
        ----------
        side
            0 or 1.
        stamp_ns
            When, in nanoseconds.
        positions : (H, 2)
            At the horizons; ``None`` or not finite if it could not tell.

        """
        if stamp_ns < self._newest[side] - self._max_gap_ns:
            self.forget()
        self._newest[side] = max(stamp_ns, self._newest[side])
        slot = stamp_ns // self._slot_ns
        mine, others = self._single[side], self._single[1 - side]
        known = positions is not None and bool(np.isfinite(positions).all())
        mine.setdefault(slot, Prediction(stamp_ns, positions if known else None))
        if slot in others:
            self._pair(slot)
        elif len(mine) > _LATE_SLOTS:
            del mine[min(mine)]

    def _pair(self, slot: int) -> None:
        first, second = (single.pop(slot) for single in self._single)
        # What is older will find no partner any more: slots come in order.
        for single in self._single:
            for old in [old for old in single if old < slot]:
                del single[old]
        if first.positions is not None or second.positions is not None:
            for waiting in self._waiting:
                waiting.append((first, second))

    def reach(self, stamp_ns: int, x: float, y: float) -> list[ErrorPair]:
        """
        Take a reference position, and return the errors that are known now, in order of time.

        One that is not newer than the last is ignored.
        """
        newest_ns = self._truth.newest_ns
        if newest_ns is not None and stamp_ns < newest_ns - self._max_gap_ns:
            self.forget()
        elif newest_ns is not None and stamp_ns <= newest_ns:
            return []
        self._truth.add(stamp_ns, x, y)
        found = [
            pair
            for horizon in range(len(self._horizons_ns))
            for pair in self._resolve(horizon, stamp_ns)
        ]
        return sorted(found, key=lambda pair: pair.stamp_ns)

    def _resolve(self, horizon: int, newest_ns: int) -> list[ErrorPair]:
        ahead_ns, waiting = self._horizons_ns[horizon], self._waiting[horizon]
        found = []
        while waiting and max(each.stamp_ns for each in waiting[0]) + ahead_ns <= newest_ns:
            pair = waiting.popleft()
            first, second = (self._error(each, horizon) for each in pair)
            if first is not None and second is not None:
                found.append(ErrorPair(pair[0].stamp_ns + ahead_ns, horizon, (first, second)))
        return found

    def _error(self, prediction: Prediction, horizon: int) -> float | None:
        place = self._truth.at(prediction.stamp_ns + self._horizons_ns[horizon])
        if place is None:
            return None
        if prediction.positions is None:
            return SILENT
        x, y = prediction.positions[horizon].tolist()
        return math.hypot(x - place[0], y - place[1])


SILENCE = 1.25
"""Error of a filter that says nothing, in errors of the mean position."""

LOST = 2.0
"""Where an error is cut, in errors of the mean position."""


class Spread:
    """How far positions lie from their mean, as running sums from which old ones may fade."""

    def __init__(self) -> None:
        # Sums are about the first position: digits of large coordinates would cancel.
        self._origin: tuple[float, float] | None = None
        self._weight = self._x = self._y = self._squares = 0.0

    @property
    def root_mean_square(self) -> float:
        """Distance from the mean, in metres; 0 before the first position."""
        if not self._weight:
            return 0.0
        mean_square = (self._x**2 + self._y**2) / self._weight**2
        return math.sqrt(max(0.0, self._squares / self._weight - mean_square))

    def add(self, x: float, y: float) -> None:
        """Take a position."""
        if self._origin is None:
            self._origin = (x, y)
        x, y = x - self._origin[0], y - self._origin[1]
        self._weight += 1.0
        self._x += x
        self._y += y
        self._squares += x * x + y * y

    def take(self, other: Spread, keep: float) -> None:
        """Take positions that others were added to, and let the ones before count less."""
        if other._origin is None:
            return
        if self._origin is None:
            self._origin = other._origin
        x, y = (there - here for there, here in zip(other._origin, self._origin, strict=True))
        self._weight = keep * self._weight + other._weight
        across = x * other._x + y * other._y
        shifted = other._squares + 2.0 * across + other._weight * (x * x + y * y)
        self._squares = keep * self._squares + shifted
        self._x = keep * self._x + other._x + other._weight * x
        self._y = keep * self._y + other._y + other._weight * y


class ErrorBlock:
    """
    Errors of two filters in a few seconds.

    Parameters
    ----------
    index
        Of the block.
    horizons
        Number of them.

    Attributes
    ----------
    spread
        Of the reference positions in the block.

    """

    def __init__(self, index: int, horizons: int) -> None:
        self.index = index
        self.spread = Spread()
        self._sums = np.zeros((horizons, 2))
        self._counts = np.zeros(horizons)

    def add(self, horizon: int, errors: tuple[float, float], mean_error: float) -> None:
        """Take two errors at a horizon, ``SILENT`` for none; mean_error is that of the mean."""
        for side, error in enumerate(errors):
            cost = SILENCE * mean_error if error == SILENT else min(error, LOST * mean_error)
            self._sums[horizon, side] += cost
        self._counts[horizon] += 1

    def scores(self, fewest: float) -> Floats | None:
        """Return the mean error (2,) over horizons of either side, if enough were seen."""
        if self._counts.min() < fewest:
            return None
        means: Floats = (self._sums / self._counts[:, None]).mean(axis=0)
        return means


MOVED = 0.1
"""Spread of the positions in a block, in that of all, below which the vehicle did not move."""

SEEN = 0.5
"""Share of the slots of a block, at each horizon, of which both errors have to be known."""


class Side(Enum):
    """Who runs, and who wants to."""

    INCUMBENT = 0
    CANDIDATE = 1


class Verdict(Enum):
    """What is to be done."""

    KEEP = 'keep'
    HAND_OVER = 'hand over'
    TAKE_BACK = 'take back'


def better_by_more_than_chance(new: Floats, old: Floats, settings: ContestSettings) -> bool:
    """
    Return whether errors are clearly below others.

    Parameters
    ----------
    new, old : (n,)
        Errors in the same blocks, in order of time, at least two.
    settings
        What is clear.

    """
    gains = old - new
    if not new.mean() <= settings.margin * old.mean() or not np.median(gains) > 0.0:
        return False
    noise = stdtrit(len(gains) - 1, settings.sure) * gains.std(ddof=1) / math.sqrt(len(gains))
    return bool(gains.mean() > noise * _lasting(gains))


def _lasting(gains: Floats) -> float:
    """Return by what the mean of numbers in a row is more uncertain than if they were unlike."""
    around = gains - gains.mean()
    squares = float(around @ around)
    alike = max(0.0, float(around[1:] @ around[:-1])) / squares if squares else 0.0
    return math.sqrt((1.0 + alike) / (1.0 - alike))


class Contest:
    """
    Two filters beside each other, and a verdict about them; constant memory.

    Parameters
    ----------
    horizons_ns
        At which both predict, in nanoseconds.
    slot_ns
        The longer one of their periods.
    max_gap_ns
        See `PairedErrors`.
    settings
        When one is better.

    Attributes
    ----------
    verdict
        As of the last block that ended.
    on_trial
        Whether the incumbent has come in not long ago.
    needed
        Blocks before a hand-over.

    """

    def __init__(
        self,
        horizons_ns: Sequence[int],
        slot_ns: int,
        max_gap_ns: int,
        settings: ContestSettings,
    ) -> None:
        self.settings = settings
        self._horizons = len(horizons_ns)
        self._block_ns = round(1e9 * self.settings.block_s)
        self._fewest_seen = SEEN * self._block_ns / slot_ns
        self._errors = PairedErrors(horizons_ns, slot_ns, max_gap_ns)
        self._spread = Spread()
        self._block: ErrorBlock | None = None
        self._scores: deque[Floats] = deque(maxlen=self.settings.most)
        self._on_trial_for = 0
        self.needed = self.settings.fewest
        self.verdict = Verdict.KEEP
        self.on_trial = False

    @property
    def mean_error(self) -> float:
        """Error of who always says the mean position, metres."""
        return self._spread.root_mean_square

    @property
    def blocks(self) -> int:
        """Number of blocks that the verdict rests on."""
        return len(self._scores)

    def score(self, side: Side) -> float:
        """Return the mean error of a side over blocks and horizons, metres; NaN if unknown."""
        return float(np.mean([each[side.value] for each in self._scores] or [math.nan]))

    def observe(self, side: Side, stamp_ns: int, positions: Floats | None) -> None:
        """Take the positions (H, 2) that a side has told, ``None`` if it has none to tell."""
        self._errors.predict(side.value, stamp_ns, positions)

    def reach(self, stamp_ns: int, x: float, y: float) -> None:
        """Take a reference position; one that is not finite is ignored."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        for pair in self._errors.reach(stamp_ns, x, y):
            self._block_at(pair.stamp_ns).add(pair.horizon, pair.errors, self.mean_error)
        self._block_at(stamp_ns).spread.add(x, y)

    def swap(self) -> None:
        """
        Note that the candidate runs now: the incumbent is the candidate and the reverse.

        Doing so a second time before the trial is over takes the first one back.
        """
        if self.on_trial:
            self.needed = min(2 * self.needed, self.settings.most)
        trial = not self.on_trial
        self.renew()
        self.on_trial = trial

    def renew(self) -> None:
        """Note that the candidate is another one, of which nothing is known."""
        self._errors.forget()
        self._scores.clear()
        self._block = None
        self._on_trial_for = 0
        self.on_trial = False
        self.verdict = Verdict.KEEP

    def _block_at(self, stamp_ns: int) -> ErrorBlock:
        """Return the present block: the one of a time, or the next if that is over already."""
        index = stamp_ns // self._block_ns
        block = self._block
        if block is None or not block.index - 1 <= index <= block.index:
            if block is not None:
                self._close(block)
            self._block = block = ErrorBlock(index, self._horizons)
        return block

    def _close(self, block: ErrorBlock) -> None:
        mean_error = self.mean_error
        if block.spread.root_mean_square <= MOVED * mean_error:
            return
        scores = block.scores(self._fewest_seen)
        self._spread.take(block.spread, 1.0 - 1.0 / self.settings.most)
        if scores is not None and mean_error > 0.0:
            self.count(scores)

    def count(self, scores: Floats) -> None:
        """Take the mean errors (2,) of incumbent and candidate in a block, and judge anew."""
        self._scores.append(scores)
        incumbent, candidate = np.array(self._scores).T
        needed = self.settings.fewest if self.on_trial else self.needed
        enough = len(incumbent) >= needed
        allowed = enough and (self.on_trial or self.useful(float(candidate.mean())))
        if allowed and better_by_more_than_chance(candidate, incumbent, self.settings):
            self.verdict = Verdict.TAKE_BACK if self.on_trial else Verdict.HAND_OVER
            return
        self.verdict = Verdict.KEEP
        if self.on_trial:
            self._on_trial_for += 1
            proven = enough and better_by_more_than_chance(incumbent, candidate, self.settings)
            self._end_trial(proven=proven)

    def useful(self, error: float) -> bool:
        """Return whether an error is far below that of the mean position, if that is known."""
        mean_error = self.mean_error
        return not mean_error or error <= self.settings.useful * mean_error

    def _end_trial(self, *, proven: bool) -> None:
        """End the trial if it has lasted long enough, or shown that the other one is worse."""
        over = self._on_trial_for >= self.settings.most
        if over or proven:
            self.on_trial = False
            self._on_trial_for = 0
            self.needed = max(self.settings.fewest, 0 if over else self.needed // 2)
