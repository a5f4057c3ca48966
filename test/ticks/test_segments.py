# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings are cut where the stream breaks; channels, ranges and positions of segments."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.ticks import segments as cutting
from two_manifold_ros.ticks.stamps import average_ticks
from two_manifold_ros.typing import Floats, Ints

START_NS = 1_700_000_000_000_000_000
STEP_NS = 10_000_000
PERIOD_NS = 50_000_000
MAX_GAP_NS = 200_000_000
NAN = np.nan


def positions(stamps: Ints, places: Floats) -> PositionStream:
    return PositionStream('/pose', 'map', '', stamps, places)


def along_x(stamps: Ints) -> PositionStream:
    """Return positions that move one metre a second."""
    elapsed = (stamps - START_NS) * 1e-9
    return positions(stamps, np.stack([elapsed, np.zeros(len(stamps))], axis=1))


def recording(stamps: Ints, samples: Floats) -> Recording:
    return Recording('made up', ImuStream('/imu', '', stamps, samples, stamps), along_x(stamps))


def cut(stamps: Ints, samples: Floats) -> tuple[list[cutting.Segment], Counter[str]]:
    return cutting.cut_segments(recording(stamps, samples), PERIOD_NS, MAX_GAP_NS)


def even(count: int, begin: int = START_NS) -> Ints:
    """Return stamps at 100 Hz."""
    return begin + np.arange(count, dtype=np.int64) * STEP_NS


SAMPLES = np.random.default_rng(0).normal(size=(3000, 6)) * [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]


def test_one_stretch_is_one_segment():
    (segment,), counts = cut(even(101), SAMPLES[:101])
    ends, means = average_ticks(even(101), SAMPLES[:101], PERIOD_NS)
    assert segment.stamps.tolist() == ends.tolist()
    assert segment.values.tobytes() == means.tobytes()
    np.testing.assert_allclose(segment.positions[:, 0], 0.05 * np.arange(1, 21), atol=1e-12)
    assert counts['received'] == counts['used'] == 101
    bare = replace(recording(even(101), SAMPLES[:101]), positions=None)
    (segment,), _ = cutting.cut_segments(bare, PERIOD_NS, MAX_GAP_NS)
    assert segment.positions.shape == (20, 2)
    assert np.isnan(segment.positions).all()


GAP_NS = 101 * STEP_NS + MAX_GAP_NS


@pytest.mark.parametrize(
    ('step_ns', 'cause'), [(GAP_NS, 'gaps'), (0, 'jumps_back'), (-(10**10), 'jumps_back')]
)
def test_a_gap_or_a_jump_back_starts_a_new_segment(step_ns, cause):
    """And no tick mixes samples of two segments."""
    samples = np.repeat([[0.0], [1e6]], [101, 51], axis=0) * np.ones(6)
    (first, second), counts = cut(np.append(even(101), even(51, START_NS + step_ns)), samples)
    assert (len(first), len(second)) == (20, 10)
    assert second.stamps[0] == START_NS + step_ns + PERIOD_NS
    assert (counts[cause], counts['used']) == (1, 152)
    assert not first.values.any()
    assert (second.values == 1e6).all()


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_finite_are_as_if_not_there(value):
    samples, bad = SAMPLES[:101].copy(), np.array([3, 50, 51])
    kept = np.delete(np.arange(101), bad)
    wanted, _ = cut(even(101)[kept], samples[kept])
    samples[bad, [0, 5, 2]] = value
    found, counts = cut(even(101), samples)
    assert found[0].values.tobytes() == wanted[0].values.tobytes()
    assert (counts['non_finite'], counts['used']) == (3, 98)
    # A run of them longer than the gap is a gap.
    samples[40:65] = value
    segments, counts = cut(even(101), samples)
    assert (len(segments), counts['gaps']) == (2, 1)


