# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiments of Nilsson, Sha & Jordan (2007) with known points: a torus and the globe.

Manifold kernel dimension reduction finds the direction, among the eigenvectors of a graph of the
points, that predicts a response.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np
from scipy.special import lpmv

from two_manifold_ros.experiments.experiment import at_least, at_most, Colour, seeds_of_set
from two_manifold_ros.hse_hmm.mkdr import find_predictive_directions
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import PointSet

if TYPE_CHECKING:
    from two_manifold_ros.experiments.experiment import Axes, Claim, Findings, Progress
    from two_manifold_ros.hse_hmm.mkdr import PredictiveDirections
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Projection:
    """Points projected onto the first direction that predicts their response."""

    eigenvectors: Floats  # (n, m)
    responses: Floats  # (n,)
    values: Floats  # (n,), the projection, rising with the response
    correlation: float  # with the responses, all of which the direction was found from
    hidden_correlation: float  # of a direction found without some responses, with those
    found: PredictiveDirections  # from all responses


def eigenvectors_of(points: Floats, count: int, neighbours: int) -> Floats:
    """Return the (n, count) bottom eigenvectors of the neighbour graph of (n, D) points."""
    return LaplacianEigenmap(count, neighbours, scaled=False).fit(PointSet(points)).coordinates


def project(eigenvectors: Floats, responses: Floats, seed: int) -> Projection:
    """Find the directions for (n,) responses and project; the seed draws what is hidden."""
    found = find_predictive_directions(eigenvectors, responses[:, None])
    values = eigenvectors @ found.directions[:, 0]
    # Three tenths are hidden, by other numbers than the same seed draws for points.
    hidden = np.random.default_rng((seed, 1)).random(len(responses)) < 0.3
    seen = find_predictive_directions(eigenvectors[~hidden], responses[~hidden, None])
    guess = eigenvectors @ seen.directions[:, 0]
    correlation = _correlation(values, responses)
    rising = np.sign(_correlation(guess[~hidden], responses[~hidden]))
    return Projection(
        eigenvectors,
        responses,
        float(np.sign(correlation)) * values,
        abs(correlation),
        float(rising) * _correlation(guess[hidden], responses[hidden]),
        found,
    )


def _correlation(left: Floats, right: Floats) -> float:
    return float(np.corrcoef(left, right)[0, 1])


def multiple_correlation(columns: Floats, responses: Floats) -> float:
    """Return the correlation of (n,) responses with their regression on (n, m) columns."""
    design = np.column_stack([columns, np.ones(len(columns))])
    fitted = design @ np.linalg.lstsq(design, responses, rcond=None)[0]
    return _correlation(fitted, responses)


def draw_projection(axes: Axes, found: Projection, name: str, title: str) -> None:
    """Draw the response, named with its unit, against the first direction."""
    axes.plot(found.values / found.values.std(), found.responses, '.', color=Colour.BLUE, ms=3)
    axes.set(xlabel='first direction / its deviation', ylabel=name)
    axes.set_title(title)
    axes.grid(alpha=0.3)


def draw_embeddings(best: Axes, bottom: Axes, found: Projection, name: str, size: float) -> None:
    """Draw the points by the three best eigenvectors and by the bottom three, coloured."""
    _draw_embedding(best, found, found.found.predictive_eigenvectors(3))
    best.set_title('the three that predict best')
    colours = _draw_embedding(bottom, found, np.arange(3))
    bottom.set_title('the bottom three')
    bottom.figure.colorbar(colours, ax=bottom, label=name, shrink=size)


def _draw_embedding(axes: Axes, found: Projection, columns: Ints) -> Axes:
    """Draw points in the space of three eigenvectors, and return what has colours."""
    names = [f'eigenvector {1 + column}' for column in columns]
    axes.set(xticklabels=[], yticklabels=[], zticklabels=[])
    axes.set_xlabel(names[0], labelpad=-10)
    axes.set_ylabel(names[1], labelpad=-10)
    axes.set_zlabel(names[2], labelpad=-10)
    places = found.eigenvectors[:, columns].T
    return axes.scatter(*places, c=found.responses, s=6, alpha=0.9, linewidths=0)


