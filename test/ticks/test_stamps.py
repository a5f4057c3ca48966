# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The rule for stamps."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
import pytest

from two_manifold_ros.ticks.stamps import JUMP_BACK_NS, StampRule, Verdict

NOW = 1_700_000_000_000_000_000
MAX_GAP_NS = 200_000_000


def judged(*stamps: int) -> list[Verdict]:
    """Judge stamps with a fresh rule."""
    rule = StampRule(MAX_GAP_NS)
    return [rule.judge(stamp) for stamp in stamps]


@pytest.mark.parametrize(
    ('step', 'verdict'),
    [
        (1, Verdict.ACCEPT),
        (MAX_GAP_NS, Verdict.ACCEPT),
        (MAX_GAP_NS + 1, Verdict.GAP),
        (0, Verdict.DUPLICATE),
        (-1, Verdict.OUT_OF_ORDER),
        (1 - JUMP_BACK_NS, Verdict.OUT_OF_ORDER),
        (-JUMP_BACK_NS, Verdict.JUMP_BACK),
        (-NOW // 2, Verdict.JUMP_BACK),
        (-NOW, Verdict.ZERO),
        (-NOW - 5, Verdict.ZERO),
    ],
)
def test_a_step_from_the_newest_stamp(step: int, verdict: Verdict) -> None:
    assert judged(NOW, NOW + step) == [Verdict.START, verdict]


def test_a_zero_stamp_does_not_start_anything() -> None:
    assert judged(0, -1, NOW) == [Verdict.ZERO, Verdict.ZERO, Verdict.START]


@pytest.mark.parametrize('dropped', [NOW, NOW - 1, 0, -3])
def test_a_dropped_stamp_is_not_the_newest(dropped: int) -> None:
    assert judged(NOW, dropped, NOW + MAX_GAP_NS)[-1] is Verdict.ACCEPT


@pytest.mark.parametrize('jump', [-JUMP_BACK_NS, MAX_GAP_NS + 1])
def test_a_gap_and_a_jump_back_become_the_newest(jump: int) -> None:
    assert judged(NOW, NOW + jump, NOW + jump + 1)[-1] is Verdict.ACCEPT
    assert judged(NOW, NOW + jump, NOW + jump)[-1] is Verdict.DUPLICATE


def stream(begin: int, end: int) -> list[int]:
    """Return stamps of 100 Hz, in milliseconds from now."""
    return [NOW + each * 1_000_000 for each in range(begin, end, 10)]


def test_a_clock_that_was_set_back_by_little_is_a_gap_of_as_much() -> None:
    rule = StampRule(MAX_GAP_NS)
    verdicts = [rule.judge(stamp) for stamp in [*stream(0, 1000), *stream(700, 1010)]]
    assert verdicts[1:100] == [Verdict.ACCEPT] * 99
    assert verdicts[100:130] == [Verdict.OUT_OF_ORDER] * 29 + [Verdict.DUPLICATE]
    assert verdicts[130] is Verdict.GAP
    assert rule.aside_ns == 300_000_000
    assert rule.judge(NOW + 1_010_000_000) is Verdict.ACCEPT
    assert rule.aside_ns == 0


@pytest.mark.parametrize(
    'late',
    [stream(800, 1000), stream(520, 700), stream(520, 760)],
    ids=['not for long', 'another batch', 'a long batch that nothing goes on from'],
)
def test_what_is_only_late_is_no_gap(late: list[int]) -> None:
    verdicts = judged(*stream(0, 1000), *late, *stream(1000, 1020))
    assert verdicts[-2:] == [Verdict.ACCEPT] * 2


def test_after_forgetting_any_stamp_is_the_first() -> None:
    rule = StampRule(MAX_GAP_NS)
    rule.judge(NOW)
    rule.forget()
    assert rule.judge(NOW - 1) is Verdict.START


@given(st.lists(st.integers(-2, 2 * MAX_GAP_NS), max_size=40), st.integers(1, NOW))
def test_accepted_stamps_only_increase(stamps: list[int], shift: int) -> None:
    rule = StampRule(MAX_GAP_NS)
    shifted = [stamp + shift + 2 for stamp in stamps]
    accepted = [
        stamp
        for stamp in shifted
        if rule.judge(stamp) in (Verdict.ACCEPT, Verdict.START, Verdict.GAP)
    ]
    assert all(left < right for left, right in itertools.pairwise(accepted))
