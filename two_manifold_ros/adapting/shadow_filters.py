# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Sequential test of which of two filters runs: the one with the smaller error on recent data.

Errors are averaged over blocks of some seconds in which the vehicle moved, because successive
errors are alike. The candidate replaces the incumbent when it is better by a margin, in most
blocks, and by more than chance. It is then on trial until it has shown the same again: the
previous one still runs beside it and comes back by the same rule. Each time that happens the next
candidate has to convince for twice as long.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.references import ReferenceBuffer
from two_manifold_ros.filtering.estimate import limits_of
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.training.held_out import surely_lower

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats

SILENCE_COST = 1.25
"""
Error of a filter that is silent beside one that is not, in errors of the mean position.

Above 1, so that silence never beats the mean position; at 2 it would cost as much as being lost.
"""

LOST_COST = 2.0
"""
Largest error that counts, in errors of the mean position: how far off a lost filter is, is chance.

Half of it would no longer distinguish a poor filter from a lost one.
"""


@dataclass(frozen=True)
class HandOverSettings:
    """
    Settings of the comparison of two filters.

    Parameters
    ----------
    block_s
        Seconds that count as one observation, 2 at least; errors so far apart should be unlike.
    fewest, most
        Blocks before a decision, and blocks that are remembered.
    margin
        Share of the other's error that has to be undercut.
    useful
        Share of the error of the mean position that has to be undercut to be handed over: no
        estimate is better than one that knows next to nothing.
    sure
        How surely, by the t distribution, the mean gain of a block has to be above zero. As it is
        asked block after block for days, near one.

    """

    block_s: float = 5.0
    fewest: int = 8
    most: int = 48
    margin: float = 0.9
    useful: float = 0.5
    sure: float = 0.9999


class Prediction(NamedTuple):
    """Positions (H, 2) of a filter at its horizons, metres; ``None`` if it has no estimate."""

    stamp_ns: int
    positions: Floats | None


class ErrorPair(NamedTuple):
    """Errors of both filters at one horizon, metres; infinite for the one without an estimate."""

    stamp_ns: int
    horizon: int
    errors: tuple[float, float]


