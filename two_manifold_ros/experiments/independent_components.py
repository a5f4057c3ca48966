# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiments of Singer & Coifman (2008): independent components behind a non-linear map.

``nlica-square`` and ``nlica-sphere`` recover a square in which a Brownian motion is seen through
a map, from short bursts of it. ``slow-manifold`` finds the slow variable behind a fast one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np
from scipy.stats import spearmanr

from two_manifold_ros.experiments.experiment import at_least, at_most, Colour, seeds_of_set
from two_manifold_ros.manifold.anisotropic_diffusion import AnisotropicDiffusion, GivenCovariances
from two_manifold_ros.manifold.diffusion_map import DiffusionMap
from two_manifold_ros.manifold.independent_components import (
    covariances_of_ends,
    local_covariances,
    place_on_interval,
)
from two_manifold_ros.manifold.learner import PointSet
from two_manifold_ros.nonlinear_ica import NonlinearICA

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.experiments.experiment import Axes, Findings, Progress
    from two_manifold_ros.typing import Floats

    Map = Callable[[Floats], Floats]
    """From the variables to observations."""
    Estimate = Callable[[Floats, float], Floats]
    """From (n, paths, steps + 1, D) observations and the duration to (n, D, D) covariances."""


def mushroom(x: Floats) -> Floats:
    """Map (..., 2) variables to the (..., 2) plane (Singer & Coifman 2008, eq. 31)."""
    first, second = x[..., 0], x[..., 1]
    return np.stack([first + second**3, second - first**3], axis=-1)


def mushroom_on_sphere(x: Floats) -> Floats:
    """Map (..., 2) variables to the unit sphere in (..., 3) (Singer & Coifman 2008, eq. 52)."""
    flat = mushroom(x)
    raised = np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], axis=-1)
    on_sphere: Floats = raised / np.linalg.norm(raised, axis=-1, keepdims=True)
    return on_sphere


class Bursts(NamedTuple):
    """Short paths from every point: how many, steps at which a path is seen, and their time."""

    paths: int
    steps: int
    duration: float


def reflect(x: Floats) -> Floats:
    """Return positions on a line folded into [0, 1], which are those of reflected motion."""
    folded: Floats = 1.0 - np.abs(np.mod(x, 2.0) - 1.0)
    return folded


def covariances_of_bursts(
    x: Floats, bursts: Bursts, observe: Map, estimate: Estimate, rng: np.random.Generator
) -> Floats:
    """Return the (n, D, D) covariances of motion, as observed, in bursts that start at (n, 2)."""
    found = []
    step = np.sqrt(bursts.duration / bursts.steps)
    block = 250  # points whose bursts are held in memory together
    for begin in range(0, len(x), block):
        starts = x[begin : begin + block, None, None]
        moves = rng.normal(scale=step, size=(len(starts), bursts.paths, bursts.steps, 2))
        walks = np.concatenate([np.zeros_like(moves[:, :, :1]), moves.cumsum(axis=2)], axis=2)
        found.append(estimate(observe(reflect(starts + walks)), bursts.duration))
    return np.concatenate(found)


EXPECTED_LINES = np.array([1.0, 1.0, 2.0, 4.0, 4.0, 5.0, 5.0])
"""Eigenvalues of the Laplacian of the unit square, over pi squared, without 0."""


def lines_of(eigenvalues: Floats, epsilon: float) -> Floats:
    r"""Return :math:`-2 \log(\lambda) / (\pi^2 \varepsilon)` of eigenvalues of the walk."""
    # A kernel of few points has negative ones, far down; they are no lines.
    positive = np.maximum(eigenvalues, np.finfo(float).tiny)
    lines: Floats = -2.0 * np.log(positive) / (np.pi**2 * epsilon)
    return lines


def worst_line(lines: Floats) -> float:
    """Return the largest relative distance of (..., m) lines, m at least 7, from the expected."""
    known = lines[..., : len(EXPECTED_LINES)]
    return float(np.abs(known / EXPECTED_LINES - 1.0).max())


def agreement(coordinates: Floats, x: Floats) -> float:
    """Return the lesser correlation of two coordinates with the cosines of (n, 2) variables."""
    table = np.abs(np.corrcoef(coordinates.T, np.cos(np.pi * x).T)[:2, 2:])
    straight, crossed = np.diag(table), np.diag(table[::-1])
    return float(max(straight.min(), crossed.min()))


