# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Methods that compare the live window with all training windows: nearest ones, and a filter."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
import itertools
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.method import Predictions
from two_manifold_ros.comparison.protocol import choose
from two_manifold_ros.compilation import compiled
from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.sliding import SlidingWindow
from two_manifold_ros.ticks.windows import lay_end_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from two_manifold_ros.comparison.method import FittedMethod, TrainSplit
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats, Ints


class TrainingWindows:
    """
    All windows of standardised observations in a training part, and what followed each.

    Every window of so many ticks that does not cross a seam is kept; ``InputError`` if none.

    Attributes
    ----------
    ages : (n,) int64
        How many windows of the same segment come before each.
    targets : (n, H, 2)
        Positions at the horizons after the last tick of each window, NaN where unknown.

    """

    def __init__(self, train: TrainSplit, width: int) -> None:
        self._channels = train.dataset.channels
        self.width = width
        self.series, begins = lay_end_to_end(train.observations)
        pairs = list(itertools.pairwise(begins.tolist()))
        ages = [np.arange(end - begin - width + 1, dtype=np.int64) for begin, end in pairs]
        self.ages: Ints = np.concatenate(ages)
        self.starts: Ints = np.concatenate(
            [begin + each for (begin, _), each in zip(pairs, ages, strict=True)]
        )
        if not len(self.starts):
            msg = f'no stretch of the training part holds a window of {width} ticks; record longer'
            raise InputError(msg)
        self.targets = np.concatenate(train.targets)[self.starts + width - 1]

    def distances(self, segment: Segment) -> Iterator[tuple[int, Floats]]:
        """Yield each tick with a full window, and its squared distances (n,) to all windows."""
        window = SlidingWindow(self.series, self.starts, self.width)
        for tick, observation in enumerate(self._channels.standardise(segment.values)):
            window.push(observation)
            if window.full:
                yield tick, window.distances()


class NearestSettings(NamedTuple):
    """Numbers of windows that are averaged, and of ticks in a window."""

    neighbours: int
    window: int


class FittedNearestWindows:
    """Training windows with the positions that followed them; see ``TrainingWindows``."""

    def __init__(self, train: TrainSplit, settings: NearestSettings) -> None:
        self.chosen: dict[str, Any] = settings._asdict()
        self._neighbours = settings.neighbours
        self._windows = TrainingWindows(train, settings.window)
        targets = self._windows.targets
        self._known: Bools = np.all(np.isfinite(targets), axis=2)
        self._targets = np.where(self._known[..., None], targets, 0.0)

    def predict(self, segment: Segment) -> Predictions:
        """Predict from the tick on with which the window is full."""
        positions = np.full((len(segment), *self._targets.shape[1:]), np.nan)
        for tick, distances in self._windows.distances(segment):
            near, counted = self._nearest_known(distances)
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


@dataclass(frozen=True)
class NearestWindows:
    """
    Mean of the positions that followed the training windows most like the live one.

    Distances are Euclidean, between windows of standardised observations. Settings are chosen on
    held-out blocks; weighting nearer windows more was measured to change errors by less than
    5 %. NaN at a horizon beyond every segment.

    Parameters
    ----------
    neighbours
        How many windows to average, candidates.
    window_shares
        Their lengths in windows of the training. Of both, the first counts where nothing is held
        out.

    """

    neighbours: tuple[int, ...] = (5, 1, 10, 20)
    window_shares: tuple[float, ...] = (1.0, 0.5, 0.25)

    name = 'nearest'
    title = 'nearest windows'
    sees_positions = False

    def fit(self, train: TrainSplit) -> FittedNearestWindows:
        """Choose, then keep every window; raise ``InputError`` if no segment holds one."""
        window = train.dataset.window
        lengths = dict.fromkeys(max(1, round(share * window)) for share in self.window_shares)
        candidates = [NearestSettings(n, length) for length in lengths for n in self.neighbours]
        settings, _ = choose(candidates, train, FittedNearestWindows)
        return FittedNearestWindows(train, settings)


