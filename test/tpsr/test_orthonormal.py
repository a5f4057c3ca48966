# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
from hypothesis import given, strategies
import numpy as np
import pytest

from two_manifold_ros.tpsr.thin_svd import Basis, BLOCK, PENDING


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


@pytest.mark.parametrize('size', [5, BLOCK, BLOCK + 1])
@pytest.mark.parametrize('count', [1, 7, PENDING, PENDING + 4])
def test_rows_follow_turns_whether_they_are_asked_for_or_not(size: int, count: int) -> None:
    rng = np.random.default_rng(0)
    basis, asked = Basis(4, size), Basis(4, size)
    rows = np.linalg.qr(rng.normal(size=(size, 2)))[0].T
    for each in (basis, asked):
        each.set_rows(rows)
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


def test_defect_is_the_largest_entry() -> None:
    basis = Basis(2, 3)
    basis.set_rows(np.array([[1.0, 0.0, 0.0], [0.25, 1.0, 0.0]]))
    assert basis.defect() == 0.25
