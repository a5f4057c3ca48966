# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The linear views, their bias, and the experiment in small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('matplotlib')
pytest.importorskip('sklearn')

from two_manifold_ros.experiments.linear_iv import Curve, draw_views
from two_manifold_ros.experiments.registry import experiments_named

if TYPE_CHECKING:
    from pathlib import Path


def test_a_view_has_the_covariances_that_it_says() -> None:
    rng = np.random.default_rng(5)
    hidden = rng.normal(size=(50_000, 2))
    first, second = draw_views(seed=1)
    views = [view.sample(hidden, rng) for view in (first, second)]
    covariance = first.mixing @ first.mixing.T + first.noise_root @ first.noise_root.T
    np.testing.assert_allclose(np.cov(views[0].T), covariance, atol=0.15)
    cross = views[0].T @ views[1] / len(hidden)
    np.testing.assert_allclose(cross, first.mixing @ second.mixing.T, atol=0.15)


def test_noise_is_anisotropic_and_biases_the_principal_components() -> None:
    for view in draw_views(seed=0):
        strengths = np.linalg.svd(view.noise_root, compute_uv=False)
        assert strengths[0] > 10.0 * strengths[-1]
        assert view.bias() > 10.0


def test_angles() -> None:
    view = draw_views(seed=1)[0]
    assert view.angle(view.mixing @ [[1.0, 2.0], [3.0, -1.0]]) == pytest.approx(0.0, abs=1e-6)
    outside = np.linalg.qr(view.mixing, mode='complete')[0][:, 2]
    tilted = np.linalg.qr(view.mixing)[0] + np.outer(outside, [np.tan(np.radians(20.0)), 0.0])
    assert view.angle(tilted) == pytest.approx(20.0)


def test_slope_is_that_of_the_mean() -> None:
    curve = Curve('any', np.array([[4.0, 2.0], [6.0, 3.0]]), (100, 400))
    assert curve.means.tolist() == [5.0, 2.5]
    assert curve.last == 2.5
    assert curve.slope == pytest.approx(-0.5)


def test_the_quick_form_passes(tmp_path: Path) -> None:
    (experiment,) = experiments_named('linear-iv')
    told: list[float] = []
    claims = experiment.run(tmp_path, lambda _, share: told.append(share), quick=True)
    assert [claim.what for claim in claims if not claim.passed] == []
    assert len(claims) == 7
    assert told == [trial / 10 for trial in range(10)]
    assert (tmp_path / experiment.picture).read_bytes().startswith(b'\x89PNG')
