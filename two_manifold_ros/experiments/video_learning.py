# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR from a film as it comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist

from two_manifold_ros.tpsr.features import WithConstant
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.parameters import TpsrBelief
from two_manifold_ros.tpsr.random_features import fourier_features, structured_fourier_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.tpsr.features import FeatureMap
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats


class Sample(NamedTuple):
    """Features of a frame that has a window after it."""

    test: Floats  # (D + 1,), of the window from the present frame on
    next_test: Floats  # of the window from the next frame on
    history: Floats  # of the window before the present frame
    observation: Floats  # (p,), of the present frame
    newest: Floats  # (p,), of the newest frame, a window later


@dataclass(frozen=True)
class FilmSettings:
    """Settings that turn a film into features and learn from them."""

    window: int  # frames of a test and of a history
    window_features: int  # random features of a window, D
    frame_features: int  # random features of a frame, p
    states: int
    # On the covariance of single frames: the more alike successive frames are, the larger.
    ridge: float

    # Share of a window after which a frame counts 1/e as much as the present one. A window is a
    # whole circuit: if all frames counted alike, two visits of a place would be alike only after
    # the same walk around all of the room.
    fading: float = 0.25
    # Bandwidth of the kernel of single frames, in median distances between them. Successive frames
    # are nearly the same: if each said sharply where it was taken, a filter would count the same
    # evidence many times over and forget its direction. With half a median distance 82 % of
    # directions are right, with twice that 96 % (room 0, 2,000 features).
    breadth: float = 2.0
    # Frames that share an update of the bases, after which the filter adopts the model. Alone
    # (Boots & Gordon 2011, eq. 9) each costs twice as much and loses part of the states: an
    # update cuts directions off.
    together: int = 10
    buffer: float = 1.3  # directions kept, in states; more than used, for the same reason
    lost: int = 12  # frames in a row, half a second, that a belief may contradict


class FrameWindows:
    """
    The last frames of a film, as windows in features; its memory does not grow.

    The bandwidths are the median distances within the frames before the first sample. A frame is
    reduced to the mean greys of 8 x 8 rectangles: a hand that shakes moves the picture by a few
    pixels, which changes fine details, and random projections of pixels, but hardly these means.
    """

    def __init__(self, settings: FilmSettings, seed: int) -> None:
        self._settings = settings
        self._seed = seed
        self._frames = np.zeros((2 * settings.window + 1, 64))
        self._seen = 0
        ages = np.arange(settings.window)
        self._weights = np.exp(-ages / (settings.fading * settings.window))[:, None]
        self._maps: tuple[FeatureMap, FeatureMap] | None = None
        self._test = np.zeros(0)

    def push(self, picture: NDArray[np.uint8]) -> Sample | None:
        """Take the next (height, width) picture, and return a sample once there is one."""
        self._frames[:-1] = self._frames[1:]
        self._frames[-1] = reduced(picture)
        self._seen += 1
        if self._seen < len(self._frames):
            return None
        window = self._settings.window
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
        """Return the maps of windows and of frames, by distances of 50 windows or so."""
        settings = self._settings
        every = max(1, settings.window // 50)
        windows = np.array([self._faded(begin) for begin in range(0, settings.window + 2, every)])
        distance = float(np.median(pdist(windows)))
        window_map = structured_fourier_features(
            windows.shape[1], settings.window_features, distance, self._seed, 'single'
        )
        distance = settings.breadth * float(np.median(pdist(self._frames[::every])))
        return WithConstant(window_map), fourier_features(
            self._frames.shape[1], settings.frame_features, distance, self._seed + 1
        )


def reduced(picture: NDArray[np.uint8]) -> Floats:
    """Return the (64,) mean greys of rectangles; sides of the picture are multiples of 8."""
    height, width = picture.shape
    means: Floats = picture.reshape(8, height // 8, 8, width // 8).mean(axis=(1, 3)).ravel()
    return means


class Trail:
    """Coordinates that were found one after the other, and move along with the basis."""

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
    """A belief that restarts once ``lost`` frames in a row contradict it."""

    def __init__(self, tpsr: Tpsr, lost: int) -> None:
        super().__init__(tpsr)
        self._lost = lost
        self._rejected = 0

    def update(self, features: Floats) -> float:
        """Take the (p,) features of a frame and return the evidence."""
        evidence = super().update(features)
        self._rejected = 0 if self.accepted else self._rejected + 1
        if self._rejected == self._lost:
            self._rejected = 0
            self.start()
        return evidence


class VideoLearner:
    """
    An online TPSR of a film (Boots & Gordon 2011, eq. 8), and a filter that follows.

    The model lags a window behind the film, as tests need the frames to come. The filter does not
    lag, and at each frame it knows only what was there by then: ``beliefs`` are its states, from
    the first frame on at which there was a model. ``views`` are coordinates of the first
    histories, at least as many as two windows have frames.
    """

    def __init__(self, settings: FilmSettings) -> None:
        size, states = settings.window_features + 1, settings.states
        constant = np.zeros(size)
        constant[-1] = 1.0
        rank = round(settings.buffer * states)
        self._learner = OnlineLearner(
            LearnerSettings(states, rank, settings.ridge, fold_every=settings.together),
            constant,
            size,
            settings.frame_features,
        )
        self._settings = settings
        self._belief: FrameBelief | None = None
        self._observed: list[Floats] = []
        self.beliefs = Trail(states)
        self.views = Trail(states)

    def learn(self, sample: Sample) -> None:
        """Take the next sample, and filter its newest frame with what is known by then."""
        move = self._learner.add(sample.test, sample.next_test, sample.history, sample.observation)
        if move is not None:
            if len(self.views.rows) < 2 * self._settings.window:
                self.views.move(move.right)
                for view in self._learner.svd.newest:
                    self.views.append(view)
            if self._belief is None:
                self._belief = self._new_belief()
            else:
                self._belief.adopt(self._learner.parameters(), move)
                self.beliefs.move(move.left)
        if self._belief is not None:
            self._observed.append(sample.newest)
            self._belief.update(sample.newest)
            self.beliefs.append(self._belief.state)

    def follow(self) -> Floats:
        """Return the (n, states) beliefs at the same frames with all that is known by now."""
        belief = self._new_belief()
        trail = np.zeros((len(self._observed), len(belief.state)))
        for row, features in zip(trail, self._observed, strict=True):
            belief.update(features)
            row[:] = belief.state
        return trail

    def _new_belief(self) -> FrameBelief:
        return FrameBelief(self._learner.parameters(), self._settings.lost)
