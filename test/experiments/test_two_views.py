# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The linear views and their bias; the rolls and the sheet that they are."""

import numpy as np
import pytest

pytest.importorskip('matplotlib')
pytest.importorskip('sklearn')

from two_manifold_ros.experiments.two_views import (
    draw_pairs,
    draw_views,
    embed,
    RollSettings,
)


def test_noise_is_anisotropic_and_biases_the_principal_components_by_an_angle():
    for view in draw_views(seed=0):
        strengths = np.linalg.svd(view.noise_root, compute_uv=False)
        assert strengths[0] > 10.0 * strengths[-1]
        assert view.bias() > 10.0
    assert view.angle(view.mixing @ [[1.0, 2.0], [3.0, -1.0]]) == pytest.approx(0.0, abs=1e-6)
    outside = np.linalg.qr(view.mixing, mode='complete')[0][:, 2]
    tilted = np.linalg.qr(view.mixing)[0] + np.outer(outside, [np.tan(np.radians(20.0)), 0.0])
    assert view.angle(tilted) == pytest.approx(20.0)


def test_each_view_rolls_up_another_side_of_the_same_sheet():
    pairs = draw_pairs(500, 21.0, 0.0, seed=3)
    for side, view in enumerate(pairs.views):
        radius = np.hypot(view[:, 0], view[:, 1])
        np.testing.assert_allclose(radius, 1.5 * np.pi * (1 + 2 * pairs.latent[:, side]))
        np.testing.assert_allclose(view[:, 2], 21.0 * pairs.latent[:, 1 - side])


def test_pairs_learned_from_are_not_those_that_are_read():
    """One neighbour would read its own place without an error if it were there."""
    size = RollSettings(points=300, new_points=300, neighbours=8)
    clean = embed(size, 50.0, 0.0, '', seed=1)
    assert max(clean.scores) < 0.99
    assert clean.score == pytest.approx(np.mean(clean.scores))
    again = embed(size, 50.0, 0.0, '', seed=1)
    assert again.scores == clean.scores
