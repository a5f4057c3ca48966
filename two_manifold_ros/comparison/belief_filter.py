# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A histogram filter over the training ticks."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled, HAVE_NUMBA
from two_manifold_ros.comparison.method import Course
from two_manifold_ros.comparison.protocol import choose
from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import segment_targets
from two_manifold_ros.ticks.sliding import SlidingWindow
from two_manifold_ros.ticks.windows import lay_end_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from two_manifold_ros.comparison.method import FittedMethod, Lesson
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats, Ints


LEAST_LOGARITHM = -100.0
"""Of a likelihood, relative to the largest: no weight, nor its fourth power, is ever zero, so a
mean over ticks of little weight is still a mean."""


@compiled
def _move_loops(
    weights: Floats, ages: Ints, stay: float, skip: float, jump: float, moved: Floats
) -> None:
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


def _move_arrays(
    weights: Floats, ages: Ints, stay: float, skip: float, jump: float, moved: Floats
) -> None:
    step = 1.0 - stay - skip
    moved[:] = stay * weights
    moved[1:] += np.where(ages[1:] > 0, step * weights[:-1], 0.0)
    moved[2:] += np.where(ages[2:] > 1, skip * weights[:-2], 0.0)
    moved *= 1.0 - jump
    moved += (1.0 - moved.sum()) / len(weights)


move = _move_loops if HAVE_NUMBA else _move_arrays
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


@compiled
def _weigh_loops(weights: Floats, distances: Floats, temperature: float) -> None:
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


def _weigh_arrays(weights: Floats, distances: Floats, temperature: float) -> None:
    logarithms = (distances.min() - distances) / (2.0 * temperature)
    weights *= np.exp(np.maximum(logarithms, LEAST_LOGARITHM))
    weights /= weights.sum()


weigh = _weigh_loops if HAVE_NUMBA else _weigh_arrays
"""
Multiply weights by exp(-D / (2 T)), relative to the nearest tick, and let them sum to one.

Parameters
----------
weights : (n,)
    Positive; updated.
distances : (n,)
    Squared distances D of the live window to the training windows.
temperature
    T, in the units of the distances.

"""


WINDOWS = (1, 5, 10, 20)
TEMPERATURES = (0.1, 0.3, 1.0, 2.0)
MOVES = ((0.05, 0.05), (0.1, 0.1), (0.25, 0.25), (0.1, 0.3), (0.3, 0.1))
JUMPS = (1e-4, 1e-3, 1e-2)
POWERS = (1, 2, 4)

CLEARLY = 0.9
"""
Of the score of the usual settings: only a lower one makes others be taken.

What is held out is a lap or two, on which the best of many settings is luck. On the ten stretches
on which this margin was picked, errors without it were 1.6 times those with it.
"""


