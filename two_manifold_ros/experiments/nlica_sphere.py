# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``nlica-sphere``: a mushroom on the sphere made a square again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.claim import at_least, at_most
from two_manifold_ros.experiments.nlica_sphere_figure import draw
from two_manifold_ros.experiments.nlica_square_points import (
    Bursts,
    covariances_of_bursts,
    mushroom_on_sphere,
)
from two_manifold_ros.experiments.nlica_square_scores import agreement, best_mixture
from two_manifold_ros.independent_components.independent_pair import independent_pair
from two_manifold_ros.kernels.anisotropic_diffusion import AnisotropicDiffusion
from two_manifold_ros.kernels.diffusion_map import DiffusionMap
from two_manifold_ros.kernels.local_covariance import local_covariances
from two_manifold_ros.kernels.metric_sources import GivenCovariances
from two_manifold_ros.kernels.points import PointSet

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Progress
    from two_manifold_ros.typing import Floats

BURSTS = Bursts(paths=100, steps=10, duration=0.01)
"""As many steps of .001 as the paper has paths of one such step."""

NEIGHBOURS_OF_ORDINARY = 100
"""Of the diffusion map that knows no covariances."""


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    points
        On the mushroom.
    epsilon
        Of the kernel.
    share
        Of the points that are neighbours; the kernel is smaller than 1e-3 beyond.
    draws
        Of points and bursts, with seeds from 0 on.
    match
        The least correlation of a coordinate with the cosine of a variable.
    mixed
        The largest one of a map that fails, for the worse of the two variables.

    """

    points: int = 2_000
    epsilon: float = 0.005
    share: float = 0.25
    draws: int = 5
    match: float = 0.97
    mixed: float = 0.95


QUICK = Size(points=400, epsilon=0.02, share=0.6, draws=1, match=0.95)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    draws = []
    for seed in range(size.draws):
        progress(f'draw {seed + 1} of {size.draws}', seed / (size.draws + 1))
        draws.append(_look(seed, size))
    progress('a map that knows no covariances', size.draws / (size.draws + 1))
    x, coordinates = draws[0]
    seen = mushroom_on_sphere(x)
    isotropic = DiffusionMap(2, NEIGHBOURS_OF_ORDINARY).fit(PointSet(seen)).coordinates
    draw(x, seen, coordinates, isotropic, folder / 'nlica-sphere.png')
    return [
        at_least(
            f'anisotropic: worst correlation with cos(pi x) in {size.draws} draws',
            'Fig. 7, a square',
            min(agreement(found, behind) for behind, found in draws),
            size.match,
        ),
        at_most(
            'isotropic: correlation with cos(pi x) after the best linear map',
            'not in it',
            best_mixture(isotropic, x),
            size.mixed,
        ),
    ]


def _look(seed: int, size: Size) -> tuple[Floats, Floats]:
    """Return (n, 2) variables and the independent coordinates found."""
    rng = np.random.default_rng(seed)
    x = rng.random((size.points, 2))
    covariances = covariances_of_bursts(x, BURSTS, mushroom_on_sphere, local_covariances, rng)
    embedding = AnisotropicDiffusion(
        8,
        int(size.share * size.points),
        # In three dimensions, of which the sphere has two: the rest of a burst is curvature.
        GivenCovariances(covariances, rank=2),
        density=0.5,
        power=0.0,
        epsilon=size.epsilon,
    ).fit(PointSet(mushroom_on_sphere(x)))
    return x, independent_pair(embedding.coordinates, embedding.eigenvalues).coordinates
