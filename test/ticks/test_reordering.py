# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Late samples are sorted within a span, beside a naive sort."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.ticks.stamps import JUMP_BACK_NS, MOST_KEPT, Reordering

NOW = 1_700_000_000_000_000_000
MS = 1_000_000
SPAN = 50 * MS


def run(stamps: list[int], span: int = SPAN) -> tuple[list[list[int]], list[int]]:
    """Return the stamps given out with each push, and those that were left in the end."""
    buffer = Reordering(2, span)
    given_out = []
    for index, stamp in enumerate(stamps):
        # Never used again, so whatever is given out must have been copied.
        sample = np.array([stamp - NOW, index], dtype=np.float64)
        found = buffer.push(stamp, sample)
        sample[:] = np.nan
        assert all(values[0] == each - NOW for each, values in found)
        given_out.append([each for each, _ in found])
    assert len(buffer) == len(stamps) - sum(map(len, given_out))
    return given_out, [each for each, _ in buffer.flush()]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 50)), max_size=80),
    st.integers(1, 1000),
)
def test_disorder_within_the_span_is_sorted_like_a_sort(
    course: list[tuple[int, int]], scale: int
) -> None:
    """Each sample arrives with a delay of at most the span; scale changes nothing."""
    sent = np.cumsum([step for step, _ in course], dtype=np.int64)
    order = np.argsort(sent + [delay for _, delay in course], kind='stable')
    stamps = [NOW + int(stamp) * scale for stamp in sent[order]]
    given_out, left = run(stamps, 50 * scale)
    assert [*itertools.chain(*given_out), *left] == sorted(stamps)


@given(st.lists(st.integers(-400, 100), max_size=80))
def test_nothing_is_lost_and_nothing_waits_longer_than_the_span(steps: list[int]) -> None:
    stamps = [NOW + step * MS for step in itertools.accumulate(steps)]
    given_out, left = run(stamps)
    assert sorted([*itertools.chain(*given_out), *left]) == sorted(stamps)
    kept: list[int] = []
    for stamp, out in zip(stamps, given_out, strict=True):
        if kept and stamp <= max(kept) - JUMP_BACK_NS:
            assert out[: len(kept)] == sorted(kept)
        kept.append(stamp)
        for each in out:
            kept.remove(each)
        assert all(max(kept) - each < SPAN for each in kept)


def test_samples_with_the_same_stamp_stay_in_order() -> None:
    buffer = Reordering(1, SPAN)
    for value in range(4):
        assert buffer.push(NOW + (MS if value == 1 else 0), np.array([float(value)])) == []
    assert [float(values[0]) for _, values in buffer.flush()] == [0.0, 2.0, 3.0, 1.0]


def test_a_sample_that_is_too_late_comes_out_at_once() -> None:
    given_out, left = run([NOW, NOW + SPAN, NOW - MS, NOW + SPAN + MS])
    assert given_out == [[], [NOW], [NOW - MS], []]
    assert left == [NOW + SPAN, NOW + SPAN + MS]


@pytest.mark.parametrize('jump', [-JUMP_BACK_NS, -3600 * 10**9, 3600 * 10**9])
def test_a_jump_gives_out_what_was_before_it(jump: int) -> None:
    before = [NOW, NOW + MS]
    given_out, left = run([*before, before[-1] + jump])
    assert given_out == [[], [], before]
    assert left == [before[-1] + jump]


def test_memory_is_bounded_whatever_comes() -> None:
    """A driver at 1 MHz, longer than all places last."""
    stamps = [NOW + 1000 * index for index in range(3 * MOST_KEPT)]
    given_out, left = run(stamps)
    assert [*itertools.chain(*given_out), *left] == stamps
    assert len(left) == MOST_KEPT
