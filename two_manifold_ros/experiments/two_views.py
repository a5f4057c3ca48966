# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiments of Boots & Gordon (2012) with two views of the same points.

``linear-iv``: PCA is biased by noise, two-subspace PCA is not. ``swiss-rolls``: two manifolds
are learned with each other's help where neither is alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
import numpy as np
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsRegressor

from two_manifold_ros.estimators import (
    InstrumentalEigenmaps,
    ManifoldEmbedding,
    TwoSubspacePCA,
)
from two_manifold_ros.experiments.experiment import at_least, at_most, Colour, seeds_of_set
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from two_manifold_ros.experiments.experiment import Axes, Claim, Findings, Progress
    from two_manifold_ros.typing import Floats

HIDDEN = 2
"""Dimensions that the two views have in common, in both experiments."""


@dataclass(frozen=True)
class LinearView:
    """A view x = M z + e with cov(z) = I and cov(e) = R R'."""

    mixing: Floats  # M, (D, 2)
    noise_root: Floats  # R, (D, D)

    @classmethod
    def draw(
        cls, columns: int, rng: np.random.Generator, noise: tuple[float, float] = (3.0, 0.1)
    ) -> LinearView:
        """Draw a view of D columns by the noise's loudest and quietest standard deviation."""
        mixing = rng.normal(size=(columns, HIDDEN))
        directions = rng.normal(size=(columns, columns)) / np.sqrt(columns)
        return cls(mixing, directions * np.geomspace(*noise, columns))

    def sample(self, hidden: Floats, rng: np.random.Generator) -> Floats:
        """Return rows (n, D) for hidden rows (n, 2)."""
        noise = rng.normal(size=(len(hidden), len(self.noise_root)))
        rows: Floats = hidden @ self.mixing.T + noise @ self.noise_root.T
        return rows

    def angle(self, directions: Floats) -> float:
        """Return the largest angle, in degrees, between the range of M and (D, 2) columns."""
        return float(np.degrees(subspace_angles(directions, self.mixing)[0]))

    def bias(self) -> float:
        """Return the angle of the principal components of infinitely many samples, in degrees."""
        covariance = self.mixing @ self.mixing.T + self.noise_root @ self.noise_root.T
        return self.angle(np.linalg.eigh(covariance)[1][:, -HIDDEN:])


def draw_views(seed: int) -> tuple[LinearView, LinearView]:
    """Draw two views of 10 and of 8 columns."""
    rng = np.random.default_rng(seed)
    return LinearView.draw(10, rng), LinearView.draw(8, rng)


@dataclass(frozen=True)
class Curve:
    """Angles, degrees, that a method found: (trials, m) for m numbers of samples."""

    name: str
    angles: Floats
    samples: tuple[int, ...]

    @property
    def means(self) -> Floats:
        """Angles averaged over the trials: (m,)."""
        means: Floats = self.angles.mean(axis=0)
        return means

    @property
    def slope(self) -> float:
        """Slope of the mean angle against samples, both as logarithms."""
        return float(np.polyfit(np.log(self.samples), np.log(self.means), 1)[0])


def run_linear_iv(progress: Progress, *, quick: bool, seed: int = 0) -> Findings:
    """Compare the angles of three methods for more and more samples."""
    samples: tuple[int, ...] = (100, 320, 1_000, 3_200, 10_000, 32_000, 100_000)
    trials = 20
    if quick:
        samples, trials = (100, 1_000, 10_000), 10
    names = ('PCA', 'two-subspace PCA', 'reduced-rank regression')
    views = draw_views(seed)
    angles = np.empty((len(names), trials, len(samples)))
    for trial, drawn in enumerate(seeds_of_set(seed, trials)):
        progress('trials', trial / trials)
        for column, count in enumerate(samples):
            angles[:, trial, column] = _trial(views, count, drawn)
    curves = [Curve(*pair, samples) for pair in zip(names, angles, strict=True)]
    bias = views[0].bias()
    return _linear_claims(curves, bias), _draw_angles(curves, bias)