def test_what_shakes_is_the_variance_about_a_line_in_ticks_of_each_stretch_alone():
    samples = SAMPLES[:40]
    stamps = 10**10 + 10**8 * np.arange(40)
    stamps[20:] += 10**10
    segments, _ = cutting.cut_segments(recording(stamps, samples), 2 * 10**8, 10**9, spreads=True)
    for part, segment in zip((samples[:20], samples[20:]), segments, strict=True):
        shaken = []
        for i in range(20):
            before, earlier = part[max(i - 1, 0)], part[max(i - 2, 0)]
            shaken.append((part[i] - 2.0 * before + earlier) ** 2 / 6.0)
        for tick, spread in enumerate(segment.spreads):
            # A sample lasts until the next one comes.
            assert np.allclose(spread**2, np.mean(shaken[2 * tick : 2 * tick + 2], axis=0))


THROTTLED = [*range(0, 20_000, 20), *range(20_000, 40_000, 500)]
HOLED = [each for each in THROTTLED if not (10_000 < each < 10_500 or 30_000 < each < 31_600)]


@pytest.mark.parametrize(
    ('stamps', 'xs', 'asked', 'wanted'),
    [
        # between two positions, and outside of all
        ([0, 100, 200], [0, 1, 3], [-1, 0, 25, 100, 150, 200, 201], [NAN, 0, 0.25, 1, 2, 3, NAN]),
        # in a hole
        ([0, 100, 200, 501, 601], [0, 1, 2, 5, 6], [200, 201, 500, 551], [2, NAN, NAN, 5.5]),
        # a step of three intervals or a quarter second is none
        ([0, 100, 200, 500, 600], [0, 1, 2, 5, 6], [350], [3.5]),
        ([0, 10, 20, 270, 280], [0, 1, 2, 3, 4], [145], [2.5]),
        ([0, 10, 20, 271, 281], [0, 1, 2, 3, 4], [145], [NAN]),
        # nor is one of a stream that is throttled half way
        (THROTTLED, THROTTLED, range(0, 39_500, 50), range(0, 39_500, 50)),
        (HOLED, HOLED, [10_250, 20_250, 30_250, 31_500], [NAN, 20_250, NAN, NAN]),
        # unsorted, twice, not finite, nowhere on earth
        ([200, 0, 100, 100, 150, 160], [2, 0, 1, 77, NAN, 1e300], [50, 150, 200], [0.5, 1.5, 2]),
        # fewer than two
        ([], [], [0, 50], [NAN, NAN]),
        ([0], [0], [0, 50], [NAN, NAN]),
    ],
)
def test_positions_at_stamps(stamps, xs, asked, wanted):
    known, wished = (START_NS + np.array(each, dtype=np.int64) * 10**6 for each in (stamps, asked))
    stream = positions(known, np.array([xs, xs], dtype=float).T)
    found = cutting.positions_at(stream, wished)
    np.testing.assert_allclose(found, np.stack([wanted, wanted], axis=1), atol=1e-12)


@pytest.mark.parametrize('looped', [False, True])
def test_a_stamp_of_two_moments_has_a_position_only_if_both_agree(*, looped):
    """The clock steps two seconds back after four; or a bag was recorded twice."""
    stamps = np.concatenate([even(400), even(400, START_NS + 2 * 10**9)])
    stream = along_x(stamps)
    if not looped:
        stream.positions[400:, 0] += 2.0
    asked = START_NS + np.array([1, 3, 5], dtype=np.int64) * 10**9
    found = cutting.positions_at(stream, asked)[:, 0]
    np.testing.assert_allclose(found, [1.0, 3.0 if looped else np.nan, 5.0 if looped else 7.0])


@pytest.mark.parametrize(
    ('count', 'spoiled', 'value'),
    [
        *((n, [7], value) for n in (20, 500, 3000) for value in (1e4, -1e4, 1e308, -1.79e308)),
        (3000, range(1000), 1e300),
    ],
)
def test_absurd_samples_do_not_move_the_range(count, spoiled, value):
    clean, samples = SAMPLES[:count], SAMPLES[:count].copy()
    samples[spoiled, 2] = value
    largest = cutting.largest_believable([samples])
    assert (largest <= np.abs(clean).max(axis=0)).all()
    assert (largest >= np.quantile(np.abs(clean), 0.9, axis=0)).all()
    for limit in (largest, None):
        absurd = cutting.absurd_values(samples, np.ones(count, dtype=np.bool_), limit).any(axis=1)
        assert absurd[spoiled].all()
        assert not np.delete(absurd, spoiled).any()


