# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiments of Nilsson, Sha & Jordan (2007): a torus, the globe, pictures of a snowman."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import lpmv

from two_manifold_ros.experiments import experiment as lab
from two_manifold_ros.hse_hmm.mkdr import find_predictive_directions
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.manifold.learner import PointSet
from two_manifold_ros.typing import Floats, Ints


class Settings(NamedTuple):
    """Settings of an experiment, and limits of correlations or shares that it is judged by."""

    size: tuple[int, ...]  # points per angle of the torus, rows and columns of the globe, pictures
    eigenvectors: int  # in which the response is found
    limits: tuple[float, ...]
    trials: int = 1


class Projection(NamedTuple):
    """Points projected onto the first direction that predicts their response."""

    eigenvectors: Floats  # (n, m)
    responses: Floats  # (n,)
    values: Floats  # (n,), the projection, rising with the response
    correlation: float  # with the responses, all of which the direction was found from
    hidden_correlation: float  # of a direction found without some responses, with those
    best: Ints  # (m,), the eigenvectors that predict best first


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
        found.predictive_eigenvectors(eigenvectors.shape[1]),
    )


def _correlation(left: Floats, right: Floats) -> float:
    return float(np.corrcoef(left, right)[0, 1])


def multiple_correlation(columns: Floats, responses: Floats) -> float:
    """Return the correlation of (n,) responses with their regression on (n, m) columns."""
    design = np.column_stack([columns, np.ones(len(columns))])
    fitted = design @ np.linalg.lstsq(design, responses, rcond=None)[0]
    return _correlation(fitted, responses)


def projection_panels(found: Projection, name: str) -> list[lab.Panel]:
    """Draw a response by the first direction, the three best eigenvectors and the bottom three."""
    values, responses = found.values / found.values.std(), found.responses
    points = lab.layer('plot', values, responses, '.', color=lab.BLUE, ms=3)
    title, label = f'correlation {found.correlation:.3f}', 'first direction / its deviation'
    panels = [lab.panel(title, points, xlabel=label, ylabel=name)]
    for title, columns in (
        ('the three that predict best', found.best[:3]),
        ('the bottom three', np.arange(3)),
    ):
        places = lab.dots(found.eigenvectors[:, columns], responses)
        panels.append(lab.panel(title, places, solid=True, bar=name))
    return panels


def on_torus(tube: Floats, axis: Floats) -> tuple[Floats, Floats]:
    """Return points (n, 10) of a torus by two angles (n,), and responses (n,) of a disk on it."""
    # Three coordinates are used. The disk of angles is around (pi, pi), with a soft edge.
    points = np.zeros((len(tube), 10))
    points[:, 0] = (2.0 + np.cos(tube)) * np.cos(axis)
    points[:, 1] = (2.0 + np.cos(tube)) * np.sin(axis)
    points[:, 2] = np.sin(tube)
    beyond = np.hypot(tube - np.pi, axis - np.pi) - 0.6 * np.pi
    return points, 1.0 / (1.0 + np.exp(17.0 * beyond))


def angles_of_grid(side: int) -> Floats:
    """Return both angles of ``side ** 2`` points on a grid: (2, n)."""
    angles = 2.0 * np.pi * np.arange(side) / side
    return np.stack(np.meshgrid(angles, angles, indexing='ij')).reshape(2, -1)


Torus = tuple['Floats', Projection, Projection]
"""The points of a grid on a torus, and the projections of the grid and of a random set."""


def fit_torus(settings: Settings, seed: int, report: lab.Progress) -> Torus:
    """Predict a disk on a torus, from a grid and from noisy points at random angles."""
    grid, responses = on_torus(*angles_of_grid(*settings.size))
    rng = np.random.default_rng(seed)
    points, noisy = on_torus(*rng.uniform(0.0, 2.0 * np.pi, (2, len(grid))))
    points = points + 0.1 * rng.standard_normal(points.shape)
    noisy = noisy + 0.05 * rng.standard_normal(len(grid))
    first = project(eigenvectors_of(grid, settings.eigenvectors, 10), responses, seed)
    report('random points', 0.5)
    second = project(eigenvectors_of(points, settings.eigenvectors, 15), noisy, seed)
    return grid, first, second


def score_torus(settings: Settings, found: list[Torus]) -> list[lab.Claim]:
    """Claim that the response is linear in one direction, of a grid and of noisy points."""
    claims, (clean, broad, slack) = [], settings.limits
    for name, paper, each, least in (
        ('grid', 'Fig. 2a, a line', [found[0][1]], clean),
        ('noisy', 'Fig. 2b, a broad line', [noisy for _, _, noisy in found], broad),
    ):
        what = f'{name}: correlation of the first central direction with the response'
        mean = float(np.mean([one.correlation for one in each]))
        hidden = float(np.mean([one.hidden_correlation for one in each]))
        claims += [
            lab.at_least(what, paper, mean, least),
            lab.at_least(f'{what}, where hidden', 'not in it', hidden, least - slack),
            claim_one_direction(name, each, 0.9),
        ]
    return claims


