# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Waiting until the same has been learned for a while."""

from __future__ import annotations

from two_manifold_ros.nodes.settling import Settling, SETTLING_S


def test_it_waits_from_the_last_change_on_and_not_from_those_before_it_began() -> None:
    count = [3]
    settling = Settling(lambda: count[0])
    assert not settling.changed(0.0)
    assert settling.over(0.0)
    for now_s in (5.0, 8.0):
        count[0] += 1
        assert settling.changed(now_s)
        assert not settling.changed(now_s + 1.0)
    assert not settling.over(8.0 + SETTLING_S - 0.1)
    assert settling.over(8.0 + SETTLING_S)
