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
from enum import Enum
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from two_manifold_ros.adapting.error_block import ErrorBlock, Spread
from two_manifold_ros.adapting.paired_errors import PairedErrors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.adapting.contest_settings import ContestSettings
    from two_manifold_ros.typing import Floats

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
