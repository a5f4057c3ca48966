# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``nlica-square``: a square found again behind a non-linear map of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.claim import at_least, at_most
from two_manifold_ros.experiments.nlica_points import Bursts, covariances_of_ends, mushroom
from two_manifold_ros.experiments.nlica_scores import (
    agreement,
    best_mixture,
    place_error,
    worst_line,
)
from two_manifold_ros.experiments.nlica_square_figure import draw
from two_manifold_ros.experiments.nlica_trial import (
    lines_by,
    ordinary_map,
    run_trial,
    Scale,
    SMALL,
)

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Progress
    from two_manifold_ros.experiments.nlica_trial import Trial
    from two_manifold_ros.typing import Floats

BURSTS = Bursts(paths=200, steps=10, duration=0.01)
"""The paper's, looked at ten times on the way."""

FULL = Scale(points=3_000)


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    scale
        How much.
    spectrum
        By how much a line may differ from where it should be.
    match
        The least correlation of a coordinate with the cosine of a variable.
    place
        The largest RMS distance of a place in the square.
    mixed
        The largest one of a map that fails, for the worse of the two variables.

    """

    scale: Scale = FULL
    spectrum: float = 0.1
    match: float = 0.98
    place: float = 0.08
    mixed: float = 0.95


QUICK = Size(SMALL, spectrum=0.3, match=0.95, place=0.15)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    scale = size.scale
    draws = []
    for seed in range(scale.draws):
        progress(f'draw {seed + 1} of {scale.draws}', seed / (scale.draws + 1))
        draws.append(run_trial(seed, scale, BURSTS, mushroom))
    progress('maps that know no covariances', scale.draws / (scale.draws + 1))
    first = draws[0]
    ordinary = {density: ordinary_map(mushroom(first.x), density) for density in (0.0, 1.0)}
    as_published = lines_by(0, scale, BURSTS, mushroom, covariances_of_ends)
    lines = np.stack([each.lines for each in draws])
    draw(first, ordinary[0.0], ordinary[1.0], lines, as_published, folder / 'nlica-square.png')
    return _claims(draws, ordinary, size)


def _claims(draws: list[Trial], ordinary: dict[float, Floats], size: Size) -> list[Claim]:
    return [
        at_most(
            f'spectrum: worst of 7 lines in {len(draws)} draws, relative',
            'Fig. 2, identified',
            max(worst_line(each.lines) for each in draws),
            size.spectrum,
        ),
        at_least(
            f'anisotropic: worst correlation with cos(pi x) in {len(draws)} draws',
            'Figs. 3 and 4, left',
            min(agreement(each.coordinates, each.x) for each in draws),
            size.match,
        ),
        at_most(
            f'anisotropic: RMS distance of places from the true ones, worst of {len(draws)} draws',
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
