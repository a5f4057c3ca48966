# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``mkdr-torus``: a response on a torus becomes linear in its eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.experiment import at_least, Axes, BLUE, save
from two_manifold_ros.experiments.mkdr_projection import project
from two_manifold_ros.hse_hmm.mkdr import find_predictive_directions
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import PointSet

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim, Progress
    from two_manifold_ros.experiments.mkdr_projection import Projection
    from two_manifold_ros.typing import Floats, Ints


DIMENSIONS = 10
"""Those beyond the third hold nothing but noise."""

POINT_NOISE = 0.1
"""Standard deviation, in every coordinate of the noisy points; the tube has radius 1."""

RESPONSE_NOISE = 0.05
"""Standard deviation, of noisy responses; they lie between 0 and 1."""


@dataclass(frozen=True)
class TorusPoints:
    """
    Points of a torus and their responses.

    Parameters
    ----------
    tube, axis : (n,)
        Angles about the circle within the tube and about the axis, from 0 to 2 pi.
    points : (n, DIMENSIONS)
        Where they are.
    responses : (n,)
        A disk of angles around (pi, pi) is 1, beyond it 0, with a soft edge.

    """

    tube: Floats
    axis: Floats
    points: Floats
    responses: Floats


def grid_on_torus(side: int) -> TorusPoints:
    """Return ``side ** 2`` points on a grid of angles."""
    angles = 2.0 * np.pi * np.arange(side) / side
    tube, axis = np.meshgrid(angles, angles, indexing='ij')
    return _at(tube.ravel(), axis.ravel())


def noisy_on_torus(count: int, seed: int) -> TorusPoints:
    """Return points at random angles, with noise on points and responses."""
    rng = np.random.default_rng(seed)
    clean = _at(*rng.uniform(0.0, 2.0 * np.pi, (2, count)))
    points = clean.points + POINT_NOISE * rng.standard_normal(clean.points.shape)
    responses = clean.responses + RESPONSE_NOISE * rng.standard_normal(count)
    return TorusPoints(clean.tube, clean.axis, points, responses)


def _at(tube: Floats, axis: Floats) -> TorusPoints:
    points = np.zeros((len(tube), DIMENSIONS))
    points[:, 0] = (2.0 + np.cos(tube)) * np.cos(axis)
    points[:, 1] = (2.0 + np.cos(tube)) * np.sin(axis)
    points[:, 2] = np.sin(tube)
    beyond = np.hypot(tube - np.pi, axis - np.pi) - 0.6 * np.pi
    return TorusPoints(tube, axis, points, 1.0 / (1.0 + np.exp(17.0 * beyond)))


@dataclass(frozen=True)
class Shown:
    """
    What was found on a torus.

    Parameters
    ----------
    torus
        Its points.
    eigenvectors : (n, m)
        At them.
    projection
        Onto the first direction.

    """

    torus: TorusPoints
    eigenvectors: Floats
    projection: Projection


def draw(clean: Shown, noisy: Shown, path: Path) -> None:
    """Write the torus, the eigenvectors that predict, both projections and two embeddings."""
    figure = Figure(figsize=(13.0, 6.4), layout='constrained')
    best = clean.projection.found.predictive_eigenvectors(3)
    _draw_torus(figure.add_subplot(2, 4, 1, projection='3d'), clean.torus)
    for place, column in enumerate(best):
        _draw_eigenvector(figure.add_subplot(2, 4, 2 + place), clean, int(column))
    _draw_projection(figure.add_subplot(2, 4, 5), clean, 'grid')
    _draw_projection(figure.add_subplot(2, 4, 6), noisy, 'noisy')
    axes = figure.add_subplot(2, 4, 7, projection='3d')
    draw_embedding(axes, clean.eigenvectors, best, clean.torus.responses)
    axes.set_title('the three that predict best')
    axes = figure.add_subplot(2, 4, 8, projection='3d')
    colours = draw_embedding(axes, clean.eigenvectors, np.arange(3), clean.torus.responses)
    axes.set_title('the bottom three')
    figure.colorbar(colours, ax=axes, label='response', shrink=0.6)
    save(figure, path)


def draw_embedding(axes: Axes, eigenvectors: Floats, columns: Ints, responses: Floats) -> Axes:
    """Draw points in the space of three eigenvectors, coloured, and return what has colours."""
    shown = eigenvectors[:, columns].T
    names = [f'eigenvector {1 + column}' for column in columns]
    axes.set(xticklabels=[], yticklabels=[], zticklabels=[])
    axes.set_xlabel(names[0], labelpad=-10)
    axes.set_ylabel(names[1], labelpad=-10)
    axes.set_zlabel(names[2], labelpad=-10)
    return axes.scatter(*shown, c=responses, s=6, alpha=0.9, linewidths=0)


def _draw_torus(axes: Axes, torus: TorusPoints) -> None:
    axes.scatter(*torus.points[:, :3].T, c=torus.responses, s=10, linewidths=0)
    axes.view_init(elev=50.0, azim=160.0)
    axes.set_box_aspect((3.0, 3.0, 1.0), zoom=1.3)
    axes.set(xticks=[-3, 0, 3], yticks=[-3, 0, 3], zticks=[-1, 1], xlabel='x1', ylabel='x2')
    axes.set_title('torus, coloured by the response')


def _draw_eigenvector(axes: Axes, clean: Shown, column: int) -> None:
    side = round(np.sqrt(len(clean.eigenvectors)))
    values = clean.eigenvectors[:, column].reshape(side, side)
    axes.imshow(values, origin='lower', extent=(0.0, 2.0, 0.0, 2.0), cmap='gray')
    axes.set(xticks=[0, 1, 2], yticks=[0, 1, 2])
    axes.set(xlabel='angle about the axis / pi', ylabel='angle in the tube / pi')
    axes.set_title(f'eigenvector {1 + column}')


def _draw_projection(axes: Axes, shown: Shown, name: str) -> None:
    values = shown.projection.values / shown.projection.values.std()
    axes.plot(values, shown.torus.responses, '.', color=BLUE, ms=3)
    axes.set(xlabel='first direction / its deviation', ylabel='response')
    axes.set_title(f'{name}: correlation {shown.projection.correlation:.3f}')
    axes.grid(alpha=0.3)


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
