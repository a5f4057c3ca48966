# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of estimates by the positions that come afterwards, and contests of two filters."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.adapting.references import LONGEST_STEP_NS
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.training.held_out import surely_lower
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.adapting.references import ReferenceMonitor
    from two_manifold_ros.filtering.estimate import Estimate


BLOCKS_PER_LAP = 4
"""Parts of a lap whose errors are judged together: with more, those of two parts are alike."""

MOST_BLOCKS = 48
"""Newest blocks of a contest that count, and after which it ends: an error of long ago is none."""

BETTER = 0.8
"""Share of another error below which one is smaller: at 1 models would come and go."""

USEFUL = 0.5
"""Share of the mean position's error that wins no contest: near 1 a model knows nearly nothing."""

SURE = 0.9999
"""Level of the t test of a contest: it is asked block after block for days."""

MOVED = 0.1
"""Spread of the positions in a block over the mean position's error, below which it stood."""


class Errors(NamedTuple):
    """Errors over the ticks that count, metres, and shares of them; NaN before the first."""

    rmse_m: float  # root mean square error of the estimates
    mean_m: float  # and of the mean position
    published: float  # share with an estimate
    lost: float  # share of which the filter says itself that it is lost
    spread_m: float  # root mean square distance of the positions from their mean


class Prequential:
    """
    Errors of estimates, each judged by the reference position that came afterwards.

    All ticks count. One without an estimate counts as much as the mean of all positions until then
    would have erred; an estimate that was withheld because it was no better counts as given. The
    newest ``span_s`` seconds count, 20,000 ticks at the most: at 20 Hz 17 minutes.
    """

    def __init__(self, span_s: float) -> None:
        self.span_s = span_s
        # Stamps, what is published then, NaN for nothing, and whether the filter says it is lost.
        self._waiting: deque[tuple[int, float, float, bool]] = deque(maxlen=4096)
        # Of judged ticks: stamp, squared errors of the estimate and of the mean position, whether
        # there is an estimate, whether the filter is lost, and the true position.
        self._scored: deque[tuple[int, float, float, bool, bool, tuple[float, float]]] = deque()
        self._covered_ns = 0
        self._mean = (0.0, 0.0)
        self._known = 0

    @property
    def seconds(self) -> float:
        """Duration of what counts, without gaps, s."""
        return self._covered_ns * 1e-9

    def __len__(self) -> int:
        """Return the number of ticks that count."""
        return len(self._scored)

    def errors(self) -> Errors:
        """Return the errors over all ticks that count."""
        if not self._scored:
            return Errors(*(math.nan,) * 5)
        _, *columns, places = zip(*self._scored, strict=True)
        square, usual, known, lost = (math.fsum(each) / len(self) for each in columns)
        spread_m = float(np.sqrt(np.var(places, axis=0).sum()))
        return Errors(math.sqrt(square), math.sqrt(usual), known, lost, spread_m)

    def mean_error_m(self) -> float:
        """Return the mean error of the estimates, metres; NaN before the first."""
        return float(np.mean([math.sqrt(each[1]) for each in self._scored] or [math.nan]))

    def rise_ns(self) -> int:
        """Return the stamp of the first tick after which errors are higher, 0 if there is none."""
        # Where the sum of the errors less their mean is lowest (Page 1954, CUSUM).
        if not self._scored:
            return 0
        errors = np.sqrt([square for _, square, *_ in self._scored])
        before = np.cumsum(errors - errors.mean())
        lowest = int(np.argmin(before[:-1])) + 1 if before.min() < 0.0 and len(before) > 1 else 0
        return self._scored[lowest][0]

    def add(self, estimate: Estimate, *, surely: bool = False) -> None:
        """Take the estimate of a tick; ``surely``: one that is in doubt counts as withheld."""
        known = estimate.valid or estimate.cause == 'not_useful'
        counts = known and not (surely and estimate.status is Status.UNSURE)
        x, y = estimate.positions[0].tolist() if counts else (math.nan, math.nan)
        # The clock was set back.
        if self._waiting and estimate.stamp_ns < self._waiting[-1][0]:
            self._waiting.clear()
        # For these it finds nothing wrong with its input.
        lost = not known and estimate.cause in {'filling', 'gap', 'converging', 'diverged'}
        self._waiting.append((estimate.stamp_ns, x, y, lost))

    def settle(self, reference: ReferenceMonitor) -> None:
        """Judge all estimates up to the newest position, but not where none is known."""
        waiting, scored, most = self._waiting, self._scored, 20_000
        while waiting and waiting[0][0] <= reference.known_until_ns:
            stamp_ns, x, y, lost = waiting.popleft()
            position = reference.position_at(stamp_ns)
            if position is None:
                continue
            usual = math.dist(self._mean, position) ** 2 if self._known else 0.0
            self._known += 1
            self._mean = (
                self._mean[0] + (position[0] - self._mean[0]) / self._known,
                self._mean[1] + (position[1] - self._mean[1]) / self._known,
            )
            known = math.isfinite(x)
            error = math.dist((x, y), position) ** 2 if known else usual
            if scored and stamp_ns < scored[-1][0]:
                self.restart()
            if scored:
                self._covered_ns += _counted_ns(stamp_ns - scored[-1][0])
            scored.append((stamp_ns, error, usual, known, lost, position))
            while stamp_ns - scored[0][0] > 1e9 * self.span_s or len(scored) > most:
                oldest_ns = scored.popleft()[0]
                self._covered_ns -= _counted_ns(scored[0][0] - oldest_ns)

    def forget(self) -> None:
        """Forget all estimates, but not where the vehicle usually is."""
        self._waiting.clear()
        self.restart()

    def restart(self) -> None:
        """Forget what was judged."""
        self._scored.clear()
        self._covered_ns = 0


