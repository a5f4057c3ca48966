# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Held-out blocks share no tick with the fit, and are long enough to be filtered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np

from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training.holdout import (
    any_position,
    hold_out,
    hold_out_in_turn,
    LEAST_WINDOWS,
    MOST_BLOCKS,
    SHARE,
)


def segments_of(lengths: list[int]) -> list[Segment]:
    """Return segments whose stamps number the ticks through."""
    stamps = np.arange(sum(lengths))
    whole = Segment(stamps, np.zeros((len(stamps), 6)), np.zeros((len(stamps), 2)))
    edges = np.cumsum([0, *lengths]).tolist()
    return [whole.part(edges[i], edges[i + 1]) for i in range(len(lengths))]


def ticks_of(segments: list[Segment]) -> list[int]:
    """Return the ticks of segments, in order."""
    return [tick for segment in segments for tick in segment.stamps.tolist()]


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=8), st.integers(2, 150))
def test_fit_and_held_share_no_tick(extra: list[int], window: int) -> None:
    lengths = [2 * window + each for each in extra]
    segments = segments_of(lengths)
    fit, held = hold_out(segments, window)
    fit_ticks, held_ticks = ticks_of(fit), ticks_of(held)
    assert len(set(fit_ticks) | set(held_ticks)) == len(fit_ticks) + len(held_ticks)
    assert set(fit_ticks) | set(held_ticks) <= set(ticks_of(segments))
    assert fit_ticks == sorted(fit_ticks)
    assert held_ticks == sorted(held_ticks)
    assert all(len(segment) >= round(LEAST_WINDOWS * window) for segment in held)
    assert all(len(segment) > 2 * window for segment in fit)
    assert len(held_ticks) <= SHARE * sum(lengths)
    seams = np.cumsum(lengths)
    for segment in [*fit, *held]:
        assert (np.diff(segment.stamps) == 1).all()
        first, last = np.searchsorted(seams, segment.stamps[[0, -1]], 'right')
        assert first == last


@given(st.integers(1, 20_000), st.integers(2, 150))
def test_one_long_stretch_is_always_split(length: int, window: int) -> None:
    fit, held = hold_out(segments_of([length]), window)
    if SHARE * length >= round(LEAST_WINDOWS * window) + 1:
        assert 1 <= len(held) <= MOST_BLOCKS
        assert len(ticks_of(held)) >= SHARE * length - MOST_BLOCKS
        assert len(ticks_of(fit)) > 2 * window


def test_a_short_recording_spares_no_block() -> None:
    fit, held = hold_out(segments_of([900]), 100)
    assert held == []
    assert [len(segment) for segment in fit] == [900]


def test_the_only_block_is_the_end() -> None:
    fit, held = hold_out(segments_of([1000]), 100)
    assert ticks_of(fit) == list(range(750))
    assert ticks_of(held) == list(range(750, 1000))


def test_the_only_block_is_not_cut_by_a_seam() -> None:
    _, held = hold_out(segments_of([900, 100]), 100)
    assert ticks_of(held) == list(range(650, 900))


def test_blocks_of_a_long_recording_are_spread_over_it() -> None:
    _, held = hold_out(segments_of([4000]), 20)
    assert [len(segment) for segment in held] == [250] * MOST_BLOCKS
    assert [int(segment.stamps[0]) for segment in held] == [375, 1375, 2375, 3375]


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=8), st.integers(2, 150))
def test_in_turn_every_tick_is_held_out_at_most_once(extra: list[int], window: int) -> None:
    segments = segments_of([2 * window + each for each in extra])
    every = ticks_of(segments)
    seen: list[int] = []
    turns = hold_out_in_turn(segments, window)
    assert len(turns) <= MOST_BLOCKS
    for fit, held in turns:
        fit_ticks, held_ticks = ticks_of(fit), ticks_of(held)
        assert not set(fit_ticks) & set(held_ticks)
        assert set(fit_ticks) | set(held_ticks) <= set(every)
        assert all(len(segment) >= round(LEAST_WINDOWS * window) for segment in held)
        assert all(len(segment) > 2 * window for segment in fit)
        assert len(held_ticks) <= len(every) / MOST_BLOCKS + 1
        seen += held_ticks
    assert seen == sorted(set(seen))


def test_in_turn_all_of_one_drive_is_held_out() -> None:
    segments = segments_of([803])
    turns = hold_out_in_turn(segments, 20)
    assert [tick for _, held in turns for tick in ticks_of(held)] == list(range(803))
    assert all(sorted(ticks_of(fit) + ticks_of(held)) == list(range(803)) for fit, held in turns)


def test_in_turn_nothing_is_held_out_of_what_is_too_short() -> None:
    assert hold_out_in_turn(segments_of([190]), 20) == []


def test_a_position_at_any_tick_is_one() -> None:
    (segment,) = segments_of([5])
    assert any_position([segment])
    segment.positions[:] = np.nan
    assert not any_position([segment])
    segment.positions[3] = 1.0
    assert any_position([segment])
