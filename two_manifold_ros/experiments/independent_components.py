# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiments of Singer & Coifman (2008): independent components behind a non-linear map.

``nlica-square`` and ``nlica-sphere`` recover a square in which a Brownian motion is seen through
a map, from short bursts of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.experiment import (
    at_least,
    at_most,
    Colour,
    part_of,
    seeds_of_set,
)
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

    from two_manifold_ros.experiments.experiment import Axes, Claim, Findings, Progress
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
"""Eigenvalues n^2 + m^2 of the Laplacian of the unit square, over pi squared, without 0."""

HALF_A_GAP = 0.5
"""
Half the distance between neighbouring lines, 1 and 2 or 4 and 5.

A line is identified, as Singer & Coifman 2008 say of those in Fig. 2, if it is nearer to where it
should be than to any other.
"""


def lines_of(eigenvalues: Floats, epsilon: float) -> Floats:
    r"""Return :math:`-2 \log(\lambda) / (\pi^2 \varepsilon)` of eigenvalues of the walk."""
    # A kernel of few points has negative ones, far down; they are no lines.
    positive = np.maximum(eigenvalues, np.finfo(float).tiny)
    lines: Floats = -2.0 * np.log(positive) / (np.pi**2 * epsilon)
    return lines


def worst_line(lines: Floats) -> float:
    """Return the largest distance of (..., m) lines, m at least 7, from where each should be."""
    return float(np.abs(lines[..., : len(EXPECTED_LINES)] - EXPECTED_LINES).max())


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
    published_points: int = 2_000  # in the square, for the operator as published
    line: float = HALF_A_GAP  # largest distance of a line from where it should be
    match: float = 0.98  # least correlation of a coordinate with the cosine of a variable
    place: float = 0.08  # largest RMS distance of a place in the square
    mixed: float = 0.95  # most of a map that fails, for the worse of the two variables


def small_square(bursts: Bursts) -> SquareSettings:
    """Return the quick form."""
    return SquareSettings(
        400, bursts, 0.02, 0.6, draws=1, published_points=400, line=1.2, match=0.95, place=0.15
    )


@dataclass(frozen=True)
class Draw:
    """Variables (n, 2) of one draw, the independent coordinates (n, 2) and the spectrum (m,)."""

    x: Floats
    coordinates: Floats
    lines: Floats

    @property
    def agreement(self) -> float:
        """Correlation of the coordinates with the cosines of the variables, the lesser one."""
        return agreement(self.coordinates, self.x)


@dataclass(frozen=True)
class Operator:
    """How the operator is made of points and bursts: density normalisation, means, covariances."""

    estimate: Estimate = local_covariances
    density: float = 0.5
    power: float = 0.0  # of the mean of the two squared distances of a pair; 0 is geometric


def _of_ends(bursts: Floats, duration: float) -> Floats:
    """Return covariances as the paper estimates them, of the ends of the paths."""
    return covariances_of_ends(bursts[:, :, -1], duration)


PUBLISHED = Operator(_of_ends, 0.0, 1.0)
"""The operator to the letter: Singer & Coifman 2008, eqs. 20, 29 and 35."""


def _draw_all(
    settings: SquareSettings,
    observe: Map,
    seeds: range,
    progress: Progress,
    operator: Operator | None = None,
) -> list[Draw]:
    """Find the independent coordinates of points behind a map, in every draw."""
    operator = Operator() if operator is None else operator
    draws = []
    for index, seed in enumerate(seeds):
        progress(f'draw {index + 1} of {len(seeds)}', index / len(seeds))
        x, found = _separate(seed, settings, observe, operator)
        lines = lines_of(found.eigenvalues_, settings.epsilon)
        draws.append(Draw(x, found.embedding_, lines))
    return draws


def _separate(
    seed: int, settings: SquareSettings, observe: Map, operator: Operator
) -> tuple[Floats, NonlinearICA]:
    """Return the variables (n, 2) of a draw, and the estimator fitted to what is seen of them."""
    rng = np.random.default_rng(seed)
    x = rng.random((settings.points, 2))
    covariances = covariances_of_bursts(x, settings.bursts, observe, operator.estimate, rng)
    estimator = NonlinearICA(
        2,
        clouds='given',
        neighbours=int(settings.share * settings.points),
        epsilon=settings.epsilon,
        density=operator.density,
        power=operator.power,
    )
    return x, estimator.fit(observe(x), covariances)


def _ordinary_map(seen: Floats, density: float = 0.0) -> Floats:
    """Return two eigenfunctions of a diffusion map of (n, D) points, without covariances."""
    return DiffusionMap(2, 100, density).fit(PointSet(seen)).coordinates


