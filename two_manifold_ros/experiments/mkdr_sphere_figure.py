# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of ``mkdr-sphere``, as Figs. 4 and 5 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.drawing import Axes, BLUE, save, VERMILION

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.mkdr_projection import Projection
    from two_manifold_ros.experiments.mkdr_sphere_globe import Globe
    from two_manifold_ros.typing import Floats


def draw(globe: Globe, temperatures: Floats, found: Projection, path: Path) -> None:
    """Write maps of temperature, prediction and error, and the projection."""
    line = np.polyfit(found.values, temperatures, 1)
    predicted = line[0] * found.values + line[1]
    figure = Figure(figsize=(11.0, 6.4), layout='constrained')
    (first, second), (third, fourth) = figure.subplots(2, 2)
    limits = (float(temperatures.min()), float(temperatures.max()))
    _draw_map(first, globe, temperatures, limits, 'temperature (made up)')
    _draw_projection(second, found, temperatures, line)
    _draw_map(third, globe, predicted, limits, 'predicted')
    errors = np.abs(predicted - temperatures)
    _draw_map(fourth, globe, errors, (0.0, float(errors.max())), 'error')
    save(figure, path)


def _draw_map(
    axes: Axes, globe: Globe, values: Floats, limits: tuple[float, float], name: str
) -> None:
    grid = values.reshape(len(globe.latitudes), len(globe.longitudes))
    shown = axes.pcolormesh(
        globe.longitudes, globe.latitudes, grid, cmap='inferno', vmin=limits[0], vmax=limits[1]
    )
    axes.set(xlabel='longitude (degrees)', ylabel='latitude (degrees)', title=name)
    axes.figure.colorbar(shown, ax=axes, label='degrees Celsius')


def _draw_projection(axes: Axes, found: Projection, temperatures: Floats, line: Floats) -> None:
    deviation = found.values.std()
    axes.plot(found.values / deviation, temperatures, '.', color=BLUE, ms=3)
    ends = np.array([found.values.min(), found.values.max()])
    axes.plot(ends / deviation, line[0] * ends + line[1], color=VERMILION, label='regression')
    axes.set(xlabel='first direction / its deviation', ylabel='temperature (degrees Celsius)')
    axes.set_title(f'explained by the regression: {found.correlation**2:.3f}')
    axes.legend()
    axes.grid(alpha=0.3)
