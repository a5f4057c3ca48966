# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of ``slow-manifold``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from two_manifold_ros.experiments.drawing import Axes, save

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.slow_manifold_system import Recorded
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Shown:
    """
    What was found in one set of recordings.

    Parameters
    ----------
    recorded
        The points.
    coordinates, isotropic : (n, 2)
        Of the two maps.

    """

    recorded: Recorded
    coordinates: Floats
    isotropic: Floats


def draw(shown: Shown, path: Path) -> None:
    """Write what is seen, and the first coordinate of both maps against both variables."""
    figure = Figure(figsize=(12.0, 7.0), layout='constrained')
    axes = figure.subplots(2, 3)
    recorded = shown.recorded
    variables = {'slow variable': recorded.slow, 'fast variable': recorded.fast}
    maps = {'anisotropic': shown.coordinates, 'isotropic': shown.isotropic}
    for row, (name, variable) in enumerate(variables.items()):
        _scatter(axes[row, 0], recorded.points.T, variable, ('$y_1$', '$y_2$'))
        axes[row, 0].set_title(f'what is seen, coloured by the {name}')
    for row, (name, coordinates) in enumerate(maps.items()):
        for column, (other, variable) in enumerate(variables.items(), start=1):
            places = (variable, coordinates[:, 0])
            _scatter(axes[row, column], places, recorded.slow, (other, r'$\phi_1$'))
            axes[row, column].set_title(f'{name}: first coordinate')
    save(figure, path)


def _scatter(
    axes: Axes, places: tuple[Floats, Floats], colours: Floats, names: tuple[str, str]
) -> None:
    axes.scatter(*places, c=colours, s=5.0, cmap='viridis', linewidths=0)
    axes.set(xlabel=names[0], ylabel=names[1])
