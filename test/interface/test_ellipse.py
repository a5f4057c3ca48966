# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The 95 % ellipse."""

import math

import numpy as np
import pytest
from two_manifold_ros.interface.estimates import ellipse95


def test_axes_of_a_turned_covariance() -> None:
    angle = 0.7
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    long, short, yaw = ellipse95(turn @ np.diag([4.0, 1.0]) @ turn.T)
    assert (long, short) == pytest.approx((4 * 2.4477468, 2 * 2.4477468))
    assert yaw % math.pi == pytest.approx(angle)


def test_holds_95_percent_of_samples() -> None:
    random = np.random.default_rng(3)
    covariance = np.array([[0.5, 0.3], [0.3, 0.4]])
    samples = random.multivariate_normal([0, 0], covariance, size=20_000)
    long, short, yaw = ellipse95(covariance)
    along = samples @ [math.cos(yaw), math.sin(yaw)]
    across = samples @ [-math.sin(yaw), math.cos(yaw)]
    inside = (2 * along / long) ** 2 + (2 * across / short) ** 2 <= 1
    assert inside.mean() == pytest.approx(0.95, abs=0.005)