def _trial(views: tuple[LinearView, LinearView], samples: int, seed: int) -> list[float]:
    """Return the angles of what the methods find in the first view, in degrees."""
    rng = np.random.default_rng((seed, samples))
    hidden = rng.normal(size=(samples, HIDDEN))
    rows = [view.sample(hidden, rng) for view in views]
    plain: Floats = PCA(HIDDEN).fit(rows[0]).components_
    subspace = TwoSubspacePCA(HIDDEN).fit(*rows)
    regression = TwoSubspacePCA(HIDDEN, coupling='reduced-rank').fit(*rows)
    found = (plain, subspace.components_, regression.components_)
    return [views[0].angle(components.T) for components in found]


def _linear_claims(curves: list[Curve], bias: float) -> list[Claim]:
    paper = 'section 3.1, in words'
    claims = []
    for curve in curves[1:]:
        # The slope of a mean is -0.5; that of 20 trials spreads by some .02.
        what = f'{curve.name}: log-log slope of the angle'
        claims.append(at_least(what, paper, curve.slope, -0.6))
        claims.append(at_most(what, paper, curve.slope, -0.4))
    plain, subspace = curves[:2]
    last = 'PCA: angle with most samples, relative to'
    most = float(plain.means[-1])
    return [
        *claims,
        at_least(f'{last} its limit', paper, most / bias, 0.95),
        at_least(f'{last} {subspace.name}', paper, most / float(subspace.means[-1]), 10.0),
    ]


def _draw_angles(curves: Sequence[Curve], bias: float) -> Figure:
    """Draw the angles of all methods, and the bias that PCA has with infinitely many samples."""
    figure = Figure(figsize=(7.0, 4.6), layout='constrained')
    axes = figure.subplots()
    styles = (Colour.VERMILION, 'o'), (Colour.BLUE, 's'), (Colour.GREEN, '^')
    for curve, (colour, marker) in zip(curves, styles, strict=True):
        axes.plot(curve.samples, curve.angles.T, marker, color=colour, ms=3, alpha=0.2)
        label = f'{curve.name}, slope {round(curve.slope, 2) + 0.0:.2f}'
        axes.plot(curve.samples, curve.means, marker=marker, color=colour, ms=6, label=label)
    axes.axhline(bias, color='black', lw=1, ls='--', label='PCA of infinitely many samples')
    ends = np.array(curves[1].samples)[[0, -1]]
    root = 2 * curves[1].means[0] * np.sqrt(ends[0] / ends)
    axes.plot(ends, root, color=Colour.GREY, ls=':', label='1/sqrt(n)')
    axes.set(xscale='log', yscale='log', xlabel='samples n')
    axes.set_ylabel('largest subspace angle (degrees)')
    axes.set_title(f'Mean of {len(curves[0].angles)} trials (pale: each of them)')
    axes.legend(loc='lower left', fontsize='small')
    axes.grid(alpha=0.3, which='both')
    return figure


@dataclass(frozen=True)
class Pairs:
    """Noisy points on two rolls of one sheet."""

    latent: Floats  # (n, 2), places on the sheet, from 0 to 1 along both sides
    views: tuple[Floats, Floats]  # (n, 3) each, rolled up along the first and the second side


