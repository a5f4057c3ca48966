# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A hidden Markov model learned by EM over a k-means codebook: the fourth model of the paper."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.choosing import choose
from two_manifold_ros.comparison.markov_learning import Learning
from two_manifold_ros.comparison.method import Course
from two_manifold_ros.readout.ridge import fit_ridge

if TYPE_CHECKING:
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Floats

PASSES = (5, 0, 20)
"""At most, of EM. With 0 the states stay the places that they were counted from."""

SHARPNESSES = (0.25, 0.5, 0.12, 1.0)

READOUTS = ('ridge', 'mean')

WIDTH = 4.0
"""How far emissions are shared with alike symbols; see ``Codebook.nearness``."""


@dataclass(frozen=True)
class MarkovSettings:
    """
    What there is to choose.

    Parameters
    ----------
    states
        How many at most.
    passes
        Of EM at most.
    sharpness
        Power to which likelihoods are raised: below 1 where the noise of neighbouring ticks is
        alike, so that many of them tell less than as many independent ones.
    readout
        One of ``READOUTS``.

    """

    states: int
    passes: int
    sharpness: float
    readout: str


class FittedHiddenMarkov:
    """
    Tables, and positions as a linear function of the filtered state.

    Parameters
    ----------
    learning
        Of the lesson.
    settings
        How many states, and so on.

    """

    def __init__(self, learning: Learning, settings: MarkovSettings) -> None:
        tables = learning.tables(settings.states, settings.passes)
        likelihoods = tables.shared(learning.codebook.nearness(WIDTH)).emission
        softened = replace(tables, emission=likelihoods**settings.sharpness)
        self._tables = softened.begun_anywhere(learning.stretches)
        self._codebook = learning.codebook
        self._channels = learning.channels
        found = {'states': len(self._tables.start), 'symbols': len(self._codebook)}
        self.chosen: dict[str, Any] = asdict(settings) | found
        states, _ = self._tables.filter_all(learning.stretches)
        self._coefficients = _fit(settings.readout, _with_constant(states), learning.targets)

    def follow(self, segment: Segment) -> Course:
        """Filter from the mean distribution of training; every tick is told a position."""
        symbols = self._codebook.symbols(self._channels.standardise(segment.values))
        states, _ = self._tables.filter(symbols)
        positions = np.einsum('hck,tk->thc', self._coefficients, _with_constant(states))
        return Course(positions, states)


def _with_constant(states: Floats) -> Floats:
    return np.hstack([np.ones((len(states), 1)), states])


def _fit(readout: str, states: Floats, targets: Floats) -> Floats:
    """Return coefficients (H, 2, k + 1), NaN at a horizon beyond every segment."""
    coefficients: Floats = fit_ridge(states, targets).coefficients.copy()
    for column in range(targets.shape[1]):
        known = np.isfinite(targets[:, column]).all(axis=1)
        if not known.any():
            coefficients[column] = np.nan
        elif readout == 'mean':
            rows, wanted = states[known, 1:], targets[known, column]
            coefficients[column, :, 0] = 0.0
            coefficients[column, :, 1:] = (rows.T @ wanted / rows.sum(axis=0)[:, None]).T
    return coefficients


@dataclass(frozen=True)
class HiddenMarkov:
    """
    An HMM over symbols, filtered forward, its positions read from the state.

    It is made as strong as it gets. Its states begin as pieces of the track, because EM from
    random tables was measured to end at 0.6 to 1.0 times the error of the mean position.
    Emissions are shared with alike symbols, because each symbol is seen but a few times in each
    state.

    Parameters
    ----------
    states
        Numbers of states to choose from; the paper has 20.

    """

    states: tuple[int, ...] = (40, 80, 20)

    name = 'hmm'
    title = 'HMM (EM)'
    told = False

    def fit(self, lesson: Lesson) -> FittedHiddenMarkov:
        """
        Choose on held-out blocks, then learn from the whole lesson.

        Raises
        ------
        InputError
            If hmmlearn is missing, or no velocity is known at any tick.

        """
        candidates = [
            MarkovSettings(states, passes, sharpness, readout)
            for states in self.states
            for passes in PASSES
            for sharpness in SHARPNESSES
            for readout in READOUTS
        ]
        parts: list[Learning] = []

        def fit(part: Lesson, settings: MarkovSettings) -> FittedHiddenMarkov:
            if not parts:
                parts.append(Learning(part))
            return FittedHiddenMarkov(parts[0], settings)

        settings, _ = choose(candidates, lesson, fit)
        return FittedHiddenMarkov(Learning(lesson), settings)