def place_error(coordinates: Floats, x: Floats) -> float:
    """Return the RMS distance in the square, up to its symmetries, of places from variables."""
    places = place_on_interval(coordinates)
    errors = []
    for order in ([0, 1], [1, 0]):
        # The two ends of an interval look alike.
        directions = [places[:, order] - x, 1.0 - places[:, order] - x]
        squares = np.stack([np.square(each).mean(axis=0) for each in directions])
        errors.append(np.sqrt(squares.min(axis=0).sum()))
    return float(min(errors))


def best_mixture(coordinates: Floats, x: Floats) -> float:
    """Return the lesser correlation of the cosines with their best linear function of two."""
    cosines = np.cos(np.pi * x)
    cosines -= cosines.mean(axis=0)
    centred = coordinates - coordinates.mean(axis=0)
    fitted = centred @ np.linalg.lstsq(centred, cosines, rcond=None)[0]
    shares = np.square(fitted).sum(axis=0) / np.square(cosines).sum(axis=0)
    return float(np.sqrt(shares.min()))


@dataclass(frozen=True)
class SquareSettings:
    """Settings of the runs in the square, and limits that they are judged by."""

    points: int  # in the square
    bursts: Bursts
    epsilon: float = 0.005  # of the kernel
    share: float = 0.25  # of the points that are neighbours; the kernel is below 1e-3 beyond
    draws: int = 5  # of points and bursts
    spectrum: float = 0.1  # relative distance of a line from where it should be, at most
    match: float = 0.98  # least correlation of a coordinate with the cosine of a variable
    place: float = 0.08  # largest RMS distance of a place in the square
    mixed: float = 0.95  # most of a map that fails, for the worse of the two variables


def small_square(bursts: Bursts) -> SquareSettings:
    """Return the quick form."""
    return SquareSettings(400, bursts, 0.02, 0.6, draws=1, spectrum=0.3, match=0.95, place=0.15)


@dataclass(frozen=True)
class Draw:
    """Variables (n, 2) of one draw, the independent coordinates (n, 2) and the spectrum (m,)."""

    x: Floats
    coordinates: Floats
    lines: Floats


def _draw_all(
    settings: SquareSettings, observe: Map, seeds: range, progress: Progress, then: str
) -> list[Draw]:
    """Find the independent coordinates of points behind a map, in every draw."""
    draws = []
    for index, seed in enumerate(seeds):
        progress(f'draw {index + 1} of {len(seeds)}', index / (len(seeds) + 1))
        x, found = _separate(seed, settings, observe, local_covariances, 0.5, 0.0)
        lines = lines_of(found.eigenvalues_, settings.epsilon)
        draws.append(Draw(x, found.embedding_, lines))
    progress(then, len(seeds) / (len(seeds) + 1))
    return draws


def _separate(
    seed: int,
    settings: SquareSettings,
    observe: Map,
    estimate: Estimate,
    density: float,
    power: float,
) -> tuple[Floats, NonlinearICA]:
    """Return the variables (n, 2) of a draw, and the estimator fitted to what is seen of them."""
    rng = np.random.default_rng(seed)
    x = rng.random((settings.points, 2))
    covariances = covariances_of_bursts(x, settings.bursts, observe, estimate, rng)
    estimator = NonlinearICA(
        2,
        clouds='given',
        neighbours=int(settings.share * settings.points),
        epsilon=settings.epsilon,
        density=density,
        power=power,
    )
    return x, estimator.fit(observe(x), covariances)


def _of_ends(bursts: Floats, duration: float) -> Floats:
    """Return covariances as the paper estimates them, of the ends of the paths."""
    return covariances_of_ends(bursts[:, :, -1], duration)


def _ordinary_map(seen: Floats, density: float = 0.0) -> Floats:
    """Return two eigenfunctions of a diffusion map of (n, D) points, without covariances."""
    return DiffusionMap(2, 100, density).fit(PointSet(seen)).coordinates


