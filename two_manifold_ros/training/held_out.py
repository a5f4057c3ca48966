# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Hold parts of the drives out, and what following them shows.

Blocks are held out of segments by `hold_out`, `hold_out_in_turn` or, at given times, `take_out`;
what was learned from the rest follows each from a cold start, and its errors are summarised here.
"""

from __future__ import annotations

from dataclasses import dataclass
import itertools
import math
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Floats

    Split = tuple[list[Segment], list[Segment]]


LOST_SHARE = 0.25
"""Of the track's spread: beyond it a position is plainly wrong, and how wrong says nothing."""


def hold_out(segments: Sequence[Segment], window: int) -> Split:
    """
    Split segments into a part to fit and blocks to validate on, a quarter of all ticks.

    One block at the end of the longest segment of a short recording; up to four, evenly spread,
    where each is still long enough; none if no segment can spare a block. What is left on either
    side of a block is kept where it is longer than two windows.
    """
    total, least = sum(map(len, segments)), _least_ticks(window)
    blocks = min(4, int(0.25 * total) // (2 * least) or 1)
    length = int(0.25 * total / blocks)
    if length < least:
        return list(segments), []
    ends = [int((block + 0.5) * total / blocks + length / 2) for block in range(blocks)]
    if blocks == 1:
        # Anywhere else a seam could cut the only block in two that are both too short.
        longest = max(range(len(segments)), key=lambda index: len(segments[index]))
        ends = [sum(map(len, segments[: longest + 1]))]
    return _take_ticks_out(segments, [(end - length, end) for end in ends], window)


def hold_out_in_turn(segments: Sequence[Segment], window: int) -> list[Split]:
    """
    Split segments four times, each time with another quarter held out, as `hold_out` does.

    Of a recording that can spare no more than a block at a time, all of it is seen as unseen.
    Quarters that hold no block that is long enough, or leave nothing to fit, are left out.
    """
    total = sum(map(len, segments))
    quarters = itertools.pairwise([total * block // 4 for block in range(5)])
    turns = [_take_ticks_out(segments, [quarter], window) for quarter in quarters]
    return [(fit, held) for fit, held in turns if fit and held]


def _least_ticks(window: int) -> int:
    """Return the ticks of a block: a window to fill, and as much again and more to be scored."""
    return round(2.5 * window)


def _take_ticks_out(
    segments: Sequence[Segment], blocks: list[tuple[int, int]], window: int
) -> Split:
    """Hold out blocks of ticks, which are numbered over all segments."""
    begins = itertools.accumulate(map(len, segments), initial=0)
    cuts: list[list[tuple[int, int, int, int]]] = []
    for segment, begin in zip(segments, begins, strict=False):
        cuts.append([])
        for first, last in blocks:
            start, stop = max(first - begin, 0), min(last - begin, len(segment))
            if stop - start >= _least_ticks(window):
                cuts[-1].append((start, start, stop, stop))
    return take_out(segments, cuts, window)


def take_out(
    segments: Sequence[Segment], cuts: Sequence[Sequence[tuple[int, int, int, int]]], window: int
) -> Split:
    """
    Split segments into parts to fit, those of at most two windows dropped, and held-out blocks.

    The cuts are for each segment its blocks in order: end of the fit before it, first tick of the
    block and the one after its last, start of the fit after it. An empty block is not held.
    """
    fit: list[Segment] = []
    held: list[Segment] = []
    for segment, blocks in zip(segments, cuts, strict=True):
        position = 0
        for before, first, last, after in blocks:
            if last > first:
                held.append(segment.part(first, last))
            fit.append(segment.part(position, max(before, position)))
            position = max(after, position)
        fit.append(segment.part(position, len(segment)))
    return [part for part in fit if len(part) > 2 * window], held


def lost_error(tracks: Sequence[Floats]) -> float:
    """Return the largest error that counts for positions (T, 2) of segments, metres."""
    return LOST_SHARE * float(np.sqrt(np.nanvar(np.concatenate(tracks), axis=0).sum()))


def capped_mean(squares: Floats, lost_m: float) -> float:
    """Return the mean root of squared errors, each at most ``lost_m``; NaN if none is known."""
    errors = np.sqrt(squares)
    known = np.minimum(errors[np.isfinite(errors)], lost_m)
    return float(known.mean()) if len(known) else float('nan')


def squared_distances(errors: Floats) -> Floats:
    """Return the squares (T, H) of the position errors among those (T, H + 1, 2) of targets."""
    squares: Floats = np.square(errors[:, :-1]).sum(axis=2)
    return squares


def surely_lower(new: Floats, old: Floats, sure: float, alike: float = 0.0) -> bool:
    """
    Return whether paired errors (n,) are lower than others by a one-sided t test at a level.

    The standard error of the mean gain is inflated as for a first-order autoregression, by the
    lag-one correlation ``alike`` of the gains.
    """
    # Takes .3 s, and no filter needs it.
    from scipy.stats import t, ttest_rel  # noqa: PLC0415

    with catch_warnings():
        # Of gains without any spread, which are sure.
        simplefilter('ignore', RuntimeWarning)
        statistic = ttest_rel(old, new, alternative='greater').statistic
    inflation = math.sqrt((1.0 + alike) / (1.0 - alike))
    return bool(t.sf(statistic / inflation, len(new) - 1) < 1.0 - sure)


@dataclass(frozen=True)
class Validation:
    """
    Errors on data that the fit did not see.

    Parameters
    ----------
    table
        Choices that were compared, each with its score: the mean error over horizons and ticks,
        each error at most ``lost_m``, metres.
    ticks, score_m, lost_m
        Ticks scored, score of the best choices, and the error that counts as lost.
    factors : (c,)
        Calibration of the covariance of each target.

    """

    table: tuple[dict[str, float | None], ...]
    ticks: int
    score_m: float
    lost_m: float
    factors: Floats
