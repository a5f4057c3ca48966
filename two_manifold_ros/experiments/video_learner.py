# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn from a film frame by frame, and filter it with what is known so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.video_windows import FrameWindows
from two_manifold_ros.tpsr.belief import TpsrBelief
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.experiments.video_windows import Sample, WindowSizes
    from two_manifold_ros.tpsr.move import Move
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats

ADOPT_EVERY = 1 / 32
"""Windows after whose length the filter takes over what was learned: half a second."""

LOST = 12
"""Frames in a row, half a second, that a belief may contradict."""

BUFFER = 1.3
"""Directions that are kept, in states: more than are used, as what is cut off is lost."""

_SEED = 0  # of the random features


class Trail:
    """
    Coordinates that were found one after the other, and move along with the basis.

    Parameters
    ----------
    states
        Coordinates of each.

    Attributes
    ----------
    rows : (n, states)
        In the present basis.

    """

    def __init__(self, states: int) -> None:
        self.rows = np.zeros((0, states))

    def move(self, matrix: Floats) -> None:
        """Express all rows in a new basis: new coordinates are the matrix times the old ones."""
        states = self.rows.shape[1]
        matrix = matrix[:states, :states]
        moved = self.rows[:, : matrix.shape[1]] @ matrix.T
        self.rows = np.zeros_like(self.rows)
        self.rows[:, : moved.shape[1]] = moved

    def append(self, coordinates: Floats) -> None:
        """Add a row; coordinates beyond the states are left out, missing ones are zero."""
        row = np.zeros((1, self.rows.shape[1]))
        coordinates = coordinates[: row.shape[1]]
        row[0, : len(coordinates)] = coordinates
        self.rows = np.concatenate([self.rows, row])


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
    An online TPSR of a film, one frame at a time (eq. 9), and a filter that follows.

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
    steps
        Samples learned.
    beliefs
        States of the filter, each with what was known at its frame, from the newest frame of the
        first sample on.
    views
        Coordinates of the first histories, as many as two windows have frames.

    """

    def __init__(self, sizes: WindowSizes, states: int, ridge: float) -> None:
        self._windows = FrameWindows(sizes, _SEED)
        size = sizes.window_features + 1
        constant = np.zeros(size)
        constant[-1] = 1.0
        self._learner = OnlineLearner(
            LearnerSettings(states, round(BUFFER * states), ridge, fold_every=1),
            constant,
            size,
            sizes.frame_features,
        )
        self._adopt_every = max(1, round(ADOPT_EVERY * sizes.window))
        self._most_views = 2 * sizes.window
        self._belief: FrameBelief | None = None
        self._moved: Move | None = None
        self._observed: list[Floats] = []
        self.steps = 0
        self.beliefs = Trail(states)
        self.views = Trail(states)

    def see(self, picture: NDArray[np.uint8]) -> bool:
        """Take the next picture; return whether there was something to learn from."""
        sample = self._windows.push(picture)
        if sample is None:
            return False
        move = self._learner.add(sample.test, sample.next_test, sample.history, sample.observation)
        if move is None:
            return False
        self.steps += 1
        self._moved = move if self._moved is None else move.after(self._moved)
        if self.steps <= self._most_views:
            self.views.move(move.right)
            self.views.append(self._learner.svd.newest[-1])
        self._filter(sample)
        return True

    def follow(self) -> Floats:
        """Return the (n, states) beliefs at the same frames with all that is known by now."""
        belief = FrameBelief(self._learner.parameters())
        trail = np.zeros((len(self._observed), len(belief.state)))
        for row, features in zip(trail, self._observed, strict=True):
            belief.update(features)
            row[:] = belief.state
        return trail

    def _filter(self, sample: Sample) -> None:
        self._observed.append(sample.newest)
        if self._belief is None or self.steps % self._adopt_every == 0:
            self._adopt()
        if self._belief is not None:
            self._belief.update(sample.newest)
            self.beliefs.append(self._belief.state)

    def _adopt(self) -> None:
        tpsr = self._learner.parameters()
        if self._belief is None:
            self._belief = FrameBelief(tpsr)
        elif self._moved is not None:
            self._belief.adopt(tpsr, self._moved)
            self.beliefs.move(self._moved.left)
        self._moved = None