def run_square(progress: Progress, *, quick: bool, seed: int = 0) -> Findings:
    """Recover the square behind a map of the plane, Figs. 1 to 4."""
    bursts = Bursts(200, 10, 0.01)  # the paper's, seen ten times on the way
    settings = small_square(bursts) if quick else SquareSettings(3_000, bursts)
    seeds = seeds_of_set(seed, settings.draws)
    draws = _draw_all(settings, mushroom, seeds, progress, 'maps that know no covariances')
    first, count = draws[0], f'{len(draws)} draws'
    isotropic, beltrami = (_ordinary_map(mushroom(first.x), density) for density in (0.0, 1.0))
    _, published = _separate(seeds[0], settings, mushroom, _of_ends, 0.0, 1.0)
    published_lines = lines_of(published.eigenvalues_, settings.epsilon)
    mixture = 'correlation with cos(pi x) after the best linear map'
    claims = [
        at_most(
            f'spectrum: worst of 7 lines in {count}, relative',
            'Fig. 2, identified',
            max(worst_line(each.lines) for each in draws),
            settings.spectrum,
        ),
        at_least(
            f'anisotropic: worst correlation with cos(pi x) in {count}',
            'Figs. 3 and 4, left',
            min(agreement(each.coordinates, each.x) for each in draws),
            settings.match,
        ),
        at_most(
            f'anisotropic: RMS distance of places from the true ones, worst of {count}',
            'Fig. 4, a square',
            max(place_error(each.coordinates, each.x) for each in draws),
            settings.place,
        ),
        *(
            at_most(f'{name}: {mixture}', paper, best_mixture(found, first.x), settings.mixed)
            for name, paper, found in (
                ('isotropic', 'centre, mixed', isotropic),
                ('Beltrami', 'right, mixed', beltrami),
            )
        ),
    ]
    lines = np.stack([each.lines for each in draws])
    return claims, _draw_square(first, isotropic, beltrami, lines, published_lines)


def _draw_square(
    first: Draw, isotropic: Floats, beltrami: Floats, lines: Floats, published: Floats
) -> Figure:
    """Draw the points, the spectrum, and for three maps eigenfunctions and embedding."""
    figure = Figure(figsize=(13.0, 9.0), layout='constrained')
    axes = figure.subplots(3, 4)
    by_first = first.x[:, 0]
    square, plane = ('$x_1$', '$x_2$'), ('$y_1$', '$y_2$')
    _scatter(axes[0, 0], first.x, by_first, 'the variables, by $x_1$', square)
    _scatter(axes[1, 0], mushroom(first.x), by_first, 'what is seen, by $x_1$', plane)
    _draw_spectrum(axes[2, 0], lines, published)
    maps = {'anisotropic': first.coordinates, 'isotropic': isotropic, 'Beltrami': beltrami}
    for column, (name, functions) in enumerate(maps.items(), start=1):
        for row in range(2):
            title = rf'{name}: $\phi_{1 + row}$ in the square'
            _scatter(axes[row, column], first.x, functions[:, row], title, square)
        _draw_embedding(axes[2, column], functions, by_first, f'{name}: embedding, by $x_1$')
    return figure


def _scatter(
    axes: Axes,
    places: Floats,
    colours: Floats,
    title: str,
    names: tuple[str, str],
    *,
    size: float = 6.0,
    most: int = 1_200,
) -> None:
    """Draw (n, 2) places by colour, so many of them at most that pictures stay small."""
    shown = places[:most, :2].T
    axes.scatter(*shown, c=colours[:most], s=size, cmap='viridis', linewidths=0)
    axes.set(title=title, xlabel=names[0], ylabel=names[1])


def _draw_embedding(axes: Axes, functions: Floats, colours: Floats, title: str) -> None:
    _scatter(axes, functions, colours, title, (r'$\phi_1$', r'$\phi_2$'))
    axes.set(xticks=[], yticks=[])


def _draw_spectrum(axes: Axes, lines: Floats, published: Floats) -> None:
    numbers = 1 + np.arange(len(EXPECTED_LINES))
    for number, line in zip(numbers, EXPECTED_LINES, strict=True):
        # Wide enough to see the band of a line, which is low for the first ones.
        ends = [number - 0.45, number + 0.45]
        axes.fill_between(ends, 0.9 * line, 1.1 * line, color='0.85')
        axes.plot(ends, [line, line], color=Colour.GREY)
    shifts = np.linspace(-0.2, 0.2, len(lines)) if len(lines) > 1 else np.zeros(1)
    for place, (shift, row) in enumerate(zip(shifts, lines, strict=True)):
        label = f'{len(lines)} draws' if place == 0 else None
        axes.plot(numbers + shift, row[:7], 'o', color=Colour.BLUE, ms=3, label=label)
    axes.plot(numbers, published[:7], 'x', color=Colour.VERMILION, label='as in the paper')
    axes.set(
        title='spectrum, and 10 % around it',
        xlabel='eigenvalue',
        ylabel=r'$-2\,\log(\lambda)\,/\,(\pi^2\varepsilon)$',
    )
    axes.set_xticks(numbers)
    axes.legend(fontsize='small')


