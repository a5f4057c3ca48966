# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR from a film as it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist

from two_manifold_ros.tpsr.belief import TpsrBelief
from two_manifold_ros.tpsr.features import WithConstant
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.random_features import fourier_features, structured_fourier_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.tpsr.features import FeatureMap
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.tpsr.thin_svd import Move
    from two_manifold_ros.typing import Floats


CELLS = 8
"""
A frame is reduced to the mean greys of so many rows and columns of rectangles.

Means over areas, because a hand that shakes moves the picture by a few pixels: it changes every
fine detail, and with it any random projection of the pixels, but hardly the mean over a rectangle.
"""

FADING = 0.25
"""
Share of a window after which a frame counts 1/e as much as the one at the present.

A window is a whole circuit. Were all its frames to count the same, two passes of a place would be
alike only after the same walk around all of the room.
"""

BREADTH = 2.0
"""
Bandwidth of the kernel of single frames, in median distances between them.

Frames that follow each other tell nearly the same. Were each to say sharply where it was taken,
a filter would count the same evidence many times over and forget which way it was going: with half
a median distance 82 % of directions are right, with twice that 96 % (room 0, 2,000 features).
"""

_LOOKED_AT = 50  # windows, roughly, whose distances give the bandwidth


class Sample(NamedTuple):
    """
    What is learned from once a frame has a window after it.

    Parameters
    ----------
    test, next_test, history : (D + 1,)
        Features of the window from the present frame on, of the one from the next frame on, and
        of the one before the present frame.
    observation, newest : (p,)
        Features of the present frame, and of the newest one, a window later.

    """

    test: Floats
    next_test: Floats
    history: Floats
    observation: Floats
    newest: Floats


@dataclass(frozen=True)
class WindowSizes:
    """
    Lengths and numbers of features.

    Parameters
    ----------
    window
        Frames of a test and of a history.
    window_features, frame_features
        Random features of a window, D, and of a frame, p.

    """

    window: int
    window_features: int
    frame_features: int


class FrameWindows:
    """
    The last frames of a film, as windows in features; its memory does not grow.

    The bandwidths are the median distances within the frames before the first sample.

    Parameters
    ----------
    sizes
        Of the windows and of their features.
    seed
        Draws the features.

    """

    def __init__(self, sizes: WindowSizes, seed: int) -> None:
        self._sizes = sizes
        self._seed = seed
        self._frames = np.zeros((2 * sizes.window + 1, CELLS**2))
        self._seen = 0
        ages = np.arange(sizes.window)
        self._weights = np.exp(-ages / (FADING * sizes.window))[:, None]
        self._maps: tuple[FeatureMap, FeatureMap] | None = None
        self._test = np.zeros(0)

    def push(self, picture: NDArray[np.uint8]) -> Sample | None:
        """Take the next (height, width) picture, and return a sample once there is one."""
        self._frames[:-1] = self._frames[1:]
        self._frames[-1] = reduced(picture)
        self._seen += 1
        if self._seen < len(self._frames):
            return None
        window = self._sizes.window
        if self._maps is None:
            self._maps = self._draw_maps()
            self._test = self._maps[0].transform(self._faded(window)[None])[0]
        windows, single = self._maps
        points = np.stack([self._faded(window + 1), self._faded(0, past=True)])
        next_test, history = windows.transform(points)
        observation, newest = single.transform(self._frames[[window, -1]])
        sample = Sample(self._test, next_test, history, observation, newest)
        self._test = next_test
        return sample

    def _faded(self, begin: int, *, past: bool = False) -> Floats:
        """Return the window from a frame on, flat, fading away from the present."""
        weights = self._weights[::-1] if past else self._weights
        faded: Floats = (self._frames[begin : begin + len(weights)] * weights).ravel()
        return faded

    def _draw_maps(self) -> tuple[FeatureMap, FeatureMap]:
        sizes = self._sizes
        every = max(1, sizes.window // _LOOKED_AT)
        begins = range(0, sizes.window + 2, every)
        windows = np.array([self._faded(begin) for begin in begins])
        return WithConstant(
            structured_fourier_features(
                windows.shape[1],
                sizes.window_features,
                float(np.median(pdist(windows))),
                self._seed,
                'single',
            )
        ), fourier_features(
            CELLS**2,
            sizes.frame_features,
            BREADTH * float(np.median(pdist(self._frames[::every]))),
            self._seed + 1,
        )


def reduced(picture: NDArray[np.uint8]) -> Floats:
    """Return the (64,) mean greys of rectangles; sides of the picture are multiples of 8."""
    height, width = picture.shape
    parts = picture.reshape(CELLS, height // CELLS, CELLS, width // CELLS)
    means: Floats = parts.mean(axis=(1, 3)).ravel()
    return means


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
