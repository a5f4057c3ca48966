# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The nearest training windows of the live one, and the positions that followed them."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.method import Predictions
from two_manifold_ros.comparison.protocol import choose
from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.sliding import SlidingWindow
from two_manifold_ros.ticks.windows import lay_end_to_end

if TYPE_CHECKING:
    from two_manifold_ros.comparison.method import TrainSplit
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats, Ints


class NearestSettings(NamedTuple):
    """Numbers of windows that are averaged, and of ticks in a window."""

    neighbours: int
    window: int


class FittedNearestWindows:
    """
    All windows of standardised observations in a training part, and the positions after each.

    Every window of so many ticks that does not cross a seam is kept; ``InputError`` if none.
    """

    def __init__(self, train: TrainSplit, settings: NearestSettings) -> None:
        self.chosen: dict[str, Any] = settings._asdict()
        self._neighbours, self._width = settings
        self._channels = train.dataset.channels
        self._series, begins = lay_end_to_end(train.observations)
        self._starts: Ints = np.concatenate(
            [
                np.arange(begin, max(end - self._width + 1, begin), dtype=np.int64)
                for begin, end in itertools.pairwise(begins.tolist())
            ]
        )
        if not len(self._starts):
            msg = (
                f'no stretch of the training part holds a window of {self._width} ticks; record '
                'longer'
            )
            raise InputError(msg)
        # Positions at the horizons after the last tick of each window (n, H, 2), NaN if unknown.
        targets = np.concatenate(train.targets)[self._starts + self._width - 1]
        self._known: Bools = np.all(np.isfinite(targets), axis=2)
        self._targets = np.where(self._known[..., None], targets, 0.0)

    def predict(self, segment: Segment) -> Predictions:
        """Predict from the tick on with which the window is full."""
        positions = np.full((len(segment), *self._targets.shape[1:]), np.nan)
        window = SlidingWindow(self._series, self._starts, self._width)
        for tick, observation in enumerate(self._channels.standardise(segment.values)):
            window.push(observation)
            if not window.full:
                continue
            near, counted = self._nearest_known(window.distances())
            total = counted.sum(axis=0).astype(np.float64)
            total[total == 0.0] = np.nan
            sums = np.einsum('nh,nhc->hc', counted, self._targets[near])
            positions[tick] = sums / total[:, None]
        return Predictions(positions)

    def _nearest_known(self, distances: Floats) -> tuple[Ints, Bools]:
        """Return windows, nearest first, and which of them count at each horizon."""
        amount = 2 * self._neighbours
        while True:
            if amount >= len(distances):
                near = np.argsort(distances, kind='stable')
            else:
                near = np.argpartition(distances, amount)[:amount]
                near = near[np.argsort(distances[near], kind='stable')]
            known = self._known[near]
            rank = known.cumsum(axis=0)
            # Near the end of a segment the position at a horizon is unknown, so look further.
            if len(near) == len(distances) or rank[-1].min() >= self._neighbours:
                return near, known & (rank <= self._neighbours)
            amount *= 4


class NearestWindows:
    """
    Mean of the positions that followed the training windows most like the live one.

    Distances are Euclidean, between windows of standardised observations. How many windows are
    averaged, and their lengths in windows of the training, are chosen on held-out blocks; the
    first counts where nothing is held out. NaN at a horizon beyond every segment.
    """

    neighbours = 5, 1, 10, 20
    window_shares = 1.0, 0.5, 0.25

    name = 'nearest'
    title = 'nearest windows'
    sees_positions = False

    def fit(self, train: TrainSplit) -> FittedNearestWindows:
        """Choose, then keep every window; raise ``InputError`` if no segment holds one."""
        window = train.dataset.window
        lengths = dict.fromkeys(max(1, round(share * window)) for share in self.window_shares)
        candidates = [NearestSettings(n, length) for length in lengths for n in self.neighbours]
        settings = choose(candidates, train, FittedNearestWindows)
        return FittedNearestWindows(train, settings)
