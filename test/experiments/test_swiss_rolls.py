# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The two Swiss rolls: the sheet that they are, and the experiment in small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('matplotlib')
pytest.importorskip('sklearn')

from two_manifold_ros.experiments.registry import experiments_named
from two_manifold_ros.experiments.swiss_rolls import colours_of, draw_pairs, embed, Size

if TYPE_CHECKING:
    from pathlib import Path


def test_each_view_rolls_up_another_side_of_the_same_sheet() -> None:
    pairs = draw_pairs(500, 21.0, 0.0, seed=3)
    for side, view in enumerate(pairs.views):
        radius = np.hypot(view[:, 0], view[:, 1])
        np.testing.assert_allclose(radius, 1.5 * np.pi * (1 + 2 * pairs.latent[:, side]))
        np.testing.assert_allclose(view[:, 2], 21.0 * pairs.latent[:, 1 - side])


def test_noise_is_as_told_and_independent() -> None:
    noisy = draw_pairs(20_000, 21.0, 2.0, seed=3)
    clean = draw_pairs(20_000, 21.0, 0.0, seed=3)
    noise = np.hstack([a - b for a, b in zip(noisy.views, clean.views, strict=True)])
    np.testing.assert_allclose(np.cov(noise.T), 4.0 * np.eye(6), atol=0.15)
    assert not np.array_equal(draw_pairs(9, 21.0, 0.0, seed=4).latent, clean.latent[:9])


def test_pairs_learned_from_are_not_those_that_are_read() -> None:
    """One neighbour would read its own place without an error if it were there."""
    size = Size(points=300, new_points=300, neighbours=8)
    clean = embed(size, 50.0, 0.0, '', seed=1)
    assert max(clean.scores) < 0.99
    assert clean.score == pytest.approx(np.mean(clean.scores))
    again = embed(size, 50.0, 0.0, '', seed=1)
    assert again.scores == clean.scores


def test_corners_have_colours_of_their_own() -> None:
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    colours = colours_of(corners)
    np.testing.assert_allclose(colours[4], colours[:4].mean(axis=0))
    assert len(np.unique(colours, axis=0)) == 5


def test_the_quick_form_passes(tmp_path: Path) -> None:
    (experiment,) = experiments_named('swiss-rolls')
    told: list[float] = []
    claims = experiment.run(tmp_path, lambda _, share: told.append(share), quick=True)
    assert [claim.what for claim in claims if not claim.passed] == []
    assert len(claims) == len(told) == 7
    assert (tmp_path / experiment.picture).read_bytes().startswith(b'\x89PNG')
