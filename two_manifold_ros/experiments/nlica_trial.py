# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is done with the points and bursts of one draw, seen through a map of the square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.manifold.anisotropic_diffusion import AnisotropicDiffusion
from two_manifold_ros.manifold.diffusion_map import DiffusionMap
from two_manifold_ros.manifold.independent_components import independent_pair, place_on_interval
from two_manifold_ros.manifold.learner import PointSet
from two_manifold_ros.manifold.local_metric import GivenCovariances, local_covariances

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.typing import Floats

    Map = Callable[[Floats], Floats]
    """From the variables to observations."""
    Estimate = Callable[[Floats, float], Floats]
    """From (n, paths, steps + 1, D) observations and the duration to (n, D, D) covariances."""
    from two_manifold_ros.manifold.learner import Embedding
    from two_manifold_ros.typing import Floats


BLOCK = 250
"""Points whose bursts are held together."""


def mushroom(x: Floats) -> Floats:
    """Map (..., 2) variables to the (..., 2) plane by eq. (31)."""
    first, second = x[..., 0], x[..., 1]
    return np.stack([first + second**3, second - first**3], axis=-1)


def mushroom_on_sphere(x: Floats) -> Floats:
    """Map (..., 2) variables to the unit sphere in (..., 3) by eq. (52)."""
    flat = mushroom(x)
    raised = np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], axis=-1)
    on_sphere: Floats = raised / np.linalg.norm(raised, axis=-1, keepdims=True)
    return on_sphere


@dataclass(frozen=True)
class Bursts:
    """
    Short paths from every point.

    Parameters
    ----------
    paths
        From a point.
    steps
        At which a path is looked at.
    duration
        Of a path.

    """

    paths: int
    steps: int
    duration: float


def reflect(x: Floats) -> Floats:
    """Return positions on a line folded into [0, 1], which are those of reflected motion."""
    folded: Floats = 1.0 - np.abs(np.mod(x, 2.0) - 1.0)
    return folded


def covariances_of_bursts(
    x: Floats,
    bursts: Bursts,
    observe: Map,
    estimate: Estimate,
    rng: np.random.Generator,
) -> Floats:
    """
    Return the (n, D, D) covariances of motion in what is observed of it.

    Parameters
    ----------
    x : (n, 2)
        Where the bursts start.
    bursts
        How many, and how long.
    observe, estimate
        What is seen of a path, and what is made of it.
    rng
        What moves them.

    """
    found = []
    step = np.sqrt(bursts.duration / bursts.steps)
    for begin in range(0, len(x), BLOCK):
        starts = x[begin : begin + BLOCK, None, None]
        moves = rng.normal(scale=step, size=(len(starts), bursts.paths, bursts.steps, 2))
        walks = np.concatenate([np.zeros_like(moves[:, :, :1]), moves.cumsum(axis=2)], axis=2)
        found.append(estimate(observe(reflect(starts + walks)), bursts.duration))
    return np.concatenate(found)


def covariances_of_ends(bursts: Floats, duration: float) -> Floats:
    """Estimate as in the paper, eq. (35): the sample covariance of where the paths end."""
    ends = bursts[:, :, -1] - bursts[:, :, -1].mean(axis=1, keepdims=True)
    covariances: Floats = ends.transpose(0, 2, 1) @ ends / ((ends.shape[1] - 1) * duration)
    return covariances


EXPECTED = np.array([1.0, 1.0, 2.0, 4.0, 4.0, 5.0, 5.0])
"""Eigenvalues of the Laplacian of the unit square, over pi squared, without 0."""


def lines_of(eigenvalues: Floats, epsilon: float) -> Floats:
    r"""Return :math:`-2 \log(\lambda) / (\pi^2 \varepsilon)` of eigenvalues of the walk."""
    # A kernel of few points has negative ones, far down; they are no lines.
    positive = np.maximum(eigenvalues, np.finfo(float).tiny)
    lines: Floats = -2.0 * np.log(positive) / (np.pi**2 * epsilon)
    return lines


def worst_line(lines: Floats) -> float:
    """Return the largest relative distance of (..., m) lines, m at least 7, from the expected."""
    return float(np.abs(lines[..., : len(EXPECTED)] / EXPECTED - 1.0).max())


def agreement(coordinates: Floats, x: Floats) -> float:
    """Return the lesser correlation of two coordinates with the cosines of (n, 2) variables."""
    table = np.abs(np.corrcoef(coordinates.T, np.cos(np.pi * x).T)[:2, 2:])
    straight, crossed = np.diag(table), np.diag(table[::-1])
    return float(max(straight.min(), crossed.min()))


def place_error(coordinates: Floats, x: Floats) -> float:
    """Return the RMS distance in the square, up to its symmetries, of places from variables."""
    places = place_on_interval(coordinates)
    errors = []
    for order in ([0, 1], [1, 0]):
        # Of an interval nobody can tell the ends apart.
        directions = [places[:, order] - x, 1.0 - places[:, order] - x]
        squares = np.stack([np.square(each).mean(axis=0) for each in directions])
        errors.append(np.sqrt(squares.min(axis=0).sum()))
    return float(min(errors))


def best_mixture(coordinates: Floats, x: Floats) -> float:
    """Return the lesser correlation of the cosines with their best linear function of two."""
    cosines = np.cos(np.pi * x)
    cosines -= cosines.mean(axis=0)
    centred = coordinates - coordinates.mean(axis=0)
    fitted = centred @ np.linalg.lstsq(centred, cosines, rcond=None)[0]
    shares = np.square(fitted).sum(axis=0) / np.square(cosines).sum(axis=0)
    return float(np.sqrt(shares.min()))


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
