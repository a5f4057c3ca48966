# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hold parts of the drives out, follow them, and summarise the errors of what the rest teaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
import math
from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np

from two_manifold_ros.hse_hmm.readout import calibrate, Calibration, segment_targets
from two_manifold_ros.inspection.inspecting import LEAST_PUBLISHED, USEFUL
from two_manifold_ros.ticks.rest import SLOW_SHARE
from two_manifold_ros.training.dataset import any_position
from two_manifold_ros.typing import Bools, Floats

if TYPE_CHECKING:
    from two_manifold_ros.route.visits import Passes
    from two_manifold_ros.ticks.segments import Segment

Split: TypeAlias = 'tuple[list[Segment], list[Segment]]'
"""A part to fit, and blocks that are held out."""

FOLDS = 4
"""
Parts of the drives of which one is held out: with two, half of the laps is not learned from; eight
are too short for a window.
"""

LOST_SHARE = 0.25
"""Of the track's spread: beyond it a position is plainly wrong, and how wrong says nothing."""

MOST_FOLLOWED = 8_000
"""Ticks that are followed, in all; longer drives are followed in stretches of each part."""


class Run(NamedTuple):
    """
    A stretch of T ticks that was followed from a cold start, its covariances not calibrated.

    The last three are of a route alone. Ellipses are calibrated only where it is ``driving`` on
    the route as in training: where a vehicle crashed its position is wrong by as much as it slid.
    """

    errors: Floats  # (T, H + 1, 2), NaN where the truth is unknown
    covariances: Floats  # (T, H + 1, 2, 2)
    truths: Floats  # (T, H + 1, 2)
    driving: Bools = np.zeros(0, dtype=np.bool_)
    active: Floats = np.zeros(0)  # places with any probability
    evidences: Floats = np.zeros(0)


def follow(
    step: Callable[[Floats], tuple[Any, ...]], observations: Floats, truths: Floats, lead: int
) -> Run:
    """Follow observations (T, d) by steps that return means, covariances and more."""
    # The place is not known yet in the first ``lead`` ticks.
    means, *others = map(np.array, zip(*map(step, observations), strict=True))
    covariances, *rest = (each[lead:] for each in others)
    return Run((means - truths)[lead:], covariances, truths[lead:], *rest)


def joined(runs: Iterable[Run]) -> Run:
    """Return all runs in one."""
    return Run(*map(np.concatenate, zip(*runs, strict=True)))


class Stretch(NamedTuple):
    """Ticks of a segment: its number, the first tick, and the one after the last."""

    segment: int
    begin: int
    end: int


def stretches_between(lengths: Sequence[int], begin: int, end: int, least: int) -> list[Stretch]:
    """Return what of each segment lies between two ticks, counted over all, if long enough."""
    found, firsts = [], accumulate(lengths, initial=0)
    for segment, (first, length) in enumerate(zip(firsts, lengths, strict=False)):
        low, high = max(begin - first, 0), min(end - first, length)
        if high - low >= least:
            found.append(Stretch(segment, low, high))
    return found


