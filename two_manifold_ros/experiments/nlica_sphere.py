# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``nlica-sphere``: a mushroom on the sphere made a square again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from two_manifold_ros.experiments.claim import at_least, at_most
from two_manifold_ros.experiments.nlica_points import Bursts, mushroom_on_sphere
from two_manifold_ros.experiments.nlica_scores import agreement, best_mixture
from two_manifold_ros.experiments.nlica_sphere_figure import draw
from two_manifold_ros.experiments.nlica_trial import (
    ordinary_map,
    run_trial,
    Scale,
    SMALL,
)

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Progress

BURSTS = Bursts(paths=100, steps=10, duration=0.01)
"""As many steps of .001 as the paper has paths of one such step."""

FULL = Scale(points=2_000)


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    scale
        How much.
    match
        The least correlation of a coordinate with the cosine of a variable.
    mixed
        The largest one of a map that fails, for the worse of the two variables.

    """

    scale: Scale = FULL
    match: float = 0.97
    mixed: float = 0.95


QUICK = Size(SMALL, match=0.95)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    scale = size.scale
    draws = []
    for seed in range(scale.draws):
        progress(f'draw {seed + 1} of {scale.draws}', seed / (scale.draws + 1))
        draws.append(run_trial(seed, scale, BURSTS, mushroom_on_sphere))
    progress('a map that knows no covariances', scale.draws / (scale.draws + 1))
    first = draws[0]
    seen = mushroom_on_sphere(first.x)
    isotropic = ordinary_map(seen)
    draw(first.x, seen, first.coordinates, isotropic, folder / 'nlica-sphere.png')
    return [
        at_least(
            f'anisotropic: worst correlation with cos(pi x) in {len(draws)} draws',
            'Fig. 7, a square',
            min(agreement(each.coordinates, each.x) for each in draws),
            size.match,
        ),
        at_most(
            'isotropic: correlation with cos(pi x) after the best linear map',
            'not in it',
            best_mixture(isotropic, first.x),
            size.mixed,
        ),
    ]
