# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which reference positions are used, and errors of estimates against them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.adapting.prequential import Prequential, ReferenceBuffer, ReferenceMonitor

MS = 10**6


@pytest.fixture
def truth() -> ReferenceBuffer:
    truth = ReferenceBuffer(200 * MS)
    for stamp_ms, x in ((1000, 1.0), (1100, 2.0), (1400, 5.0)):
        truth.add(stamp_ms * MS, x, -x)
    return truth


@pytest.mark.parametrize(
    ('stamp_ms', 'place'),
    [
        (999, None),
        (1000, (1.0, -1.0)),
        (1025, (1.25, -1.25)),
        (1100, (2.0, -2.0)),
        (1250, None),
        (1400, (5.0, -5.0)),
        (1401, None),
    ],
)
def test_between_two_positions(
    stamp_ms: int, place: tuple[float, float] | None, truth: ReferenceBuffer
) -> None:
    assert truth.at(stamp_ms * MS) == place


def test_the_old_is_forgotten_but_for_what_reaches_into_the_time_kept() -> None:
    truth = ReferenceBuffer(200 * MS)
    for step in range(100):
        truth.add(step * 100 * MS, float(step), 0.0)
    oldest = 7900 * MS
    assert truth.at(oldest + MS) == pytest.approx((79.01, 0.0))
    assert truth.at(oldest - 200 * MS) is None


def test_memory_is_bounded_at_any_rate() -> None:
    truth = ReferenceBuffer(200 * MS)
    for step in range(10_000):
        truth.add(step, 0.0, 0.0)
    assert truth.at(1) is None
    assert truth.at(9_000) == (0.0, 0.0)


START = 10**18
STEP = 20_000_000


def follow(gate: ReferenceMonitor, first: int, count: int, *, shift: float = 0.0) -> list[bool]:
    """Drive along x at 1 m/s, a position every 20 ms."""
    return [
        gate.add(START + tick * STEP, 0.02 * tick + shift, shift)
        for tick in range(first, first + count)
    ]


