# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of ``nlica-square``, as Figs. 1 to 4 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.drawing import Axes, BLUE, GREY, save, VERMILION
from two_manifold_ros.experiments.nlica_points import mushroom
from two_manifold_ros.experiments.nlica_scores import EXPECTED

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.nlica_trial import Trial
    from two_manifold_ros.typing import Floats

MOST = 1_200
"""Points of which a picture is not too large."""


def draw(
    first: Trial,
    isotropic: Floats,
    beltrami: Floats,
    lines: Floats,
    as_published: Floats,
    path: Path,
) -> None:
    """Write the points, the spectrum, and for three maps eigenfunctions and embedding."""
    figure = Figure(figsize=(13.0, 9.0), layout='constrained')
    axes = figure.subplots(3, 4)
    seen = mushroom(first.x)
    _scatter(axes[0, 0], first.x, first.x[:, 0], 'the variables, by $x_1$', ('$x_1$', '$x_2$'))
    _scatter(axes[1, 0], seen, first.x[:, 0], 'what is seen, by $x_1$', ('$y_1$', '$y_2$'))
    _draw_spectrum(axes[2, 0], lines, as_published)
    maps = {'anisotropic': first.coordinates, 'isotropic': isotropic, 'Beltrami': beltrami}
    for column, (name, functions) in enumerate(maps.items(), start=1):
        for row in range(2):
            title = rf'{name}: $\phi_{1 + row}$ in the square'
            draw_function(axes[row, column], first.x, functions[:, row], title)
        draw_embedding(axes[2, column], functions, first.x[:, 0], f'{name}: embedding, by $x_1$')
    save(figure, path)


def draw_function(axes: Axes, x: Floats, values: Floats, title: str) -> None:
    """Draw a function on the square."""
    _scatter(axes, x, values, title, ('$x_1$', '$x_2$'))


def draw_embedding(axes: Axes, functions: Floats, colours: Floats, title: str) -> None:
    """Draw two eigenfunctions against each other, without a scale."""
    _scatter(axes, functions, colours, title, (r'$\phi_1$', r'$\phi_2$'))
    axes.set(xticks=[], yticks=[])


def _scatter(
    axes: Axes, places: Floats, colours: Floats, title: str, names: tuple[str, str]
) -> None:
    axes.scatter(*places[:MOST, :2].T, c=colours[:MOST], s=6.0, cmap='viridis', linewidths=0)
    axes.set(title=title, xlabel=names[0], ylabel=names[1])


def _draw_spectrum(axes: Axes, lines: Floats, as_published: Floats) -> None:
    numbers = 1 + np.arange(len(EXPECTED))
    # Wide enough to see the band of a line, which is low for the first ones.
    for number, line in zip(numbers, EXPECTED, strict=True):
        axes.fill_between([number - 0.45, number + 0.45], 0.9 * line, 1.1 * line, color='0.85')
        axes.plot([number - 0.45, number + 0.45], [line, line], color=GREY)
    shifts = np.linspace(-0.2, 0.2, len(lines)) if len(lines) > 1 else np.zeros(1)
    for place, (shift, row) in enumerate(zip(shifts, lines, strict=True)):
        label = f'{len(lines)} draws' if place == 0 else None
        axes.plot(numbers + shift, row[: len(numbers)], 'o', color=BLUE, ms=3, label=label)
    axes.plot(numbers, as_published[: len(numbers)], 'x', color=VERMILION, label='as in the paper')
    axes.set(
        title='spectrum, and 10 % around it',
        xlabel='eigenvalue',
        ylabel=r'$-2\,\log(\lambda)\,/\,(\pi^2\varepsilon)$',
    )
    axes.set_xticks(numbers)
    axes.legend(fontsize='small')
