# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The thin SVD of a growing sum, its bases and their moves."""

import exact_tpsr
from hypothesis import given, strategies
import numpy as np
import pytest

from two_manifold_ros.tpsr.thin_svd import PENDING, ThinSvd


def whole(svd: ThinSvd) -> np.ndarray:
    return svd.across.rows.T * svd.values @ svd.down.rows


def defect(svd: ThinSvd) -> float:
    return max(
        np.abs(rows @ rows.T - np.eye(len(rows))).max(initial=0.0)
        for rows in (svd.across.rows, svd.down.rows)
    )


@pytest.mark.parametrize('batch', [1, 3, PENDING + 4])
@pytest.mark.parametrize('size', [12, 1024, 1025])
def test_is_the_svd_of_the_weighted_sum_when_nothing_is_cut_off(size, batch):
    """Though its rows are turned late, and many columns in blocks."""
    rng = np.random.default_rng(0)
    svd, total = ThinSvd(size, 10, 10), np.zeros((size, 10))
    for _ in range(30):
        x, y = rng.normal(size=(batch, size)), rng.normal(size=(batch, 10))
        weights = rng.random(batch)
        svd.fold(x, y, weights, 0.9)
        total = 0.9 * total + (x * weights[:, None]).T @ y
    np.testing.assert_allclose(whole(svd), total, atol=1e-11 * np.abs(total).max())
    assert defect(svd) < 1e-11


@pytest.mark.parametrize('decay', [1.0, 0.95])
def test_cuts_off_what_rank_one_updates_of_brand_do(decay):
    rng = np.random.default_rng(1)
    svd = ThinSvd(9, 7, 4)
    left, values, right = np.zeros((9, 0)), np.zeros(0), np.zeros((7, 0))
    for _ in range(60):
        x, y, weight = rng.normal(size=9), rng.normal(size=7), rng.random()
        svd.fold(x[None], y[None], np.array([weight]), decay)
        left, values, right = exact_tpsr.brand(left, decay * values, right, weight * x, y, 4)
    np.testing.assert_allclose(svd.values, values, rtol=1e-11)
    np.testing.assert_allclose(whole(svd), left * values @ right.T, atol=1e-11)


@given(
    rank=strategies.integers(1, 6),
    batches=strategies.lists(strategies.integers(0, 9), min_size=1, max_size=5),
    seed=strategies.integers(0, 2**16),
)
def test_moves_show_how_the_bases_moved(rank, batches, seed):
    rng = np.random.default_rng(seed)
    svd = ThinSvd(7, 5, rank)
    for batch in batches:
        left, right = svd.across.rows.copy(), svd.down.rows.copy()
        x, y = rng.normal(size=(batch, 7)), rng.normal(size=(batch, 5))
        move = svd.fold(x, y, np.ones(batch))
        np.testing.assert_allclose(svd.across.coordinates(x), x @ svd.across.rows.T, atol=1e-12)
        np.testing.assert_allclose(svd.newest, y @ svd.down.rows.T, atol=1e-12)
        np.testing.assert_allclose(move.left, svd.across.rows @ left.T, atol=1e-12)
        np.testing.assert_allclose(move.right, svd.down.rows @ right.T, atol=1e-12)
        assert (np.diagonal(move.left) >= 0.0).all()
        assert (np.diff(svd.values) <= 0.0).all()
        assert defect(svd) < 1e-11


def test_directions_hardly_there_are_found_and_mended():
    rng = np.random.default_rng(3)
    svd, total = ThinSvd(20, 20, 9), np.zeros((20, 20))
    base = rng.normal(size=20)
    for fold in range(3):
        x = base + 3e-6 * rng.normal(size=(3, 20))
        y = rng.normal(size=(3, 20))
        left = svd.across.rows.copy()
        move = svd.fold(x, y, np.ones(3))
        assert len(svd.values) == 3 * (fold + 1)
        assert defect(svd) < 1e-14
        np.testing.assert_allclose(svd.newest, y @ svd.down.rows.T, atol=1e-9)
        np.testing.assert_allclose(move.left, svd.across.rows @ left.T, atol=1e-9)
        total += x.T @ y
        np.testing.assert_allclose(whole(svd), total, atol=1e-11)
