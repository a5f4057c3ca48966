# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
from hypothesis import given, strategies
import numpy as np
import pytest

from two_manifold_ros.tpsr.orthonormal import Basis, BLOCK


@given(
    rank=strategies.integers(0, 5),
    count=strategies.integers(0, 6),
    spoil=strategies.floats(0.0, 1e-3),
    seed=strategies.integers(0, 2**16),
)
def test_split_writes_vectors_in_orthonormal_rows(
    rank: int, count: int, spoil: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    basis = Basis(8, 8)
    rows = np.linalg.qr(rng.normal(size=(8, rank)))[0].T
    basis.set_rows(rows + spoil * rng.normal(size=rows.shape))
    vectors = rng.normal(size=(count, 8))
    split = basis.split(vectors)
    orthonormal = split.recipe @ np.vstack([basis.rows, vectors])
    np.testing.assert_allclose(orthonormal @ orthonormal.T, np.eye(len(orthonormal)), atol=1e-9)
    np.testing.assert_allclose(split.coordinates @ orthonormal, vectors, atol=1e-9)
    np.testing.assert_allclose(split.own @ orthonormal[:rank], basis.rows, atol=1e-9)


@pytest.mark.parametrize('size', [3, BLOCK, BLOCK + 1])
def test_turn_replaces_the_rows_block_by_block(size: int) -> None:
    rng = np.random.default_rng(0)
    basis = Basis(3, size)
    rows, vectors = rng.normal(size=(2, size)), rng.normal(size=(4, size))
    basis.set_rows(rows)
    matrix = rng.normal(size=(3, 6))
    basis.turn(matrix, vectors)
    np.testing.assert_allclose(basis.rows, matrix @ np.vstack([rows, vectors]), atol=1e-13)


def test_defect_is_the_largest_entry() -> None:
    basis = Basis(2, 3)
    basis.set_rows(np.array([[1.0, 0.0, 0.0], [0.25, 1.0, 0.0]]))
    assert basis.defect() == 0.25
