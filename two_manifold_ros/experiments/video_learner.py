# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn from a film as it comes, and filter it with what is known so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.tpsr.belief import TpsrBelief
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner

if TYPE_CHECKING:
    from two_manifold_ros.experiments.video_windows import Sample, WindowSizes
    from two_manifold_ros.tpsr.move import Move
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats

TOGETHER = 10
"""
Frames that share an update of the bases, after which the filter takes over what was learned.

Alone (eq. 9) each would cost twice as much, and take something from the states: what an update
cuts off is lost.
"""

LOST = 12
"""Frames in a row, half a second, that a belief may contradict."""

BUFFER = 1.3
"""Directions that are kept, in states: more than are used, as what is cut off is lost."""


class Trail:
    """
    Coordinates that were found one after the other, and move along with the basis.

    Parameters
    ----------
    states
        Coordinates of each.

    """

    def __init__(self, states: int) -> None:
        self._rows = np.zeros((0, states))
        self._newest: list[Floats] = []

    @property
    def rows(self) -> Floats:
        """The (n, states) coordinates in the present basis."""
        if self._newest:
            self._rows = np.concatenate([self._rows, self._newest])
            self._newest = []
        return self._rows

    def move(self, matrix: Floats) -> None:
        """Express all rows in a new basis: new coordinates are the matrix times the old ones."""
        rows = self.rows
        states = rows.shape[1]
        matrix = matrix[:states, :states]
        moved = rows[:, : matrix.shape[1]] @ matrix.T
        self._rows = np.zeros_like(rows)
        self._rows[:, : moved.shape[1]] = moved

    def append(self, coordinates: Floats) -> None:
        """Add a row; coordinates beyond the states are left out, missing ones are zero."""
        row = np.zeros(self._rows.shape[1])
        coordinates = coordinates[: len(row)]
        row[: len(coordinates)] = coordinates
        self._newest.append(row)


class FrameBelief(TpsrBelief):
    """
    A belief that begins anew once ``LOST`` frames in a row contradict it.

    Parameters
    ----------
    tpsr
        What is filtered with.

    """

    def __init__(self, tpsr: Tpsr) -> None:
        super().__init__(tpsr)
        self._refused = 0

    def update(self, features: Floats) -> float:
        """Take the (p,) features of a frame and return the evidence."""
        evidence = super().update(features)
        self._refused = 0 if self.accepted else self._refused + 1
        if self._refused == LOST:
            self._refused = 0
            self.start()
        return evidence


class VideoLearner:
    """
    An online TPSR of a film (eq. 8), and a filter that follows.

    What is learned lags a window behind the film, as tests need the frames to come. The filter
    does not lag, and at each frame it knows only what was there by then.

    Parameters
    ----------
    sizes
        Of the windows.
    states
        Of the TPSR.
    ridge
        On the covariance of single frames.

    Attributes
    ----------
    beliefs
        States of the filter, each with what was known at its frame, from the frame on at which
        there first was something to filter with.
    views
        Coordinates of the first histories, at least as many as two windows have frames.

    """

    def __init__(self, sizes: WindowSizes, states: int, ridge: float) -> None:
        size = sizes.window_features + 1
        constant = np.zeros(size)
        constant[-1] = 1.0
        self._learner = OnlineLearner(
            LearnerSettings(states, round(BUFFER * states), ridge, fold_every=TOGETHER),
            constant,
            size,
            sizes.frame_features,
        )
        self._enough_views = 2 * sizes.window
        self._belief: FrameBelief | None = None
        self._observed: list[Floats] = []
        self.beliefs = Trail(states)
        self.views = Trail(states)

    def learn(self, sample: Sample) -> None:
        """Take the next sample, and filter its newest frame with what is known by then."""
        move = self._learner.add(sample.test, sample.next_test, sample.history, sample.observation)
        if move is not None:
            self._look(move)
            self._adopt(move)
        if self._belief is not None:
            self._observed.append(sample.newest)
            self._belief.update(sample.newest)
            self.beliefs.append(self._belief.state)

    def follow(self) -> Floats:
        """Return the (n, states) beliefs at the same frames with all that is known by now."""
        belief = FrameBelief(self._learner.parameters())
        trail = np.zeros((len(self._observed), len(belief.state)))
        for row, features in zip(trail, self._observed, strict=True):
            belief.update(features)
            row[:] = belief.state
        return trail

    def _look(self, move: Move) -> None:
        if len(self.views.rows) < self._enough_views:
            self.views.move(move.right)
            for view in self._learner.svd.newest:
                self.views.append(view)

    def _adopt(self, move: Move) -> None:
        tpsr = self._learner.parameters()
        if self._belief is None:
            self._belief = FrameBelief(tpsr)
        else:
            self._belief.adopt(tpsr, move)
            self.beliefs.move(move.left)
