# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiments of Singer & Coifman (2008): independent components behind a non-linear map."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from two_manifold_ros.experiments import experiment as lab
from two_manifold_ros.manifold.diffusion_map import (
    AnisotropicDiffusion,
    DiffusionMap,
    GivenCovariances,
)
from two_manifold_ros.manifold.independent_components import (
    covariances_of_ends,
    local_covariances,
    place_on_interval,
)
from two_manifold_ros.manifold.learner import PointSet
from two_manifold_ros.nonlinear_ica import NonlinearICA
from two_manifold_ros.typing import Floats

Map = Callable[['Floats'], 'Floats']
"""From the variables to observations."""

Estimate = Callable[['Floats', float], 'Floats']
"""From (n, paths, steps + 1, D) observations and the duration to (n, D, D) covariances."""


def mushroom(x: Floats) -> Floats:
    """Map (..., 2) variables to the (..., 2) plane (Singer & Coifman 2008, eq. 31)."""
    first, second = x[..., 0], x[..., 1]
    return np.stack([first + second**3, second - first**3], axis=-1)


class Bursts(NamedTuple):
    """Short paths from every point: how many, steps at which a path is seen, and their time."""

    paths: int
    steps: int
    duration: float


def reflect(x: Floats) -> Floats:
    """Return positions on a line folded into [0, 1], which are those of reflected motion."""
    return np.asarray(1.0 - np.abs(np.mod(x, 2.0) - 1.0))


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


def lines_of(eigenvalues: Floats, epsilon: float) -> Floats:
    r"""Return :math:`-2 \log(\lambda) / (\pi^2 \varepsilon)` of eigenvalues of the walk."""
    # A kernel of few points has negative ones, far down; they are no lines.
    positive = np.maximum(eigenvalues, np.finfo(float).tiny)
    return np.asarray(-2.0 * np.log(positive) / (np.pi**2 * epsilon))


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


class SquareSettings(NamedTuple):
    """Settings of both experiments, and limits that they are judged by."""

    points: int  # in the square
    bursts: Bursts
    epsilon: float = 0.005  # of the kernel
    share: float = 0.25  # of the points that are neighbours; the kernel is below 1e-3 beyond
    trials: int = 5
    published_points: int = 2_000  # in the square, for the operator as published
    line: float = 0.5  # of a line from its place: it is identified (Fig. 2) if no other is nearer
    match: float = 0.98  # least correlation of a coordinate with the cosine of a variable
    place: float = 0.08  # largest RMS distance of a place in the square
    mixed: float = 0.95  # most of a map that fails, for the worse of the two variables


def _quick(bursts: Bursts) -> SquareSettings:
    return SquareSettings(400, bursts, 0.02, 0.6, 1, 400, line=1.2, match=0.95, place=0.15)


class Draw(NamedTuple):
    """Variables (n, 2), what is seen of them, independent coordinates (n, 2), spectrum (m,)."""

    x: Floats
    seen: Floats
    coordinates: Floats
    lines: Floats

    def ordinary_map(self, density: float = 0.0) -> Floats:
        """Return two eigenfunctions of a diffusion map of the points, without covariances."""
        return DiffusionMap(2, 100, density).fit(PointSet(self.seen)).coordinates

    def mixed(self, name: str, paper: str, limit: float, density: float = 0.0) -> lab.Claim:
        """Claim that such a map does not hold the variables."""
        what = f'{name}: correlation with cos(pi x) after the best linear map'
        return lab.at_most(what, paper, best_mixture(self.ordinary_map(density), self.x), limit)


def separate(
    settings: SquareSettings,
    seed: int,
    observe: Map,
    estimate: Estimate = local_covariances,
    **operator: float,
) -> Draw:
    """Find the independent coordinates of points behind a map, by `NonlinearICA`."""
    rng = np.random.default_rng(seed)
    x = rng.random((settings.points, 2))
    covariances = covariances_of_bursts(x, settings.bursts, observe, estimate, rng)
    neighbours, epsilon = int(settings.share * settings.points), settings.epsilon
    learner = NonlinearICA(2, clouds='given', neighbours=neighbours, epsilon=epsilon, **operator)
    estimator = learner.fit(observe(x), covariances)
    lines = lines_of(estimator.eigenvalues_, epsilon)
    return Draw(x, observe(x), estimator.embedding_, lines)


def fit_square(settings: SquareSettings, seed: int, report: lab.Progress) -> tuple[Draw, Draw]:
    """Recover the square behind a map of the plane, and by the operator of eqs. 20, 29 and 35."""
    ours = separate(settings, seed, mushroom)
    report('as published', 0.5)

    def ends(bursts: Floats, duration: float) -> Floats:
        return covariances_of_ends(bursts[:, :, -1], duration)

    few = settings._replace(points=settings.published_points)
    return ours, separate(few, seed, mushroom, ends, density=0.0, power=1.0)