def spiral(along: Floats) -> Floats:
    """Return the points (n, 2) of the cross-section of a roll for (n,) numbers from 0 to 1."""
    angle = 1.5 * np.pi + (4.5 * np.pi - 1.5 * np.pi) * along
    points: Floats = angle[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return points


def roll(latent: Floats, side: int, width: float) -> Floats:
    """Roll the sheet (n, 2) up along one of its sides; the axis of the roll is the last column."""
    return np.column_stack([spiral(latent[:, side]), width * latent[:, 1 - side]])


def draw_pairs(count: int, width: float, noise: float, seed: int) -> Pairs:
    """Draw points on the sheet, evenly, and see them on rolls of a width with white noise."""
    rng = np.random.default_rng(seed)
    latent = rng.random((count, 2))
    first, second = (
        roll(latent, side, width) + noise * rng.normal(size=(count, 3)) for side in (0, 1)
    )
    return Pairs(latent, (first, second))


@dataclass(frozen=True)
class RollSettings:
    """Number and dimensions of the embeddings."""

    points: int = 5_000  # pairs that are learned from
    new_points: int = 1_000  # pairs that are embedded out of sample
    neighbours: int = 20  # of the graphs
    dimension: int = 60  # of what is learned of either manifold before two are coupled
    read_from: int = 10  # nearest points of an embedding whose mean place on the sheet is read
    slack: float = 0.0  # by which limits are looser


class Case(NamedTuple):
    """A width of the rolls, a noise, a coupling or none, and what is claimed of R2."""

    name: str
    width: float
    noise: float
    coupling: str
    paper: str
    limit: float


@dataclass(frozen=True)
class Embeddings:
    """Pairs, and what a method made of them."""

    pairs: Pairs
    views: tuple[Floats, Floats]  # (n, 2) each, the pairs embedded
    scores: tuple[float, float]  # R2 of the place on the sheet that is read for new pairs

    @property
    def score(self) -> float:
        """Mean over the views."""
        return sum(self.scores) / 2


def embed(
    settings: RollSettings, width: float, noise: float, coupling: str, seed: int
) -> Embeddings:
    """Embed pairs with a coupling, or each view alone where this is empty."""
    pairs = draw_pairs(settings.points, width, noise, seed=2 * seed)
    new = draw_pairs(settings.new_points, width, noise, seed=2 * seed + 1)
    if coupling:
        learner = LaplacianEigenmap(settings.dimension, settings.neighbours)
        both = InstrumentalEigenmaps(HIDDEN, learner=learner, coupling=coupling).fit(*pairs.views)
        views = both.embedding_, both.second_embedding_
        embedded = both.transform(new.views[0]), both.transform_second(new.views[1])
    else:
        alone = LaplacianEigenmap(HIDDEN, settings.neighbours)
        each = [ManifoldEmbedding(alone).fit(view) for view in pairs.views]
        views = each[0].embedding_, each[1].embedding_
        embedded = each[0].transform(new.views[0]), each[1].transform(new.views[1])
    first, second = (
        KNeighborsRegressor(settings.read_from).fit(view, pairs.latent).score(rows, new.latent)
        for view, rows in zip(views, embedded, strict=True)
    )
    return Embeddings(pairs, views, (first, second))


def run_swiss_rolls(progress: Progress, *, quick: bool, seed: int = 0) -> Findings:
    """Unroll rolls of two widths alone and together, with and without noise."""
    # An eigenmap unrolls the wide one if there is no noise; the usual one never.
    usual, wide = 21.0, 50.0
    cases = (
        Case('noise 1: one manifold', usual, 1.0, '', 'Fig. 2A, fails', 0.65),
        Case('noise 1: two, Algorithm 1', usual, 1.0, 'gram-product', 'Fig. 2B', 0.95),
        Case('noise 1: two, canonical', usual, 1.0, 'canonical', 'footnote 2', 0.95),
        Case('noise 2: two, canonical', usual, 2.0, 'canonical', 'footnote 2', 0.8),
        Case('wide, no noise: one manifold', wide, 0.0, '', 'section 3', 0.95),
        Case('wide, noise 1: one manifold', wide, 1.0, '', 'section 3, fails', 0.85),
        Case('wide, noise 1: two, Algorithm 1', wide, 1.0, 'gram-product', 'section 4', 0.95),
    )
    settings = RollSettings(1_200, 200, 12, 20, slack=0.1) if quick else RollSettings()
    found, claims = [], []
    for index, case in enumerate(cases):
        progress(case.name, index / len(cases))
        found.append(embed(settings, case.width, case.noise, case.coupling, seed))
        what, score = f'{case.name}: R2 on new pairs', found[-1].score
        if case.paper.endswith('fails'):
            claims.append(at_most(what, case.paper, score, case.limit + settings.slack))
        else:
            claims.append(at_least(what, case.paper, score, case.limit - settings.slack))
    scores = {case.name: each.score for case, each in zip(cases, found, strict=True)}
    return claims, _draw_rolls(found[0], found[1], usual, scores)


def _draw_rolls(
    alone: Embeddings, both: Embeddings, width: float, scores: Mapping[str, float]
) -> Figure:
    """Draw the sheet, its rolls without and with noise, both kinds of embedding, and scores."""
    figure = Figure(figsize=(15.0, 6.0), layout='constrained')
    grid = figure.add_gridspec(2, 5)
    shown = slice(2_500)  # points, of those that were learned from
    latent = alone.pairs.latent[shown]
    colours = colours_of(latent)
    sheet = figure.add_subplot(grid[0, 0])
    sheet.scatter(latent[:, 0], latent[:, 1], color=colours, s=4)
    sheet.set(title='the sheet', xlabel='first side', ylabel='second side')
    _draw_scores(figure.add_subplot(grid[1, 0]), scores)
    for row, name in enumerate('xy'):
        whole: Axes = figure.add_subplot(grid[row, 1], projection='3d')
        points = roll(latent, row, width)
        whole.scatter(points[:, 0], points[:, 2], points[:, 1], color=colours, s=3)
        whole.view_init(elev=15.0, azim=-70.0)
        whole.tick_params(labelsize='x-small', pad=-2)
        whole.set_title(f'{name}: rolled along its {("first", "second")[row]} side')
        section = figure.add_subplot(grid[row, 2])
        points = alone.pairs.views[row][shown]
        section.scatter(points[:, 0], points[:, 1], color=colours, s=3)
        section.plot(*spiral(np.linspace(0.0, 1.0, 300)).T, color='black', lw=1.2)
        section.set_aspect('equal')
        section.set_title(f'{name}: from the side, noise 1')
        methods = ('one manifold', alone), ('two manifolds', both)
        for column, (many, found) in enumerate(methods, start=3):
            axes = figure.add_subplot(grid[row, column])
            rows = found.views[row][shown]
            axes.scatter(rows[:, 0], rows[:, 1], color=colours, s=4)
            axes.set(xlabel='coordinate 1', ylabel='coordinate 2', xticks=[], yticks=[])
            axes.set_title(f'{name}, {many}: R2 {found.scores[row]:.2f}')
    return figure


def colours_of(latent: Floats) -> Floats:
    """Return (n, 3) colours of places on the sheet (n, 2), mixed from those of its corners."""
    by_side = (('#0033cc', '#00b050'), ('#e0007a', '#ffc000'))
    corners = np.array([[to_rgb(colour) for colour in pair] for pair in by_side])
    first, second = latent.T
    shares = np.stack([1.0 - first, first]), np.stack([1.0 - second, second])
    colours: Floats = np.einsum('an,bn,abc->nc', *shares, corners)
    return colours


def _draw_scores(axes: Axes, scores: Mapping[str, float]) -> None:
    names = list(scores)[::-1]
    colours = [Colour.ORANGE if 'one' in name.split() else Colour.SKY for name in names]
    axes.barh(names, [scores[name] for name in names], color=colours)
    for height, name in enumerate(names):
        axes.text(0.02, height, f'{scores[name]:.2f} {name}', va='center', fontsize='small')
    axes.axvline(1.0, color=Colour.GREY, lw=0.8)
    axes.set(xlim=(0.0, 1.05), yticks=[], xlabel='R2 of new pairs, mean of x and y')
