# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Hold parts of the drives out, follow them, and summarise the errors.

Blocks of ticks are held out of segments by `take_out`: a quarter at once by `hold_out`, each
quarter in turn by `hold_out_in_turn`, or the same time at any rate by `HeldTime`. What was
learned from the rest follows each block from a cold start, see `follow_held_out`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
import itertools
import math
from typing import Any, NamedTuple, TYPE_CHECKING, TypeVar
from warnings import catch_warnings, simplefilter

import numpy as np

from two_manifold_ros.hse_hmm.readout import (
    Calibration,
    calibration_factors,
    floors,
    squared_mahalanobis,
)
from two_manifold_ros.training.dataset import any_position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.route.learning import Tuning
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats, Ints

    Split = tuple[list[Segment], list[Segment]]

Seen = TypeVar('Seen')
"""What a filter sees of a block."""

FOLDS = 4
"""
Parts of the drives of which one is held out; of fewer laps each is about one lap.

With two, half of the laps is not learned from; eight train twice as often, on parts that are too
short for a window.
"""

LOST_SHARE = 0.25
"""Of the track's spread: beyond it a position is plainly wrong, and how wrong says nothing."""

PIECES = 4
"""
Pieces of a part whose mean errors are compared at two rates.

Of the two parts that trials follow there are eight, each of a few bends: with fewer a standard
error is not known, and shorter ones err alike.
"""

ANYWHERE = 0.01
"""Share of the positions that may be anywhere on the route: one lost start does not decide."""

TICK_S, PLACE_S = 1e-4, 2.5e-6
"""
Time of a tick, and for each place with any probability, on a small robot: five times that of
the machine of results.md, as a Raspberry Pi 4 has beside it.
"""


class Stretch(NamedTuple):
    """Ticks of a segment: its number, the first tick, and the one after the last."""

    segment: int
    begin: int
    end: int


def stretches_between(lengths: Sequence[int], begin: int, end: int, least: int) -> list[Stretch]:
    """Return what of each segment lies between two ticks, counted over all, if long enough."""
    found = []
    for segment, (first, length) in enumerate(zip(begins_of(lengths), lengths, strict=False)):
        low, high = max(begin - first, 0), min(end - first, length)
        if high - low >= least:
            found.append(Stretch(segment, low, high))
    return found


def begins_of(lengths: Sequence[int]) -> list[int]:
    """Return the first tick of each segment, counted over all, and the number of all ticks."""
    return list(itertools.accumulate(lengths, initial=0))


