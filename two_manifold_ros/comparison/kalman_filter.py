# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A Kalman filter for the linear system that N4SID finds, and a linear read-out of its state."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.choosing import choose
from two_manifold_ros.comparison.method import Course
from two_manifold_ros.comparison.n4sid import (
    count_windows,
    decompose_hankel,
    find_directions,
    identify,
    needed_windows,
    WEIGHTINGS,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.readout.ridge import fit_ridge
from two_manifold_ros.readout.targets import segment_targets

if TYPE_CHECKING:
    from two_manifold_ros.comparison.innovation_form import InnovationForm
    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.comparison.n4sid import Directions, Hankel
    from two_manifold_ros.ticks.channels import Channels
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.typing import Floats

STATES = (20, 40, 80, 160)
"""The first is the paper's."""

WINDOW_SHARES = (1.0, 0.5, 0.75, 1.5, 2.0)
"""Block rows to compare, in windows of the lesson; the first is the paper's."""

MOST_ROWS = 1000
"""Block rows times channels beyond which more are not tried: the cost grows with the cube."""


@dataclass(frozen=True)
class Settings:
    """
    What is chosen on held-out blocks.

    Parameters
    ----------
    states
        Order of the system; fewer where the data supports fewer.
    block_rows
        Ticks in a past and in a future of the Hankel matrix.
    weighting
        One of ``WEIGHTINGS``.

    """

    states: int
    block_rows: int
    weighting: str


@dataclass
class FittedKalmanFilter:
    """
    The filter and its read-out.

    Parameters
    ----------
    channels
        Standardise the IMU.
    system
        As identified.
    coefficients : (H, 2, k + 1)
        From 1 and the state to the position at each horizon, metres.
    chosen
        The settings, with the number of states that there really are.

    """

    channels: Channels
    system: InnovationForm
    coefficients: Floats
    chosen: dict[str, Any]

    def follow(self, segment: Segment) -> Course:
        """Filter one segment from the mean state; a state is what is predicted for the next."""
        states = self.system.filter(self.channels.standardise(segment.values))
        horizons, _, width = self.coefficients.shape
        positions = _with_constant(states) @ self.coefficients.reshape(-1, width).T
        return Course(positions.reshape(len(states), horizons, 2), states)


class KalmanFilter:
    """
    Steady-state Kalman filter of a linear system identified by stochastic N4SID.

    Parameters
    ----------
    states
        Order of the system; ``None`` to choose on held-out blocks.
    block_rows
        Ticks in a past and in a future of the Hankel matrix, at least 2; ``None`` to choose
        likewise.

    """

    name = 'kalman'
    title = 'Kalman filter (N4SID)'
    told = False

    def __init__(self, states: int | None = None, block_rows: int | None = None) -> None:
        self.states = states
        self.block_rows = block_rows

    def fit(self, lesson: Lesson) -> FittedKalmanFilter:
        """
        Identify the system and regress the positions on its filtered states.

        Raises
        ------
        InputError
            If the lesson is too short for the Hankel matrix.

        """
        candidates = self._candidates(lesson)
        try:
            best, _ = choose(candidates, lesson, _Identification().fit)
        except InputError:
            # Too short for any once blocks are held out of it, but perhaps not as a whole.
            best = candidates[0]
        return _Identification().fit(lesson, best)

    def _candidates(self, lesson: Lesson) -> list[Settings]:
        """List what the lesson is long enough for; what was asked for is not questioned."""
        every_rows = [self.block_rows] if self.block_rows else _possible_rows(lesson)
        every_states = [self.states] if self.states else STATES
        return [
            Settings(states, block_rows, weighting)
            for block_rows, weighting, states in itertools.product(
                every_rows, WEIGHTINGS, every_states
            )
        ]


def _possible_rows(lesson: Lesson) -> list[int]:
    observations = _observations(lesson)
    outputs = observations[0].shape[1]
    possible = [
        rows
        for rows in (max(2, round(share * lesson.dataset.window)) for share in WINDOW_SHARES)
        if rows * outputs <= MOST_ROWS
        and count_windows(observations, rows) >= needed_windows(outputs, rows)
    ]
    # Where not one will do, the first says why.
    return possible or [lesson.dataset.window]


class _Identification:
    """Fits one candidate after the other to the same lesson; what they share is kept."""

    def __init__(self) -> None:
        self._hankels: dict[int, Hankel] = {}
        self._directions: dict[tuple[int, str], Directions] = {}

    def fit(self, lesson: Lesson, settings: Settings) -> FittedKalmanFilter:
        """Identify a system and fit its read-out."""
        system = identify(self._find(lesson, settings), settings.states)
        coefficients = fit_readout(system, lesson)
        chosen = asdict(settings) | {'states': len(system.transition)}
        return FittedKalmanFilter(lesson.dataset.channels, system, coefficients, chosen)

    def _find(self, lesson: Lesson, settings: Settings) -> Directions:
        rows, weighting = settings.block_rows, settings.weighting
        if rows not in self._hankels:
            self._hankels[rows] = decompose_hankel(_observations(lesson), rows)
        if (rows, weighting) not in self._directions:
            self._directions[rows, weighting] = find_directions(self._hankels[rows], weighting)
        return self._directions[rows, weighting]


def fit_readout(system: InnovationForm, lesson: Lesson) -> Floats:
    """Regress the position at each horizon on the states of full windows: (H, 2, k + 1)."""
    states, targets = [], []
    window = lesson.dataset.window
    for segment, outputs in zip(lesson.dataset.segments, _observations(lesson), strict=True):
        every = segment_targets(segment.positions, lesson.horizons, lesson.period_s)
        states.append(system.filter(outputs)[window:])
        targets.append(every[window:, :-1])
    rows = _with_constant(np.concatenate(states))
    return fit_ridge(rows, np.concatenate(targets)).coefficients


def _observations(lesson: Lesson) -> list[Floats]:
    dataset = lesson.dataset
    return [dataset.channels.standardise(segment.values) for segment in dataset.segments]


def _with_constant(states: Floats) -> Floats:
    return np.concatenate([np.ones((len(states), 1)), states], axis=1)
