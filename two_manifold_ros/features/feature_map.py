# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every feature map does."""

from __future__ import annotations

from typing import Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


class FeatureMap(Protocol):
    """Turns points into feature vectors; the same points always give the same features."""

    @property
    def inputs(self) -> int:
        """Numbers in a point."""
        ...

    @property
    def size(self) -> int:
        """Numbers in a feature vector."""
        ...

    def transform(self, points: Floats) -> Floats:
        """
        Return the features of points.

        Parameters
        ----------
        points : (n, inputs)

        Returns
        -------
        (n, size) float64
            A new array.

        Raises
        ------
        InputError
            If the points have another shape or are not finite, or if the map has no features for
            them.

        """
        ...