def claim_one_direction(name: str, projections: list[Projection], least: float) -> lab.Claim:
    """Claim that one direction does for the response and its square, which may take two."""
    found = []
    for each in projections:
        # One response alone has one direction, whatever it is.
        powers = each.responses[:, None] ** [1, 2]
        powers = (powers - powers.mean(axis=0)) / powers.std(axis=0)
        found.append(find_predictive_directions(each.eigenvectors, powers))
    share = float(np.mean([each.strengths[0] for each in found]))
    what = f'{name}: share of the trace in the first direction, of the response and its square'
    rank = f' (rank {max(each.rank for each in found)})'
    return lab.at_least(what, 'nearly rank 1', share, least, rank)


def draw_torus(found: list[Torus]) -> list[lab.Panel]:
    """Draw the torus, the eigenvectors that predict, and both projections."""
    points, grid, noisy = found[0]
    panels = [
        lab.panel(title, lab.dots(points[:, :3], values), solid=True)
        for title, values in (
            ('torus, coloured by the response', grid.responses),
            *(
                (f'eigenvector {1 + column}', grid.eigenvectors[:, column])
                for column in grid.best[:2]
            ),
        )
    ]
    return panels + projection_panels(grid, 'response') + projection_panels(noisy, 'noisy')


# Of the grid, of noisy points, and by how much less where responses are hidden.
_TORUS = Settings((31,), 50, (0.95, 0.93, 0.03), trials=5)
_QUICK_TORUS = Settings((14,), 20, (0.9, 0.85, 0.15))
run_torus = lab.Runner(_TORUS, _QUICK_TORUS, fit_torus, score_torus, draw_torus)


class Globe(NamedTuple):
    """The points of a grid of latitudes and longitudes."""

    latitudes: Floats  # (rows,), degrees, south to north
    longitudes: Floats  # (columns,), degrees, west to east

    places: Floats  # latitude and longitude of every point, degrees, row by row: (n, 2)
    points: Floats  # on the unit sphere: (n, 3)

    @classmethod
    def of(cls, rows: int, columns: int) -> Globe:
        """Return a grid from 82.5 degrees south to as far north, as satellites see the Earth."""
        half = 180.0 / columns
        longitudes = np.linspace(half - 180.0, 180.0 - half, columns)
        latitudes = np.linspace(-82.5, 82.5, rows)
        grids = np.meshgrid(latitudes, longitudes, indexing='ij')
        places = np.stack(grids, axis=-1).reshape(-1, 2)
        return cls(latitudes, longitudes, places, _on_sphere(*np.radians(places).T))


def _on_sphere(latitude: Floats, longitude: Floats) -> Floats:
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=1)


def temperatures_on(globe: Globe, seed: int) -> Floats:
    """Return a temperature at every point, degrees Celsius, row by row: (rows * columns,)."""
    rng = np.random.default_rng(seed)
    points = globe.points
    # Bands of latitude, colder in the north, and weather that differs from point to point.
    bands = -4.0 - 24.0 * points[:, 2] ** 2 - 5.0 * points[:, 2]
    weather = rng.standard_normal(len(points))
    longitude = np.arctan2(points[:, 1], points[:, 0])
    total = np.zeros(len(points))
    # Spherical harmonics, whose phases and sizes are drawn.
    for degree in range(2, 13):
        for order in range(1, degree + 1):
            phase, size = rng.uniform(0.0, 2.0 * np.pi), rng.standard_normal() / degree
            wave = lpmv(order, degree, points[:, 2]) * np.cos(order * longitude + phase)
            total += size * wave / wave.std()
    waves = 3.5 * total / total.std()
    highlands = np.zeros(len(points))
    # Of all seeds: latitude, longitude, radius in degrees, and how many degrees Celsius colder.
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
    return np.asarray(bands + waves + highlands + weather)


def fit_sphere(settings: Settings, seed: int, _: lab.Progress) -> tuple[Globe, Projection]:
    """Predict a temperature on the globe from where it was measured."""
    globe = Globe.of(*settings.size)
    eigenvectors = eigenvectors_of(globe.points, settings.eigenvectors, neighbours=8)
    return globe, project(eigenvectors, temperatures_on(globe, seed), seed)


