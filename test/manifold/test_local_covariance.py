# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Covariances of bursts, where they are known."""

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.local_metric import local_covariances


def test_one_step_is_second_moments_about_the_start() -> None:
    bursts = np.random.default_rng(0).normal(size=(3, 40, 2, 2))
    moved = bursts[:, :, 1] - bursts[:, :, 0]
    for found, each in zip(local_covariances(bursts, 0.5), moved, strict=True):
        np.testing.assert_allclose(found, sum(np.outer(row, row) for row in each) / 40 / 0.5)


def test_more_steps_see_less_of_a_wall() -> None:
    steps = np.random.default_rng(1).normal(scale=0.01**0.5, size=(1, 4000, 100, 1))
    walks = np.concatenate([np.zeros((1, 4000, 1, 1)), steps.cumsum(axis=2)], axis=2)
    bursts = np.abs(walks)  # a wall at the start, of which the variance is 1
    assert local_covariances(bursts, 1.0).item() == pytest.approx(1.0, abs=0.08)
    # Folding takes 2 / pi off the variance of a path's end.
    ends = bursts[:, :, -1] - bursts[:, :, -1].mean(axis=1, keepdims=True)
    assert np.square(ends).mean() == pytest.approx(1.0 - 2.0 / np.pi, abs=0.02)


@pytest.mark.parametrize('shape', [(3, 4, 2), (3, 4, 1, 2), (0, 4, 3, 2)])
def test_no_steps(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match='bursts have the shape'):
        local_covariances(np.zeros(shape), 0.1)


def test_no_time() -> None:
    with pytest.raises(InputError, match='give a positive time'):
        local_covariances(np.zeros((3, 4, 2, 2)), 0.0)
