# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The projection onto positive semidefinite matrices of trace one."""

import numpy as np
import pytest

from two_manifold_ros.hse_hmm.mkdr import onto_simplex, onto_unit_trace


@pytest.mark.parametrize('seed', range(5))
def test_nothing_allowed_is_nearer(seed: int) -> None:
    """Seen from the nearest point of a convex set, no corner lies on the side of the given one."""
    values = 2.0 * np.random.default_rng(seed).standard_normal(6)
    found = onto_simplex(values)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(1.0)
    away = values - found
    assert max(away) <= away @ found + 1e-12


def test_what_is_allowed_stays() -> None:
    np.testing.assert_allclose(onto_simplex(np.array([0.2, 0.0, 0.8])), [0.2, 0.0, 0.8])
    turn = np.linalg.qr(np.random.default_rng(7).standard_normal((3, 3)))[0]
    allowed = (turn * [0.2, 0.0, 0.8]) @ turn.T
    np.testing.assert_allclose(onto_unit_trace(allowed), allowed, atol=1e-12)


def test_a_matrix_is_projected_by_its_eigenvalues() -> None:
    turn = np.linalg.qr(np.random.default_rng(8).standard_normal((3, 3)))[0]
    found = onto_unit_trace((turn * [1.5, -4.0, 0.9]) @ turn.T)
    np.testing.assert_allclose(found, (turn * [0.8, 0.0, 0.2]) @ turn.T, atol=1e-12)
