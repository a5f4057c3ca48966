# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Eigenmap coordinates of windows by a trained model, as features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.selection import check_extension
from two_manifold_ros.ticks.sliding import direct_distances
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.tpsr.features import check_array, check_count, check_points, refuse

if TYPE_CHECKING:
    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.model.model import Model
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class EigenmapFeatures:
    """
    The coordinates that the extension of an embedding gives to windows.

    The embedding stays what it was in training: only what is learned over it adapts. A point is a
    standardised window, flat, tick after tick as in ``WindowSet.rows``. It costs its distances to
    all training windows, O(n w d).

    Parameters
    ----------
    windows, extension
        Training windows of the embedding, and its extension, mathematics, section 8.

    Raises
    ------
    InputError
        If the windows and the extension do not fit together.

    """

    windows: WindowSet
    extension: Extension

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        series, starts = self.windows.series, self.windows.starts
        check_count('width', self.windows.width)
        check_array('series', series, (None, None), 'float64')
        check_array('starts', starts, (None,), 'int64')
        if not (starts.min() >= 0 and starts.max() <= series.shape[1] - self.windows.width):
            refuse('starts lie outside the series')
        try:
            check_extension(self.extension, len(self.windows))
        except ValueError as error:
            refuse(str(error))

    @property
    def inputs(self) -> int:
        """Numbers in a window."""
        return self.windows.width * len(self.windows.series)

    @property
    def size(self) -> int:
        """Coordinates of the embedding."""
        return len(self.extension.offset)

    def transform(self, points: Floats) -> Floats:
        """
        Return the (n, size) coordinates of (n, inputs) windows.

        Raises
        ------
        InputError
            If the points have another shape or are not finite, or a window resembles no training
            window: there is nothing to extend from, and a guess would be learned as if seen.

        """
        points = check_points(points, self.inputs)
        features = np.empty((len(points), self.size))
        for point, row in zip(points, features, strict=True):
            window = np.ascontiguousarray(point.reshape(self.windows.width, -1).T)
            squared = direct_distances(self.windows.series, window)[self.windows.starts]
            coordinates = self.extension.transform(squared)
            if coordinates is None:
                msg = (
                    'a window resembles none of the training windows; leave it out, or train the '
                    'model on such driving as well'
                )
                raise InputError(msg)
            row[:] = coordinates
        return features


def eigenmap_features(model: Model) -> EigenmapFeatures:
    """Return the coordinates of the state of a trained model as features, no constant."""
    return EigenmapFeatures(WindowSet(model.series, model.starts, model.window), model.warm_start)