@dataclass(frozen=True)
class TorusPoints:
    """Points of a torus and their responses."""

    tube: Floats  # (n,), angle about the circle within the tube, from 0 to 2 pi
    axis: Floats  # (n,), angle about the axis
    points: Floats  # (n, 10); coordinates beyond the third hold nothing but noise
    responses: Floats  # (n,), 1 in a disk of angles around (pi, pi), 0 beyond, with a soft edge

    @classmethod
    def at(cls, tube: Floats, axis: Floats) -> TorusPoints:
        """Return the points at angles, on a tube of radius 1 around a circle of radius 2."""
        points = np.zeros((len(tube), 10))
        points[:, 0] = (2.0 + np.cos(tube)) * np.cos(axis)
        points[:, 1] = (2.0 + np.cos(tube)) * np.sin(axis)
        points[:, 2] = np.sin(tube)
        beyond = np.hypot(tube - np.pi, axis - np.pi) - 0.6 * np.pi
        return cls(tube, axis, points, 1.0 / (1.0 + np.exp(17.0 * beyond)))


def grid_on_torus(side: int) -> TorusPoints:
    """Return ``side ** 2`` points on a grid of angles."""
    angles = 2.0 * np.pi * np.arange(side) / side
    tube, axis = np.meshgrid(angles, angles, indexing='ij')
    return TorusPoints.at(tube.ravel(), axis.ravel())


def noisy_on_torus(count: int, seed: int) -> TorusPoints:
    """Return points at random angles, with noise of 0.1 on points and 0.05 on responses."""
    rng = np.random.default_rng(seed)
    clean = TorusPoints.at(*rng.uniform(0.0, 2.0 * np.pi, (2, count)))
    points = clean.points + 0.1 * rng.standard_normal(clean.points.shape)
    responses = clean.responses + 0.05 * rng.standard_normal(count)
    return replace(clean, points=points, responses=responses)


@dataclass(frozen=True)
class TorusSettings:
    """Settings of the runs on a torus, and limits that they are judged by."""

    side: int = 31  # points of the grid along each angle; as many in all are drawn at random
    eigenvectors: int = 50  # in which the response is found
    grid_neighbours: int = 10
    noisy_neighbours: int = 15
    trials: int = 5  # random sets
    clean: float = 0.95  # least correlation
    noisy: float = 0.93
    slack: float = 0.03  # by which it may be less for responses that were hidden
    share: float = 0.9  # least share of the trace of Theta in the first direction


def run_torus(progress: Progress, *, quick: bool, seed: int = 0) -> Findings:
    """Predict a disk on a torus, from a grid and from noisy points."""
    settings = TorusSettings()
    if quick:
        settings = TorusSettings(
            side=14, eigenvectors=20, trials=1, clean=0.9, noisy=0.85, slack=0.15
        )
    progress('the grid', 0.0)
    torus = grid_on_torus(settings.side)
    seeds = seeds_of_set(seed, settings.trials)
    grid = _project_torus(torus, settings, settings.grid_neighbours, seeds[0])
    noisy = []
    for trial, each in enumerate(seeds, start=1):
        progress(f'noisy points {trial} of {len(seeds)}', trial / (1 + len(seeds)))
        drawn = noisy_on_torus(settings.side**2, each)
        noisy.append(_project_torus(drawn, settings, settings.noisy_neighbours, each))
    least, slack, share = (settings.clean, settings.noisy), settings.slack, settings.share
    what = 'correlation of the first central direction with the response'
    mean = float(np.mean([each.correlation for each in noisy]))
    hidden = float(np.mean([each.hidden_correlation for each in noisy]))
    claims = [
        at_least(f'grid: {what}', 'Fig. 2a, a line', grid.correlation, least[0]),
        at_least(
            f'grid: {what}, where hidden', 'not in it', grid.hidden_correlation, least[0] - slack
        ),
        claim_one_direction('grid', [grid], share),
        at_least(f'noisy: {what}', 'Fig. 2b, a broad line', mean, least[1]),
        at_least(f'noisy: {what}, where hidden', 'not in it', hidden, least[1] - slack),
        claim_one_direction('noisy', noisy, share),
    ]
    return claims, _draw_torus(torus, grid, noisy[0])


def _project_torus(
    torus: TorusPoints, settings: TorusSettings, neighbours: int, seed: int
) -> Projection:
    eigenvectors = eigenvectors_of(torus.points, settings.eigenvectors, neighbours)
    return project(eigenvectors, torus.responses, seed)