def score_square(settings: SquareSettings, found: list[tuple[Draw, Draw]]) -> list[lab.Claim]:
    """Claim that lines are identified, and that only the anisotropic map separates."""
    draws, published = zip(*found, strict=True)
    first, count = draws[0], f'{len(draws)} draws'
    claims = []
    for name, each in (('spectrum', draws), ('as published', published)):
        lines = np.stack([draw.lines[: len(EXPECTED_LINES)] for draw in each])
        what = f'{name}: largest distance of 7 lines from n^2 + m^2, mean of {count}'
        mean, note = worst_line(lines.mean(axis=0)), f' (worst draw {worst_line(lines):.3g})'
        claims.append(lab.at_most(what, 'Fig. 2, identified', mean, settings.line, note))
    matches = [agreement(each.coordinates, each.x) for each in published]
    mean, note = float(np.mean(matches)), f' (worst draw {min(matches):.3g})'
    least = min(agreement(each.coordinates, each.x) for each in draws)
    far = max(place_error(each.coordinates, each.x) for each in draws)
    what, paper, match = 'correlation with cos(pi x)', 'Figs. 3 and 4, left', settings.match
    places = f'anisotropic: RMS distance of places from the true ones, worst of {count}'
    return [
        *claims,
        lab.at_least(f'as published: {what}, mean of {count}', paper, mean, match, note),
        lab.at_least(f'anisotropic: worst {what} in {count}', paper, least, match),
        lab.at_most(places, 'Fig. 4, a square', far, settings.place),
        first.mixed('isotropic', 'centre, mixed', settings.mixed),
        first.mixed('Beltrami', 'right, mixed', settings.mixed, 1.0),
    ]


def draw_square(found: list[tuple[Draw, Draw]]) -> list[lab.Panel]:
    """Draw the points, and for three maps eigenfunctions and embedding; then the spectrum."""
    first, numbers = found[0][0], 1 + np.arange(len(EXPECTED_LINES))
    lines = [
        lab.layer('plot', numbers, draw.lines[: len(numbers)], marker, color=colour, ls='')
        for pair in found
        for draw, marker, colour in zip(pair, 'ox', (lab.BLUE, lab.VERMILION), strict=True)
    ]
    wanted = lab.layer('step', numbers, EXPECTED_LINES, where='mid', color=lab.GREY)
    panels = [
        lab.panel('spectrum (x: as published)', wanted, *lines, xlabel='eigenvalue'),
        lab.panel('what is seen, by $x_1$', lab.dots(first.seen, first.x[:, 0])),
    ]
    for name, functions in (
        ('anisotropic', first.coordinates),
        ('isotropic', first.ordinary_map()),
        ('Beltrami', first.ordinary_map(1.0)),
    ):
        title = rf'{name}: $\phi_1$ in the square'
        panels.append(lab.panel(title, lab.dots(first.x, functions[:, 0])))
        embedding = lab.dots(functions, first.x[:, 0])
        panels.append(lab.panel(f'{name}: embedding, by $x_1$', embedding))
    return panels


_SQUARE, _SPHERE = Bursts(200, 10, 0.01), Bursts(100, 10, 0.01)
"""The paper's, seen ten times on the way; of the sphere as many steps as the paper has paths."""

_FLAT = SquareSettings(3_000, _SQUARE)
run_square = lab.Runner(_FLAT, _quick(_SQUARE), fit_square, score_square, draw_square)


def fit_sphere(settings: SquareSettings, seed: int, _: lab.Progress) -> Draw:
    """Recover the square behind a map to the unit sphere (eq. 52), Figs. 6 and 7."""

    def observe(x: Floats) -> Floats:
        flat = mushroom(x)
        raised = np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], axis=-1)
        return np.asarray(raised / np.linalg.norm(raised, axis=-1, keepdims=True))

    return separate(settings, seed, observe)


def score_sphere(settings: SquareSettings, found: list[Draw]) -> list[lab.Claim]:
    """Claim that the anisotropic map separates, and an isotropic one does not."""
    what = f'anisotropic: worst correlation with cos(pi x) in {len(found)} draws'
    least = min(agreement(each.coordinates, each.x) for each in found)
    return [
        lab.at_least(what, 'Fig. 7, a square', least, settings.match),
        found[0].mixed('isotropic', 'not in it', settings.mixed),
    ]


def draw_sphere(found: list[Draw]) -> list[lab.Panel]:
    """Draw the mushroom, the coordinates found and an isotropic map beside them."""
    first = found[0]
    maps = {'anisotropic': first.coordinates, 'isotropic': first.ordinary_map()}
    return [
        lab.panel('what is seen, by $x_1$', lab.dots(first.seen, first.x[:, 0]), solid=True),
        *(
            lab.panel(
                f'{name}: embedding, by $x_{1 + side}$', lab.dots(found_map, first.x[:, side])
            )
            for name, found_map in maps.items()
            for side in (0, 1)
        ),
    ]


_GLOBE = SquareSettings(2_000, _SPHERE, match=0.97)
run_sphere = lab.Runner(_GLOBE, _quick(_SPHERE), fit_sphere, score_sphere, draw_sphere)