@dataclass(frozen=True)
class BeliefSettings:
    """
    What a belief filter is made of. The defaults are a start that is seldom far off.

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
        To which the weights are raised before positions are averaged; 1 is the mean.

    Raises
    ------
    InputError
        If a value makes no sense.

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
        lively = 0.0 < self.jump <= 1.0
        if not (probable and lively and self.temperature > 0.0):
            msg = f'{self}: stay, skip and jump must be probabilities, jump and temperature over 0'
            raise InputError(msg)
        if self.window < 1 or not 1 <= self.power <= max(POWERS):
            msg = f'{self}: the window must be at least 1, the power 1 to {max(POWERS)}'
            raise InputError(msg)


def choose_settings(
    lesson: Lesson, fit: Callable[[Lesson, BeliefSettings], FittedMethod]
) -> tuple[BeliefSettings, float | None]:
    """
    Vary a few settings at a time, and keep what is clearly better.

    Returns
    -------
    best, score_m
        As ``choose`` does.

    """
    longest = lesson.dataset.window
    best, score = choose([BeliefSettings(window=min(BeliefSettings.window, longest))], lesson, fit)
    for vary in (_windows, _moves, _jumps, _powers):
        if score is None:
            break
        found, reached = choose(list(vary(best, longest)), lesson, fit)
        if reached is not None and reached < CLEARLY * score:
            best, score = found, reached
    return best, score


def _windows(usual: BeliefSettings, longest: int) -> Iterator[BeliefSettings]:
    half = max(longest // 2, 1)
    for window in sorted({*WINDOWS, half, longest}):
        if window <= longest:
            for temperature in TEMPERATURES:
                yield replace(usual, window=window, temperature=temperature)


def _moves(usual: BeliefSettings, _: int) -> Iterator[BeliefSettings]:
    for stay, skip in MOVES:
        yield replace(usual, stay=stay, skip=skip)


def _jumps(usual: BeliefSettings, _: int) -> Iterator[BeliefSettings]:
    for jump in JUMPS:
        yield replace(usual, jump=jump)


def _powers(usual: BeliefSettings, _: int) -> Iterator[BeliefSettings]:
    for power in POWERS:
        yield replace(usual, power=power)


class FittedBelief:
    """
    Weights over the training ticks that move on, then are weighed by how the windows agree.

    Parameters
    ----------
    lesson
        Its ticks are what the weights are over, each standing for the window that ends at it.
    settings
        How they move and are weighed.
    score_m
        Of the settings on held-out blocks, if there were any.

    Attributes
    ----------
    chosen
        The settings and the score.

    Raises
    ------
    InputError
        If no segment holds a window.

    """

    def __init__(
        self, lesson: Lesson, settings: BeliefSettings, score_m: float | None = None
    ) -> None:
        segments = lesson.dataset.segments
        self.chosen: dict[str, Any] = asdict(settings) | {'score_m': score_m}
        self._settings = settings
        self._standardise = lesson.dataset.channels.standardise
        self._series, begins = lay_end_to_end(
            [self._standardise(segment.values) for segment in segments]
        )
        self._ages, self._ends = _ends_of_windows(begins, settings.window)
        targets = [
            segment_targets(segment.positions, lesson.horizons, lesson.period_s)[:, :-1]
            for segment in segments
        ]
        self._rows = _summed_rows(np.concatenate(targets)[self._ends])
        # Distances are sums over the window, the temperature is for one of its numbers.
        self._temperature = settings.temperature * settings.window * len(self._series)

    def follow(self, segment: Segment) -> Course:
        """Filter one segment, from even weights when the window has filled for the first time."""
        settings = self._settings
        count = len(self._ends)
        window = SlidingWindow(self._series, self._ends - settings.window + 1, settings.window)
        weights, moved = np.full(count, 1.0 / count), np.empty(count)
        positions = np.full((len(segment), self._rows.shape[1] // 3, 2), np.nan)
        for tick, observation in enumerate(self._standardise(segment.values)):
            window.push(observation)
            if window.full:
                move(weights, self._ages, settings.stay, settings.skip, settings.jump, moved)
                weights, moved = moved, weights
                weigh(weights, window.distances(), self._temperature)
                positions[tick] = self._read(weights)
        return Course(positions)

    def _read(self, weights: Floats) -> Floats:
        """Return the (H, 2) mean positions, over the ticks where they are known."""
        shares = (weights / weights.max()) ** self._settings.power
        known, x, y = (shares @ self._rows).reshape(3, -1)
        total = np.where(known > 0.0, known, np.nan)
        return np.stack([x / total, y / total], axis=1)


def _ends_of_windows(begins: Ints, window: int) -> tuple[Ints, Ints]:
    """Return the last tick of every window, and how many windows of its segment come before."""
    ages, ends = [], []
    for begin, end in itertools.pairwise(begins.tolist()):
        ages.append(np.arange(end - begin - window + 1, dtype=np.int64))
        ends.append(begin + window - 1 + ages[-1])
    if not sum(map(len, ends)):
        msg = f'no stretch of the training part holds a window of {window} ticks; record longer'
        raise InputError(msg)
    return np.concatenate(ages), np.concatenate(ends)


def _summed_rows(targets: Floats) -> Floats:
    """Return (n, 3 H): whether each of the (n, H, 2) targets is known, then x and y or zero."""
    known: Bools = np.asarray(np.isfinite(targets).all(axis=2))
    x, y = np.moveaxis(np.where(known[..., None], targets, 0.0), 2, 0)
    return np.hstack([known.astype(np.float64), x, y])


@dataclass(frozen=True)
class BeliefFilter:
    """
    The method: no learning but the choice of its settings.

    At every tick the weights move along the recording by 0, 1 or 2 ticks, now and then anywhere,
    and are multiplied by exp(-D / (2 T)), D being the squared distance between the newest window
    and the training window that ends at each tick. A position ahead is the weighted mean of the
    positions that followed in training; ticks without one, as at the end of a segment, are left
    out, and a horizon beyond every segment is NaN.

    Parameters
    ----------
    settings
        To be used as they are; chosen on held-out blocks if not given.

    """

    settings: BeliefSettings | None = None

    name = 'belief'
    title = 'belief filter'
    told = False

    def fit(self, lesson: Lesson) -> FittedBelief:
        """
        Keep the lesson and choose the settings.

        Raises
        ------
        InputError
            If no segment holds a window.

        """
        if self.settings is not None:
            return FittedBelief(lesson, self.settings)
        return FittedBelief(lesson, *choose_settings(lesson, FittedBelief))
