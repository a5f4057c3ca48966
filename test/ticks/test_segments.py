# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings are cut where the stream breaks, and every sample is accounted for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.ticks.averaging import average_ticks
from two_manifold_ros.ticks.segments import cut_segments, median_interval_ns, positions_at

if TYPE_CHECKING:
    from collections import Counter

    from two_manifold_ros.typing import Floats, Ints

START_NS = 1_700_000_000_000_000_000
STEP_NS = 10_000_000
PERIOD_NS = 50_000_000
MAX_GAP_NS = 200_000_000
CAUSES = ('non_finite', 'zero_stamp', 'duplicate_stamp', 'out_of_order', 'wild_stamp')


def recording(stamps: Ints, samples: Floats | None = None) -> Recording:
    """Return a recording whose position is one metre a second along x."""
    if samples is None:
        samples = np.random.default_rng(0).normal(size=(len(stamps), 6))
    elapsed = (stamps - START_NS) * 1e-9
    positions = np.stack([elapsed, np.zeros(len(stamps))], axis=1)
    return Recording(
        'made up',
        ImuStream('/imu', '', stamps, samples, stamps),
        PositionStream('/pose', 'map', '', stamps, positions),
    )


def even(count: int, begin: int = START_NS) -> Ints:
    """Return stamps at 100 Hz."""
    return begin + np.arange(count, dtype=np.int64) * STEP_NS


def set_aside(counts: Counter[str]) -> int:
    """Return how many samples were not used."""
    return sum(counts[cause] for cause in CAUSES)


def test_one_stretch_is_one_segment() -> None:
    given_recording = recording(even(101))
    segments, counts = cut_segments(given_recording, PERIOD_NS, MAX_GAP_NS)
    (segment,) = segments
    ends, means = average_ticks(even(101), given_recording.imu.samples, PERIOD_NS)
    assert segment.stamps.tolist() == ends.tolist()
    assert segment.values.tobytes() == means.tobytes()
    np.testing.assert_allclose(segment.positions[:, 0], 0.05 * np.arange(1, 21), atol=1e-12)
    assert counts['received'] == counts['used'] == 101


@pytest.mark.parametrize(
    ('begin', 'cause'),
    [
        (START_NS + 101 * STEP_NS + MAX_GAP_NS, 'gaps'),
        (START_NS, 'jumps_back'),
        (START_NS - 10**10, 'jumps_back'),
    ],
)
def test_a_gap_or_a_jump_back_begins_a_new_segment(begin: int, cause: str) -> None:
    stamps = np.concatenate([even(101), even(51, begin)])
    segments, counts = cut_segments(recording(stamps), PERIOD_NS, MAX_GAP_NS)
    assert [len(segment) for segment in segments] == [20, 10]
    assert segments[1].stamps[0] == begin + PERIOD_NS
    assert counts[cause] == 1
    assert counts['used'] == 152


def test_the_longest_step_that_is_no_gap() -> None:
    stamps = np.concatenate([even(101), even(51, START_NS + 100 * STEP_NS + MAX_GAP_NS - STEP_NS)])
    segments, counts = cut_segments(recording(stamps), PERIOD_NS, MAX_GAP_NS)
    assert len(segments) == 1
    assert counts['gaps'] == 0


def test_no_tick_mixes_samples_of_two_segments() -> None:
    samples = np.zeros((202, 6))
    samples[101:] = 1e6
    stamps = np.concatenate([even(101), even(101, START_NS + 10**10)])
    segments, _ = cut_segments(recording(stamps, samples), PERIOD_NS, MAX_GAP_NS)
    assert [float(segment.values.max()) for segment in segments] == [0.0, 1e6]
    assert float(segments[1].values.min()) == 1e6


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_finite_are_as_if_not_there(value: float) -> None:
    whole = recording(even(101))
    samples = whole.imu.samples.copy()
    bad = np.array([3, 50, 51])
    samples[bad, [0, 5, 2]] = value
    kept = np.delete(np.arange(101), bad)
    found, counts = cut_segments(recording(even(101), samples), PERIOD_NS, MAX_GAP_NS)
    wanted, _ = cut_segments(
        replace(whole, imu=recording(even(101)[kept], samples[kept]).imu), PERIOD_NS, MAX_GAP_NS
    )
    assert found[0].values.tobytes() == wanted[0].values.tobytes()
    assert counts['non_finite'] == 3
    assert counts['used'] == 98


def test_an_axis_that_the_driver_never_fills_is_dead() -> None:
    samples = np.random.default_rng(1).normal(size=(200, 6))
    samples[:, 4] = np.nan
    samples[7, 0] = np.nan
    (segment,), counts = cut_segments(recording(even(200), samples), PERIOD_NS, MAX_GAP_NS)
    assert counts['non_finite'] == 1
    assert (segment.values[:, 4] == 0.0).all()
    assert np.isfinite(segment.values).all()


def test_a_run_of_bad_samples_longer_than_the_gap_is_a_gap() -> None:
    samples = np.zeros((101, 6))
    samples[40:65] = np.nan
    segments, counts = cut_segments(recording(even(101), samples), PERIOD_NS, MAX_GAP_NS)
    assert len(segments) == 2
    assert counts['gaps'] == 1


