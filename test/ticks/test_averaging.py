# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A tick is the mean of what was held during it, live and in recordings alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from two_manifold_ros.ticks.averaging import average_ticks, TickAverager

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

START_NS = 1_700_000_000_123_456_789
PERIOD_NS = 50_000_000
LONGEST_STEP_NS = 400_000_000
CHANNELS = 6


@st.composite
def streams(draw: st.DrawFn) -> tuple[Ints, Floats]:
    """Draw jittered samples whose rate is far above, near, or below the rate of the ticks."""
    usual = draw(st.sampled_from([1_000_000, 10_000_000, PERIOD_NS, 120_000_000]))
    steps = draw(
        st.lists(
            st.one_of(
                st.just(usual),
                st.integers(1, 2 * usual),
                st.sampled_from([1, PERIOD_NS, 2 * PERIOD_NS, LONGEST_STEP_NS]),
            ),
            min_size=1,
            max_size=60,
        )
    )
    stamps = START_NS + np.cumsum([0, *steps], dtype=np.int64)
    seed = draw(st.integers(0, 2**32 - 1))
    samples = np.random.default_rng(seed).normal(scale=5.0, size=(len(stamps), CHANNELS))
    return stamps, samples


def naive_ticks(stamps: Ints, samples: Floats, period: int) -> tuple[list[int], list[Floats]]:
    """Integrate the held sample over each whole tick, piece by piece."""
    ends, means = [], []
    begin, last = int(stamps[0]), int(stamps[-1])
    while begin + period <= last:
        end = begin + period
        total = np.zeros(samples.shape[1])
        for i, stamp in enumerate(stamps.tolist()):
            until = int(stamps[i + 1]) if i + 1 < len(stamps) else last
            total += samples[i] * max(0, min(until, end) - max(stamp, begin))
        ends.append(end)
        means.append(total / period)
        begin = end
    return ends, means


def stream_ticks(stamps: Ints, samples: Floats, period: int) -> tuple[list[int], list[Floats]]:
    """Average sample by sample, as the filter does."""
    averager = TickAverager(samples.shape[1], period, LONGEST_STEP_NS)
    averager.start(int(stamps[0]), samples[0])
    ends, means = [], []
    for stamp, sample in zip(stamps[1:].tolist(), samples[1:], strict=True):
        count, buffer_ends, buffer_means = averager.push(stamp, sample)
        ends += buffer_ends[:count].tolist()
        means += [mean.copy() for mean in buffer_means[:count]]
    return ends, means


@given(streams())
def test_a_tick_is_the_mean_of_what_was_held(stream: tuple[Ints, Floats]) -> None:
    ends, means = average_ticks(*stream, PERIOD_NS)
    naive_ends, naive_means = naive_ticks(*stream, PERIOD_NS)
    assert ends.tolist() == naive_ends
    np.testing.assert_allclose(means, np.reshape(naive_means, means.shape), atol=1e-12)


@given(streams())
def test_live_and_recorded_ticks_have_the_same_bits(stream: tuple[Ints, Floats]) -> None:
    ends, means = average_ticks(*stream, PERIOD_NS)
    live_ends, live_means = stream_ticks(*stream, PERIOD_NS)
    assert ends.tolist() == live_ends
    assert means.tobytes() == np.array(live_means).tobytes()


@given(streams(), st.integers(-START_NS + 1, 10**18))
def test_shifting_all_stamps_shifts_the_ends_only(stream: tuple[Ints, Floats], shift: int) -> None:
    stamps, samples = stream
    ends, means = average_ticks(stamps, samples, PERIOD_NS)
    shifted_ends, shifted_means = average_ticks(stamps + shift, samples, PERIOD_NS)
    assert (shifted_ends - ends == shift).all()
    assert means.tobytes() == shifted_means.tobytes()


@given(streams(), st.data())
def test_a_tick_never_looks_ahead(stream: tuple[Ints, Floats], data: st.DataObject) -> None:
    stamps, samples = stream
    index = data.draw(st.integers(0, len(stamps) - 1))
    changed = samples.copy()
    changed[index:] += 1000.0
    ends, means = average_ticks(stamps, samples, PERIOD_NS)
    _, later_means = average_ticks(stamps, changed, PERIOD_NS)
    before = ends <= stamps[index]
    assert means[before].tobytes() == later_means[before].tobytes()
    straddles = ends[~before][:1]
    assert not straddles.size or (means[~before][0] != later_means[~before][0]).all()


@pytest.mark.parametrize('count', [0, 1])
def test_fewer_than_two_samples_make_no_tick(count: int) -> None:
    stamps = START_NS + np.arange(count, dtype=np.int64)
    ends, means = average_ticks(stamps, np.zeros((count, CHANNELS)), PERIOD_NS)
    assert ends.shape == (0,)
    assert means.shape == (0, CHANNELS)


def test_starting_anew_leaves_nothing_of_the_old_grid() -> None:
    averager = TickAverager(1, PERIOD_NS, LONGEST_STEP_NS)
    averager.start(START_NS, np.array([1e6]))
    averager.push(START_NS + PERIOD_NS // 2, np.array([1e6]))
    averager.start(START_NS + 7, np.array([2.0]))
    count, ends, means = averager.push(START_NS + 7 + PERIOD_NS, np.array([9.0]))
    assert count == 1
    assert ends[0] == START_NS + 7 + PERIOD_NS
    assert means[0, 0] == pytest.approx(2.0, rel=1e-14)
