# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the frames of a film to the features from which a TPSR is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist

from two_manifold_ros.features.fourier import fourier_features
from two_manifold_ros.features.structured_fourier import structured_fourier_features
from two_manifold_ros.features.with_constant import WithConstant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from two_manifold_ros.features.feature_map import FeatureMap
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