def run_sphere(progress: Progress, *, quick: bool, seed: int = 0) -> Findings:
    """Recover the square behind a map to the sphere, Figs. 6 and 7."""
    # As many steps of .001 as the paper has paths of one such step.
    bursts = Bursts(100, 10, 0.01)
    settings = small_square(bursts) if quick else SquareSettings(2_000, bursts, match=0.97)
    seeds, then = seeds_of_set(seed, settings.draws), 'a map that knows no covariances'
    draws = _draw_all(settings, mushroom_on_sphere, seeds, progress, then)
    first = draws[0]
    seen = mushroom_on_sphere(first.x)
    isotropic = _ordinary_map(seen)
    return [
        at_least(
            f'anisotropic: worst correlation with cos(pi x) in {len(draws)} draws',
            'Fig. 7, a square',
            min(agreement(each.coordinates, each.x) for each in draws),
            settings.match,
        ),
        at_most(
            'isotropic: correlation with cos(pi x) after the best linear map',
            'not in it',
            best_mixture(isotropic, first.x),
            settings.mixed,
        ),
    ], _draw_sphere(first, seen, isotropic)


def _draw_sphere(first: Draw, seen: Floats, isotropic: Floats) -> Figure:
    """Draw the mushroom, the coordinates found and an isotropic map beside them."""
    figure = Figure(figsize=(12.0, 7.4), layout='constrained')
    axes: Axes = figure.add_subplot(2, 3, 1, projection='3d')
    x, coordinates = first.x, first.coordinates
    axes.scatter(*seen.T, c=x[:, 0], s=4.0, cmap='viridis', linewidths=0)
    axes.set(title='what is seen, by $x_1$', xlabel='$y_1$', ylabel='$y_2$', zlabel='$y_3$')
    axes.set_box_aspect(None, zoom=0.85)
    for column in range(2):
        title = rf'$\phi_{1 + column}$ in the square of the variables'
        axes = figure.add_subplot(2, 3, 2 + column)
        _scatter(axes, x, coordinates[:, column], title, ('$x_1$', '$x_2$'))
        title = f'embedding, by $x_{1 + column}$'
        _draw_embedding(figure.add_subplot(2, 3, 5 + column), coordinates, x[:, column], title)
    axes = figure.add_subplot(2, 3, 4)
    _draw_embedding(axes, isotropic, x[:, 0], 'isotropic: embedding, by $x_1$')
    return figure


@dataclass(frozen=True)
class SlowSettings:
    """Settings of the runs of the slow and fast system, and limits that they are judged by."""

    recordings: int = 100
    points: int = 20  # taken from each recording
    way: int = 100  # longer steps between them
    draws: int = 5  # sets of recordings
    neighbours: int = 100  # of both maps
    match: float = 0.95  # least rank correlation with the slow variable
    mixed: float = 0.8  # most of the isotropic map, in the mean over the draws


