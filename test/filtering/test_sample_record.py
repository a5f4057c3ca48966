# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The record of samples against one that is kept by hand."""

from __future__ import annotations

import numpy as np

from two_manifold_ros.filtering.input_watch import (
    AT_HIGH,
    AT_LOW,
    CHANGED,
    CHANGES,
    HIGH,
    LAST,
    LOW,
    REPEATS,
    SampleRecord,
    STEP,
)
from two_manifold_ros.ticks.averaging import average_ticks

RNG = np.random.default_rng(0)
COUNT = 200
STAMPS = np.cumsum(RNG.integers(5, 15, COUNT)).astype(np.int64) * 1_000_000
SAMPLES = RNG.integers(-2, 3, (COUNT, 3)).astype(float)
SAMPLES[50:60] = SAMPLES[50]


def recorded(parts: int) -> tuple[SampleRecord, np.ndarray]:
    """Return a record of all the samples, taken in so many parts, and the ticks."""
    record = SampleRecord(3, 30_000_000, 100)
    record.start(int(STAMPS[0]), SAMPLES[0])
    ticks = [
        record.take(STAMPS[part], SAMPLES[part]).copy()
        for part in np.array_split(np.arange(1, COUNT), parts)
    ]
    return record, np.concatenate(ticks)


def test_it_is_what_one_sees_by_looking_at_the_columns() -> None:
    record, _ = recorded(parts=7)
    alive = [i for i in range(1, COUNT) if (SAMPLES[i] != SAMPLES[i - 1]).any()]
    for c in range(3):
        column = SAMPLES[:, c]
        changes = [i for i in range(1, COUNT) if column[i] != column[i - 1]]
        repeats = [i for i in alive if column[i] == column[i - 1]]
        first_low, first_high = int(np.argmin(column)), int(np.argmax(column))
        assert record.counts[CHANGED, c] == STAMPS[changes[-1]]
        assert record.counts[CHANGES, c] == len(changes)
        assert record.counts[REPEATS, c] == len(repeats)
        low = [i for i in repeats if column[i] == column.min() and i > first_low]
        high = [i for i in repeats if column[i] == column.max() and i > first_high]
        assert record.counts[AT_LOW, c] == len(low)
        assert record.counts[AT_HIGH, c] == len(high)
        assert record.values[LAST, c] == column[-1]
        assert (record.values[LOW, c], record.values[HIGH, c]) == (column.min(), column.max())
        assert record.values[STEP, c] == min(abs(column[i] - column[i - 1]) for i in changes)


def test_the_ticks_are_those_of_a_recording_however_they_are_taken() -> None:
    _, wanted = average_ticks(STAMPS, SAMPLES, 30_000_000)
    for parts in (1, 7, COUNT - 1):
        np.testing.assert_array_equal(recorded(parts)[1], wanted)


def test_begun_anew_it_forgets_all_but_the_last_change() -> None:
    record, _ = recorded(parts=1)
    changed = record.counts[CHANGED].copy()
    record.begin()
    record.take(STAMPS[-1:] + 10, SAMPLES[-1:])
    np.testing.assert_array_equal(record.counts[CHANGED], changed)
    np.testing.assert_array_equal(record.counts[CHANGES:], 0)
    np.testing.assert_array_equal(record.values[LOW], SAMPLES[-1])


def test_what_is_beyond_all_sensors_stays_small_enough_to_reckon_with() -> None:
    record = SampleRecord(2, 30_000_000, 10)
    record.start(0, np.array([1e300, -np.inf]))
    means = record.take(np.array([30_000_000]), np.array([[-1e300, np.nan]]))
    assert means.tolist() == [[1e6, 0.0]]
    assert record.values[LAST].tolist() == [-1e6, 0.0]


def test_a_channel_that_is_no_number_never_changes() -> None:
    record = SampleRecord(2, 30_000_000, 10)
    record.start(0, np.array([np.nan, 1.0]))
    record.take(np.array([1, 2]), np.array([[np.nan, 2.0], [np.nan, 3.0]]))
    assert record.counts[CHANGED].tolist() == [0, 2]