def score_sphere(settings: Settings, found: list[tuple[Globe, Projection]]) -> list[lab.Claim]:
    """Claim that the temperature is linear in a direction, and not in the places."""
    globe, projection = found[0]
    linear = multiple_correlation(globe.places, projection.responses) ** 2
    what = 'share explained by linear regression on'
    direction, (least,) = f'{what} the central direction', settings.limits
    hidden = projection.hidden_correlation**2
    return [
        lab.at_least(direction, 'Fig. 4b, largely linear', projection.correlation**2, least),
        lab.at_least(f'{direction}, where hidden', 'not in it', hidden, least),
        lab.at_most(f'{what} latitude and longitude', 'not in it', linear, 0.5),
    ]


def draw_sphere(found: list[tuple[Globe, Projection]]) -> list[lab.Panel]:
    """Draw maps of temperature, prediction and error, and the projection."""
    globe, projection = found[0]
    temperatures = projection.responses
    predicted = np.polyval(np.polyfit(projection.values, temperatures, 1), projection.values)
    panels, error = [], np.abs(predicted - temperatures)
    maps = {'temperature (made up)': temperatures, 'predicted': predicted, 'error': error}
    for name, values in maps.items():
        grid = values.reshape(len(globe.latitudes), len(globe.longitudes))
        shown = lab.layer('pcolormesh', globe.longitudes, globe.latitudes, grid, cmap='inferno')
        panels.append(lab.panel(name, shown, bar='degrees Celsius'))
    return panels + projection_panels(projection, 'temperature (degrees Celsius)')


_SPHERE, _QUICK_SPHERE = Settings((44, 72), 100, (0.85,)), Settings((14, 24), 30, (0.8,))
run_sphere = lab.Runner(_SPHERE, _QUICK_SPHERE, fit_sphere, score_sphere, draw_sphere)


HEIGHT, WIDTH, FINER = 110, 80, 2
"""Pixels of a picture, each of which is the mean of some rows and columns of rays."""

LIGHT = np.array((-0.35, 0.55, 0.75))
"""Where the light comes from: right, up, towards the camera."""

SNOWMAN: tuple[tuple[tuple[float, ...], tuple[float, ...], float], ...] = (
    ((0, 17, 0), (21, 17, 21), 1.0),  # belly
    ((0, 44, 0), (16, 14, 16), 1.0),  # chest
    ((0, 65, 0), (12, 11, 12), 1.0),  # head
    ((0, 78, 0), (9, 7, 9), 0.05),  # hat
    ((0, 73, 0), (15, 2, 15), 0.05),  # its brim
    ((0, 65, 18), (2.5, 2.5, 12), 0.5),  # nose
    ((-4.5, 69, 10.5), (1.8, 1.8, 1.8), 0.0),  # eyes
    ((4.5, 69, 10.5), (1.8, 1.8, 1.8), 0.0),
    ((0, 50, 15), (2, 2, 2), 0.0),  # buttons
    ((0, 43, 16), (2, 2, 2), 0.0),
    ((-22, 48, 8), (11, 1.8, 1.8), 0.3),  # arms
    ((22, 48, 8), (11, 1.8, 1.8), 0.3),
    ((29, 40, 14), (1.8, 34, 1.8), 0.4),  # broom
    ((29, 10, 14), (4.5, 8, 4.5), 0.7),  # its brush
)
"""Ellipsoids: centre and half-axes, pixels right, up, ahead of where it stands; brightness."""


def render(turns: Floats, leans: Floats, shifts: Floats) -> Floats:
    """
    Return pictures of a snowman, 0 black to 1 white, top row first: (n, height, width).

    In each it is turned (n,) to the right and leans (n,) to the side, degrees, and is shifted
    (n, 2) to the right and up, pixels.
    """
    pictures = np.empty((len(turns), HEIGHT, WIDTH))
    for picture, turn, lean, shift in zip(pictures, turns, leans, shifts, strict=True):
        cosine, sine = np.cos(np.radians(lean)), np.sin(np.radians(lean))
        leaning = np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])
        cosine, sine = np.cos(np.radians(turn)), np.sin(np.radians(turn))
        turning = np.array([[cosine, 0.0, sine], [0.0, 1.0, 0.0], [-sine, 0.0, cosine]])
        stance = leaning @ turning
        rays = np.full((FINER * HEIGHT, FINER * WIDTH), 0.15)  # the background
        depth = np.full(rays.shape, -np.inf)
        foot = np.array([WIDTH / 2.0 + shift[0], 14.0 + shift[1], 0.0])
        for centre, axes, brightness in SNOWMAN:
            shape = (stance * np.square(axes)) @ stance.T
            _put_ellipsoid(rays, depth, foot + stance @ centre, shape, brightness)
        picture[:] = rays.reshape(HEIGHT, FINER, WIDTH, FINER).mean(axis=(1, 3))
    return pictures


