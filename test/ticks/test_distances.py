# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The recursion (8.3) against direct distances, and its compiled form against NumPy's."""

from collections.abc import Callable

import naive
import numpy as np
import pytest

from two_manifold_ros.ticks import sliding as module
from two_manifold_ros.ticks.sliding import direct_distances, slide


def two_segments(length: int) -> np.ndarray:
    """Lay two unlike segments end to end, so that there is a seam to pass over."""
    rng = np.random.default_rng(1)
    walk = np.cumsum(rng.normal(size=(3, length)), axis=1)
    walk[:, length // 3 :] += 50.0
    return walk


@pytest.mark.parametrize('width', [1, 2, 15])
def test_recursion_stays_exact(width: int) -> None:
    series = two_segments(120)
    windows = series.shape[1] - width + 1
    stream = 10.0 * np.random.default_rng(2).normal(size=(3, width + 3 * windows))
    found = naive.window_distances(series, stream[:, :width])
    for position in range(1, 3 * windows + 1):
        slide(found, series, stream, position, width)
        if position >= 2 * windows:
            expected = naive.window_distances(series, stream[:, position : position + width])
            np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize('move', [module._slide_loops, module._slide_arrays])
def test_rounding_makes_no_distance_negative(move: Callable[..., None]) -> None:
    # Large differences come in and go out again, and what is left of their sum is rounding.
    rng = np.random.default_rng(2)
    series, stream = np.ones((2, 120)), np.ones((2, 120))
    series[:, :60] = 1e3 * rng.normal(size=(2, 60))
    stream[:, :60] = 1e3 * rng.normal(size=(2, 60))
    found = direct_distances(series, stream[:, :10])
    for position in range(1, 111):
        move(found, series, stream, position, 10)
        assert found.min() >= 0.0
    np.testing.assert_allclose(found[60:], 0.0, atol=1e-6)


def test_direct_distances() -> None:
    series = two_segments(40)
    window = series[:, 9:16] + 1.0
    expected = naive.window_distances(series, window)
    np.testing.assert_allclose(direct_distances(series, window), expected, rtol=1e-13)


@pytest.mark.parametrize('width', [1, 7])
def test_compiled_and_numpy_forms_agree(width: int) -> None:
    series = two_segments(90)
    stream = np.random.default_rng(3).normal(size=(3, 60))
    compiled = direct_distances(series, stream[:, :width])
    arrays = compiled.copy()
    for position in range(1, 60 - width + 1):
        module._slide_loops(compiled, series, stream, position, width)
        module._slide_arrays(arrays, series, stream, position, width)
        np.testing.assert_allclose(compiled, arrays, rtol=1e-10)
