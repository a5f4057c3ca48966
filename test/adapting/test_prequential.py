# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of estimates against reference positions."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.adapting.prequential import Prequential

SECOND_NS = 10**9


def estimate(second: int, x: float, y: float, *, valid: bool = True, cause: str = '') -> Any:  # noqa: ANN401 - a stand-in
    positions = np.array([[x, y]])
    return SimpleNamespace(
        stamp_ns=second * SECOND_NS, positions=positions, valid=valid, cause=cause
    )


def naive_errors(rows: list[tuple[float, float, bool]], span: int) -> tuple[float, float, float]:
    """Return errors of the last ``span`` seconds, of the mean, and the published share."""
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
    found = score.rmse_m, score.mean_rmse_m, score.published
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


def test_what_was_withheld_for_being_no_better_is_judged_as_reported() -> None:
    score = Prequential(100.0)
    score.add(estimate(1, 3.0, 4.0, valid=False, cause='not_useful'))
    score.add(estimate(2, 3.0, 4.0, valid=False, cause='diverged'))
    score.settle(2 * SECOND_NS, lambda _: (0.0, 0.0))
    assert score.rmse_m == pytest.approx(np.sqrt(12.5))
    assert score.published == 0.5


def test_only_what_is_known_counts_and_only_once() -> None:
    score = Prequential(100.0)
    assert math.isnan(score.rmse_m)
    assert math.isnan(score.published)
    for second in range(10):
        score.add(estimate(second, 3.0, 4.0))
    known = {second * SECOND_NS: (0.0, 0.0) for second in (1, 2, 7)}
    score.settle(5 * SECOND_NS, known.get)
    assert (len(score), score.rmse_m, score.published) == (2, 5.0, 1.0)
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