def test_positions_are_interpolated_but_not_across_a_gap() -> None:
    gate = ReferenceMonitor()
    assert all(follow(gate, 0, 50))
    assert gate.newest_ns == START + 49 * STEP
    x, y = gate.at(START + 30 * STEP + STEP // 2) or (math.nan, math.nan)
    assert math.isclose(x, 0.61)
    assert y == 0.0
    follow(gate, 70, 5)
    assert gate.at(START + 60 * STEP) is None
    assert gate.at(START + 72 * STEP) is not None


def test_what_cannot_be_used_is_counted_under_its_cause() -> None:
    gate = ReferenceMonitor()
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
    gate = ReferenceMonitor()
    follow(gate, 0, 60)
    assert follow(gate, 60, 5, shift=3.0) == [False] * 5
    assert all(follow(gate, 65, 10))
    assert gate.counters['jumped'] == 5
    assert gate.at(START + 62 * STEP) is not None  # from the positions before and after


def test_a_reference_that_was_moved_for_good_is_followed() -> None:
    gate = ReferenceMonitor()
    follow(gate, 0, 60)
    used = follow(gate, 60, 100, shift=3.0)
    assert used == [False] * 50 + [True] * 50
    assert gate.counters['moved'] == 1
    assert gate.at(START + 80 * STEP) is None  # never between the old place and the new


def test_positions_that_do_not_agree_are_never_followed() -> None:
    gate = ReferenceMonitor()
    follow(gate, 0, 60)
    for tick in range(60, 200):
        assert not gate.add(START + tick * STEP, 3.0 + 2.0 * (tick % 2), 0.0)


def test_a_clock_that_goes_back_begins_anew() -> None:
    gate = ReferenceMonitor()
    follow(gate, 0, 60)
    assert gate.add(START - 10**10, 50.0, 50.0)
    assert gate.newest_ns == START - 10**10
    assert gate.at(START) is None


SECOND_NS = 10**9


def estimate(second: int, x: float, y: float, *, valid: bool = True, cause: str = '') -> Any:  # noqa: ANN401 - a stand-in
    positions = np.array([[x, y]])
    return SimpleNamespace(
        stamp_ns=second * SECOND_NS, positions=positions, valid=valid, cause=cause
    )


def naive_errors(rows: list[tuple[float, float, bool]], span: int) -> tuple[float, float, float]:
    """Return errors of the last ``span`` seconds: of who told, of the mean, and the share told."""
    squares, usual, shares = [], [], []
    for index, (place, guess, valid) in enumerate(rows):
        before = [each[0] for each in rows[:index]]
        mean = (place - np.mean(before)) ** 2 if before else 0.0
        usual.append(mean)
        squares.append((guess - place) ** 2 if valid else mean)
        shares.append(valid)
    newest = slice(max(0, len(rows) - span - 1), None)
    return (
        math.sqrt(np.mean(squares[newest])),
        math.sqrt(np.mean(usual[newest])),
        float(np.mean(shares[newest])),
    )


@given(
    st.lists(st.tuples(st.floats(-50.0, 50.0), st.floats(-50.0, 50.0), st.booleans()), min_size=1),
    st.integers(0, 12),
)
def test_it_sums_what_the_last_seconds_were_worth(
    rows: list[tuple[float, float, bool]], span: int
) -> None:
    score = Prequential(float(span))
    for second, (_, guess, valid) in enumerate(rows):
        score.add(estimate(second, guess, 0.0, valid=valid))
    places = {second * SECOND_NS: (row[0], 0.0) for second, row in enumerate(rows)}
    score.settle((len(rows) - 1) * SECOND_NS, places.get)
    found = score.rmse_m, score.mean_rmse_m, score.told
    assert found == pytest.approx(naive_errors(rows, span), abs=1e-5)
    assert len(score) == min(span + 1, len(rows))


def test_large_errors_count_up_to_a_share_of_the_mean_position() -> None:
    score = Prequential(100.0)
    for second, guess in enumerate((0.0, 1.0, 100.0)):
        score.add(estimate(second, guess, 0.0))
    places = {second * SECOND_NS: (3.0 * (second % 2), 0.0) for second in range(3)}
    score.settle(2 * SECOND_NS, places.get)
    most = 0.5 * score.mean_rmse_m
    capped = [0.0, min(2.0, most), most]
    assert score.capped_mean_m(0.5, 2.0) == pytest.approx(np.mean(capped))
    assert score.capped_mean_m(0.5, math.nan) == score.capped_mean_m(0.5, 2.0)
    # The newest seconds alone.
    assert score.capped_mean_m(0.5, 1.0) == pytest.approx(np.mean(capped[1:]))


@pytest.mark.parametrize('shift_ns', [0, 1, 255, 1_767_225_600 * 10**9 + 255])
def test_what_is_the_newest_does_not_depend_on_the_epoch(shift_ns: int) -> None:
    score = Prequential(100.0)
    for second in range(4):
        shifted = estimate(second, float(second), 0.0)
        shifted.stamp_ns += shift_ns
        score.add(shifted)
    score.settle(3 * SECOND_NS + shift_ns, lambda _: (0.0, 0.0))
    assert score.capped_mean_m(math.inf, 1.0) == pytest.approx(2.5)


def test_what_was_withheld_for_being_no_better_is_judged_as_told() -> None:
    score = Prequential(100.0)
    score.add(estimate(1, 3.0, 4.0, valid=False, cause='no_better'))
    score.add(estimate(2, 3.0, 4.0, valid=False, cause='astray'))
    score.settle(2 * SECOND_NS, lambda _: (0.0, 0.0))
    assert score.rmse_m == pytest.approx(np.sqrt(12.5))
    assert score.told == 0.5


def test_only_what_is_known_counts_and_only_once() -> None:
    score = Prequential(100.0)
    assert math.isnan(score.rmse_m)
    assert math.isnan(score.told)
    for second in range(10):
        score.add(estimate(second, 3.0, 4.0))
    known = {second * SECOND_NS: (0.0, 0.0) for second in (1, 2, 7)}
    score.settle(5 * SECOND_NS, known.get)
    assert (len(score), score.rmse_m, score.told) == (2, 5.0, 1.0)
    score.settle(5 * SECOND_NS, known.get)
    assert len(score) == 2
    score.settle(9 * SECOND_NS, known.get)
    assert len(score) == 3
    # What lies apart is no time of which anything is known.
    assert score.seconds == 1.0


@given(st.integers(1, 30), st.integers(1, 30), st.floats(2.0, 50.0))
def test_it_finds_where_errors_rise(before: int, after: int, factor: float) -> None:
    score = Prequential(1000.0)
    assert score.rise_ns() == 0
    for second in range(before + after):
        score.add(estimate(second, factor if second >= before else 1.0, 0.0))
    score.settle(10**12, lambda _: (0.0, 0.0))
    assert score.rise_ns() == before * SECOND_NS


def test_estimates_of_before_a_clock_was_set_back_do_not_hold_up_those_after_it() -> None:
    score = Prequential(100.0)
    for second in (1000, 1001, 5, 6):
        score.add(estimate(second, 1.0, 0.0))
    score.settle(6 * SECOND_NS, lambda _: (0.0, 0.0))
    assert len(score) == 2


def test_a_huge_error_leaves_no_trace_when_it_is_over() -> None:
    score = Prequential(10.0)
    for second in range(60):
        score.add(estimate(second, 1e7 if second == 5 else 0.01, 0.0))
        score.settle(second * SECOND_NS, lambda _: (0.0, 0.0))
    assert score.rmse_m == pytest.approx(0.01, rel=1e-6)
