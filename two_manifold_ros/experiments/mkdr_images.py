# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``mkdr-images``: which way a snowman is turned, from its pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.claim import at_least, at_most
from two_manifold_ros.experiments.mkdr_images_figure import draw
from two_manifold_ros.experiments.mkdr_images_snowman import render, sample_poses
from two_manifold_ros.experiments.mkdr_projection import multiple_correlation_of, project
from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.kernels.points import PointSet

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Progress
    from two_manifold_ros.typing import Floats

SEED = 0

NEIGHBOURS = 5

KEPT = 0.999
"""Share of the variance that pictures keep before their distances are taken, to be fast."""


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    pictures
        Of the snowman.
    eigenvectors
        How many the turn is found in.
    told, hidden
        The least correlation with turns that were told and with those that were not.

    """

    pictures: int = 1_000
    eigenvectors: int = 100
    told: float = 0.85
    hidden: float = 0.8


QUICK = Size(pictures=150, eigenvectors=30, told=0.65, hidden=0.4)

UNSEEN = 0.5
"""What the correlation of the turn with the bottom eigenvectors is to be at most."""


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    progress('pictures of a snowman', 0.0)
    poses = sample_poses(size.pictures, SEED)
    pictures = render(poses)
    progress('what shows its turn', 0.6)
    learner = LaplacianEigenmap(size.eigenvectors, NEIGHBOURS, scaled=False)
    points = principal_coordinates(pictures.reshape(size.pictures, -1))
    eigenvectors = learner.fit(PointSet(points)).coordinates
    found = project(eigenvectors, poses.turn, SEED)
    draw(pictures, poses, eigenvectors, found, folder / 'mkdr-images.png')
    bottom = multiple_correlation_of(eigenvectors[:, :3], poses.turn)
    what = 'correlation of the first direction with the turn'
    return [
        at_least(what, 'Fig. 6b, fairly well', found.correlation, size.told),
        at_least(f'{what}, where hidden', 'not in it', found.hidden_correlation, size.hidden),
        at_most(
            'correlation of the bottom three eigenvectors, together, with the turn',
            'Fig. 7b, no structure',
            bottom,
            UNSEEN,
        ),
    ]


def principal_coordinates(rows: Floats) -> Floats:
    """Return (n, k) coordinates between which (n, D) rows are as far apart as they are."""
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    kept = 1 + int(np.searchsorted(np.cumsum(values), KEPT * values.sum()))
    coordinates: Floats = vectors[:, :kept] * np.sqrt(values[:kept])
    return coordinates