def test_an_unmeasured_axis_is_zero_and_a_missing_value_is_not_usable():
    samples = SAMPLES[:10].copy()
    samples[:, 3] = np.inf
    samples[4, 0] = np.nan
    usable, cleaned = cutting.usable_samples(samples)
    assert usable.tolist() == [index != 4 for index in range(10)]
    assert (cleaned[:, 3] == 0.0).all()
    np.testing.assert_array_equal(cleaned[usable][:, :3], samples[usable][:, :3])


SCALES = np.array([2.0, 0.5, 1e-3, 0.0, 0.0, 40.0])
MEANS = np.array([1.0, -3.0, 9.81, 0.0, 5.0, 0.1])
LARGEST = np.array([8.0, 5.0, 9.9, 0.0, 5.0, 200.0])


def test_channels_are_measured_over_all_segments():
    noise = np.random.default_rng(0).normal(size=(500, 6))
    values = MEANS + SCALES * (noise - noise.mean(axis=0)) / noise.std(axis=0)
    whole = cutting.Segment(np.arange(500), values, np.zeros((500, 2)))
    channels = cutting.fit_channels([whole.part(0, 120), whole.part(120, 500)], LARGEST)
    live = channels.live
    np.testing.assert_allclose(channels.mean, MEANS, atol=1e-12)
    np.testing.assert_allclose(channels.scale, SCALES, atol=1e-12)
    assert live.tolist() == [True, True, True, False, False, True]
    assert channels.dead_names == ('angular_velocity.x', 'angular_velocity.y')
    wanted = cutting.LIMIT_FACTOR * (LARGEST + np.abs(MEANS))
    np.testing.assert_allclose(channels.limit[live], wanted[live])
    assert (channels.limit[~live] > 1e300).all()
    scaled = channels.standardise(values)
    np.testing.assert_allclose(scaled, (values - MEANS)[:, live] / SCALES[live], atol=1e-9)
    np.testing.assert_array_equal(channels.standardise(values[7]), scaled[7])
    with pytest.raises(InputError, match='no channel varies during training; record while'):
        cutting.fit_channels([replace(whole, values=np.tile(MEANS, (500, 1)))], LARGEST)


@pytest.mark.parametrize(
    ('fixes', 'reach', 'margin', 'kept'),
    [
        ([52], 10, 0, [5, 6]),
        ([50], 10, 0, [4, 5, 6]),
        ([52], 1, 0, []),
        ([-500, 104, 3], 5, 0, [0, 10]),
        # Of the first fix the position is unknown.
        ([NAN, 80], 5, 0, [8]),
        # And those at the ends.
        ([50], 5, 2, [0, 1, 5, 10, 11]),
        ([50], 5, 99, [*range(12)]),
    ],
)
def test_only_ticks_near_a_fix_keep_their_position(fixes, reach, margin, kept):
    stamps = START_NS + 10 * np.arange(12)
    segment = cutting.Segment(stamps, np.zeros((12, 6)), np.arange(24.0).reshape(12, 2))
    at = START_NS + np.nan_to_num(fixes, nan=20.0).astype(np.int64)
    places = np.zeros((len(at), 2)) + 0.0 * np.array(fixes)[:, None]
    found = cutting.only_near_fixes(segment, positions(at, places), reach, margin)
    assert np.flatnonzero(np.isfinite(found.positions).all(axis=1)).tolist() == kept
    np.testing.assert_array_equal(found.positions[kept], segment.positions[kept])


@pytest.mark.parametrize('hz', [1, 5, 50])
@pytest.mark.parametrize('wild_ns', [-86_400 * 10**9, -1_600_000_000, 3_600 * 10**9])
def test_a_position_with_a_wild_stamp_is_none(hz, wild_ns):
    stamps, index = START_NS + np.arange(20 * hz) * (10**9 // hz), 10 * hz
    stream = along_x(stamps)
    without = stream.select(np.arange(len(stamps)) != index)
    moved = stamps + wild_ns * (np.arange(len(stamps)) == index)
    at = START_NS + np.arange(0, 20 * 10**9, 37_000_000)
    found = cutting.positions_at(replace(stream, stamps=moved), at)
    np.testing.assert_array_equal(found, cutting.positions_at(without, at))
