# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Embedding points on two rolls, and reading where on the sheet they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sklearn.neighbors import KNeighborsRegressor

from two_manifold_ros.estimators.instrumental_eigenmaps import InstrumentalEigenmaps
from two_manifold_ros.estimators.manifold_embedding import ManifoldEmbedding
from two_manifold_ros.experiments.swiss_rolls_points import draw_pairs
from two_manifold_ros.kernels.laplacian_eigenmap import LaplacianEigenmap

if TYPE_CHECKING:
    from two_manifold_ros.experiments.swiss_rolls_points import Pairs
    from two_manifold_ros.typing import Floats

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