@settings(max_examples=60)
@given(st.lists(st.integers(-3, 120), max_size=60), st.integers(0, 2**32 - 1))
def test_every_sample_is_used_or_set_aside_by_cause(steps: list[int], seed: int) -> None:
    generator = np.random.default_rng(seed)
    stamps = START_NS + np.cumsum(steps, dtype=np.int64) * STEP_NS
    stamps[generator.random(len(stamps)) < 0.1] = 0
    samples = generator.normal(size=(len(stamps), 6))
    samples[generator.random(samples.shape) < 0.03] = np.nan
    segments, counts = cut_segments(recording(stamps, samples), PERIOD_NS, MAX_GAP_NS)
    assert counts['received'] == len(stamps) == counts['used'] + set_aside(counts)
    for segment in segments:
        assert (np.diff(segment.stamps) == PERIOD_NS).all()
        assert np.isfinite(segment.values).all()


def test_nothing_makes_no_segment() -> None:
    segments, counts = cut_segments(recording(even(0)), PERIOD_NS, MAX_GAP_NS)
    assert segments == []
    assert counts['received'] == counts['used'] == 0


def test_a_recording_without_positions_has_unknown_positions() -> None:
    bare = replace(recording(even(101)), positions=None)
    (segment,), _ = cut_segments(bare, PERIOD_NS, MAX_GAP_NS)
    assert segment.positions.shape == (20, 2)
    assert np.isnan(segment.positions).all()


def positions(stamps: list[int], xs: list[float]) -> PositionStream:
    """Return positions on a line, stamps in milliseconds from the start."""
    stamps_ns = START_NS + np.array(stamps, dtype=np.int64) * 1_000_000
    return PositionStream('/pose', 'map', '', stamps_ns, np.stack([xs, xs], axis=1))


def read_at(stream: PositionStream, *milliseconds: int) -> list[float]:
    """Return x at stamps in milliseconds from the start."""
    stamps = START_NS + np.array(milliseconds, dtype=np.int64) * 1_000_000
    found = positions_at(stream, stamps)
    np.testing.assert_array_equal(found[:, 0], found[:, 1])
    return [float(x) for x in found[:, 0]]


def test_positions_are_interpolated_and_unknown_outside() -> None:
    found = read_at(positions([0, 100, 200], [0.0, 1.0, 3.0]), -1, 0, 25, 100, 150, 200, 201)
    np.testing.assert_allclose(found, [np.nan, 0.0, 0.25, 1.0, 2.0, 3.0, np.nan], atol=1e-12)


@pytest.mark.parametrize('looped', [False, True])
def test_a_stamp_of_two_moments_has_a_position_only_if_both_agree(*, looped: bool) -> None:
    """The clock steps two seconds back after four; or a bag was recorded twice."""
    stamps = np.concatenate([even(400), even(400, START_NS + 2 * 10**9)])
    moved = (stamps - START_NS) * 1e-9 + (0.0 if looped else np.repeat([0.0, 2.0], 400))
    places = np.stack([moved, np.zeros(800)], axis=1)
    stream = PositionStream('/pose', 'map', '', stamps, places)
    asked = START_NS + np.array([1, 3, 5], dtype=np.int64) * 10**9
    found = positions_at(stream, asked)[:, 0]
    np.testing.assert_allclose(found, [1.0, 3.0 if looped else np.nan, 5.0 if looped else 7.0])


def test_positions_in_a_hole_are_unknown() -> None:
    stream = positions([0, 100, 200, 501, 601], [0.0, 1.0, 2.0, 5.0, 6.0])
    found = read_at(stream, 200, 201, 350, 500, 551)
    np.testing.assert_array_equal(found, [2.0, np.nan, np.nan, np.nan, 5.5])


def test_a_step_of_three_intervals_or_a_quarter_second_is_no_hole() -> None:
    assert read_at(positions([0, 100, 200, 500, 600], [0.0, 1.0, 2.0, 5.0, 6.0]), 350) == [3.5]
    quick = positions([0, 10, 20, 270, 280], [0.0, 1.0, 2.0, 3.0, 4.0])
    assert read_at(quick, 145) == [2.5]
    assert np.isnan(read_at(positions([0, 10, 20, 271, 281], [0.0, 1.0, 2.0, 3.0, 4.0]), 145)[0])


def test_positions_may_be_unsorted_twice_or_not_finite() -> None:
    stream = positions([200, 0, 100, 100, 150], [2.0, 0.0, 1.0, 77.0, np.nan])
    assert read_at(stream, 50, 100, 150, 200) == [0.5, 1.0, 1.5, 2.0]


def test_positions_that_are_nowhere_on_earth_are_passed_over() -> None:
    stream = positions([0, 100, 150, 200], [0.0, 1.0, 1e300, 2.0])
    assert read_at(stream, 50, 150, 200) == [0.5, 1.5, 2.0]


@pytest.mark.parametrize('count', [0, 1])
def test_fewer_than_two_positions_tell_nothing(count: int) -> None:
    stream = positions([0, 100][:count], [0.0, 1.0][:count])
    assert np.isnan(read_at(stream, 0, 50)).all()


def test_median_interval_passes_over_duplicates_and_jumps_back() -> None:
    assert median_interval_ns(np.array([5, 5, 15, 25, 3, 13])) == 10
    assert median_interval_ns(np.array([5, 5])) == 0
    assert median_interval_ns(np.array([], dtype=np.int64)) == 0


def test_part_of_a_segment() -> None:
    (segment,), _ = cut_segments(recording(even(101)), PERIOD_NS, MAX_GAP_NS)
    part = segment.part(3, 7)
    assert len(part) == 4
    assert part.stamps.tolist() == segment.stamps[3:7].tolist()
    assert part.values.tobytes() == segment.values[3:7].tobytes()
    assert part.positions.tobytes() == segment.positions[3:7].tobytes()
