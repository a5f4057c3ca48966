# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The ring of remembered ticks."""

from __future__ import annotations

import numpy as np

from two_manifold_ros.adapting.recent_ticks import RecentTicks


def test_ticks_are_found_by_number_as_long_as_they_are_kept() -> None:
    ticks = RecentTicks(4, 1)
    for number in (0, 1, 2, 5, 6):
        ticks.push(number, np.array([float(number)]), good=number != 2)
        assert ticks.place(number, np.array([number, -number]))
    assert not ticks.place(1, np.zeros(2))  # number 5 has taken its place
    there, features, positions, good = ticks.part(1, 7)
    assert there.tolist() == [False, False, False, False, True, True]
    assert features[4:, 0].tolist() == [5.0, 6.0]
    assert positions[5].tolist() == [6.0, -6.0]
    assert np.isnan(positions[:4]).all()
    assert good.tolist() == [False] * 4 + [True] * 2


def test_judging_spares_what_came_before() -> None:
    ticks = RecentTicks(4, 1)
    for number in range(4):
        ticks.push(number, np.zeros(1), good=True)
    ticks.judge(2, good=False)
    assert ticks.part(0, 4)[3].tolist() == [True, True, False, False]