def _put_ellipsoid(
    rays: Floats, depth: Floats, centre: Floats, shape: Floats, brightness: float
) -> None:
    """Draw the points with ``(x - centre)' inv(shape) (x - centre) = 1`` where nearest."""
    # Only the rays around it, as far as they are in the picture.
    middle, half = np.array([HEIGHT - centre[1], centre[0]]), np.sqrt(np.diag(shape)[1::-1])
    ends = np.stack([np.floor(FINER * (middle - half)), np.ceil(FINER * (middle + half))], axis=1)
    rows, columns = (
        slice(*np.clip(pair, 0, size).astype(int))
        for pair, size in zip(ends, rays.shape, strict=True)
    )
    right = (np.arange(columns.start, columns.stop) + 0.5) / FINER - centre[0]
    up = HEIGHT - (np.arange(rows.start, rows.stop) + 0.5) / FINER - centre[1]
    right, up = np.meshgrid(right, up)
    inverse = np.linalg.inv(shape)
    linear = (inverse[0, 2] * right + inverse[1, 2] * up) / inverse[2, 2]
    rest = inverse[0, 0] * right**2 + 2.0 * inverse[0, 1] * right * up + inverse[1, 1] * up**2
    inside = linear**2 - (rest - 1.0) / inverse[2, 2]
    ahead = np.sqrt(np.maximum(inside, 0.0)) - linear
    visible = (inside > 0.0) & (centre[2] + ahead > depth[rows, columns])
    normal = np.tensordot(inverse, np.stack([right, up, ahead]), 1)
    normal /= np.linalg.norm(normal, axis=0)
    lit = np.maximum(np.tensordot(LIGHT / np.linalg.norm(LIGHT), normal, 1), 0.0)
    shade = brightness * (0.35 + (1.0 - 0.35) * lit)  # in the shade a share of it
    rays[rows, columns] = np.where(visible, shade, rays[rows, columns])
    depth[rows, columns] = np.where(visible, centre[2] + ahead, depth[rows, columns])


Turned = tuple['Floats', 'Floats', Projection]
"""Pictures, how the snowman is turned in each, degrees, and the direction that shows it."""


def fit_images(settings: Settings, seed: int, report: lab.Progress) -> Turned:
    """Find the turn of a snowman among all that changes in its pictures."""
    rng, (count,) = np.random.default_rng(seed), settings.size
    turn, lean = rng.uniform(-45.0, 45.0, count), rng.uniform(-10.0, 10.0, count)
    pictures = render(turn, lean, rng.uniform(-5.0, 5.0, (count, 2)))
    report('what shows its turn', 0.6)
    rows = pictures.reshape(count, -1)
    # Principal coordinates with nearly all of the variance have nearly the same distances.
    centred = rows - rows.mean(axis=0)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    kept = 1 + int(np.searchsorted(np.cumsum(values), 0.999 * values.sum()))
    points = vectors[:, :kept] * np.sqrt(values[:kept])
    eigenvectors = eigenvectors_of(points, settings.eigenvectors, neighbours=5)
    return pictures, turn, project(eigenvectors, turn, seed)


def score_images(settings: Settings, found: list[Turned]) -> list[lab.Claim]:
    """Claim that one direction shows the turn, and the bottom eigenvectors do not."""
    _, turn, projection = found[0]
    bottom = multiple_correlation(projection.eigenvectors[:, :3], turn)
    what = 'correlation of the first direction with the turn'
    together = 'correlation of the bottom three eigenvectors, together, with the turn'
    hidden, (known, least) = projection.hidden_correlation, settings.limits
    return [
        lab.at_least(what, 'Fig. 6b, fairly well', projection.correlation, known),
        lab.at_least(f'{what}, where hidden', 'not in it', hidden, least),
        lab.at_most(together, 'Fig. 7b, no structure', bottom, 0.5),
    ]


def draw_images(found: list[Turned]) -> list[lab.Panel]:
    """Draw some pictures, from the least to the greatest turn, and the projection."""
    pictures, turn, projection = found[0]
    order = np.argsort(turn)[np.linspace(0, len(pictures) - 1, 3).astype(int)]
    shown = [
        lab.panel(f'turn {turn[each]:.0f}', lab.layer('imshow', pictures[each], cmap='gray'))
        for each in order
    ]
    return shown + projection_panels(projection, 'turn (degrees)')


# With turns that the direction was found from, and with others.
_IMAGES, _QUICK_IMAGES = Settings((1_000,), 100, (0.85, 0.8)), Settings((150,), 30, (0.65, 0.4))
run_images = lab.Runner(_IMAGES, _QUICK_IMAGES, fit_images, score_images, draw_images)
