# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``swiss-rolls``: one manifold learned alone, and two with each other's help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from two_manifold_ros.estimators import InstrumentalEigenmaps, ManifoldEmbedding
from two_manifold_ros.experiments.experiment import (
    at_least,
    at_most,
    Axes,
    GREY,
    ORANGE,
    save,
    SKY,
)
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim, Progress
    from two_manifold_ros.typing import Floats


TURNS = 1.5 * np.pi, 4.5 * np.pi
"""Angles from which and to which a sheet is rolled; its radius is the angle."""


@dataclass(frozen=True)
class Pairs:
    """
    Noisy points on two rolls of one sheet.

    Parameters
    ----------
    latent : (n, 2)
        Where on the sheet, from 0 to 1 along both sides.
    first : (n, 3), second : (n, 3)
        The same points of the sheet rolled up along its first side, and along its second.

    """

    latent: Floats
    first: Floats
    second: Floats

    @property
    def views(self) -> tuple[Floats, Floats]:
        """The points on both rolls."""
        return self.first, self.second


def spiral(along: Floats) -> Floats:
    """Return the points (n, 2) of the cross-section of a roll for (n,) numbers from 0 to 1."""
    angle = TURNS[0] + (TURNS[1] - TURNS[0]) * along
    points: Floats = angle[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return points


def roll(latent: Floats, side: int, width: float) -> Floats:
    """Roll the sheet (n, 2) up along one of its sides; the axis of the roll is the last column."""
    return np.column_stack([spiral(latent[:, side]), width * latent[:, 1 - side]])


def draw_pairs(count: int, width: float, noise: float, seed: int) -> Pairs:
    """
    Draw points on the sheet, evenly, and see them on both rolls.

    Parameters
    ----------
    count
        Points, n.
    width
        Of either roll along its axis.
    noise
        Standard deviation of what is added to each coordinate of each view.

    """
    rng = np.random.default_rng(seed)
    latent = rng.random((count, 2))
    views = [roll(latent, side, width) + noise * rng.normal(size=(count, 3)) for side in (0, 1)]
    return Pairs(latent, *views)


HIDDEN = 2

READ_FROM = 10
"""Nearest points of an embedding whose mean place on the sheet is read."""


@dataclass(frozen=True)
class Size:
    """
    How much is embedded, and in how many dimensions.

    Parameters
    ----------
    points
        Pairs that are learned from.
    new_points
        Pairs that are embedded out of sample, and read.
    neighbours
        Of the graphs.
    dimension
        Of what is learned of either manifold before two are coupled.

    """

    points: int = 5_000
    new_points: int = 1_000
    neighbours: int = 20
    dimension: int = 60


@dataclass(frozen=True)
class Embeddings:
    """
    What a method made of pairs.

    Parameters
    ----------
    pairs
        What was learned from.
    views
        The pairs embedded, two of (n, 2).
    scores
        R2 of the place on the sheet, both sides together, that is read from the embedding of
        each view for new pairs.

    """

    pairs: Pairs
    views: tuple[Floats, Floats]
    scores: tuple[float, float]

    @property
    def score(self) -> float:
        """Mean over the views."""
        return sum(self.scores) / 2


def embed(size: Size, width: float, noise: float, coupling: str, seed: int) -> Embeddings:
    """Embed pairs with a coupling, or each view alone where this is empty."""
    pairs = draw_pairs(size.points, width, noise, seed=2 * seed)
    new = draw_pairs(size.new_points, width, noise, seed=2 * seed + 1)
    if coupling:
        learner = LaplacianEigenmap(size.dimension, size.neighbours)
        both = InstrumentalEigenmaps(HIDDEN, learner=learner, coupling=coupling).fit(*pairs.views)
        views = both.embedding_, both.second_embedding_
        told = both.transform(new.first), both.transform_second(new.second)
    else:
        alone = LaplacianEigenmap(HIDDEN, size.neighbours)
        each = [ManifoldEmbedding(alone).fit(view) for view in pairs.views]
        views = each[0].embedding_, each[1].embedding_
        told = each[0].transform(new.first), each[1].transform(new.second)
    scores = [
        KNeighborsRegressor(READ_FROM).fit(view, pairs.latent).score(rows, new.latent)
        for view, rows in zip(views, told, strict=True)
    ]
    return Embeddings(pairs, views, (scores[0], scores[1]))


SHOWN = 2_500
"""Points drawn, of those that were learned from."""

WIDTH = 21.0
"""Of the rolls that are drawn."""

CORNERS = (('#0033cc', '#00b050'), ('#e0007a', '#ffc000'))
"""Colours of the corners of the sheet, [first side][second side]."""


def draw(alone: Embeddings, both: Embeddings, scores: Mapping[str, float], path: Path) -> None:
    """Write the sheet, its rolls without and with noise, both kinds of embedding, and scores."""
    figure = Figure(figsize=(15.0, 6.0), layout='constrained')
    grid = figure.add_gridspec(2, 5)
    latent = alone.pairs.latent[:SHOWN]
    colours = colours_of(latent)
    sheet = figure.add_subplot(grid[0, 0])
    sheet.scatter(latent[:, 0], latent[:, 1], color=colours, s=4)
    sheet.set(title='the sheet', xlabel='first side', ylabel='second side')
    _draw_scores(figure.add_subplot(grid[1, 0]), scores)
    for row, name in enumerate('xy'):
        whole = figure.add_subplot(grid[row, 1], projection='3d')
        _draw_roll(whole, roll(latent, row, WIDTH), colours)
        whole.set_title(f'{name}: rolled along its {("first", "second")[row]} side')
        section = figure.add_subplot(grid[row, 2])
        _draw_section(section, alone.pairs.views[row][:SHOWN], colours)
        section.set_title(f'{name}: from the side, noise 1')
        shown = ('one manifold', alone), ('two manifolds', both)
        for column, (many, found) in enumerate(shown, start=3):
            axes = figure.add_subplot(grid[row, column])
            rows = found.views[row][:SHOWN]
            axes.scatter(rows[:, 0], rows[:, 1], color=colours, s=4)
            axes.set(xlabel='coordinate 1', ylabel='coordinate 2', xticks=[], yticks=[])
            axes.set_title(f'{name}, {many}: R2 {found.scores[row]:.2f}')
    save(figure, path)


def colours_of(latent: Floats) -> Floats:
    """Return (n, 3) colours of places on the sheet (n, 2), mixed from those of its corners."""
    corners = np.array([[to_rgb(colour) for colour in pair] for pair in CORNERS])
    first, second = latent.T
    shares = np.stack([1.0 - first, first]), np.stack([1.0 - second, second])
    colours: Floats = np.einsum('an,bn,abc->nc', *shares, corners)
    return colours


def _draw_roll(axes: Axes, points: Floats, colours: Floats) -> None:
    axes.scatter(points[:, 0], points[:, 2], points[:, 1], color=colours, s=3)
    axes.view_init(elev=15.0, azim=-70.0)
    axes.tick_params(labelsize='x-small', pad=-2)


def _draw_section(axes: Axes, points: Floats, colours: Floats) -> None:
    axes.scatter(points[:, 0], points[:, 1], color=colours, s=3)
    axes.plot(*spiral(np.linspace(0.0, 1.0, 300)).T, color='black', lw=1.2)
    axes.set_aspect('equal')


def _draw_scores(axes: Axes, scores: Mapping[str, float]) -> None:
    names = list(scores)[::-1]
    colours = [ORANGE if 'one' in name.split() else SKY for name in names]
    axes.barh(names, [scores[name] for name in names], color=colours)
    for height, name in enumerate(names):
        axes.text(0.02, height, f'{scores[name]:.2f} {name}', va='center', fontsize='small')
    axes.axvline(1.0, color=GREY, lw=0.8)
    axes.set(xlim=(0.0, 1.05), yticks=[], xlabel='R2 of new pairs, mean of x and y')


CLASSIC, WIDE = 21.0, 50.0
"""Widths of the rolls: the usual one, and one that an eigenmap unrolls if there is no noise."""

SLACK = 0.1
"""By what the limits of the quick form are looser."""


class Case(NamedTuple):
    """A width of the rolls, a noise, a coupling or none, and what is claimed."""

    name: str
    width: float
    noise: float
    coupling: str
    paper: str
    limit: float


CASES = (
    Case('noise 1: one manifold', CLASSIC, 1.0, '', 'Fig. 2A, fails', 0.65),
    Case('noise 1: two, Algorithm 1', CLASSIC, 1.0, 'gram-product', 'Fig. 2B', 0.95),
    Case('noise 1: two, canonical', CLASSIC, 1.0, 'canonical', 'footnote 2', 0.95),
    Case('noise 2: two, canonical', CLASSIC, 2.0, 'canonical', 'footnote 2', 0.8),
    Case('wide, no noise: one manifold', WIDE, 0.0, '', 'section 3', 0.95),
    Case('wide, noise 1: one manifold', WIDE, 1.0, '', 'section 3, fails', 0.85),
    Case('wide, noise 1: two, Algorithm 1', WIDE, 1.0, 'gram-product', 'section 4', 0.95),
)

QUICK = Size(points=1_200, new_points=200, neighbours=12, dimension=20)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    found = []
    for index, case in enumerate(CASES):
        progress(case.name, index / len(CASES))
        found.append(embed(size, case.width, case.noise, case.coupling, seed=0))
    scores = {case.name: each.score for case, each in zip(CASES, found, strict=True)}
    draw(found[0], found[1], scores, folder / 'swiss-rolls.png')
    return [_claim(case, scores[case.name], SLACK if quick else 0.0) for case in CASES]


def _claim(case: Case, score: float, slack: float) -> Claim:
    what = f'{case.name}: R2 on new pairs'
    if case.paper.endswith('fails'):
        return at_most(what, case.paper, score, case.limit + slack)
    return at_least(what, case.paper, score, case.limit - slack)
