# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A feature map with the constant among its features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.features.feature_map import FeatureMap
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class WithConstant:
    """
    The features of a map and, as the last one, the constant 1.

    The normaliser of a TPSR, and its start, need features in which the constant can be written
    (Boots & Gordon 2011, eq. 5a, 5b): here it is the last unit vector.

    Parameters
    ----------
    map
        The other features.

    """

    map: FeatureMap

    @property
    def inputs(self) -> int:
        """Numbers in a point."""
        return self.map.inputs

    @property
    def size(self) -> int:
        """Numbers in a feature vector."""
        return self.map.size + 1

    def transform(self, points: Floats) -> Floats:
        """
        Return the (n, size) features of (n, inputs) points.

        Raises
        ------
        InputError
            If the map refuses the points.

        """
        others = self.map.transform(points)
        return np.concatenate([others, np.ones((len(others), 1))], axis=1)
