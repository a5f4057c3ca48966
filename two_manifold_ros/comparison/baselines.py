# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Baselines: mean, previous position, and nearest training windows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.method import Course
from two_manifold_ros.comparison.protocol import choose
from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import training_targets
from two_manifold_ros.ticks.sliding import SlidingWindow
from two_manifold_ros.ticks.windows import lay_end_to_end

if TYPE_CHECKING:
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats, Ints


class FittedMeanPosition:
    """
    One position for every tick and horizon.

    Parameters
    ----------
    mean : (2,)
        Metres.
    horizons
        How many there are.

    """

    def __init__(self, mean: Floats, horizons: int) -> None:
        self.chosen: dict[str, Any] = {}
        self._mean = mean
        self._horizons = horizons

    def follow(self, segment: Segment) -> Course:
        """Tell the mean from the first tick on."""
        return Course(np.tile(self._mean, (len(segment), self._horizons, 1)))


class MeanPosition:
    """The mean of the known training positions, which a method must beat to be of any use."""

    name = 'mean'
    title = 'mean position'
    told = False

    def fit(self, lesson: Lesson) -> FittedMeanPosition:
        """
        Take the mean over the ticks of the lesson.

        Raises
        ------
        InputError
            If no position is known.

        """
        return FittedMeanPosition(mean_of(lesson), len(lesson.horizons))


def mean_of(lesson: Lesson) -> Floats:
    """
    Return the mean of the known positions of the lesson: (2,), metres.

    Raises
    ------
    InputError
        If no position is known.

    """
    positions = np.concatenate([segment.positions for segment in lesson.dataset.segments])
    known: Bools = np.all(np.isfinite(positions), axis=1)
    if not known.any():
        msg = 'no training position is known, so there is no mean; record positions as well'
        raise InputError(msg)
    mean: Floats = positions[known].mean(axis=0)
    return mean


class FittedPreviousPosition:
    """
    The position that the segment itself tells.

    Parameters
    ----------
    horizons
        How many there are.

    """

    def __init__(self, horizons: int) -> None:
        self.chosen: dict[str, Any] = {}
        self._horizons = horizons

    def follow(self, segment: Segment) -> Course:
        """Repeat the position of each tick; NaN where the segment has none."""
        return Course(np.repeat(segment.positions[:, None], self._horizons, axis=1))


class PreviousPosition:
    """
    The position at the tick, told to no other method.

    Without error at horizon 0 and without a rival one tick later; a lap later, without error
    again. It has nothing to learn.
    """

    name = 'previous'
    title = 'previous position'
    told = True

    def fit(self, lesson: Lesson) -> FittedPreviousPosition:
        """Note how many horizons there are."""
        return FittedPreviousPosition(len(lesson.horizons))


NEIGHBOURS = (5, 1, 10, 20)
WINDOW_SHARES = (1.0, 0.5, 0.25)
"""Of the window of the lesson. Where nothing is held out, the first of both is taken."""


@dataclass(frozen=True)
class NearestSettings:
    """
    What there is to choose.

    Parameters
    ----------
    neighbours
        How many windows are averaged.
    window
        Ticks in a window.

    """

    neighbours: int
    window: int


class FittedNearestWindows:
    """
    Training windows with the positions that followed them.

    Parameters
    ----------
    lesson
        Every window of its segments that does not cross a seam is kept.
    settings
        How long the windows are, and how many are averaged.

    Raises
    ------
    InputError
        If no segment holds a window.

    """

    def __init__(self, lesson: Lesson, settings: NearestSettings) -> None:
        self.chosen: dict[str, Any] = asdict(settings)
        self._settings = settings
        self._channels = lesson.dataset.channels
        segments = lesson.dataset.segments
        self._series, begins = lay_end_to_end(
            [self._channels.standardise(segment.values) for segment in segments]
        )
        self._starts = _starts(begins, settings.window)
        targets = training_targets(
            [segment.positions for segment in segments],
            self._starts + settings.window - 1,
            lesson.horizons,
            lesson.period_s,
        )[:, :-1]
        self._known: Bools = np.all(np.isfinite(targets), axis=2)
        self._targets = np.where(self._known[..., None], targets, 0.0)

    def follow(self, segment: Segment) -> Course:
        """Tell positions from the tick on with which the window is full."""
        positions = np.full((len(segment), *self._targets.shape[1:]), np.nan)
        window = SlidingWindow(self._series, self._starts, self._settings.window)
        for tick, observation in enumerate(self._channels.standardise(segment.values)):
            window.push(observation)
            if window.full:
                positions[tick] = self._read(window.distances())
        return Course(positions)

    def _read(self, distances: Floats) -> Floats:
        near, counted = self._nearest_known(distances)
        total = counted.sum(axis=0).astype(np.float64)
        total[total == 0.0] = np.nan
        told: Floats = np.einsum('nh,nhc->hc', counted, self._targets[near]) / total[:, None]
        return told

    def _nearest_known(self, distances: Floats) -> tuple[Ints, Bools]:
        """Return windows, nearest first, and which of them count at each horizon."""
        wanted = self._settings.neighbours
        amount = 2 * wanted
        while True:
            near = _nearest(distances, amount)
            known = self._known[near]
            rank = known.cumsum(axis=0)
            # Near the end of a segment the position at a horizon is unknown, so look further.
            if len(near) == len(distances) or rank[-1].min() >= wanted:
                return near, known & (rank <= wanted)
            amount *= 4


def _nearest(distances: Floats, amount: int) -> Ints:
    if amount >= len(distances):
        return np.argsort(distances, kind='stable')
    near = np.argpartition(distances, amount)[:amount]
    ordered: Ints = near[np.argsort(distances[near], kind='stable')]
    return ordered


def _starts(begins: Ints, width: int) -> Ints:
    """Return where the windows start that lie inside a segment."""
    ranges = [
        np.arange(begin, end - width + 1, dtype=np.int64)
        for begin, end in itertools.pairwise(begins.tolist())
    ]
    starts = np.concatenate(ranges)
    if not len(starts):
        msg = f'no stretch of the training part holds a window of {width} ticks; record longer'
        raise InputError(msg)
    return starts


class NearestWindows:
    """
    Mean of the positions that followed the training windows most like the live one.

    Distances are Euclidean, between windows of standardised observations. How many windows, and
    how long, is chosen on held-out blocks; at the best number, weighting the nearer ones more
    was measured to change errors by less than 5 %. NaN at a horizon beyond every segment.
    """

    name = 'nearest'
    title = 'nearest windows'
    told = False

    def fit(self, lesson: Lesson) -> FittedNearestWindows:
        """
        Choose, then keep every window of the lesson.

        Raises
        ------
        InputError
            If no segment holds a window.

        """
        window = lesson.dataset.window
        lengths = dict.fromkeys(max(1, round(share * window)) for share in WINDOW_SHARES)
        candidates = [
            NearestSettings(neighbours, length) for length in lengths for neighbours in NEIGHBOURS
        ]
        settings, _ = choose(candidates, lesson, FittedNearestWindows)
        return FittedNearestWindows(lesson, settings)
