# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``mkdr-sphere``: a temperature on the globe, from where it was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np
from scipy.special import lpmv

from two_manifold_ros.experiments.experiment import at_least, at_most, Axes, BLUE, save, VERMILION
from two_manifold_ros.experiments.mkdr_projection import multiple_correlation_of, project
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import PointSet

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim, Progress
    from two_manifold_ros.experiments.mkdr_projection import Projection
    from two_manifold_ros.typing import Floats


HIGHLANDS = (
    (-84.0, 70.0, 12.0, 16.0),  # ice of the south
    (72.0, -41.0, 6.0, 18.0),  # an island of ice
    (34.0, 88.0, 6.0, 16.0),  # a plateau
    (-18.0, -68.0, 4.0, 10.0),  # a chain
    (-33.0, -70.0, 4.0, 10.0),
    (42.0, -110.0, 7.0, 6.0),
)
"""Latitude, longitude and radius in degrees, and by how many degrees Celsius it is colder."""

DEGREES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
"""Of the spherical harmonics of the waves."""

WAVES = 3.5
"""Their standard deviation in degrees Celsius, all together."""

WEATHER = 1.0
"""Standard deviation of what is independent from point to point, in degrees Celsius."""


@dataclass(frozen=True)
class Globe:
    """
    The points of a grid of latitudes and longitudes.

    Parameters
    ----------
    latitudes : (rows,)
        In degrees, south to north.
    longitudes : (columns,)
        In degrees, west to east.

    """

    latitudes: Floats
    longitudes: Floats

    @classmethod
    def of(cls, rows: int, columns: int) -> Globe:
        """Return a grid from 82.5 degrees south to as far north, as satellites see the Earth."""
        half = 180.0 / columns
        longitudes = np.linspace(half - 180.0, 180.0 - half, columns)
        return cls(np.linspace(-82.5, 82.5, rows), longitudes)

    @property
    def points(self) -> Floats:
        """Points of the unit sphere, row by row: (rows * columns, 3)."""
        latitude, longitude = np.meshgrid(
            np.radians(self.latitudes), np.radians(self.longitudes), indexing='ij'
        )
        return _on_sphere(latitude.ravel(), longitude.ravel())


def temperatures_on(globe: Globe, seed: int) -> Floats:
    """
    Return a temperature at every point in degrees Celsius, row by row: (rows * columns,).

    Bands of latitude, colder in the north; waves, with phases and sizes drawn from the seed; cold
    highlands, which are the same for all seeds; weather.
    """
    rng = np.random.default_rng(seed)
    points = globe.points
    bands = -4.0 - 24.0 * points[:, 2] ** 2 - 5.0 * points[:, 2]
    weather = WEATHER * rng.standard_normal(len(points))
    return bands + _waves(points, rng) + _highlands(points) + weather


def _waves(points: Floats, rng: np.random.Generator) -> Floats:
    longitude = np.arctan2(points[:, 1], points[:, 0])
    total = np.zeros(len(points))
    for degree in DEGREES:
        for order in range(1, degree + 1):
            phase, size = rng.uniform(0.0, 2.0 * np.pi), rng.standard_normal() / degree
            wave = lpmv(order, degree, points[:, 2]) * np.cos(order * longitude + phase)
            total += size * wave / wave.std()
    waves: Floats = WAVES * total / total.std()
    return waves


def _highlands(points: Floats) -> Floats:
    total = np.zeros(len(points))
    for latitude, longitude, radius, colder in HIGHLANDS:
        centre = _on_sphere(np.radians([latitude]), np.radians([longitude]))[0]
        angle = np.degrees(np.arccos(np.clip(points @ centre, -1.0, 1.0)))
        total -= colder * np.exp(-0.5 * np.square(angle / radius))
    return total


def _on_sphere(latitude: Floats, longitude: Floats) -> Floats:
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)


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


SEED = 0

NEIGHBOURS = 8

WHAT = 'share explained by linear regression on'

LINEAR = 0.5
"""What latitude and longitude, just so, are to explain at most."""


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    rows, columns
        Of the grid.
    eigenvectors
        How many the temperature is found in.
    explained
        The least share of the variance.

    """

    rows: int = 44
    columns: int = 72
    eigenvectors: int = 100
    explained: float = 0.85


QUICK = Size(rows=14, columns=24, eigenvectors=30, explained=0.8)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    progress('a temperature on the globe', 0.0)
    globe = Globe.of(size.rows, size.columns)
    temperatures = temperatures_on(globe, SEED)
    learner = LaplacianEigenmap(size.eigenvectors, NEIGHBOURS, scaled=False)
    eigenvectors = learner.fit(PointSet(globe.points)).coordinates
    progress('what predicts it', 0.5)
    found = project(eigenvectors, temperatures, SEED)
    draw(globe, temperatures, found, folder / 'mkdr-sphere.png')
    places = np.stack(np.meshgrid(globe.latitudes, globe.longitudes, indexing='ij'), axis=-1)
    linear = multiple_correlation_of(places.reshape(-1, 2), temperatures) ** 2
    explained, hidden = found.correlation**2, found.hidden_correlation**2
    direction = f'{WHAT} the central direction'
    return [
        at_least(direction, 'Fig. 4b, largely linear', explained, size.explained),
        at_least(f'{direction}, where hidden', 'not in it', hidden, size.explained),
        at_most(f'{WHAT} latitude and longitude', 'not in it', linear, LINEAR),
    ]
