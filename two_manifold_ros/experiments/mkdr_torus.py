# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``mkdr-torus``: a response on a torus becomes linear in its eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.claim import at_least
from two_manifold_ros.experiments.mkdr_projection import project
from two_manifold_ros.experiments.mkdr_torus_figure import draw, Shown
from two_manifold_ros.experiments.mkdr_torus_points import grid_on_torus, noisy_on_torus
from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.kernels.points import PointSet
from two_manifold_ros.mkdr.directions import find_predictive_directions

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.claim import Claim
    from two_manifold_ros.experiments.experiment import Progress
    from two_manifold_ros.experiments.mkdr_torus_points import TorusPoints
    from two_manifold_ros.typing import Floats

WHAT = 'correlation of the first central direction with the response'

HIDDEN = f'{WHAT}, where hidden'


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    side
        Points of the grid along each angle; as many in all are drawn at random.
    eigenvectors
        How many the response is found in.
    trials
        Random sets, with seeds from 0 on.
    clean, noisy
        The least correlation.
    slack
        How much less it may be for responses that were hidden.
    share
        The least of the trace of Theta in the first direction.

    """

    side: int = 31
    eigenvectors: int = 50
    trials: int = 5
    clean: float = 0.95
    noisy: float = 0.93
    slack: float = 0.03
    share: float = 0.9


QUICK = Size(side=14, eigenvectors=20, trials=1, clean=0.9, noisy=0.85, slack=0.15)

NEIGHBOURS_OF_GRID, NEIGHBOURS_OF_NOISY = 10, 15


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    progress('the grid', 0.0)
    clean = _look(grid_on_torus(size.side), size, NEIGHBOURS_OF_GRID)
    noisy = []
    for seed in range(size.trials):
        progress(f'noisy points {seed + 1} of {size.trials}', (1 + seed) / (1 + size.trials))
        torus = noisy_on_torus(size.side**2, seed)
        noisy.append(_look(torus, size, NEIGHBOURS_OF_NOISY, seed))
    draw(clean, noisy[0], folder / 'mkdr-torus.png')
    projections = [each.projection for each in noisy]
    told = float(np.mean([each.correlation for each in projections]))
    hidden = float(np.mean([each.hidden_correlation for each in projections]))
    first = clean.projection
    return [
        at_least(f'grid: {WHAT}', 'Fig. 2a, a line', first.correlation, size.clean),
        at_least(
            f'grid: {HIDDEN}', 'not in it', first.hidden_correlation, size.clean - size.slack
        ),
        _claim_one_direction('grid', [clean], size),
        at_least(f'noisy: {WHAT}', 'Fig. 2b, a broad line', told, size.noisy),
        at_least(f'noisy: {HIDDEN}', 'not in it', hidden, size.noisy - size.slack),
        _claim_one_direction('noisy', noisy, size),
    ]


def _claim_one_direction(name: str, shown: list[Shown], size: Size) -> Claim:
    """Claim that one direction does for the response and its square, which may take two."""
    # One response alone has one direction, whatever it is.
    found = [
        find_predictive_directions(
            each.eigenvectors, _standardised(each.torus.responses[:, None] ** [1, 2])
        )
        for each in shown
    ]
    share = float(np.mean([each.strengths[0] for each in found]))
    what = f'{name}: share of the trace in the first direction, of the response and its square'
    claim = at_least(what, 'nearly rank 1', share, size.share)
    return replace(claim, ours=f'{claim.ours} (rank {max(each.rank for each in found)})')


def _standardised(columns: Floats) -> Floats:
    standardised: Floats = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    return standardised


def _look(torus: TorusPoints, size: Size, neighbours: int, seed: int = 0) -> Shown:
    learner = LaplacianEigenmap(size.eigenvectors, neighbours, scaled=False)
    eigenvectors = learner.fit(PointSet(torus.points)).coordinates
    return Shown(torus, eigenvectors, project(eigenvectors, torus.responses, seed))
