# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Counting observations that do not change."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.ticks import rest as module
from two_manifold_ros.ticks.rest import longest_runs, longest_stillness, ROUNDING, Stillness


def test_observations_that_change_nothing_are_counted() -> None:
    stillness = Stillness(2)
    given = [[0, 0], [0, 0], [0, 0], [0, 1], [0, 1], [2, 1]]
    found = [stillness.push(np.array(each, dtype=float)) for each in given]
    assert found == [0, 1, 2, 0, 1, 0]


def test_clearing_forgets_the_last_one_too() -> None:
    stillness = Stillness(2)
    for _ in range(3):
        stillness.push(np.ones(2))
    stillness.clear()
    assert stillness.push(np.ones(2)) == 0


def test_the_longest() -> None:
    series = np.array([[1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0]])
    assert longest_stillness(series) == 2
    assert longest_stillness(np.arange(5.0)[None]) == 0


def test_the_longest_of_each_channel() -> None:
    series = np.array([[1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0], np.arange(7.0), np.zeros(7)])
    assert longest_runs(series).tolist() == [2, 0, 6]
    assert longest_runs(series[:, :1]).tolist() == [0, 0, 0]


@pytest.mark.parametrize(('change', 'alike'), [(0.4 * ROUNDING, True), (-3.0 * ROUNDING, False)])
def test_rounding_is_no_change(change: float, *, alike: bool) -> None:
    first, second = np.array([1.0, -2.0]), np.array([1.0, -2.0 + change])
    assert module._alike_loops(first, second) == alike
    assert module._alike_arrays(first, second) == alike
