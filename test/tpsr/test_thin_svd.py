# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The thin SVD of a growing sum, its bases and their moves."""

from hypothesis import given, strategies
import naive_tpsr
import numpy as np
import pytest

from two_manifold_ros.tpsr.thin_svd import Basis, PENDING, ThinSvd


def whole(svd: ThinSvd) -> np.ndarray:
    return svd.left.T * svd.values @ svd.right


def defect(svd: ThinSvd) -> float:
    """Return by how much the bases miss being orthonormal, largest entry."""
    return max(
        np.abs(rows @ rows.T - np.eye(len(rows))).max(initial=0.0)
        for rows in (svd.left, svd.right)
    )


@pytest.mark.parametrize('batch', [1, 3, 16])
def test_is_the_svd_of_the_weighted_sum_when_nothing_is_cut_off(batch):
    rng = np.random.default_rng(0)
    svd, total = ThinSvd(12, 10, 10), np.zeros((12, 10))
    for _ in range(30):
        x, y = rng.normal(size=(batch, 12)), rng.normal(size=(batch, 10))
        weights = rng.random(batch)
        svd.fold(x, y, weights, 0.9)
        total = 0.9 * total + (x * weights[:, None]).T @ y
    np.testing.assert_allclose(whole(svd), total, atol=1e-11)
    np.testing.assert_allclose(svd.values, np.linalg.svd(total)[1], rtol=1e-11)
    assert defect(svd) < 1e-11


@pytest.mark.parametrize('decay', [1.0, 0.95])
def test_cuts_off_what_rank_one_updates_of_brand_do(decay):
    rng = np.random.default_rng(1)
    svd = ThinSvd(9, 7, 4)
    left, values, right = np.zeros((9, 0)), np.zeros(0), np.zeros((7, 0))
    for _ in range(60):
        x, y, weight = rng.normal(size=9), rng.normal(size=7), rng.random()
        svd.fold(x[None], y[None], np.array([weight]), decay)
        left, values, right = naive_tpsr.brand(left, decay * values, right, weight * x, y, 4)
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
        left, right = svd.left.copy(), svd.right.copy()
        x, y = rng.normal(size=(batch, 7)), rng.normal(size=(batch, 5))
        move = svd.fold(x, y, np.ones(batch))
        np.testing.assert_allclose(svd.across.coordinates(x), x @ svd.left.T, atol=1e-12)
        np.testing.assert_allclose(svd.newest, y @ svd.right.T, atol=1e-12)
        np.testing.assert_allclose(move.left, svd.left @ left.T, atol=1e-12)
        np.testing.assert_allclose(move.right, svd.right @ right.T, atol=1e-12)
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
        left = svd.left.copy()
        move = svd.fold(x, y, np.ones(3))
        assert len(svd.values) == 3 * (fold + 1)
        assert defect(svd) < 1e-14
        np.testing.assert_allclose(svd.newest, y @ svd.right.T, atol=1e-9)
        np.testing.assert_allclose(move.left, svd.left @ left.T, atol=1e-9)
        total += x.T @ y
        np.testing.assert_allclose(whole(svd), total, atol=1e-11)


def set_rows(basis: Basis, rows: np.ndarray) -> None:
    """Give an empty basis some rows, which need not be orthonormal."""
    basis.turn(np.eye(len(rows)), basis.split(rows), rows)


@given(
    rank=strategies.integers(0, 5),
    count=strategies.integers(0, 6),
    spoil=strategies.floats(0.0, 1e-3),
    seed=strategies.integers(0, 2**16),
)
def test_split_writes_vectors_in_orthonormal_rows(rank, count, spoil, seed):
    rng = np.random.default_rng(seed)
    basis = Basis(8, 8)
    rows = np.linalg.qr(rng.normal(size=(8, rank)))[0].T
    set_rows(basis, rows + spoil * rng.normal(size=rows.shape))
    vectors = rng.normal(size=(count, 8))
    split = basis.split(vectors)
    orthonormal = split.recipe @ np.vstack([basis.rows, vectors])
    np.testing.assert_allclose(orthonormal @ orthonormal.T, np.eye(len(orthonormal)), atol=1e-9)
    np.testing.assert_allclose(split.coordinates @ orthonormal, vectors, atol=1e-9)
    np.testing.assert_allclose(split.own @ orthonormal[:rank], basis.rows, atol=1e-9)


@pytest.mark.parametrize('size', [5, 1024, 1025])
@pytest.mark.parametrize('count', [1, 7, PENDING, PENDING + 4])
def test_rows_follow_turns_whether_they_are_asked_for_or_not(size, count):
    rng = np.random.default_rng(0)
    basis, asked = Basis(4, size), Basis(4, size)
    rows = np.linalg.qr(rng.normal(size=(size, 2)))[0].T
    for each in (basis, asked):
        set_rows(each, rows)
    for _ in range(2 + 2 * PENDING // count):
        vectors, rotation = rng.normal(size=(count, size)), rng.normal(size=(3, 9))
        for each in (basis, asked):
            split = each.split(vectors)
            width = len(split.recipe)
            turn = np.linalg.qr(np.resize(rotation, (width, width)))[0][:3]
            each.turn(turn @ split.recipe, split, vectors)
        orthonormal = split.recipe @ np.vstack([rows, vectors])
        rows = turn @ orthonormal
        np.testing.assert_allclose(asked.rows, rows, atol=1e-10)
        probes = rng.normal(size=(2, size))
        np.testing.assert_allclose(basis.coordinates(probes), probes @ rows.T, atol=1e-10)
    np.testing.assert_allclose(basis.rows, rows, atol=1e-10)