LEAST_LOGARITHM = -100.0
"""Of a likelihood, relative to the largest: no weight, nor its fourth power, is ever zero, so a
mean over ticks of little weight is still a mean; half or twice of it changes no position."""


@compiled
def predict(
    weights: Floats, ages: Ints, stay: float, skip: float, jump: float, moved: Floats
) -> None:
    """
    Move weights along their stretches of the recording by 0, 1 or 2 ticks.

    Parameters
    ----------
    weights : (n,)
        Sum to one.
    ages : (n,) int64
        How many ticks of the same stretch come before each.
    stay, skip
        Probabilities of 0 and of 2 ticks; that of 1 is the rest.
    jump
        Probability of going anywhere. What leaves the end of a stretch goes anywhere too.
    moved : (n,)
        Filled; sums to one, and no entry is below ``jump / n``.

    """
    step = 1.0 - stay - skip
    kept = 0.0
    for i in range(weights.size):
        value = stay * weights[i]
        if ages[i] > 0:
            value += step * weights[i - 1]
        if ages[i] > 1:
            value += skip * weights[i - 2]
        moved[i] = (1.0 - jump) * value
        kept += moved[i]
    anywhere = (1.0 - kept) / weights.size
    for i in range(weights.size):
        moved[i] += anywhere


@compiled
def measurement_update(weights: Floats, distances: Floats, temperature: float) -> None:
    """
    Multiply positive weights (n,) by exp(-D / (2 T)) in place, and normalise them to sum to one.

    D are the squared distances (n,) of the live window to the training windows, T is the
    temperature in their units.
    """
    nearest = np.inf
    for i in range(distances.size):
        nearest = min(nearest, distances[i])
    total = 0.0
    for i in range(weights.size):
        logarithm = (nearest - distances[i]) / (2.0 * temperature)
        weights[i] *= np.exp(max(logarithm, LEAST_LOGARITHM))
        total += weights[i]
    for i in range(weights.size):
        weights[i] /= total


@dataclass(frozen=True)
class BeliefSettings:
    """
    Settings of a belief filter; the defaults are a start that is rarely far off.

    Parameters
    ----------
    window
        Ticks of the window that is compared.
    temperature
        How far windows may differ, in units of the mean square of one standardised number.
    stay, skip
        Probabilities of moving on by 0 and by 2 ticks; by 1 is the rest.
    jump
        Probability of going anywhere.
    power
        To which the weights are raised before positions are averaged, 1 to 4; 1 is the mean.

    """

    window: int = 20
    temperature: float = 1.0
    stay: float = 0.1
    skip: float = 0.1
    jump: float = 1e-2
    power: int = 2

    def __post_init__(self) -> None:
        """Check every value."""
        probable = min(self.stay, self.skip) >= 0.0 and self.stay + self.skip <= 1.0
        if not (probable and 0.0 < self.jump <= 1.0 and self.temperature > 0.0):
            msg = f'{self}: stay, skip and jump must be probabilities, jump and temperature over 0'
            raise InputError(msg)
        if self.window < 1 or not 1 <= self.power <= 4:
            msg = f'{self}: the window must be at least 1, the power 1 to 4'
            raise InputError(msg)


