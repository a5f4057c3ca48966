# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The route: how wide the Gaussian is that compares features."""

from dataclasses import replace

from circle_route import make_route
import numpy as np
import pytest


@pytest.mark.parametrize('sharpness', [0.25, 1.0, 2.0])
def test_the_sharpness_weighs_the_exponent_per_feature(sharpness: float) -> None:
    route = replace(make_route(laps=[30, 30, 30]), sharpness=sharpness)
    difference = np.linspace(-1.0, 2.0, len(route.features))
    squared = np.sum(difference**2)
    likelihood = np.exp(-squared / (2.0 * route.bandwidth**2))
    assert likelihood == pytest.approx(np.exp(-sharpness * np.mean(difference**2) / 2.0))