def claim_one_direction(name: str, projections: list[Projection], least: float) -> Claim:
    """Claim that one direction does for the response and its square, which may take two."""
    found = []
    for each in projections:
        # One response alone has one direction, whatever it is.
        powers = each.responses[:, None] ** [1, 2]
        powers = (powers - powers.mean(axis=0)) / powers.std(axis=0)
        found.append(find_predictive_directions(each.eigenvectors, powers))
    share = float(np.mean([each.strengths[0] for each in found]))
    what = f'{name}: share of the trace in the first direction, of the response and its square'
    claim = at_least(what, 'nearly rank 1', share, least)
    return replace(claim, ours=f'{claim.ours} (rank {max(each.rank for each in found)})')


def _draw_torus(torus: TorusPoints, grid: Projection, noisy: Projection) -> Figure:
    """Draw the torus, the eigenvectors that predict, both projections and two embeddings."""
    figure = Figure(figsize=(13.0, 6.4), layout='constrained')
    axes: Axes = figure.add_subplot(2, 4, 1, projection='3d')
    axes.scatter(*torus.points[:, :3].T, c=torus.responses, s=10, linewidths=0)
    axes.view_init(elev=50.0, azim=160.0)
    axes.set_box_aspect((3.0, 3.0, 1.0), zoom=1.3)
    axes.set(xticks=[-3, 0, 3], yticks=[-3, 0, 3], zticks=[-1, 1], xlabel='x1', ylabel='x2')
    axes.set_title('torus, coloured by the response')
    side = round(np.sqrt(len(grid.eigenvectors)))
    for place, column in enumerate(grid.found.predictive_eigenvectors(3)):
        axes = figure.add_subplot(2, 4, 2 + place)
        values = grid.eigenvectors[:, column].reshape(side, side)
        axes.imshow(values, origin='lower', extent=(0.0, 2.0, 0.0, 2.0), cmap='gray')
        axes.set(xticks=[0, 1, 2], yticks=[0, 1, 2])
        axes.set(xlabel='angle about the axis / pi', ylabel='angle in the tube / pi')
        axes.set_title(f'eigenvector {1 + column}')
    for place, (name, found) in enumerate((('grid', grid), ('noisy', noisy)), start=5):
        title = f'{name}: correlation {found.correlation:.3f}'
        draw_projection(figure.add_subplot(2, 4, place), found, 'response', title)
    best, bottom = (figure.add_subplot(2, 4, place, projection='3d') for place in (7, 8))
    draw_embeddings(best, bottom, grid, 'response', 0.6)
    return figure


@dataclass(frozen=True)
class Globe:
    """The points of a grid of latitudes and longitudes."""

    latitudes: Floats  # (rows,), degrees, south to north
    longitudes: Floats  # (columns,), degrees, west to east

    @classmethod
    def of(cls, rows: int, columns: int) -> Globe:
        """Return a grid from 82.5 degrees south to as far north, as satellites see the Earth."""
        half = 180.0 / columns
        longitudes = np.linspace(half - 180.0, 180.0 - half, columns)
        return cls(np.linspace(-82.5, 82.5, rows), longitudes)

    @property
    def places(self) -> Floats:
        """Latitude and longitude of every point, degrees, row by row: (rows * columns, 2)."""
        grids = np.meshgrid(self.latitudes, self.longitudes, indexing='ij')
        return np.stack(grids, axis=-1).reshape(-1, 2)

    @property
    def points(self) -> Floats:
        """Points of the unit sphere, row by row: (rows * columns, 3)."""
        latitude, longitude = np.meshgrid(
            np.radians(self.latitudes), np.radians(self.longitudes), indexing='ij'
        )
        return _on_sphere(latitude.ravel(), longitude.ravel())


def _on_sphere(latitude: Floats, longitude: Floats) -> Floats:
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)


