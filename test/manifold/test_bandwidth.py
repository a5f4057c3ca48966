# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The median trick."""

from collections.abc import Callable

import naive
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.affinity import median_distance
from two_manifold_ros.ticks.windows import WindowSet


def test_median_of_the_distances(make_windows: Callable[..., WindowSet]) -> None:
    windows = make_windows()
    rows = windows.rows(np.arange(len(windows)))
    every = np.sqrt(naive.squared_distances(rows, rows)[np.triu_indices(len(rows), 1)])
    assert median_distance(windows) == pytest.approx(np.median(every), rel=0.02)


def test_identical_windows_are_refused() -> None:
    standing = WindowSet(np.ones((2, 50)), np.arange(46), 5)
    with pytest.raises(InputError, match='identical'):
        median_distance(standing)
