# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of ``nlica-sphere``, as Figs. 6 and 7 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from two_manifold_ros.experiments.drawing import save
from two_manifold_ros.experiments.nlica_square_figure import draw_embedding, draw_function

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.typing import Floats


def draw(x: Floats, seen: Floats, coordinates: Floats, isotropic: Floats, path: Path) -> None:
    """
    Write the mushroom, the coordinates found and an isotropic map beside them.

    Parameters
    ----------
    x : (n, 2)
        The variables.
    seen : (n, 3)
        On the sphere.
    coordinates, isotropic : (n, 2)
        Found with covariances, and without.
    path
        Of the picture.

    """
    figure = Figure(figsize=(12.0, 7.4), layout='constrained')
    axes = figure.add_subplot(2, 3, 1, projection='3d')
    axes.scatter(*seen.T, c=x[:, 0], s=4.0, cmap='viridis', linewidths=0)
    axes.set(title='what is seen, by $x_1$', xlabel='$y_1$', ylabel='$y_2$', zlabel='$y_3$')
    axes.set_box_aspect(None, zoom=0.85)
    for column in range(2):
        title = rf'$\phi_{1 + column}$ in the square of the variables'
        draw_function(figure.add_subplot(2, 3, 2 + column), x, coordinates[:, column], title)
        title = f'embedding, by $x_{1 + column}$'
        draw_embedding(figure.add_subplot(2, 3, 5 + column), coordinates, x[:, column], title)
    axes = figure.add_subplot(2, 3, 4)
    draw_embedding(axes, isotropic, x[:, 0], 'isotropic: embedding, by $x_1$')
    save(figure, path)