def temperatures_on(globe: Globe, seed: int) -> Floats:
    """
    Return a temperature at every point in degrees Celsius, row by row: (rows * columns,).

    Bands of latitude, colder in the north; waves of a standard deviation of 3.5 with phases and
    sizes drawn from the seed; cold highlands, which are the same for all seeds; weather that is
    independent from point to point.
    """
    rng = np.random.default_rng(seed)
    points = globe.points
    bands = -4.0 - 24.0 * points[:, 2] ** 2 - 5.0 * points[:, 2]
    weather = rng.standard_normal(len(points))
    longitude = np.arctan2(points[:, 1], points[:, 0])
    total = np.zeros(len(points))
    # Spherical harmonics.
    for degree in range(2, 13):
        for order in range(1, degree + 1):
            phase, size = rng.uniform(0.0, 2.0 * np.pi), rng.standard_normal() / degree
            wave = lpmv(order, degree, points[:, 2]) * np.cos(order * longitude + phase)
            total += size * wave / wave.std()
    waves = 3.5 * total / total.std()
    highlands = np.zeros(len(points))
    # Latitude, longitude and radius in degrees, and by how many degrees Celsius it is colder.
    for latitude, centre, radius, colder in (
        (-84.0, 70.0, 12.0, 16.0),  # ice of the south
        (72.0, -41.0, 6.0, 18.0),  # an island of ice
        (34.0, 88.0, 6.0, 16.0),  # a plateau
        (-18.0, -68.0, 4.0, 10.0),  # a chain
        (-33.0, -70.0, 4.0, 10.0),
        (42.0, -110.0, 7.0, 6.0),
    ):
        middle = _on_sphere(np.radians([latitude]), np.radians([centre]))[0]
        angle = np.degrees(np.arccos(np.clip(points @ middle, -1.0, 1.0)))
        highlands -= colder * np.exp(-0.5 * np.square(angle / radius))
    temperatures: Floats = bands + waves + highlands + weather
    return temperatures


@dataclass(frozen=True)
class SphereSettings:
    """Settings of the runs on the globe, and limits that they are judged by."""

    rows: int = 44  # of the grid
    columns: int = 72
    eigenvectors: int = 100  # in which the temperature is found
    neighbours: int = 8
    explained: float = 0.85  # least share of the variance
    linear: float = 0.5  # most of it that latitude and longitude explain


def run_sphere(progress: Progress, *, quick: bool, seed: int = 0) -> Findings:
    """Predict a temperature on the globe from where it was measured."""
    settings = SphereSettings()
    if quick:
        settings = SphereSettings(rows=14, columns=24, eigenvectors=30, explained=0.8)
    progress('a temperature on the globe', 0.0)
    globe = Globe.of(settings.rows, settings.columns)
    temperatures = temperatures_on(globe, seed)
    eigenvectors = eigenvectors_of(globe.points, settings.eigenvectors, settings.neighbours)
    progress('what predicts it', 0.5)
    found = project(eigenvectors, temperatures, seed)
    figure = _draw_globe(globe, found)
    linear = multiple_correlation(globe.places, temperatures) ** 2
    explained, hidden = found.correlation**2, found.hidden_correlation**2
    what = 'share explained by linear regression on'
    direction = f'{what} the central direction'
    return [
        at_least(direction, 'Fig. 4b, largely linear', explained, settings.explained),
        at_least(f'{direction}, where hidden', 'not in it', hidden, settings.explained),
        at_most(f'{what} latitude and longitude', 'not in it', linear, settings.linear),
    ], figure


def _draw_globe(globe: Globe, found: Projection) -> Figure:
    """Draw maps of temperature, prediction and error, and the projection."""
    temperatures = found.responses
    line = np.polyfit(found.values, temperatures, 1)
    predicted = line[0] * found.values + line[1]
    errors = np.abs(predicted - temperatures)
    figure = Figure(figsize=(11.0, 6.4), layout='constrained')
    (first, second), (third, fourth) = figure.subplots(2, 2)
    limits = (float(temperatures.min()), float(temperatures.max()))
    maps = (
        (first, temperatures, limits, 'temperature (made up)'),
        (third, predicted, limits, 'predicted'),
        (fourth, errors, (0.0, float(errors.max())), 'error'),
    )
    for index, (axes, values, (low, high), name) in enumerate(maps):
        grid = values.reshape(len(globe.latitudes), len(globe.longitudes))
        shown = axes.pcolormesh(
            globe.longitudes, globe.latitudes, grid, cmap='inferno', vmin=low, vmax=high
        )
        axes.set(xlabel='longitude (degrees)', ylabel='latitude (degrees)', title=name)
        figure.colorbar(shown, ax=axes, label='degrees Celsius')
        if index == 0:
            title = f'explained by the regression: {found.correlation**2:.3f}'
            draw_projection(second, found, 'temperature (degrees Celsius)', title)
            ends = np.array([found.values.min(), found.values.max()])
            second.plot(
                ends / found.values.std(),
                line[0] * ends + line[1],
                color=Colour.VERMILION,
                label='regression',
            )
            second.legend()
    return figure