class PairedErrors:
    """
    Pair the predictions of two filters in the same slot of time, and wait for the reference.

    Parameters
    ----------
    horizons_ns
        How far ahead the predictions are, nanoseconds; the same for both.
    slot_ns
        Length of a slot: the longer one of the two periods. Of several predictions of a filter
        in one slot the first counts.
    max_gap_ns
        Longest step between reference positions that is interpolated across; after a longer step
        back in time everything that waits is forgotten.

    """

    def __init__(self, horizons_ns: Sequence[int], slot_ns: int, max_gap_ns: int) -> None:
        self._horizons_ns = tuple(horizons_ns)
        self._slot_ns, self._max_gap_ns = slot_ns, max_gap_ns
        # How many slots one filter waits for the other, and predictions for the reference.
        self._late_slots = 200
        self._reference = ReferenceBuffer(max_gap_ns)
        self._single: tuple[dict[int, Prediction], dict[int, Prediction]] = ({}, {})
        self._newest = [0, 0]
        self._waiting: list[deque[tuple[Prediction, Prediction]]] = [
            deque(maxlen=self._late_slots + ahead_ns // slot_ns) for ahead_ns in self._horizons_ns
        ]

    def __len__(self) -> int:
        """Return how many predictions wait for a partner or for the reference."""
        return sum(map(len, [*self._single, *self._waiting]))

    def forget(self) -> None:
        """Forget what waits, and all positions."""
        self._reference.clear()
        self._newest = [0, 0]
        for single in self._single:
            single.clear()
        for waiting in self._waiting:
            waiting.clear()

    def predict(self, side: int, stamp_ns: int, positions: Floats | None) -> None:
        """Take what filter 0 or 1 predicts at the horizons (H, 2); ``None`` or NaN for nothing."""
        if stamp_ns < self._newest[side] - self._max_gap_ns:
            self.forget()
        self._newest[side] = max(stamp_ns, self._newest[side])
        slot = stamp_ns // self._slot_ns
        mine = self._single[side]
        known = positions is not None and bool(np.isfinite(positions).all())
        mine.setdefault(slot, Prediction(stamp_ns, positions if known else None))
        if slot in self._single[1 - side]:
            self._pair(slot)
        elif len(mine) > self._late_slots:
            del mine[min(mine)]

    def _pair(self, slot: int) -> None:
        first, second = (single.pop(slot) for single in self._single)
        # Slots come in order: what is older will find no partner any more.
        for single in self._single:
            for old in [old for old in single if old < slot]:
                del single[old]
        if first.positions is not None or second.positions is not None:
            for waiting in self._waiting:
                waiting.append((first, second))

    def add_reference(self, stamp_ns: int, x: float, y: float, gap_ns: int = 0) -> list[ErrorPair]:
        """
        Take a newer reference position; return the errors known now, in order of time.

        ``gap_ns`` is the longest step that is interpolated of a reference that is slow.
        """
        self._reference.max_gap_ns = max(self._max_gap_ns, gap_ns)
        newest_ns = self._reference.newest_ns
        if newest_ns is not None and stamp_ns < newest_ns - self._max_gap_ns:
            self.forget()
        elif newest_ns is not None and stamp_ns <= newest_ns:
            return []
        self._reference.add(stamp_ns, x, y)
        found = []
        for horizon, (ahead_ns, waiting) in enumerate(
            zip(self._horizons_ns, self._waiting, strict=True)
        ):
            while waiting and max(each.stamp_ns for each in waiting[0]) + ahead_ns <= stamp_ns:
                pair = waiting.popleft()
                first, second = (self._error(each, horizon) for each in pair)
                if first is not None and second is not None:
                    found.append(ErrorPair(pair[0].stamp_ns + ahead_ns, horizon, (first, second)))
        return sorted(found, key=lambda pair: pair.stamp_ns)

    def _error(self, prediction: Prediction, horizon: int) -> float | None:
        place = self._reference.at(prediction.stamp_ns + self._horizons_ns[horizon])
        if place is None:
            return None
        if prediction.positions is None:
            return math.inf
        x, y = prediction.positions[horizon].tolist()
        return math.hypot(x - place[0], y - place[1])


class BaselineError:
    """Error of the mean position: running sums of positions, from which old ones may fade."""

    def __init__(self) -> None:
        # Sums are about the first position: digits of large coordinates would cancel.
        self._origin: tuple[float, float] | None = None
        self._weight = self._x = self._y = self._squares = 0.0

    @property
    def rmse_m(self) -> float:
        """Root mean square distance from the mean, metres; 0 before the first position."""
        if not self._weight:
            return 0.0
        mean_square = (self._x**2 + self._y**2) / self._weight**2
        return math.sqrt(max(0.0, self._squares / self._weight - mean_square))

    def add(self, x: float, y: float) -> None:
        """Take a position, metres."""
        if self._origin is None:
            self._origin = (x, y)
        x, y = x - self._origin[0], y - self._origin[1]
        self._weight += 1.0
        self._x += x
        self._y += y
        self._squares += x * x + y * y

    def merge(self, other: BaselineError, keep: float) -> None:
        """Take the positions of another one, after scaling the weight of those before."""
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


class _Block:
    """Summed errors of two filters in a few seconds, and the spread of the positions in them."""

    def __init__(self, index: int, horizons: int) -> None:
        self.index = index
        self.baseline = BaselineError()
        self.sums = np.zeros((horizons, 2))
        self.counts = np.zeros(horizons)

    def add(self, pair: ErrorPair, mean_error: float) -> None:
        for side, error in enumerate(pair.errors):
            silent, lost = SILENCE_COST * mean_error, LOST_COST * mean_error
            self.sums[pair.horizon, side] += silent if error == math.inf else min(error, lost)
        self.counts[pair.horizon] += 1


class Side(Enum):
    """Incumbent or candidate."""

    INCUMBENT = 0
    CANDIDATE = 1


class Verdict(Enum):
    """Decision about the candidate."""

    KEEP = 'keep'
    HAND_OVER = 'hand over'
    TAKE_BACK = 'take back'


def better_by_more_than_chance(new: Floats, old: Floats, settings: HandOverSettings) -> bool:
    """
    Return whether errors are clearly below others.

    Lower by a margin, in most blocks, and by `surely_lower`. Both are (n,): errors in the same
    blocks, in order of time, at least two.
    """
    gains = old - new
    if not new.mean() <= settings.margin * old.mean() or not np.median(gains) > 0.0:
        return False
    around = gains - gains.mean()
    squares = float(around @ around)
    alike = max(0.0, float(around[1:] @ around[:-1])) / squares if squares else 0.0
    return surely_lower(new, old, settings.sure, alike)


class SequentialTest:
    """
    Compare two filters block by block, in constant memory; see `PairedErrors`.

    Attributes
    ----------
    verdict
        As of the last block that ended.
    on_trial
        Whether the incumbent came in recently and may be taken back.
    needed
        Blocks before a hand-over.

    """

    def __init__(
        self,
        horizons_ns: Sequence[int],
        slot_ns: int,
        max_gap_ns: int,
        settings: HandOverSettings,
    ) -> None:
        self.settings = settings
        self._horizons = len(horizons_ns)
        self._block_ns = round(1e9 * settings.block_s)
        # Half of the slots of a block, at each horizon.
        self._fewest_seen = 0.5 * self._block_ns / slot_ns
        self._errors = PairedErrors(horizons_ns, slot_ns, max_gap_ns)
        self._baseline = BaselineError()
        self._block: _Block | None = None
        self._scores: deque[Floats] = deque(maxlen=settings.most)
        self._on_trial_for = 0
        self.needed = settings.fewest
        self.verdict = Verdict.KEEP
        self.on_trial = False

    @property
    def mean_error(self) -> float:
        """Error of the mean position, metres."""
        return self._baseline.rmse_m

    @property
    def blocks(self) -> int:
        """Number of blocks that the verdict rests on."""
        return len(self._scores)

    def score(self, side: Side) -> float:
        """Return the mean error of a side over blocks and horizons, metres; NaN if unknown."""
        return float(np.mean([each[side.value] for each in self._scores] or [math.nan]))

    def observe(self, side: Side, stamp_ns: int, positions: Floats | None) -> None:
        """Take the predictions (H, 2) of a side, ``None`` if it has no estimate."""
        self._errors.predict(side.value, stamp_ns, positions)

    def add_reference(self, stamp_ns: int, x: float, y: float, gap_ns: int = 0) -> None:
        """Take a reference position, metres; one that is not finite is ignored."""
        if not (math.isfinite(x) and math.isfinite(y)):
            return
        for pair in self._errors.add_reference(stamp_ns, x, y, gap_ns):
            self._block_at(pair.stamp_ns).add(pair, self.mean_error)
        self._block_at(stamp_ns).baseline.add(x, y)

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
        """Start with another candidate."""
        self._errors.forget()
        self._scores.clear()
        self._block = None
        self._on_trial_for = 0
        self.on_trial = False
        self.verdict = Verdict.KEEP

    def count(self, scores: Floats) -> None:
        """Take the mean errors (2,) of incumbent and candidate in a block, and judge again."""
        settings = self.settings
        self._scores.append(scores)
        incumbent, candidate = np.array(self._scores).T
        enough = len(incumbent) >= (settings.fewest if self.on_trial else self.needed)
        allowed = enough and (self.on_trial or self.is_useful(float(candidate.mean())))
        if allowed and better_by_more_than_chance(candidate, incumbent, settings):
            self.verdict = Verdict.TAKE_BACK if self.on_trial else Verdict.HAND_OVER
            return
        self.verdict = Verdict.KEEP
        if not self.on_trial:
            return
        self._on_trial_for += 1
        over = self._on_trial_for >= settings.most
        if over or (enough and better_by_more_than_chance(incumbent, candidate, settings)):
            self.on_trial = False
            self._on_trial_for = 0
            self.needed = max(settings.fewest, 0 if over else self.needed // 2)

    def is_useful(self, error: float) -> bool:
        """Return whether an error is far below that of the mean position, if that is known."""
        mean_error = self.mean_error
        return not mean_error or error <= self.settings.useful * mean_error

    def _block_at(self, stamp_ns: int) -> _Block:
        """Return the present block: the one of a time, or the next if that is over already."""
        index = stamp_ns // self._block_ns
        block = self._block
        if block is None or not block.index - 1 <= index <= block.index:
            if block is not None:
                self._close(block)
            self._block = block = _Block(index, self._horizons)
        return block

    def _close(self, block: _Block) -> None:
        mean_error, standing = self.mean_error, 0.1
        if block.baseline.rmse_m <= standing * mean_error:
            return
        self._baseline.merge(block.baseline, 1.0 - 1.0 / self.settings.most)
        if block.counts.min() >= self._fewest_seen and mean_error > 0.0:
            self.count((block.sums / block.counts[:, None]).mean(axis=0))


class ShadowFilter(NamedTuple):
    """A model and a filter of its own."""

    model: ModelHead
    filter: Filter

    @property
    def horizons_ns(self) -> list[int]:
        """The horizons of the model in nanoseconds."""
        return [each * self.model.period_ns for each in self.model.horizons]


class FilterOptions(NamedTuple):
    """Parameters of a filter node that its filter depends on, in seconds and metres."""

    reorder_s: float = 0.0
    ellipse_warn_m: float = 0.0
    ellipse_error_m: float = 0.0


DEFAULT_OPTIONS = FilterOptions()
"""Those of a node of which nothing else is set."""


def make_shadow(model: ModelHead, options: FilterOptions = DEFAULT_OPTIONS) -> ShadowFilter:
    """
    Return a model with a filter that is warm and empty, and filters as a node with these options.

    Raises `InputError` if the limits of the ellipse do not go with the model.
    """
    limits = limits_of(model, options.ellipse_warn_m, options.ellipse_error_m)
    live = Filter(model, limits=limits, reorder_ns=round(1e9 * options.reorder_s))
    live.warm_up()
    return ShadowFilter(model, live)


class ShadowFilters:
    """
    The model in use, a candidate beside it, and the test between them.

    Both filter the same samples by the same code as the node that publishes. Rates, phases and
    horizons may differ: errors are compared at the horizons, in seconds, that both predict.

    Attributes
    ----------
    incumbent, candidate
        The one in use, and the one that may replace it; ``None`` until there is one.
    test
        Between the two.

    """

    def __init__(self, incumbent: ShadowFilter, settings: HandOverSettings) -> None:
        self._settings = settings
        self._terms = _terms(incumbent, incumbent)
        self._columns: tuple[list[int], list[int]] = ([], [])
        self._settling_ticks = 0
        self.incumbent = incumbent
        self.candidate: ShadowFilter | None = None
        self.test = SequentialTest(*self._terms, settings)

    def challenge(self, candidate: ShadowFilter) -> None:
        """Compare another candidate, of which nothing is known."""
        self.candidate = candidate
        # One window passes until it may have an estimate, and a belief needs one or two to
        # converge. As silence they would cost a good candidate the test.
        self._settling_ticks = 3 * candidate.model.window
        terms, needed = _terms(self.incumbent, candidate), self.test.needed
        self.test.renew()
        if terms != self._terms:
            self.test = SequentialTest(*terms, self._settings)
            self.test.needed = needed
            self._terms = terms
        first, second = self.incumbent.horizons_ns, candidate.horizons_ns
        common = terms[0]
        self._columns = [first.index(ns) for ns in common], [second.index(ns) for ns in common]

    def withdraw(self) -> None:
        """Remove the candidate."""
        self.candidate = None
        self.test.renew()

    def take(self, stamp_ns: int, sample: Sequence[float] | Floats) -> None:
        """Take a sample of the IMU, good or bad."""
        self._push(Side.INCUMBENT, self.incumbent, stamp_ns, sample)
        if self.candidate is not None:
            ticks = self._push(Side.CANDIDATE, self.candidate, stamp_ns, sample)
            self._settling_ticks = max(0, self._settling_ticks - ticks)

    def add_reference(self, stamp_ns: int, x: float, y: float, gap_ns: int = 0) -> None:
        """Take a reference position that can be trusted, metres, see `PairedErrors`."""
        if self.candidate is not None:
            self.test.add_reference(stamp_ns, x, y, gap_ns)

    @property
    def errors(self) -> tuple[float, float]:
        """Mean errors of incumbent and candidate, metres; NaN if unknown."""
        return self.test.score(Side.INCUMBENT), self.test.score(Side.CANDIDATE)

    @property
    def spent(self) -> bool:
        """
        True if the candidate may make room for a newer one.

        It may if it does not even look better, or useful, or was not better by more than chance in
        all its time. On trial it stays, because it may have to be taken back.
        """
        test = self.test
        if self.candidate is None:
            return True
        if test.on_trial or test.verdict is not Verdict.KEEP:
            return False
        old, new = self.errors
        looks_better = new <= self._settings.margin * old and test.is_useful(new)
        return test.blocks >= (self._settings.most if looks_better else self._settings.fewest)

    def swap(self) -> None:
        """Note that the candidate runs now; the previous one stays beside it."""
        if self.candidate is not None:
            self.incumbent, self.candidate = self.candidate, self.incumbent
            self._columns = self._columns[::-1]
            self.test.swap()

    def _push(
        self, side: Side, shadow: ShadowFilter, stamp_ns: int, sample: Sequence[float] | Floats
    ) -> int:
        """Return the number of ticks that ended."""
        estimates = shadow.filter.push(stamp_ns, sample)
        if not self._settling_ticks:
            for each in estimates:
                known = each.positions[self._columns[side.value]] if each.valid else None
                self.test.observe(side, each.stamp_ns, known)
        return len(estimates)


def _terms(first: ShadowFilter, second: ShadowFilter) -> tuple[tuple[int, ...], int, int]:
    """Return horizons in common, slot and gap of a test, in nanoseconds."""
    return (
        tuple(sorted({*first.horizons_ns} & {*second.horizons_ns})),
        max(first.model.period_ns, second.model.period_ns),
        max(first.model.max_gap_ns, second.model.max_gap_ns),
    )