def run_square(progress: Progress, *, quick: bool, seed: int = 0) -> Findings:
    """Recover the square behind a map of the plane, Figs. 1 to 4."""
    bursts = Bursts(200, 10, 0.01)  # the paper's, seen ten times on the way
    settings = small_square(bursts) if quick else SquareSettings(3_000, bursts)
    seeds = seeds_of_set(seed, settings.draws)
    report = partial(part_of, progress, count=3)
    draws = _draw_all(settings, mushroom, seeds, report('ours', 0))
    literal = replace(settings, points=settings.published_points)
    published = _draw_all(literal, mushroom, seeds, report('as published', 1), PUBLISHED)
    progress('maps that know no covariances', 2.0 / 3.0)
    first, count = draws[0], f'{len(draws)} draws'
    isotropic, beltrami = (_ordinary_map(mushroom(first.x), density) for density in (0.0, 1.0))
    lines, published_lines = (
        np.stack([each.lines[: len(EXPECTED_LINES)] for each in found])
        for found in (draws, published)
    )
    mixture = 'correlation with cos(pi x) after the best linear map'
    line, identified = 'largest distance of 7 lines from n^2 + m^2', 'Fig. 2, identified'
    matches = [each.agreement for each in published]
    claims = [
        *(
            _with_worst(
                at_most(
                    f'{name}: {line}, mean of {count}',
                    identified,
                    worst_line(each.mean(axis=0)),
                    settings.line,
                ),
                worst_line(each),
            )
            for name, each in (('spectrum', lines), ('as published', published_lines))
        ),
        _with_worst(
            at_least(
                f'as published: correlation with cos(pi x), mean of {count}',
                'Figs. 3 and 4, left',
                float(np.mean(matches)),
                settings.match,
            ),
            min(matches),
        ),
        at_least(
            f'anisotropic: worst correlation with cos(pi x) in {count}',
            'Figs. 3 and 4, left',
            min(each.agreement for each in draws),
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
    return claims, _draw_square(first, isotropic, beltrami, lines, published_lines)


def _with_worst(claim: Claim, worst: float) -> Claim:
    """Add the worst of the draws to the result of a claim about their mean."""
    return replace(claim, ours=f'{claim.ours} (worst draw {worst:.3g})')


def _draw_square(
    first: Draw, isotropic: Floats, beltrami: Floats, lines: Floats, published: Floats
) -> Figure:
    """Draw the points, the spectrum, and for three maps eigenfunctions and embedding."""
    figure = Figure(figsize=(13.0, 9.0), layout='constrained')
    axes = figure.subplots(3, 4)
    by_first = first.x[:, 0]
    square, plane = ('$x_1$', '$x_2$'), ('$y_1$', '$y_2$')
    scatter(axes[0, 0], first.x, by_first, 'the variables, by $x_1$', square)
    scatter(axes[1, 0], mushroom(first.x), by_first, 'what is seen, by $x_1$', plane)
    _draw_spectrum(axes[2, 0], lines, published)
    maps = {'anisotropic': first.coordinates, 'isotropic': isotropic, 'Beltrami': beltrami}
    for column, (name, functions) in enumerate(maps.items(), start=1):
        for row in range(2):
            title = rf'{name}: $\phi_{1 + row}$ in the square'
            scatter(axes[row, column], first.x, functions[:, row], title, square)
        _draw_embedding(axes[2, column], functions, by_first, f'{name}: embedding, by $x_1$')
    return figure


def scatter(
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
    scatter(axes, functions, colours, title, (r'$\phi_1$', r'$\phi_2$'))
    axes.set(xticks=[], yticks=[])


def _draw_spectrum(axes: Axes, lines: Floats, published: Floats) -> None:
    numbers = 1 + np.arange(len(EXPECTED_LINES))
    for number, line in zip(numbers, EXPECTED_LINES, strict=True):
        ends = [number - 0.45, number + 0.45]
        axes.fill_between(ends, line - HALF_A_GAP, line + HALF_A_GAP, color='0.85')
        axes.plot(ends, [line, line], color=Colour.GREY)
    shifts = np.linspace(-0.2, 0.2, len(lines)) if len(lines) > 1 else np.zeros(1)
    kinds = (
        (lines, f'{len(lines)} draws', {'marker': 'o', 'color': Colour.BLUE, 'ms': 3}),
        (published, 'as published', {'marker': 'x', 'color': Colour.VERMILION, 'ms': 4}),
    )
    for rows, label, style in kinds:
        for place, (shift, row) in enumerate(zip(shifts, rows, strict=True)):
            axes.plot(numbers + shift, row, ls='', label=None if place else label, **style)
    axes.set(
        title='spectrum, and half a gap around it',
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
    seeds = seeds_of_set(seed, settings.draws)
    draws = _draw_all(settings, mushroom_on_sphere, seeds, progress)
    first = draws[0]
    seen = mushroom_on_sphere(first.x)
    isotropic = _ordinary_map(seen)
    return [
        at_least(
            f'anisotropic: worst correlation with cos(pi x) in {len(draws)} draws',
            'Fig. 7, a square',
            min(each.agreement for each in draws),
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
        scatter(axes, x, coordinates[:, column], title, ('$x_1$', '$x_2$'))
        title = f'embedding, by $x_{1 + column}$'
        _draw_embedding(figure.add_subplot(2, 3, 5 + column), coordinates, x[:, column], title)
    axes = figure.add_subplot(2, 3, 4)
    _draw_embedding(axes, isotropic, x[:, 0], 'isotropic: embedding, by $x_1$')
    return figure