@dataclass(frozen=True)
class SlowSystem:
    r"""
    A slow variable reflected at 0 and 1, and a fast one that it drives.

    .. math:: ds = \tfrac12 f\,dt + dw_1, \qquad
              df = (a \sin 2 \pi s - f)\,dt/\tau + a \sqrt{2/\tau}\,dw_2
    """

    fast_time: float = 0.02  # tau; the slow variable takes ten times as long
    spread: float = 0.4  # a, of the fast variable around a mean that moves as far
    step: float = 5e-6  # time between the samples of a recording
    skip: float = 2e-4  # time between the states on the way from one point to the next
    half: int = 20  # steps of a recording before a point, and after it

    def record(self, settings: SlowSettings, rng: np.random.Generator) -> Recorded:
        """Record the system several times, and take points from the recordings."""
        count, half = settings.recordings, self.half
        states = np.stack([rng.random(count), self.spread * rng.standard_normal(count)])
        kept = np.empty((settings.points, 2 * half + 1, 2, count))
        for place in range(settings.points):
            for _ in range(settings.way):
                states = self._move(states, self.skip, rng)
            for step in range(2 * half + 1):
                kept[place, step] = states = self._move(states, self.step, rng)
        slow, fast = kept.transpose(2, 3, 0, 1).reshape(2, count * settings.points, -1)
        # Seen is the slow variable as a radius and the fast one as an angle.
        radius = 1.0 + slow
        seen = np.stack([radius * np.cos(fast), radius * np.sin(fast)], axis=-1)
        return Recorded(slow[:, half], fast[:, half], seen)

    def _move(self, states: Floats, step: float, rng: np.random.Generator) -> Floats:
        slow, fast = states
        noise = rng.standard_normal(states.shape) * np.sqrt(step)
        pull = (self.spread * np.sin(2.0 * np.pi * slow) - fast) / self.fast_time
        kick = self.spread * np.sqrt(2.0 / self.fast_time) * noise[1]
        return np.stack([reflect(slow + 0.5 * fast * step + noise[0]), fast + pull * step + kick])


@dataclass(frozen=True)
class Recorded:
    """The hidden variables at points, (n,), and what is seen around each point, (n, m, 2)."""

    slow: Floats
    fast: Floats
    stretches: Floats

    @property
    def points(self) -> Floats:
        """Observations of the points: (n, 2)."""
        return self.stretches[:, self.stretches.shape[1] // 2]


def run_slow_manifold(progress: Progress, *, quick: bool, seed: int = 0) -> Findings:
    """Find the slow variable with and without the covariances of short stretches."""
    settings, system = SlowSettings(), SlowSystem()
    if quick:
        settings = SlowSettings(recordings=200, points=3, draws=1)
    draws, aware, plain = [], [], []
    for index, drawn in enumerate(seeds_of_set(seed, settings.draws)):
        progress(f'draw {index + 1} of {settings.draws}', index / settings.draws)
        recorded = system.record(settings, np.random.default_rng(drawn))
        # The one path through each point is what there is of a burst.
        duration = 2 * system.half * system.step
        covariances = local_covariances(recorded.stretches[:, None], duration)
        source, points = GivenCovariances(covariances, rank=2), PointSet(recorded.points)
        learner = AnisotropicDiffusion(2, settings.neighbours, source, density=0.5, power=0.0)
        draws.append(recorded)
        aware.append(learner.fit(points).coordinates)
        plain.append(DiffusionMap(2, settings.neighbours).fit(points).coordinates)
    matches, mixed = (
        [
            abs(float(spearmanr(each[:, 0], recorded.slow).statistic))
            for each, recorded in zip(coordinates, draws, strict=True)
        ]
        for coordinates in (aware, plain)
    )
    what = 'rank correlation of the first coordinate with the slow variable'
    paper, mean = 'a claim of the introduction', float(np.mean(mixed))
    return [
        at_least(f'anisotropic: {what}, worst draw', paper, min(matches), settings.match),
        at_most(f'isotropic: {what}, mean of draws', 'not in it', mean, settings.mixed),
    ], _draw_slow(draws[0], aware[0], plain[0])


def _draw_slow(recorded: Recorded, aware: Floats, plain: Floats) -> Figure:
    """Draw what is seen, and the first coordinate of both maps against both variables."""
    figure = Figure(figsize=(12.0, 7.0), layout='constrained')
    axes = figure.subplots(2, 3)
    variables = {'slow variable': recorded.slow, 'fast variable': recorded.fast}
    draw = partial(_scatter, size=5.0, most=len(plain))
    for row, (name, variable) in enumerate(variables.items()):
        title = f'what is seen, coloured by the {name}'
        draw(axes[row, 0], recorded.points, variable, title, ('$y_1$', '$y_2$'))
    for row, (name, found) in enumerate({'anisotropic': aware, 'isotropic': plain}.items()):
        for column, (other, variable) in enumerate(variables.items(), start=1):
            places, title = np.stack([variable, found[:, 0]], axis=1), f'{name}: first coordinate'
            names = other, r'$\phi_1$'
            draw(axes[row, column], places, recorded.slow, title, names)
    return figure
