# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Codes by k-means, and how alike they are."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.comparison.hidden_markov import Codebook, learn_codebook
from two_manifold_ros.errors import InputError

CORNERS = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])


def clusters(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return CORNERS[rng.integers(0, 3, 300)] + rng.normal(scale=0.2, size=(300, 2))


def test_clusters_are_found() -> None:
    """K-means may begin with two rows of one cluster, so the best of a few seeds counts."""
    rows = clusters(0)
    books = [learn_codebook(rows, 3, seed) for seed in range(5)]
    misses = [np.linalg.norm(rows - book.codes[book.symbols(rows)], axis=1) for book in books]
    best = books[int(np.argmin([miss.sum() for miss in misses]))]
    apart = [np.linalg.norm(best.codes - corner, axis=1).min() for corner in CORNERS]
    assert max(apart) < 0.1


def test_each_row_becomes_its_nearest_code() -> None:
    rows = clusters(1)
    book = learn_codebook(rows, 40, seed=0)
    others = clusters(2)
    wanted = [np.argmin(np.sum((book.codes - row) ** 2, axis=1)) for row in others]
    np.testing.assert_array_equal(book.symbols(others), wanted)


def test_every_code_is_used_and_no_row_is_needed_twice() -> None:
    rows = np.repeat(np.arange(7.0), 30)[:, None]
    book = learn_codebook(rows, 50, seed=0)
    np.testing.assert_array_equal(np.unique(book.symbols(rows)), np.arange(len(book)))
    assert len(book) <= 7


def test_the_same_seed_gives_the_same_bits_and_another_another_start() -> None:
    rows = np.random.default_rng(0).normal(size=(200, 3))
    first = learn_codebook(rows, 20, seed=3).codes
    assert first.tobytes() == learn_codebook(rows, 20, seed=3).codes.tobytes()
    other = learn_codebook(rows, 20, seed=4).codes
    assert first.tobytes() != other.tobytes()


def test_nothing_to_cluster() -> None:
    with pytest.raises(InputError, match='nothing to cluster'):
        learn_codebook(np.empty((0, 2)), 5, seed=0)


def test_nearness_falls_with_the_squared_distance_in_units_of_neighbours() -> None:
    book = Codebook(np.array([[0.0], [2.0], [5.0]]))
    # Nearest others are 2, 2 and 3 away: squared 4, 4 and 9, median 4.
    shares = np.exp(-np.array([[0.0, 4.0, 25.0], [4.0, 0.0, 9.0], [25.0, 9.0, 0.0]]) / (2 * 3 * 4))
    found = book.nearness(3.0)
    np.testing.assert_allclose(found, shares / shares.sum(axis=1)[:, None])


@pytest.mark.parametrize('codes', [[[1.0]], [[1.0], [2.0]]])
def test_without_width_nothing_is_shared(codes: list[list[float]]) -> None:
    np.testing.assert_array_equal(Codebook(np.array(codes)).nearness(0.0), np.eye(len(codes)))


def test_a_single_code_keeps_to_itself() -> None:
    np.testing.assert_array_equal(Codebook(np.array([[1.0]])).nearness(4.0), [[1.0]])
