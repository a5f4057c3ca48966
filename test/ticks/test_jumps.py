# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A jump of the stamps is believed when the stream goes on from there, and only then."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
import pytest

from two_manifold_ros.ticks.stamps import JUMP_BACK_NS, JumpGate

NOW = 1_700_000_000_000_000_000
STEP = 10_000_000
MAX_GAP = 200_000_000
HOUR = 3600 * 10**9
FAR = [HOUR, -HOUR, MAX_GAP + STEP + 1, -JUMP_BACK_NS, 1 - NOW, 9 * 10**18 - NOW]


def passed(*steps: int) -> tuple[list[int], Counter[str]]:
    """Push stamps given as distances from the first, and return those that passed."""
    gate, counters = JumpGate[int](MAX_GAP), Counter[str]()
    found: list[int] = []
    for step in steps:
        for stamp, item in gate.push(NOW + step, step, counters):
            assert stamp == NOW + item
            found.append(item)
    assert len(steps) == len(found) + counters.total() + gate.waiting
    return found, counters


@pytest.mark.parametrize('far', FAR)
def test_one_wild_stamp_is_dropped_and_counted(far: int) -> None:
    found, counters = passed(0, STEP, far, 2 * STEP, 3 * STEP)
    assert found == [0, STEP, 2 * STEP, 3 * STEP]
    assert counters == Counter(wild_stamp=1)


@pytest.mark.parametrize('far', FAR[:4])
def test_a_jump_is_taken_with_the_sample_after_it(far: int) -> None:
    assert passed(0, STEP, far) == ([0, STEP], Counter())
    assert passed(0, STEP, far, far + STEP) == ([0, STEP, far, far + STEP], Counter())


def test_what_does_not_jump_passes_at_once() -> None:
    for count in range(1, 6):
        steps = [0, MAX_GAP, MAX_GAP, MAX_GAP - JUMP_BACK_NS + 1, 2 * MAX_GAP][:count]
        assert passed(*steps) == (steps, Counter())


def test_an_imu_whose_every_step_is_a_gap_is_one_sample_late() -> None:
    slow = [index * 2 * MAX_GAP for index in range(6)]
    assert passed(*slow) == (slow[:-1], Counter())


def test_two_that_jump_to_different_times_are_two_jumps() -> None:
    assert passed(0, HOUR, -HOUR, STEP)[0] == [0, HOUR, -HOUR]


@pytest.mark.parametrize('far', FAR[:2])
def test_copies_late_ones_and_zeros_prove_nothing(far: int) -> None:
    """Neither for the jump nor against it."""
    doubtful = [far, 0, STEP, -STEP, -NOW]
    found, counters = passed(0, STEP, far, *doubtful, 2 * STEP)
    assert found == [0, STEP, *doubtful[1:], 2 * STEP]
    assert counters == Counter(wild_stamp=1, duplicate_stamp=1)
    found, counters = passed(0, STEP, far, *doubtful, far + STEP)
    assert found == [0, STEP, *doubtful[1:], far, far + STEP]
    assert counters == Counter(duplicate_stamp=1)


def test_a_jump_may_be_followed_by_a_late_sample_of_the_new_time() -> None:
    assert passed(0, HOUR, HOUR - STEP, HOUR + STEP)[0] == [0, HOUR, HOUR - STEP, HOUR + STEP]


def test_two_clocks_on_one_topic_are_told_apart() -> None:
    """Every other message is an hour ahead: the first clock wins, the other is wild."""
    steps = [part for index in range(20) for part in (index * STEP, HOUR + index * STEP)]
    found, counters = passed(*steps)
    assert found == [index * STEP for index in range(20)]
    assert counters == Counter(wild_stamp=19)


def test_what_waits_at_the_end_was_no_jump() -> None:
    gate, counters = JumpGate[str](MAX_GAP), Counter[str]()
    gate.drop(counters)
    assert counters == Counter()
    gate.push(NOW, 'first', counters)
    gate.push(NOW + HOUR, 'far', counters)
    gate.drop(counters)
    assert (gate.waiting, counters) == (0, Counter(wild_stamp=1))
    assert gate.push(NOW - HOUR, 'anew', counters) == [(NOW - HOUR, 'anew')]


@given(st.lists(st.integers(0, 30) | st.integers(-(10**6), 10**6), max_size=60))
def test_nothing_is_lost_or_doubled(steps: list[int]) -> None:
    found, counters = passed(*(step * STEP for step in steps))
    assert not Counter(found) - Counter(step * STEP for step in steps)
    assert set(counters) <= {'wild_stamp', 'duplicate_stamp'}
