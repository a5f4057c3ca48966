# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How far apart windows that share no observation are."""

import naive
import numpy as np
import pytest

from two_manifold_ros.windows.spacing import spacing_quantile
from two_manifold_ros.windows.window_set import WindowSet

SERIES = np.cumsum(np.random.default_rng(0).normal(size=(2, 60)), axis=1)


def nearest_squares(starts: list[int], width: int, apart: int) -> list[float]:
    rows = np.array([SERIES[:, s : s + width].ravel() for s in starts])
    squared = naive.squared_distances(rows, rows)
    return [
        min(squared[i, j] for j in range(len(starts)) if abs(starts[i] - starts[j]) >= apart)
        for i in range(len(starts))
    ]


@pytest.mark.parametrize('quantile', [0.0, 0.5, 0.99])
def test_overlapping_windows_do_not_count(quantile: float) -> None:
    starts = [*range(20), *range(30, 50)]
    windows = WindowSet(SERIES, np.array(starts), 8)
    expected = np.quantile(nearest_squares(starts, 8, apart=8), quantile)
    assert spacing_quantile(windows, quantile) == pytest.approx(expected, rel=1e-9)


def test_windows_that_all_overlap() -> None:
    starts = [3, 4, 6]
    windows = WindowSet(SERIES, np.array(starts), 10)
    expected = np.median(nearest_squares(starts, 10, apart=1))
    assert spacing_quantile(windows, 0.5) == pytest.approx(expected, rel=1e-9)
