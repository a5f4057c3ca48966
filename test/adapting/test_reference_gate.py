# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which reference positions are used."""

from __future__ import annotations

import math

from two_manifold_ros.adapting.prequential import Reference

START = 10**18
STEP = 20_000_000


def follow(gate: Reference, first: int, count: int, *, shift: float = 0.0) -> list[bool]:
    """Drive along x at 1 m/s, a position every 20 ms."""
    return [
        gate.add(START + tick * STEP, 0.02 * tick + shift, shift)
        for tick in range(first, first + count)
    ]


def test_positions_are_interpolated_but_not_across_a_gap() -> None:
    gate = Reference()
    assert all(follow(gate, 0, 50))
    assert gate.newest_ns == START + 49 * STEP
    x, y = gate.at(START + 30 * STEP + STEP // 2) or (math.nan, math.nan)
    assert math.isclose(x, 0.61)
    assert y == 0.0
    follow(gate, 70, 5)
    assert gate.at(START + 60 * STEP) is None
    assert gate.at(START + 72 * STEP) is not None


def test_a_slow_reference_is_interpolated_too() -> None:
    gate = Reference()
    for second in range(25):
        gate.add(START + second * 10**9, 1.0 * second, 0.0)
    x, _ = gate.at(START + 23 * 10**9 + 10**9 // 4) or (math.nan, 0.0)
    assert math.isclose(x, 23.25)


def test_what_cannot_be_used_is_counted_under_its_cause() -> None:
    gate = Reference()
    follow(gate, 0, 30)
    assert not gate.add(START + 30 * STEP, math.nan, 0.0)
    assert not gate.add(START + 29 * STEP, 0.0, 0.0)
    assert not gate.add(START + 28 * STEP, 0.0, 0.0)
    assert not gate.add(0, 0.0, 0.0)
    assert gate.counters == {
        'used': 30,
        'non_finite': 1,
        'duplicate_stamp': 1,
        'out_of_order': 1,
        'zero_stamp': 1,
    }


def test_a_jump_is_refused() -> None:
    gate = Reference()
    follow(gate, 0, 60)
    assert follow(gate, 60, 5, shift=3.0) == [False] * 5
    assert all(follow(gate, 65, 10))
    assert gate.counters['jumped'] == 5
    assert gate.at(START + 62 * STEP) is not None  # from the positions before and after


def test_a_reference_that_was_moved_for_good_is_followed() -> None:
    gate = Reference()
    follow(gate, 0, 60)
    used = follow(gate, 60, 100, shift=3.0)
    assert used == [False] * 50 + [True] * 50
    assert gate.counters['moved'] == 1
    assert gate.at(START + 80 * STEP) is None  # never between the old place and the new


def test_positions_that_do_not_agree_are_never_followed() -> None:
    gate = Reference()
    follow(gate, 0, 60)
    for tick in range(60, 200):
        assert not gate.add(START + tick * STEP, 3.0 + 2.0 * (tick % 2), 0.0)


def test_a_clock_that_goes_back_begins_anew() -> None:
    gate = Reference()
    follow(gate, 0, 60)
    assert gate.add(START - 10**10, 50.0, 50.0)
    assert gate.newest_ns == START - 10**10
    assert gate.at(START) is None
