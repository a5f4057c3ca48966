# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Steps from a new point."""

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.manifold.diffusion_map import Transition

SQUARED = np.array([4.0, 1.0, 25.0, 9.0])
RESPONSE = Transition(2.0, 1, np.array([0.0, 0.0, 0.0, 9.0 - 1e-12]), np.array([1.0, 2.0, 1.0, 3]))


def test_steps_to_the_nearest_and_to_those_it_is_near_to() -> None:
    # The two nearest, since a training point would be one of them, and the last by its radius.
    expected = np.exp(-SQUARED / 8.0) * [1.0, 2.0, 0.0, 3.0]
    np.testing.assert_allclose(RESPONSE.weights(SQUARED), expected / expected.sum())
    assert RESPONSE.check(4) == 4


def test_out_of_reach() -> None:
    assert RESPONSE.weights(SQUARED + 200.0) is not None
    assert RESPONSE.weights(SQUARED + 240.0) is None
    assert RESPONSE.weights(np.full(4, np.nan)) is None


@pytest.mark.parametrize(
    ('changed', 'words'),
    [
        ({'bandwidth': 0.0}, 'bandwidth'),
        ({'neighbours': 4}, 'neighbours is 4'),
        ({'radii': np.zeros(3)}, 'radii are not'),
        ({'factors': np.zeros((4, 1))}, 'factors are not'),
        ({'factors': np.zeros(4)}, 'factors are not'),
    ],
)
def test_what_does_not_fit(changed: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(RESPONSE, **changed).check(4)