def hold_out(segments: Sequence[Segment], window: int, quarter: int | None = None) -> Split:
    """
    Split segments into a part to fit and blocks to validate on, a quarter of all ticks.

    If no ``quarter`` is named that is one block at the end of the longest segment of a short
    recording; up to four, evenly spread, of a long one; none if no segment can spare a block.
    """
    lengths = list(map(len, segments))
    total = sum(lengths)
    # A window to fill, and as much again and more to be scored.
    least = round(2.5 * window)
    if quarter is None:
        count = min(FOLDS, total // FOLDS // (2 * least) or 1)
        length = total // (FOLDS * count)
        ends = [int((block + 0.5) * total / count + length / 2) for block in range(count)]
        if count == 1:
            # Anywhere else a seam could cut the only block in two that are both too short.
            ends = [sum(lengths[: 1 + lengths.index(max(lengths))])]
        blocks = [(end - length, end) for end in ends]
    else:
        blocks = [(total * quarter // FOLDS, total * (quarter + 1) // FOLDS)]
    cuts = [each for block in blocks for each in stretches_between(lengths, *block, least)]
    fit: list[Segment] = []
    held: list[Segment] = []
    for number, segment in enumerate(segments):
        position = 0
        for _, begin, end in [cut for cut in cuts if cut.segment == number]:
            held.append(segment.part(begin, end))
            fit.append(segment.part(position, begin))
            position = end
        fit.append(segment.part(position, len(segment)))
    return [part for part in fit if len(part) > 2 * window], held


def hold_out_in_turn(segments: Sequence[Segment], window: int) -> list[Split]:
    """Split segments with each quarter held out in turn, where both parts have a position."""
    splits = [hold_out(segments, window, quarter) for quarter in range(FOLDS)]
    return [split for split in splits if all(map(any_position, split))]


def parts_to_follow(
    passes: Passes,
    observations: Sequence[Floats],
    tracks: Sequence[Floats],
    lead: int,
    most: int = MOST_FOLLOWED,
    *,
    of_each: bool = False,
) -> list[tuple[list[tuple[Floats, Floats]], Bools]]:
    """
    Return observations and truth of stretches to follow, and the visits to follow them with.

    A part is a stretch of all drives in a row, or as large a share ``of_each`` segment, whose
    speeds may differ.
    """
    places = passes.places
    lengths = [len(each) for each in observations]
    begins = list(accumulate(lengths, initial=0))
    total = begins[-1]
    # As few as two of a drive so short that a part would not be twice a window.
    folds = min(max(total // (2 * lead + 1), 2), FOLDS)
    when = np.array(begins)[places.segments] + places.times
    if of_each:
        when = total * places.times / np.array(lengths)[places.segments]
    edges = np.linspace(0, total, folds + 1)
    if np.histogram(when, edges)[0].max() > 1.5 / folds * len(when):
        # It stands most of the time: parts of equal time would leave out nearly all visits in one.
        edges[1:-1] = np.quantile(when, np.arange(1, folds) / folds)
    truths = [segment_targets(each, passes.horizons, passes.period_s) for each in tracks]
    parts = []
    for low, high in pairwise(edges.tolist()):
        kept = (when < low) | (when >= high)
        if not kept.any() or kept.all():
            continue
        left, blocks = max(most // FOLDS, 3 * lead), []
        stretches = stretches_between(lengths, int(low), int(high), 2 * lead + 1)
        longest = left
        if of_each:
            stretches = [
                Stretch(number, int(low * each / total), int(high * each / total))
                for number, each in enumerate(lengths)
            ]
            longest = max(left // len(lengths), 2 * lead + 1)
        for index, first, last in stretches:
            chosen = slice(first, min(last, first + min(left, longest)))
            if chosen.stop - first > 2 * lead and not np.isnan(tracks[index]).all():
                blocks.append((observations[index][chosen], truths[index][chosen]))
                left -= chosen.stop - first
        if blocks:
            parts.append((blocks, kept))
    return parts


def lost_error(tracks: Sequence[Floats]) -> float:
    """Return the largest error that counts for positions (T, 2) of segments, metres."""
    return LOST_SHARE * float(np.sqrt(np.nanvar(np.concatenate(tracks), axis=0).sum()))


def capped_mean(errors: Floats, lost_m: float) -> float:
    """Return the mean length of errors (..., 2), each at most ``lost_m``; NaN if none is known."""
    lengths = np.sqrt(np.square(errors).sum(axis=-1))
    known = np.minimum(lengths[np.isfinite(lengths)], lost_m)
    return float(known.mean()) if len(known) else float('nan')


def beside_mean_position(
    errors: Floats, truths: Floats, middle: Floats, lost_m: float, published: Bools | None = None
) -> tuple[float, float]:
    """
    Return the mean error of the present position, and that of always answering the mean position.

    Both are over the ticks whose truth (T, c, 2) is known, with errors (T, c, 2) and the mean
    position (2,), ``middle``; an error counts as the spread of the track at most. If ``published``
    (T,) are given, the mean position is the answer to all others, and only ticks count at which
    the vehicle moves: one that starts at rest cannot know where.
    """
    followed, mean = errors[:, 0], truths[:, 0] - middle
    if published is not None:
        speeds = np.linalg.norm(truths[:, -1], axis=1)
        moves = speeds >= SLOW_SHARE * np.nanmean(speeds)
        followed = np.where(published[:, None], followed, mean)[moves]
        mean = mean[moves]
    most_m = lost_m / LOST_SHARE
    return capped_mean(followed, most_m), capped_mean(mean, most_m)


def surely_lower(new: Floats, old: Floats, sure: float, alike: float = 0.0) -> bool:
    """
    Return whether paired errors (n,) are lower than others by a one-sided t test at a level.

    The standard error is that of a first-order autoregression with the correlation ``alike``.
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

    Each choice in the table has its score, a mean error of at most ``lost_m``. ``followed_m`` and
    ``mean_m`` are of `beside_mean_position`, ``published_share`` is of ticks that a filter shows.
    """

    table: tuple[dict[str, float | None], ...]
    ticks: int
    score_m: float
    lost_m: float
    followed_m: float
    mean_m: float
    calibration: Calibration
    published_share: float | None = None

    @classmethod
    def of_runs(
        cls,
        runs: Iterable[Run],
        score_m: float,
        lost_m: float,
        middle: Floats,
        window: int,
        table: tuple[dict[str, float | None], ...] = (),
        ticks: int | None = None,
    ) -> Validation:
        """Return errors beside those of the mean position (2,); all ticks count if not given."""
        errors, covariances, truths, *_ = joined(runs)
        beside = beside_mean_position(errors, truths, middle, lost_m)
        ticks = len(errors) if ticks is None else ticks
        calibration = calibrate(errors, covariances, ticks / window)
        return cls(table, ticks, score_m, lost_m, *beside, calibration)

    @property
    def of_use(self) -> bool:
        """Whether the error is far below that of the mean position, and a filter publishes."""
        often = self.published_share is None or self.published_share >= LEAST_PUBLISHED
        return often and self.followed_m < USEFUL * self.mean_m
