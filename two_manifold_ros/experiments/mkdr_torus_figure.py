# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of ``mkdr-torus``, as Figs. 1 to 3 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.drawing import Axes, BLUE, save

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.mkdr_projection import Projection
    from two_manifold_ros.experiments.mkdr_torus_points import TorusPoints
    from two_manifold_ros.typing import Floats, Ints


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
