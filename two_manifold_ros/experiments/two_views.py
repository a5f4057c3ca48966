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

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsRegressor

from two_manifold_ros.estimators import InstrumentalEigenmaps, ManifoldEmbedding, TwoSubspacePCA
from two_manifold_ros.experiments import experiment as lab
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap

if TYPE_CHECKING:
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
        return np.asarray(hidden @ self.mixing.T + noise @ self.noise_root.T)

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


class LinearSettings(NamedTuple):
    """Settings of ``linear-iv``."""

    trials: int = 20
    samples: tuple[int, ...] = (100, 320, 1_000, 3_200, 10_000, 32_000, 100_000)


class Angles(NamedTuple):
    """Angles (m, 3) in degrees for m numbers of samples, and of PCA for infinitely many."""

    samples: tuple[int, ...]
    found: Floats
    bias: float


METHODS = ('PCA', 'two-subspace PCA', 'reduced-rank regression')


def find_angles(settings: LinearSettings, seed: int, _: lab.Progress) -> Angles:
    """Return the angles of what the methods find in the first view; a set has the same views."""
    views = draw_views(seed // settings.trials)
    found = []
    for samples in settings.samples:
        rng = np.random.default_rng((seed, samples))
        hidden = rng.normal(size=(samples, HIDDEN))
        rows = [view.sample(hidden, rng) for view in views]
        plain: Floats = PCA(HIDDEN).fit(rows[0]).components_
        subspace = TwoSubspacePCA(HIDDEN).fit(*rows)
        regression = TwoSubspacePCA(HIDDEN, coupling='reduced-rank').fit(*rows)
        each = (plain, subspace.components_, regression.components_)
        found.append([views[0].angle(components.T) for components in each])
    return Angles(settings.samples, np.array(found), views[0].bias())


def _mean_angles(found: list[Angles]) -> Floats:
    """Return the mean angle of each method for each number of samples: (3, m)."""
    by_method = ([each.found[:, method] for each in found] for method in range(len(METHODS)))
    return np.stack([np.array(each).mean(axis=0) for each in by_method])


def score_angles(settings: LinearSettings, found: list[Angles]) -> list[lab.Claim]:
    """Claim that angles fall as one over the root of the samples, but for that of PCA."""
    paper, claims, means = 'section 3.1, in words', [], _mean_angles(found)
    for name, angles in zip(METHODS[1:], means[1:], strict=True):
        # The slope of a mean is -0.5; that of 20 trials spreads by some .02.
        slope = float(np.polyfit(np.log(settings.samples), np.log(angles), 1)[0])
        what = f'{name}: log-log slope of the angle'
        claims += [lab.at_least(what, paper, slope, -0.6), lab.at_most(what, paper, slope, -0.4)]
    last, most = 'PCA: angle with most samples, relative to', float(means[0, -1])
    return [
        *claims,
        lab.at_least(f'{last} its limit', paper, most / found[0].bias, 0.95),
        lab.at_least(f'{last} {METHODS[1]}', paper, most / float(means[1, -1]), 10.0),
    ]


def draw_angles(found: list[Angles]) -> list[lab.Panel]:
    """Draw the mean angles of all methods, and the angle of PCA of infinitely many samples."""
    samples, bias = found[0].samples, found[0].bias
    colours = (lab.Colour.VERMILION, lab.Colour.BLUE, lab.Colour.GREEN)
    lines = [
        lab.layer('plot', samples, angles, marker='o', color=colour, label=name)
        for name, angles, colour in zip(METHODS, _mean_angles(found), colours, strict=True)
    ]
    limit = lab.layer('axhline', bias, color='black', ls='--', label='PCA, infinitely many')
    axes = {'xscale': 'log', 'yscale': 'log', 'xlabel': 'samples n'}
    title, label = f'Mean of {len(found)} trials', 'largest subspace angle (degrees)'
    return [lab.panel(title, *lines, limit, ylabel=label, **axes)]


_QUICK = LinearSettings(10, (100, 1_000, 10_000))
run_linear_iv = lab.Runner(LinearSettings(), _QUICK, find_angles, score_angles, draw_angles)


class Pairs(NamedTuple):
    """Noisy points on two rolls of one sheet."""

    latent: Floats  # (n, 2), places on the sheet, from 0 to 1 along both sides
    views: tuple[Floats, Floats]  # (n, 3) each, rolled up along the first and the second side


def roll(latent: Floats, side: int, width: float) -> Floats:
    """Roll the sheet (n, 2) up along one of its sides; the axis of the roll is the last column."""
    angle = 1.5 * np.pi + (4.5 * np.pi - 1.5 * np.pi) * latent[:, side]
    section = angle[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.column_stack([section, width * latent[:, 1 - side]])


def draw_pairs(count: int, width: float, noise: float, seed: int) -> Pairs:
    """Draw points on the sheet, evenly, and see them on rolls of a width with white noise."""
    rng = np.random.default_rng(seed)
    latent = rng.random((count, 2))
    first, second = (
        roll(latent, side, width) + noise * rng.normal(size=(count, 3)) for side in (0, 1)
    )
    return Pairs(latent, (first, second))


class RollSettings(NamedTuple):
    """Settings of ``swiss-rolls``."""

    points: int = 5_000  # pairs that are learned from
    new_points: int = 1_000  # pairs that are embedded out of sample
    neighbours: int = 20  # of the graphs
    dimension: int = 60  # of what is learned of either manifold before two are coupled
    slack: float = 0.0  # by which limits are looser
    trials: int = 1


class Case(NamedTuple):
    """A width of the rolls, a noise, a coupling or none, and what is claimed of R2."""

    name: str
    width: float
    noise: float
    coupling: str
    paper: str
    limit: float


USUAL, WIDE = 21.0, 50.0
"""Widths: an eigenmap unrolls the wide one if there is no noise, the usual one never."""

CASES = (
    Case('noise 1: one manifold', USUAL, 1.0, '', 'Fig. 2A, fails', 0.65),
    Case('noise 1: two, Algorithm 1', USUAL, 1.0, 'gram-product', 'Fig. 2B', 0.95),
    Case('noise 1: two, canonical', USUAL, 1.0, 'canonical', 'footnote 2', 0.95),
    Case('noise 2: two, canonical', USUAL, 2.0, 'canonical', 'footnote 2', 0.8),
    Case('wide, no noise: one manifold', WIDE, 0.0, '', 'section 3', 0.95),
    Case('wide, noise 1: one manifold', WIDE, 1.0, '', 'section 3, fails', 0.85),
    Case('wide, noise 1: two, Algorithm 1', WIDE, 1.0, 'gram-product', 'section 4', 0.95),
)


class Embeddings(NamedTuple):
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
    # The mean place of the ten nearest points is read.
    first, second = (
        KNeighborsRegressor(10).fit(view, pairs.latent).score(rows, new.latent)
        for view, rows in zip(views, embedded, strict=True)
    )
    return Embeddings(pairs, views, (first, second))


def unroll(settings: RollSettings, seed: int, report: lab.Progress) -> list[Embeddings]:
    """Unroll rolls of two widths alone and together, with and without noise."""
    found = []
    for index, case in enumerate(CASES):
        report(case.name, index / len(CASES))
        found.append(embed(settings, case.width, case.noise, case.coupling, seed))
    return found


def score_rolls(settings: RollSettings, found: list[list[Embeddings]]) -> list[lab.Claim]:
    """Claim how well the place on the sheet can be read in each case."""
    claims = []
    for case, each in zip(CASES, found[0], strict=True):
        fails = case.paper.endswith('fails')
        claim, slack = (lab.at_most, settings.slack) if fails else (lab.at_least, -settings.slack)
        what = f'{case.name}: R2 on new pairs'
        claims.append(claim(what, case.paper, each.score, case.limit + slack))
    return claims


def draw_rolls(found: list[list[Embeddings]]) -> list[lab.Panel]:
    """Draw the sheet, its rolls, both kinds of embedding, and scores."""
    alone, both = found[0][:2]
    latent = alone.pairs.latent
    # Red along one side and green along the other.
    colours = np.column_stack([latent, np.full(len(latent), 0.4)])
    names = [case.name for case in CASES]
    bars = lab.layer('barh', names, [each.score for each in found[0]], color=lab.Colour.SKY)
    panels = [
        lab.panel('the sheet', lab.dots(latent, colours)),
        lab.panel('R2 of new pairs, mean of x and y', bars, xlim=(0.0, 1.05)),
    ]
    for row, (name, view) in enumerate(zip('xy', alone.pairs.views, strict=True)):
        rolled = lab.dots(view[:, [0, 2, 1]], colours)
        panels.append(lab.panel(f'{name}: rolled up, noise 1', rolled, solid=True))
        for many, each in (('one manifold', alone), ('two manifolds', both)):
            title = f'{name}, {many}: R2 {each.scores[row]:.2f}'
            panels.append(lab.panel(title, lab.dots(each.views[row], colours)))
    return panels


_SMALL = RollSettings(1_200, 200, 12, 20, slack=0.1)
run_swiss_rolls = lab.Runner(RollSettings(), _SMALL, unroll, score_rolls, draw_rolls)
