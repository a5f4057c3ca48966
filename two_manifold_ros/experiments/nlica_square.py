# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``nlica-square``: a square found again behind a non-linear map of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.claim import at_least, at_most
from two_manifold_ros.experiments.nlica_square_figure import draw, Shown
from two_manifold_ros.experiments.nlica_square_points import (
    Bursts,
    covariances_of_bursts,
    covariances_of_ends,
    mushroom,
)
from two_manifold_ros.experiments.nlica_square_scores import (
    agreement,
    best_mixture,
    lines_of,
    place_error,
    worst_line,
)
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

BURSTS = Bursts(paths=200, steps=10, duration=0.01)
"""The paper's, looked at ten times on the way."""

LINES = 8
"""Eigenvalues looked at, without the trivial one."""

NEIGHBOURS_OF_ORDINARY = 100
"""Of the diffusion maps that know no covariances."""


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    points
        In the square.
    epsilon
        Of the kernel.
    share
        Of the points that are neighbours; the kernel is smaller than 1e-3 beyond.
    draws
        Of points and bursts, with seeds from 0 on.
    spectrum
        By how much a line may differ from where it should be.
    match
        The least correlation of a coordinate with the cosine of a variable.
    place
        The largest RMS distance of a place in the square.
    mixed
        The largest one of a map that fails, for the worse of the two variables.

    """

    points: int = 3_000
    epsilon: float = 0.005
    share: float = 0.25
    draws: int = 5
    spectrum: float = 0.1
    match: float = 0.98
    place: float = 0.08
    mixed: float = 0.95


QUICK = Size(points=400, epsilon=0.02, share=0.6, draws=1, spectrum=0.3, match=0.95, place=0.15)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    draws = []
    for seed in range(size.draws):
        progress(f'draw {seed + 1} of {size.draws}', seed / (size.draws + 1))
        draws.append(_look(seed, size))
    progress('maps that know no covariances', size.draws / (size.draws + 1))
    first = draws[0]
    ordinary = {density: _ordinary(first.x, density) for density in (0.0, 1.0)}
    as_published = _lines_as_published(0, size)
    lines = np.stack([each.lines for each in draws])
    draw(first, ordinary[0.0], ordinary[1.0], lines, as_published, folder / 'nlica-square.png')
    return _claims(draws, ordinary, size)


def _claims(draws: list[Shown], ordinary: dict[float, Floats], size: Size) -> list[Claim]:
    return [
        at_most(
            f'spectrum: worst of 7 lines in {size.draws} draws, relative',
            'Fig. 2, identified',
            max(worst_line(each.lines) for each in draws),
            size.spectrum,
        ),
        at_least(
            f'anisotropic: worst correlation with cos(pi x) in {size.draws} draws',
            'Figs. 3 and 4, left',
            min(agreement(each.coordinates, each.x) for each in draws),
            size.match,
        ),
        at_most(
            f'anisotropic: RMS distance of places from the true ones, worst of {size.draws} draws',
            'Fig. 4, a square',
            max(place_error(each.coordinates, each.x) for each in draws),
            size.place,
        ),
        at_most(
            'isotropic: correlation with cos(pi x) after the best linear map',
            'centre, mixed',
            best_mixture(ordinary[0.0], draws[0].x),
            size.mixed,
        ),
        at_most(
            'Beltrami: correlation with cos(pi x) after the best linear map',
            'right, mixed',
            best_mixture(ordinary[1.0], draws[0].x),
            size.mixed,
        ),
    ]


def _look(seed: int, size: Size) -> Shown:
    rng = np.random.default_rng(seed)
    x = rng.random((size.points, 2))
    covariances = covariances_of_bursts(x, BURSTS, mushroom, local_covariances, rng)
    embedding = AnisotropicDiffusion(
        LINES,
        int(size.share * size.points),
        GivenCovariances(covariances, rank=2),
        density=0.5,
        power=0.0,
        epsilon=size.epsilon,
    ).fit(PointSet(mushroom(x)))
    pair = independent_pair(embedding.coordinates, embedding.eigenvalues)
    return Shown(x, pair.coordinates, lines_of(embedding.eigenvalues, size.epsilon))


def _lines_as_published(seed: int, size: Size) -> Floats:
    """Return the lines that the estimate and the kernel of the paper give for the same points."""
    rng = np.random.default_rng(seed)
    x = rng.random((size.points, 2))
    covariances = covariances_of_bursts(x, BURSTS, mushroom, covariances_of_ends, rng)
    neighbours = int(size.share * size.points)
    source = GivenCovariances(covariances, rank=2)
    learner = AnisotropicDiffusion(LINES, neighbours, source, epsilon=size.epsilon)
    return lines_of(learner.fit(PointSet(mushroom(x))).eigenvalues, size.epsilon)


def _ordinary(x: Floats, density: float) -> Floats:
    """Return the first two eigenfunctions of a diffusion map of the mushroom."""
    learner = DiffusionMap(2, NEIGHBOURS_OF_ORDINARY, density)
    return learner.fit(PointSet(mushroom(x))).coordinates