class SlowSettings(NamedTuple):
    """Settings of the experiment."""

    recordings: int = 100
    points: int = 20  # taken from each recording
    way: int = 100  # longer steps between them
    trials: int = 5  # sets of recordings


HALF, STEP = 20, 5e-6
"""Steps of a recording before a point, and after it, and the time of a step."""


def record_slow(settings: SlowSettings, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    r"""
    Record a slow variable reflected at 0 and 1, and a fast one that it drives.

    .. math:: ds = \tfrac12 f\,dt + dw_1, \qquad
              df = (a \sin 2 \pi s - f)\,dt/\tau + a \sqrt{2/\tau}\,dw_2

    Returned are both variables at points (n,), and what is seen around each of these (n, m, 2).
    """
    # The slow variable takes ten times as long as tau; the mean of the fast one moves by a.
    spread, tau, count = 0.4, 0.02, settings.recordings

    def move(states: Floats, step: float) -> Floats:
        slow, fast = states
        noise = rng.standard_normal(states.shape) * np.sqrt(step)
        pull = (spread * np.sin(2.0 * np.pi * slow) - fast) / tau
        kick = spread * np.sqrt(2.0 / tau) * noise[1]
        return np.stack([reflect(slow + 0.5 * fast * step + noise[0]), fast + pull * step + kick])

    states = np.stack([rng.random(count), spread * rng.standard_normal(count)])
    kept = np.empty((settings.points, 2 * HALF + 1, 2, count))
    for place in range(settings.points):
        for _ in range(settings.way):
            states = move(states, 2e-4)
        for step in range(2 * HALF + 1):
            kept[place, step] = states = move(states, STEP)
    slow, fast = kept.transpose(2, 3, 0, 1).reshape(2, count * settings.points, -1)
    # Seen is the slow variable as a radius and the fast one as an angle.
    radius = 1.0 + slow
    seen = np.stack([radius * np.cos(fast), radius * np.sin(fast)], axis=-1)
    return slow[:, HALF], fast[:, HALF], seen


def slowest(coordinates: Floats) -> Floats:
    """Return the first of (n, m) coordinates that is a function of all points: (n,)."""
    # The indicator of one far point, which has most of its square, may come first.
    squares = np.square(coordinates - coordinates.mean(axis=0))
    spread = squares.max(axis=0) <= 0.5 * squares.sum(axis=0)
    return coordinates[:, int(spread.argmax())]


class Slow(NamedTuple):
    """Both variables at points (n,), what is seen (n, 2), and the first coordinates (n,)."""

    slow: Floats
    fast: Floats
    seen: Floats
    anisotropic: Floats
    isotropic: Floats


def fit_slow(settings: SlowSettings, seed: int, _: lab.Progress) -> Slow:
    """Find the slow variable with and without the covariances of short stretches."""
    slow, fast, stretches = record_slow(settings, np.random.default_rng(seed))
    # The one path through each point is what there is of a burst.
    covariances = local_covariances(stretches[:, None], 2 * HALF * STEP)
    source, seen = GivenCovariances(covariances, rank=2), stretches[:, HALF]
    aware = AnisotropicDiffusion(4, 100, source, density=0.5, power=0.0)
    found = (
        slowest(each.fit(PointSet(seen)).coordinates) for each in (aware, DiffusionMap(4, 100))
    )
    return Slow(slow, fast, seen, *found)


def score_slow(_: SlowSettings, found: list[Slow]) -> list[lab.Claim]:
    """Claim that only the anisotropic map shows the slow variable."""
    matches, mixed = (
        [abs(float(spearmanr(getattr(each, name), each.slow).statistic)) for each in found]
        for name in ('anisotropic', 'isotropic')
    )
    what = 'rank correlation of the first coordinate with the slow variable'
    paper, mean = 'a claim of the introduction', float(np.mean(mixed))
    return [
        lab.at_least(f'anisotropic: {what}, worst draw', paper, min(matches), 0.95),
        lab.at_most(f'isotropic: {what}, mean of draws', 'not in it', mean, 0.8),
    ]


def draw_slow(found: list[Slow]) -> list[lab.Panel]:
    """Draw what is seen, and the first coordinate of both maps against both variables."""
    first, panels = found[0], []
    for name, variable in (('slow', first.slow), ('fast', first.fast)):
        seen = lab.dots(first.seen, variable)
        panels.append(lab.panel(f'what is seen, by the {name} variable', seen))
        for map_of in ('anisotropic', 'isotropic'):
            places = np.stack([variable, getattr(first, map_of)], axis=1)
            names = {'xlabel': f'{name} variable', 'ylabel': 'first coordinate'}
            panels.append(lab.panel(map_of, lab.dots(places, first.slow), **names))
    return panels


_FEW = SlowSettings(200, points=3, trials=1)
run_slow = lab.Runner(SlowSettings(), _FEW, fit_slow, score_slow, draw_slow)