def choose_settings(
    train: TrainSplit,
    fit: Callable[[TrainSplit, BeliefSettings], FittedMethod],
    margin: float = 0.9,
) -> tuple[BeliefSettings, float | None]:
    """
    Vary a few settings at a time, and keep what is clearly better.

    Parameters
    ----------
    train, fit
        As in ``choose``.
    margin
        Settings replace the present ones only with a score below this share of theirs. What is
        held out is a lap or two, on which the best of many settings is luck: on the ten stretches
        on which this margin was picked, errors without it were 1.6 times those with it.

    Returns
    -------
    best, score_m
        As ``choose`` does.

    """
    longest = train.dataset.window
    windows = [each for each in sorted({1, 5, 10, 20, max(longest // 2, 1), longest})
               if each <= longest]  # fmt: skip
    stages: list[list[dict[str, Any]]] = [
        [{'window': each, 'temperature': t} for each in windows for t in (0.1, 0.3, 1.0, 2.0)],
        [
            {'stay': stay, 'skip': skip}
            for stay, skip in ((0.05, 0.05), (0.1, 0.1), (0.25, 0.25), (0.1, 0.3), (0.3, 0.1))
        ],
        [{'jump': jump} for jump in (1e-4, 1e-3, 1e-2)],
        [{'power': power} for power in (1, 2, 4)],
    ]
    best, score = choose([BeliefSettings(window=min(BeliefSettings.window, longest))], train, fit)
    for stage in stages:
        if score is None:
            break
        found, reached = choose([replace(best, **changes) for changes in stage], train, fit)
        if reached is not None and reached < margin * score:
            best, score = found, reached
    return best, score


class FittedBelief:
    """
    Weights over the ticks at which the training windows end, predicted and updated at every tick.

    ``score_m`` is the error of the settings on held-out blocks, if there were any.
    """

    def __init__(
        self, train: TrainSplit, settings: BeliefSettings, score_m: float | None = None
    ) -> None:
        self.chosen: dict[str, Any] = asdict(settings) | {'score_m': score_m}
        self._settings = settings
        self._windows = TrainingWindows(train, settings.window)
        targets = self._windows.targets
        known: Bools = np.asarray(np.isfinite(targets).all(axis=2))
        x, y = np.moveaxis(np.where(known[..., None], targets, 0.0), 2, 0)
        # (n, 3 H): whether each target is known, then x and y or zero.
        self._rows = np.hstack([known.astype(np.float64), x, y])
        # Distances are sums over the window, the temperature is for one of its numbers.
        self._temperature = settings.temperature * settings.window * len(self._windows.series)

    def predict(self, segment: Segment) -> Predictions:
        """Filter one segment, from even weights when the window has filled for the first time."""
        settings, ages = self._settings, self._windows.ages
        weights, moved = np.full(len(ages), 1.0 / len(ages)), np.empty(len(ages))
        positions = np.full((len(segment), self._rows.shape[1] // 3, 2), np.nan)
        for tick, distances in self._windows.distances(segment):
            predict(weights, ages, settings.stay, settings.skip, settings.jump, moved)
            weights, moved = moved, weights
            measurement_update(weights, distances, self._temperature)
            shares = (weights / weights.max()) ** settings.power
            known, x, y = (shares @ self._rows).reshape(3, -1)
            total = np.where(known > 0.0, known, np.nan)
            positions[tick] = np.stack([x / total, y / total], axis=1)
        return Predictions(positions)


@dataclass(frozen=True)
class BeliefFilter:
    """
    Histogram filter over the training ticks; it learns nothing but its settings.

    At every tick the weights move along the recording by 0, 1 or 2 ticks, now and then anywhere,
    and are multiplied by exp(-D / (2 T)), D being the squared distance between the newest window
    and the training window that ends at each tick. A position ahead is the weighted mean of the
    positions that followed in training; ticks without one, as at the end of a segment, are left
    out, and a horizon beyond every segment is NaN.

    Parameters
    ----------
    settings
        Used as they are; chosen on held-out blocks if not given.

    """

    settings: BeliefSettings | None = None

    name = 'belief'
    title = 'belief filter'
    sees_positions = False

    def fit(self, train: TrainSplit) -> FittedBelief:
        """Choose the settings, keep the windows; raise ``InputError`` if no segment has one."""
        if self.settings is not None:
            return FittedBelief(train, self.settings)
        return FittedBelief(train, *choose_settings(train, FittedBelief))