def _counted_ns(step_ns: int) -> int:
    """Return a step between two ticks, 0 if it is too long to count as judged time."""
    return step_ns if step_ns <= LONGEST_STEP_NS else 0


class Contest:
    """
    Contest of two filters of the same stream, in blocks of a quarter of a lap of ``lap_s``.

    The second one wins if its errors are lower by `BETTER`, in most blocks, and by more than
    chance. A tick that a filter withholds, or of which it is unsure, counts as the error of the
    mean position. The first lap does not count: in it both filters find their place, and the mean
    position becomes known. Nor does a block in which the vehicle stood.
    """

    def __init__(self, lap_s: float) -> None:
        self._block_s = lap_s / BLOCKS_PER_LAP
        self._block = Prequential(math.inf), Prequential(math.inf)
        self._settling = BLOCKS_PER_LAP
        # Mean errors of both, and of the mean position, in blocks that count.
        self._errors: deque[tuple[float, float, float]] = deque(maxlen=MOST_BLOCKS)
        # The second one has won, or does not look better after a lap, or was not surely better in
        # all blocks that count.
        self.is_won = self.is_lost = False

    @property
    def blocks(self) -> int:
        """Number of blocks that count."""
        return len(self._errors)

    @property
    def errors_m(self) -> tuple[float, float]:
        """Mean errors of both filters, metres; NaN before the first block."""
        first, second, _ = np.mean(self._errors or [(math.nan,) * 3], axis=0).tolist()
        return first, second

    @property
    def in_words(self) -> str:
        """Both errors, in words."""
        first_m, second_m = self.errors_m
        return (
            f'the new model errs by {second_m:.2g} m, the running one by {first_m:.2g} m (less '
            f'than {BETTER:g} times as much is needed)'
        )

    def take(
        self, first: Sequence[Estimate], second: Sequence[Estimate], reference: ReferenceMonitor
    ) -> None:
        """Take the newest estimates of both filters, and judge those up to the newest position."""
        for judge, estimates in zip(self._block, (first, second), strict=True):
            for estimate in estimates:
                judge.add(estimate, surely=True)
            judge.settle(reference)
        longest_s = max(each.seconds for each in self._block)
        if longest_s < self._block_s:
            return
        # One that refuses its input has no ticks, and knows no more than the mean position.
        errors = [each.errors() for each in self._block]
        usual = errors[self._block[0].seconds < longest_s]
        first_m, second_m = (
            found.rmse_m if 2.0 * each.seconds > longest_s else usual.mean_m
            for each, found in zip(self._block, errors, strict=True)
        )
        if self._settling:
            self._settling -= 1
        elif usual.spread_m > MOVED * usual.mean_m:
            self.count(first_m, second_m, usual.mean_m)
        for each in self._block:
            each.restart()

    def count(self, first_m: float, second_m: float, mean_m: float) -> None:
        """Take the errors of both filters and of the mean position in a block, metres."""
        self._errors.append((first_m, second_m, mean_m))
        if self.blocks < BLOCKS_PER_LAP:
            return
        first, second, mean = np.array(self._errors).T
        useful = second.mean() <= USEFUL * mean.mean()
        looks_better = bool(useful and second.mean() <= BETTER * first.mean())
        self.is_won = looks_better and better_by_more_than_chance(second, first)
        self.is_lost = not self.is_won and not (looks_better and self.blocks < MOST_BLOCKS)


def better_by_more_than_chance(new: Floats, old: Floats) -> bool:
    """Return whether errors (n,) are lower than others in most blocks, and by `surely_lower`."""
    gains = old - new
    if not np.median(gains) > 0.0:
        return False
    around = gains - gains.mean()
    squares = float(around @ around)
    alike = max(0.0, float(around[1:] @ around[:-1])) / squares if squares else 0.0
    return surely_lower(new, old, SURE, alike)
