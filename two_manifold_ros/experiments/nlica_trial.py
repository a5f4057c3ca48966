# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is done with the points and bursts of one draw, seen through a map of the square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.nlica_points import covariances_of_bursts
from two_manifold_ros.experiments.nlica_scores import lines_of
from two_manifold_ros.independent_components.independent_pair import independent_pair
from two_manifold_ros.kernels.anisotropic_diffusion import AnisotropicDiffusion
from two_manifold_ros.kernels.diffusion_map import DiffusionMap
from two_manifold_ros.kernels.local_covariance import local_covariances
from two_manifold_ros.kernels.metric_sources import GivenCovariances
from two_manifold_ros.kernels.points import PointSet

if TYPE_CHECKING:
    from two_manifold_ros.experiments.nlica_points import Bursts, Estimate, Map
    from two_manifold_ros.kernels.learner import Embedding
    from two_manifold_ros.typing import Floats

LINES = 8
"""Eigenvalues looked at, without the trivial one."""

NEIGHBOURS_OF_ORDINARY = 100
"""Of the diffusion maps that know no covariances."""


@dataclass(frozen=True)
class Scale:
    """
    How much is run.

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

    """

    points: int
    epsilon: float = 0.005
    share: float = 0.25
    draws: int = 5


SMALL = Scale(points=400, epsilon=0.02, share=0.6, draws=1)


@dataclass(frozen=True)
class Trial:
    """
    What was found in one draw.

    Parameters
    ----------
    x : (n, 2)
        The variables.
    coordinates : (n, 2)
        The independent coordinates.
    lines : (m,)
        Of the spectrum.

    """

    x: Floats
    coordinates: Floats
    lines: Floats


def run_trial(seed: int, scale: Scale, bursts: Bursts, observe: Map) -> Trial:
    """Find the independent coordinates of points behind a map."""
    x, embedding = _embed(seed, scale, bursts, observe, local_covariances, density=0.5, power=0.0)
    pair = independent_pair(embedding.coordinates, embedding.eigenvalues)
    return Trial(x, pair.coordinates, lines_of(embedding.eigenvalues, scale.epsilon))


def lines_by(seed: int, scale: Scale, bursts: Bursts, observe: Map, estimate: Estimate) -> Floats:
    """Return the lines that the kernel of the paper gives for the points of the same draw."""
    _, embedding = _embed(seed, scale, bursts, observe, estimate, density=0.0, power=1.0)
    return lines_of(embedding.eigenvalues, scale.epsilon)


def ordinary_map(seen: Floats, density: float = 0.0) -> Floats:
    """Return the first two eigenfunctions of a diffusion map of (n, D) points."""
    learner = DiffusionMap(2, NEIGHBOURS_OF_ORDINARY, density)
    return learner.fit(PointSet(seen)).coordinates


def _embed(
    seed: int,
    scale: Scale,
    bursts: Bursts,
    observe: Map,
    estimate: Estimate,
    *,
    density: float,
    power: float,
) -> tuple[Floats, Embedding]:
    rng = np.random.default_rng(seed)
    x = rng.random((scale.points, 2))
    covariances = covariances_of_bursts(x, bursts, observe, estimate, rng)
    learner = AnisotropicDiffusion(
        LINES,
        int(scale.share * scale.points),
        # The variables are two, in however many dimensions: the rest of a burst is curvature.
        GivenCovariances(covariances, rank=2),
        density=density,
        power=power,
        epsilon=scale.epsilon,
    )
    return x, learner.fit(PointSet(observe(x)))
