# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The nearest of many against a full sort, with many ties."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np

from two_manifold_ros.ticks.sliding import nearest


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(1, 40))
@settings(derandomize=True, deadline=None)
def test_nearest_is_the_front_of_a_full_sort(values: list[int], count: int) -> None:
    distances = np.array(values, dtype=float)
    found = nearest(distances, count)
    np.testing.assert_array_equal(distances[found], np.sort(distances)[:count])
    assert len(set(found.tolist())) == len(found) == min(count, len(values))
    ordered = sorted(found.tolist(), key=lambda i: (values[i], i))
    assert found.tolist() == ordered, 'equal distances come in the order of their indices'
