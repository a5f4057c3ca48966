# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiments of Boots & Gordon (2012) with two views of the same points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsRegressor

from two_manifold_ros.estimators import InstrumentalEigenmaps, ManifoldEmbedding, TwoSubspacePCA
from two_manifold_ros.experiments import experiment as lab
from two_manifold_ros.manifold.laplacian_eigenmap import LaplacianEigenmap
from two_manifold_ros.typing import Floats

HIDDEN = 2
"""Dimensions that the two views have in common, in both experiments."""


class LinearView:
    """A view x = M z + e of D columns, drawn with cov(z) = I and cov(e) = R R'."""

    def __init__(self, columns: int, rng: np.random.Generator) -> None:
        self.mixing: Floats = rng.normal(size=(columns, HIDDEN))  # M
        directions = rng.normal(size=(columns, columns)) / np.sqrt(columns)
        # The loudest and the quietest standard deviation of the noise.
        self.noise_root: Floats = directions * np.geomspace(3.0, 0.1, columns)  # R

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
    return LinearView(10, rng), LinearView(8, rng)


class LinearSettings(NamedTuple):
    """Settings of ``linear-iv``."""

    trials: int = 20
    samples: tuple[int, ...] = (100, 320, 1_000, 3_200, 10_000, 32_000, 100_000)


Angles = tuple[tuple[int, ...], 'Floats', float]
"""Numbers of samples, angles (3, m) in degrees for these, and of PCA for infinitely many."""

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
    return settings.samples, np.array(found).T, views[0].bias()


def _mean_angles(found: list[Angles]) -> Floats:
    """Return the mean angle of each method for each number of samples: (3, m)."""
    means: Floats = np.mean([angles for _, angles, _ in found], axis=0)
    return means


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
        lab.at_least(f'{last} its limit', paper, most / found[0][2], 0.95),
        lab.at_least(f'{last} {METHODS[1]}', paper, most / float(means[1, -1]), 10.0),
    ]


def draw_angles(found: list[Angles]) -> list[lab.Panel]:
    """Draw the mean angles of all methods, and the angle of PCA of infinitely many samples."""
    samples, _, bias = found[0]
    colours = (lab.VERMILION, lab.BLUE, lab.GREEN)
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


