# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``mkdr-sphere``: a temperature on the globe, from where it was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.claim import at_least, at_most
from two_manifold_ros.experiments.mkdr_projection import multiple_correlation_of, project
from two_manifold_ros.experiments.mkdr_sphere_figure import draw
from two_manifold_ros.experiments.mkdr_sphere_globe import Globe, temperatures_on
from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.kernels.points import PointSet

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Progress

SEED = 0

NEIGHBOURS = 8

WHAT = 'share explained by linear regression on'

LINEAR = 0.5
"""What latitude and longitude, just so, are to explain at most."""


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    rows, columns
        Of the grid.
    eigenvectors
        How many the temperature is found in.
    explained
        The least share of the variance.

    """

    rows: int = 44
    columns: int = 72
    eigenvectors: int = 100
    explained: float = 0.85


QUICK = Size(rows=14, columns=24, eigenvectors=30, explained=0.8)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    progress('a temperature on the globe', 0.0)
    globe = Globe.of(size.rows, size.columns)
    temperatures = temperatures_on(globe, SEED)
    learner = LaplacianEigenmap(size.eigenvectors, NEIGHBOURS, scaled=False)
    eigenvectors = learner.fit(PointSet(globe.points)).coordinates
    progress('what predicts it', 0.5)
    found = project(eigenvectors, temperatures, SEED)
    draw(globe, temperatures, found, folder / 'mkdr-sphere.png')
    places = np.stack(np.meshgrid(globe.latitudes, globe.longitudes, indexing='ij'), axis=-1)
    linear = multiple_correlation_of(places.reshape(-1, 2), temperatures) ** 2
    explained, hidden = found.correlation**2, found.hidden_correlation**2
    direction = f'{WHAT} the central direction'
    return [
        at_least(direction, 'Fig. 4b, largely linear', explained, size.explained),
        at_least(f'{direction}, where hidden', 'not in it', hidden, size.explained),
        at_most(f'{WHAT} latitude and longitude', 'not in it', linear, LINEAR),
    ]
