# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The torus, the globe, and how a projection is found and judged."""

import numpy as np
import pytest

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.mkdr import (
    claim_one_direction,
    eigenvectors_of,
    grid_on_torus,
    multiple_correlation,
    project,
)


def test_a_projection_rises_with_the_response_and_hides_some():
    rng = np.random.default_rng(1)
    columns = rng.standard_normal((300, 4))
    responses = 7.0 - columns[:, 2] + 0.1 * rng.standard_normal(300)
    found = project(columns, responses, seed=0)
    assert np.corrcoef(found.values, responses)[0, 1] == pytest.approx(found.correlation)
    assert found.correlation > 0.98
    assert found.hidden_correlation > 0.98
    assert multiple_correlation(columns[:, :2], responses) < 0.3
    assert multiple_correlation(columns[:, 1:], responses) > 0.98
    noise = project(rng.standard_normal((50, 30)), rng.standard_normal(50), seed=0)
    assert noise.correlation > 0.6
    assert abs(noise.hidden_correlation) < 0.4


def test_a_response_whose_square_takes_another_direction():
    torus = grid_on_torus(14)
    eigenvectors = eigenvectors_of(torus.points, 20, 10)
    claims = [
        claim_one_direction('', [project(eigenvectors, responses, seed=0)], 0.9)
        for responses in (torus.responses, np.sin(torus.tube))
    ]
    assert [claim.passed for claim in claims] == [True, False]
    assert claims[0].ours.endswith(' (rank 2)')
