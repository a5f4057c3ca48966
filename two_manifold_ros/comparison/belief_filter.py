# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A histogram filter over the training ticks: the strongest simple opponent we know."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.belief_settings import BeliefSettings, choose_settings
from two_manifold_ros.comparison.belief_steps import move, weigh
from two_manifold_ros.comparison.method import Course
from two_manifold_ros.errors import InputError
from two_manifold_ros.readout.targets import segment_targets
from two_manifold_ros.windows.sliding import SlidingWindow
from two_manifold_ros.windows.window_set import lay_end_to_end

if TYPE_CHECKING:
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Bools, Floats, Ints


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
