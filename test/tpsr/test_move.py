# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from two_manifold_ros.tpsr.thin_svd import Move


def turned(size: int, first: int, second: int, angle: float) -> np.ndarray:
    """Rotate one axis towards another."""
    rotation = np.eye(size)
    rotation[[first, second], [first, second]] = np.cos(angle)
    rotation[second, first], rotation[first, second] = np.sin(angle), -np.sin(angle)
    return rotation


def test_one_move_after_another() -> None:
    rng = np.random.default_rng(0)
    earlier = Move(rng.normal(size=(3, 2)), rng.normal(size=(3, 2)))
    later = Move(rng.normal(size=(4, 3)), rng.normal(size=(4, 3)))
    state, history = rng.normal(size=(2, 2))
    both = later.after(earlier)
    np.testing.assert_allclose(both.left @ state, later.left @ (earlier.left @ state))
    np.testing.assert_allclose(both.right @ history, later.right @ (earlier.right @ history))
    np.testing.assert_array_equal(Move.none(4).after(both).left, both.left)


def test_the_angle_is_that_of_the_space_and_not_of_its_axes() -> None:
    within = Move(turned(4, 0, 1, 1.0), np.eye(4))
    assert within.angle(2) == pytest.approx(0.0, abs=1e-7)
    assert within.angle(1) == pytest.approx(1.0)
    out = Move(turned(4, 1, 2, 0.3) @ turned(4, 0, 3, 0.2), np.eye(4))
    assert out.angle(2) == pytest.approx(0.3)
    assert out.angle(4) == pytest.approx(0.0, abs=1e-7)


def test_directions_that_are_new_or_gone_turn_nothing() -> None:
    assert Move(np.zeros((3, 0)), np.zeros((3, 0))).angle(2) == 0.0
    grown = Move(np.eye(3)[:, :2], np.eye(3)[:, :2])
    assert grown.angle(3) == pytest.approx(0.0, abs=1e-7)
    assert Move(np.eye(3)[:1], np.eye(3)[:1]).angle(3) == pytest.approx(0.0, abs=1e-7)
