# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The pace of a simulated sensor."""

from __future__ import annotations

from two_manifold_ros.nodes.slot_car_node import Pacing

MS = 1_000_000


def test_what_is_due_by_the_clock() -> None:
    pacing = Pacing(10 * MS, speed=2.0)
    assert pacing.due(25 * MS) == 5
    pacing.sent += 5
    assert pacing.due(25 * MS) == 0
    assert pacing.due(30 * MS) == 1


def test_a_stall_is_caught_up_with_in_portions_and_told_where_it_is_long() -> None:
    pacing = Pacing(10 * MS, speed=1.0)
    assert pacing.troubles(1000 * MS) == {}
    assert pacing.due(5000 * MS) == 200
    pacing.sent += 200
    assert list(pacing.troubles(5000 * MS)) == ['behind']
    assert pacing.due(5000 * MS) == 200
    pacing.sent += 200
    assert pacing.troubles(5000 * MS) == {}
