# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``slow-manifold``: the slow variable of a system that also moves fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from two_manifold_ros.experiments.claim import at_least, at_most
from two_manifold_ros.experiments.slow_manifold_figure import draw, Shown
from two_manifold_ros.experiments.slow_manifold_system import HALF, record, STEP
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

WHAT = 'rank correlation of the first coordinate with the slow variable'

NEIGHBOURS = 100
"""Of both maps."""


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    recordings
        Of the system.
    points
        Taken from each.
    way
        Longer steps between them.
    draws
        Sets of recordings, with seeds from 0 on.
    match
        The least rank correlation with the slow variable.
    mixed
        The largest of the isotropic map, in the mean over the draws.

    """

    recordings: int = 100
    points: int = 20
    way: int = 100
    draws: int = 5
    match: float = 0.95
    mixed: float = 0.8


QUICK = Size(recordings=200, points=3, way=100, draws=1)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    draws = []
    for seed in range(size.draws):
        progress(f'draw {seed + 1} of {size.draws}', seed / size.draws)
        draws.append(_look(seed, size))
    draw(draws[0], folder / 'slow-manifold.png')
    return [
        at_least(
            f'anisotropic: {WHAT}, worst draw',
            'a claim of section 1',
            min(_match(each.coordinates, each.recorded.slow) for each in draws),
            size.match,
        ),
        at_most(
            f'isotropic: {WHAT}, mean of draws',
            'not in it',
            float(np.mean([_match(each.isotropic, each.recorded.slow) for each in draws])),
            size.mixed,
        ),
    ]


def _look(seed: int, size: Size) -> Shown:
    rng = np.random.default_rng(seed)
    recorded = record(size.recordings, size.points, size.way, rng)
    # The one path through each point is what there is of a burst.
    covariances = local_covariances(recorded.stretches[:, None], 2 * HALF * STEP)
    source = GivenCovariances(covariances, rank=2)
    points = PointSet(recorded.points)
    embedding = AnisotropicDiffusion(2, NEIGHBOURS, source, density=0.5, power=0.0).fit(points)
    isotropic = DiffusionMap(2, NEIGHBOURS).fit(points)
    return Shown(recorded, embedding.coordinates, isotropic.coordinates)


def _match(coordinates: Floats, variable: Floats) -> float:
    return abs(float(spearmanr(coordinates[:, 0], variable).statistic))
