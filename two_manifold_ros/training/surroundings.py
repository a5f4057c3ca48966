# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Manifolds of the windows around the training ticks: where the vehicle was, seen afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.windows.window_set import WindowSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.training.structure import Structure
    from two_manifold_ros.typing import Floats

WIDTHS = (1, 2)
"""Of the windows, in halves of a past and a future window together."""

NEIGHBOURS = (10, 30)
DIMENSION = 50


def surroundings(structure: Structure) -> Iterator[Floats]:
    r"""
    Embed windows with the training ticks in their middle, in several ways.

    A filter has only the past; here the future is known too, and together they tell places apart
    that either alone confuses. Coordinates are scaled by :math:`1 / \lambda` of the graph
    Laplacian and not by its root, so that position, where little is known of it, follows those
    that vary slowly.

    Yields
    ------
    (n, m)
        Coordinates of the training ticks.

    """
    training = structure.training
    count = len(training.ticks)
    for width in (factor * training.pasts.width for factor in WIDTHS):
        windows = WindowSet(structure.series, training.ticks - width // 2, width)
        for neighbours in NEIGHBOURS:
            learner = LaplacianEigenmap(min(DIMENSION, count // 3), min(neighbours, count // 3))
            coordinates = learner.fit(windows).coordinates
            yield coordinates * np.sqrt(np.square(coordinates).mean(axis=0))