def draw_pairs(count: int, width: float, noise: float, seed: int) -> tuple[Floats, list[Floats]]:
    """Draw (n, 2) places on a sheet, and see each, with noise, on two rolls of it along a side."""
    rng = np.random.default_rng(seed)
    latent, views = rng.random((count, 2)), []
    for side in (0, 1):
        angle = 1.5 * np.pi + (4.5 * np.pi - 1.5 * np.pi) * latent[:, side]
        section = angle[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        rolled = np.column_stack([section, width * latent[:, 1 - side]])
        views.append(rolled + noise * rng.normal(size=(count, 3)))
    return latent, views


class RollSettings(NamedTuple):
    """Settings of ``swiss-rolls``."""

    points: int = 5_000  # pairs that are learned from
    new_points: int = 1_000  # pairs that are embedded out of sample
    neighbours: int = 20  # of the graphs
    dimension: int = 60  # of what is learned of either manifold before two are coupled
    slack: float = 0.0  # by which limits are looser
    trials: int = 1


USUAL, WIDE = 21.0, 50.0
"""Widths: an eigenmap unrolls the wide one if there is no noise, the usual one never."""

CASES = (
    ('noise 1: one manifold', USUAL, 1.0, '', 'Fig. 2A, fails', 0.65),
    ('noise 1: two, Algorithm 1', USUAL, 1.0, 'gram-product', 'Fig. 2B', 0.95),
    ('noise 1: two, canonical', USUAL, 1.0, 'canonical', 'footnote 2', 0.95),
    ('noise 2: two, canonical', USUAL, 2.0, 'canonical', 'footnote 2', 0.8),
    ('wide, no noise: one manifold', WIDE, 0.0, '', 'section 3', 0.95),
    ('wide, noise 1: one manifold', WIDE, 1.0, '', 'section 3, fails', 0.85),
    ('wide, noise 1: two, Algorithm 1', WIDE, 1.0, 'gram-product', 'section 4', 0.95),
)
"""Name, width of the rolls, noise, coupling or none, the paper's result, and the limit of R2."""


class Embeddings(NamedTuple):
    """Pairs, see `draw_pairs`, and what a method made of them."""

    latent: Floats
    rolls: list[Floats]
    views: tuple[Floats, Floats]  # (n, 2) each, the pairs embedded
    scores: list[float]  # of both: R2 of the place on the sheet that is read for new pairs

    @property
    def score(self) -> float:
        """Mean over the views."""
        return sum(self.scores) / 2


def embed(
    settings: RollSettings, width: float, noise: float, coupling: str, seed: int
) -> Embeddings:
    """Embed pairs with a coupling, or each view alone where this is empty."""
    latent, rolls = draw_pairs(settings.points, width, noise, seed=2 * seed)
    new, new_rolls = draw_pairs(settings.new_points, width, noise, seed=2 * seed + 1)
    if coupling:
        learner = LaplacianEigenmap(settings.dimension, settings.neighbours)
        both = InstrumentalEigenmaps(HIDDEN, learner=learner, coupling=coupling).fit(*rolls)
        views = both.embedding_, both.second_embedding_
        embedded = both.transform(new_rolls[0]), both.transform_second(new_rolls[1])
    else:
        alone = LaplacianEigenmap(HIDDEN, settings.neighbours)
        each = [ManifoldEmbedding(alone).fit(view) for view in rolls]
        views = each[0].embedding_, each[1].embedding_
        embedded = each[0].transform(new_rolls[0]), each[1].transform(new_rolls[1])
    # The mean place of the ten nearest points is read.
    scores = [
        KNeighborsRegressor(10).fit(view, latent).score(rows, new)
        for view, rows in zip(views, embedded, strict=True)
    ]
    return Embeddings(latent, rolls, views, scores)


def unroll(settings: RollSettings, seed: int, report: lab.Progress) -> list[Embeddings]:
    """Unroll rolls of two widths alone and together, with and without noise."""
    found = []
    for index, (name, width, noise, coupling, *_) in enumerate(CASES):
        report(name, index / len(CASES))
        found.append(embed(settings, width, noise, coupling, seed))
    return found


def score_rolls(settings: RollSettings, found: list[list[Embeddings]]) -> list[lab.Claim]:
    """Claim how well the place on the sheet can be read in each case."""
    claims = []
    for (name, _, _, _, paper, limit), each in zip(CASES, found[0], strict=True):
        fails = paper.endswith('fails')
        claim, slack = (lab.at_most, settings.slack) if fails else (lab.at_least, -settings.slack)
        claims.append(claim(f'{name}: R2 on new pairs', paper, each.score, limit + slack))
    return claims


def draw_rolls(found: list[list[Embeddings]]) -> list[lab.Panel]:
    """Draw the sheet, its rolls, both kinds of embedding, and scores."""
    alone, both = found[0][:2]
    latent = alone.latent
    # Red along one side and green along the other.
    colours = np.column_stack([latent, np.full(len(latent), 0.4)])
    names = [name for name, *_ in CASES]
    bars = lab.layer('barh', names, [each.score for each in found[0]], color=lab.SKY)
    panels = [
        lab.panel('the sheet', lab.dots(latent, colours)),
        lab.panel('R2 of new pairs, mean of x and y', bars, xlim=(0.0, 1.05)),
    ]
    for row, (name, view) in enumerate(zip('xy', alone.rolls, strict=True)):
        rolled = lab.dots(view[:, [0, 2, 1]], colours)
        panels.append(lab.panel(f'{name}: rolled up, noise 1', rolled, solid=True))
        for many, each in (('one manifold', alone), ('two manifolds', both)):
            title = f'{name}, {many}: R2 {each.scores[row]:.2f}'
            panels.append(lab.panel(title, lab.dots(each.views[row], colours)))
    return panels


_SMALL = RollSettings(1_200, 200, 12, 20, slack=0.1)
run_swiss_rolls = lab.Runner(RollSettings(), _SMALL, unroll, score_rolls, draw_rolls)
