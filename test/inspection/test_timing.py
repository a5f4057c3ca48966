# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rates, jitter, gaps and wrong stamps."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.inspection.timing import advancing, listed, measure_timing, Stretch
from two_manifold_ros.recordings.recording import usual_gap_ns
from two_manifold_ros.ticks.segments import holes

MS = 1_000_000
START = 1_700_000_000 * 10**9


def test_an_even_stream() -> None:
    timing = measure_timing(START + np.arange(101) * 10 * MS, START - 500 * MS)
    assert timing.count == 101
    assert timing.start_s == 0.5
    assert timing.duration_s == 1.0
    assert timing.rate_hz == pytest.approx(100.0)
    assert timing.jitter_std_s == pytest.approx(0.0, abs=1e-12)
    assert timing.jitter_p99_s == pytest.approx(0.0, abs=1e-12)
    assert [(bar.above, bar.up_to) for bar in timing.histogram if bar.count] == [(0.95, 1.05)]
    assert timing.gaps == ()
    assert (timing.duplicates, timing.backward, timing.zero) == (0, 0, 0)


def test_jitter_and_its_histogram() -> None:
    intervals = np.array([10] * 80 + [6] * 10 + [14] * 10) * MS
    timing = measure_timing(START + np.cumsum(intervals), START)
    assert timing.rate_hz == pytest.approx(100.0)
    assert timing.jitter_std_s == pytest.approx(intervals[1:].std() / 1e9)
    assert timing.jitter_p99_s == pytest.approx(0.004)
    counts = {bar.up_to: bar.count for bar in timing.histogram if bar.count}
    assert counts == {0.8: 10, 1.05: 79, 1.5: 10}


def test_a_gap_is_long_in_seconds_and_in_intervals() -> None:
    fast = np.cumsum([10, 10, 10, 200, 10, 10, 300, 10]) * MS
    assert measure_timing(START + fast, START).gaps == (Stretch(0.25, 0.3),)
    slow = np.cumsum([100, 100, 100, 400, 100, 600, 100]) * MS
    assert measure_timing(START + slow, START).gaps == (Stretch(0.8, 0.6),)


def test_what_is_a_gap_is_one_rule_for_inspection_and_training() -> None:
    throttled = START + np.cumsum([20] * 500 + [500] * 100) * MS
    timing = measure_timing(throttled, START)
    assert timing.gap_s == usual_gap_ns(throttled) / 1e9 == 2.5
    assert timing.gaps == ()
    paused = START + np.cumsum([20] * 500 + [500] * 100 + [3000, 500]) * MS
    assert measure_timing(paused, START).gaps == (Stretch(60.0, 3.0),)


def test_gaps_of_what_is_interpolated_are_the_holes_of_training() -> None:
    steps = np.random.default_rng(0).exponential(400 * MS, size=200).astype(np.int64) + MS
    timing = measure_timing(START + np.append(0, np.cumsum(steps)), START, interpolated=True)
    assert len(timing.gaps) == np.count_nonzero(holes(steps)) > 0
    assert measure_timing(START + np.arange(1) * MS, START, interpolated=True).gaps == ()


def test_stamps_that_say_no_time_make_no_gap_longer() -> None:
    stamps = START + np.arange(300) * 20 * MS
    stamps[1::2] = 0
    assert measure_timing(stamps, START).gap_s == 0.25


def test_a_late_stamp_leaves_no_gap() -> None:
    stamps = START + np.arange(300) * 20 * MS
    late = np.arange(300)
    late[::10] += 15
    assert measure_timing(stamps[np.argsort(late, kind='stable')], START).gaps == ()


def test_gaps_are_not_jitter() -> None:
    stamps = START + np.cumsum([10] * 50 + [5000] + [10] * 50) * MS
    assert measure_timing(stamps, START).jitter_std_s == pytest.approx(0.0, abs=1e-12)


def test_wrong_stamps_are_counted() -> None:
    stamps = START + np.array([0, 10, 10, 20, 15, 30, 30, 40]) * MS
    stamps = np.append(stamps, [0, 0])
    timing = measure_timing(stamps, START)
    assert (timing.duplicates, timing.backward, timing.zero) == (2, 1, 2)
    timing = measure_timing(np.append(stamps, -5), START)
    assert timing.zero == 3


def test_a_single_message_has_no_rate() -> None:
    timing = measure_timing(np.array([START]), START)
    assert (timing.rate_hz, timing.duration_s, timing.histogram) == (0.0, 0.0, ())
    assert timing.gap_s > 0


def test_only_advancing_stamps_are_used() -> None:
    stamps = np.array([0, 5, 5, 4, 6, 0, 7, 5, 8])
    assert stamps[advancing(stamps)].tolist() == [5, 6, 7, 8]


def test_only_the_longest_stretches_are_listed() -> None:
    stretches = [Stretch(float(start), float(start)) for start in range(7)]
    assert listed(stretches, most=2) == '5.00 s from 5.0 s on, 6.00 s from 6.0 s on and 5 shorter'
    assert listed(stretches[1:2]) == '1.00 s from 1.0 s on'
