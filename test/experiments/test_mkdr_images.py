# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The snowman, and distances between its pictures."""

import numpy as np
import pytest

from two_manifold_ros.typing import Floats

pytest.importorskip('matplotlib')

from two_manifold_ros.experiments.mkdr_images import (
    Poses,
    principal_coordinates,
    sample_poses,
    Snowman,
)


def picture_of(
    turn: float = 0.0, lean: float = 0.0, shift: tuple[float, float] = (0, 0)
) -> Floats:
    """Return one picture."""
    poses = Poses(np.array([turn]), np.array([lean]), np.array([shift], dtype=float))
    (picture,) = Snowman().render(poses)
    return picture


def test_a_snowman_moves_as_asked():
    still = picture_of()
    assert still.shape == (110, 80)
    assert (still.min() >= 0.0, still.max() <= 1.0) == (True, True)
    np.testing.assert_allclose(picture_of(shift=(3, 5))[5:90, 10:70], still[10:95, 7:67])
    # The white parts move to the side that it leans to.
    leaning, upright = (
        np.nonzero(each > 0.6)[1].mean() for each in (picture_of(lean=10.0), still)
    )
    assert leaning > upright + 2.0
    noses = [picture_of(turn=turn)[31] for turn in (-45.0, 45.0)]
    assert noses[0][19:22].min() > 0.2
    assert noses[1][57:60].min() > 0.2
    assert max(still[31, 19:22].max(), still[31, 57:60].max()) < 0.2
    assert still[27, 33:37].min() < 0.1, 'an eye'
    assert picture_of(turn=180.0)[27, 33:37].min() > 0.6, 'none in the back of the head'


def test_poses_are_drawn_from_where_they_should():
    poses = sample_poses(2_000, seed=1)
    for values, most in ((poses.turn, 45.0), (poses.lean, 10.0), (poses.shift, 5.0)):
        assert 0.99 * most < np.abs(values).max() <= most
        assert values.mean() == pytest.approx(0.0, abs=0.1 * most)


def test_principal_coordinates_keep_distances():
    rows = np.random.default_rng(1).standard_normal((12, 40))
    rows[:, 10:] *= 1e-4
    found = principal_coordinates(rows)
    assert found.shape[1] <= 11
    distances = [np.linalg.norm(each[:1] - each, axis=1) for each in (rows, found)]
    np.testing.assert_allclose(distances[1], distances[0], rtol=2e-2)