def hold_out(segments: Sequence[Segment], window: int) -> Split:
    """
    Split segments into a part to fit and blocks to validate on, a quarter of all ticks.

    One block at the end of the longest segment of a short recording; up to four, evenly spread,
    where each is still long enough; none if no segment can spare a block. What is left on either
    side of a block is kept where it is longer than two windows.
    """
    lengths, least = list(map(len, segments)), _least_ticks(window)
    total = sum(lengths)
    blocks = min(FOLDS, total // FOLDS // (2 * least) or 1)
    length = total // (FOLDS * blocks)
    ends = [int((block + 0.5) * total / blocks + length / 2) for block in range(blocks)]
    if blocks == 1:
        # Anywhere else a seam could cut the only block in two that are both too short.
        ends = [begins_of(lengths)[1 + lengths.index(max(lengths))]]
    return take_out(segments, [(end - length, end) for end in ends], window, least)


def hold_out_in_turn(segments: Sequence[Segment], window: int) -> list[Split]:
    """
    Split segments four times, each time with another quarter held out, as `hold_out` does.

    Each tick of a recording that can spare no more than a block at a time is held out once.
    Quarters in which, or beside which, no position is known are left out.
    """
    total = sum(map(len, segments))
    quarters = itertools.pairwise([total * block // FOLDS for block in range(FOLDS + 1)])
    least = _least_ticks(window)
    return with_positions(take_out(segments, [quarter], window, least) for quarter in quarters)


def with_positions(splits: Iterable[Split]) -> list[Split]:
    """Return the splits of which both parts have a position."""
    return [(fit, held) for fit, held in splits if any_position(fit) and any_position(held)]


def _least_ticks(window: int) -> int:
    """Return the ticks of a block: a window to fill, and as much again and more to be scored."""
    return round(2.5 * window)


def take_out(
    segments: Sequence[Segment], blocks: Sequence[tuple[int, int]], window: int, least: int
) -> Split:
    """
    Split segments into parts to fit and held-out blocks.

    The blocks, in order, are numbers of the first tick and the one after the last, counted over
    all segments. A seam cuts a block; of fewer than ``least`` ticks it is not held. Parts to fit
    of at most two windows are dropped.
    """
    fit: list[Segment] = []
    held: list[Segment] = []
    lengths = list(map(len, segments))
    cuts = [each for block in blocks for each in stretches_between(lengths, *block, least)]
    for number, segment in enumerate(segments):
        position = 0
        for _, begin, end in [cut for cut in cuts if cut.segment == number]:
            held.append(segment.part(begin, end))
            fit.append(segment.part(position, begin))
            position = end
        fit.append(segment.part(position, len(segment)))
    return [part for part in fit if len(part) > 2 * window], held


@dataclass(frozen=True)
class HeldTime:
    """
    Spans of time, so that trials at different rates and windows are scored on the same drive.

    Each span is the start and end of a block, ns, at the start of which errors do not
    count for ``settle_ns``. There are so many laps in them, of a median time.
    """

    spans: tuple[tuple[int, int], ...]
    settle_ns: int
    lap_ns: int
    laps: float

    def split(self, segments: Sequence[Segment], period_ns: int, window: int) -> Split:
        """Take the blocks out, see `take_out`; a tick across an edge is held."""
        stamps = np.concatenate([segment.stamps for segment in segments])
        spans = np.array(self.spans, dtype=np.int64).reshape(-1, 2)
        firsts = np.searchsorted(stamps, spans[:, 0], 'right').tolist()
        lasts = np.searchsorted(stamps, spans[:, 1] + period_ns, 'left').tolist()
        least = self.settle_ns // period_ns + 1
        return take_out(segments, list(zip(firsts, lasts, strict=True)), window, least)

    def laps_of(self, block: Segment, period_ns: int) -> Ints:
        """Return the lap of each tick of a block from 0 on, -1 where errors do not count yet."""
        elapsed = block.stamps - (block.stamps[0] - period_ns) - self.settle_ns
        count = max(round(int(elapsed[-1]) / self.lap_ns), 1)
        laps = np.minimum(elapsed * count // max(int(elapsed[-1]), 1), count - 1)
        return np.where(elapsed > 0, laps, -1)


def set_apart(recordings: Sequence[Recording]) -> list[Recording]:
    """Return recordings with stamps of which no two overlap, as those of simulated drives may."""
    apart = []
    for index, recording in enumerate(recordings):
        imu, positions = recording.imu, recording.positions
        # Days more than a recording can be long.
        shift = 10**15 * (1 + index) - imu.first_stamp

        def shifted(stamps: Ints, shift: int = shift) -> Ints:
            # A stamp that is zero or negative has no time.
            return np.where(stamps <= 0, 0, stamps + shift)

        if positions is not None:
            positions = replace(positions, stamps=shifted(positions.stamps))
        imu = replace(imu, stamps=shifted(imu.stamps))
        apart.append(replace(recording, imu=imu, positions=positions))
    return apart


def follow_held_out(
    follow: Callable[[Seen], tuple[Any, ...]], blocks: Iterable[tuple[Seen, Floats]], lead: int
) -> list[tuple[Any, ...]]:
    """
    Follow held-out blocks, and return the errors on each, (T - lead, c, 2), metres.

    Parameters
    ----------
    follow
        Filters a block from a cold start. It returns the positions (T, c, 2) that are read after
        each tick, fewer if it stops early, and other arrays of as many rows, which are returned
        beside the errors.
    blocks
        What is filtered, and the true positions (T, c, 2), NaN where unknown: so is the error.
    lead
        First ticks of each block, in which the place is not known yet, that do not count.

    """
    found = []
    for seen, truth in blocks:
        positions, *others = follow(seen)
        errors = positions - truth[: len(positions)]
        found.append(tuple(each[lead:] for each in (errors, *others)))
    return found


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


def beside_mean_position(
    errors: Floats, truths: Floats, middle: Floats, lost_m: float
) -> tuple[float, float]:
    """
    Return the mean error of the present position, and that of always answering the mean position.

    Both over the ticks whose truth (T, c, 2) is known: of followed blocks with errors (T, c, 2),
    and of the mean position (2,), ``middle``. An error counts as the spread of the track at most:
    at most ``lost_m``, which does not distinguish wrong by a bend from wrong by a lap, drives of
    which most are followed well would pass for lost.
    """
    squares = np.square(errors[:, 0]).sum(axis=1), np.square(truths[:, 0] - middle).sum(axis=1)
    followed_m, mean_m = (capped_mean(each, lost_m / LOST_SHARE) for each in squares)
    return followed_m, mean_m


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
    followed_m, mean_m
        Mean errors of the present position and of the mean position, see `beside_mean_position`.
    calibration
        Of the covariances of the c targets.

    """

    table: tuple[dict[str, float | None], ...]
    ticks: int
    score_m: float
    lost_m: float
    followed_m: float
    mean_m: float
    calibration: Calibration


class Run(NamedTuple):
    """
    A stretch that was followed from a cold start.

    Parameters
    ----------
    errors, covariances : (T, H + 1, 2), (T, H + 1, 2, 2)
        As read, not calibrated; errors are NaN where the truth is unknown.
    driving : (T,) bool
        Whether the vehicle drives on the route as in training. Where it crashed its position is
        wrong by as much as it slid, which says nothing of a drive: that calibrates no ellipse.
    active : (T,)
        Places with any probability.
    truths : (T, H + 1, 2)
        True positions.

    """

    errors: Floats
    covariances: Floats
    driving: Bools
    active: Floats
    truths: Floats


@dataclass(frozen=True)
class Followed:
    """
    Parts of the drives, as they were followed with one tuning.

    Parameters
    ----------
    parts
        Runs of each part.
    tuning
        Of the likelihood.
    positions : (P, 2)
        Of the places of the map.
    noise
        Variance of the noise in an axis of the velocities that it was compared with.

    """

    parts: tuple[tuple[Run, ...], ...]
    tuning: Tuning
    positions: Floats
    noise: float

    @cached_property
    def run(self) -> Run:
        """All runs in one."""
        runs = zip(*itertools.chain.from_iterable(self.parts), strict=True)
        return Run(*map(np.concatenate, runs))

    @cached_property
    def factors(self) -> Floats:
        """Factors (H + 1,) of the covariances."""
        run = self.run
        errors, covariances = run.errors[run.driving], run.covariances[run.driving]
        # Noise of positions stays in their ellipses: on other days than those of the parts errors
        # are larger by about as much. In velocities it is most of what is seen.
        noise = np.zeros(errors.shape[1])
        noise[-1] = self.noise
        return calibration_factors(errors, covariances, noise)

    @cached_property
    def log_score(self) -> float:
        """
        Mean log density of the true positions, nats, relative to the centre of a unit normal one.

        It is how much the filter knew, and how sure of it it was. A share ``ANYWHERE`` of the
        positions may be anywhere on the route, so that no lost start decides alone.
        """
        known = np.isfinite(self.run.errors[:, 0]).all(axis=1)
        if not known.any():
            return math.nan
        covariances = self.factors[0] * self.run.covariances[known, 0]
        logs = -0.5 * squared_mahalanobis(self.run.errors[known, 0], covariances)
        logs -= 0.5 * np.log(np.linalg.det(covariances))
        # A straight route is as thin as its floor.
        spread = np.cov(self.positions.T) + floors(self.positions[:, None])[0] * np.eye(2)
        anywhere = math.log(ANYWHERE) - 1.0 - 0.5 * np.linalg.slogdet(spread)[1]
        return float(np.logaddexp(math.log(1.0 - ANYWHERE) + logs, anywhere).mean())

    @property
    def timed(self) -> list[tuple[Floats, Floats, Floats, Floats, Floats]]:
        """What `circuit_learning.calibrated` takes of each run, true only where it drives."""
        found = []
        for run in itertools.chain.from_iterable(self.parts):
            estimated, truths = run.truths + run.errors, run.truths.copy()
            truths[~run.driving] = np.nan
            covariances = self.factors[0] * run.covariances[:, 0]
            ends = estimated[:, 0], estimated[:, -1], covariances, truths[:, 0], truths[:, -1]
            found.append(ends)
        return found

    @property
    def lost_m(self) -> float:
        """Error of a vehicle that is plainly lost, metres, as the maps know the route."""
        return LOST_SHARE * float(np.sqrt(self.positions.var(axis=0).sum()))

    @property
    def score_m(self) -> float:
        """Mean error of the present position, metres, each cut where the vehicle is lost."""
        return capped_mean(squared_distances(self.run.errors[:, :2])[:, 0], self.lost_m)

    def errs_more(self, than: Followed) -> bool:
        """
        Return whether the mean error is larger than with another rate, by more than chance.

        Chance is the standard error of the differences between pieces, each of the same time. If
        the vehicle is lost in some, these decide the mean, and a standard error of so few pieces
        says nothing of them: then any larger error counts.
        """
        (pieces, largest_m), (others, other_m) = self._pieces, than._pieces
        if max(largest_m, other_m) >= self.lost_m:
            return self.score_m > than.score_m
        differences = (pieces - others)[np.isfinite(pieces - others)]
        count = len(differences)
        chance = differences.std(ddof=1) / math.sqrt(count) if count > 1 else 0.0
        return bool(differences.mean() > chance)

    @property
    def _pieces(self) -> tuple[Floats, float]:
        """Mean errors of ``PIECES`` of each part, cut as in ``score_m``, and the largest error."""
        squares = [
            piece
            for part in self.parts
            for piece in np.array_split(
                squared_distances(np.concatenate([run.errors[:, :2] for run in part]))[:, 0],
                PIECES,
            )
        ]
        means = np.array([capped_mean(each, self.lost_m) for each in squares])
        return means, math.sqrt(np.nanmax(np.concatenate(squares), initial=0.0))

    @property
    def work(self) -> float:
        """Places times ticks that count, with which the time grows that following takes."""
        return float(self.run.active.sum())

    def load(self, rate_hz: float) -> float:
        """Return the mean share of a core of a small robot that ticks take, see ``PLACE_S``."""
        return rate_hz * (TICK_S + PLACE_S * float(self.run.active.mean()))

    def every_other(self) -> Followed:
        """Return every other part, the first among them."""
        return replace(self, parts=self.parts[::2])

    def validation(self, middle: Floats) -> Validation:
        """Return the errors, and the calibration; ``middle`` (2,) is the mean position."""
        run, lost_m = self.run, self.lost_m
        beside = beside_mean_position(run.errors, run.truths, middle, lost_m)
        calibration = Calibration(np.zeros(len(self.factors)), self.factors)
        return Validation((), len(run.errors), self.score_m, lost_m, *beside, calibration)
