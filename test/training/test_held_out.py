# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Blocks are held out of the drives and followed, and no tick of them is learned from."""

from warnings import catch_warnings, simplefilter

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from scipy.special import stdtrit

from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training.held_out import (
    hold_out,
    hold_out_in_turn,
    surely_lower,
)

Split = tuple[list[Segment], list[Segment]]


def segments_of(lengths: list[int]) -> list[Segment]:
    """Return segments whose stamps number the ticks through."""
    begins = np.cumsum([0, *lengths]).tolist()
    return [
        Segment(begin + np.arange(length), np.zeros((length, 6)), np.zeros((length, 2)))
        for begin, length in zip(begins, lengths, strict=False)
    ]


def ticks_of(segments: list[Segment]) -> list[int]:
    return [tick for each in segments for tick in each.stamps.tolist()]


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=8), st.integers(2, 150), st.booleans())
def test_fit_and_held_share_no_tick_and_cross_no_seam(extra, window, in_turn):
    lengths = [2 * window + each for each in extra]
    segments, seams = segments_of(lengths), np.cumsum(lengths)
    every = ticks_of(segments)
    turns: list[Split] = [hold_out(segments, window)]
    if in_turn:
        turns = hold_out_in_turn(segments, window)
        assert len(turns) <= 4
    all_held: list[int] = []
    for fit, held in turns:
        fit_ticks, held_ticks = ticks_of(fit), ticks_of(held)
        assert len(set(fit_ticks) | set(held_ticks)) == len(fit_ticks) + len(held_ticks)
        assert set(fit_ticks) | set(held_ticks) <= set(every)
        assert fit_ticks == sorted(fit_ticks)
        assert all(len(each) >= round(2.5 * window) for each in held)
        assert all(len(each) > 2 * window for each in fit)
        assert len(held_ticks) <= len(every) / 4 + in_turn
        for each in [*fit, *held]:
            assert (np.diff(each.stamps) == 1).all()
            first, last = np.searchsorted(seams, each.stamps[[0, -1]], 'right')
            assert first == last
        all_held += held_ticks
    assert all_held == sorted(set(all_held))


def test_where_blocks_lie():
    """The only one is not cut by a seam; several are spread; in turn they are everything."""
    _, held = hold_out(segments_of([900, 100]), 100)
    assert ticks_of(held) == list(range(650, 900))
    _, held = hold_out(segments_of([4000]), 20)
    assert [int(each.stamps[0]) for each in held] == [375, 1375, 2375, 3375]
    assert [len(each) for each in held] == [250] * 4
    turns = hold_out_in_turn(segments_of([803]), 20)
    assert [tick for _, held in turns for tick in ticks_of(held)] == list(range(803))
    assert all(sorted(ticks_of(fit) + ticks_of(held)) == list(range(803)) for fit, held in turns)


def test_a_quarter_without_a_position_is_not_held_out():
    (whole,) = segments_of([800])
    whole.positions[:400] = np.nan
    turns = hold_out_in_turn([whole], 20)
    assert [int(held[0].stamps[0]) for _, held in turns] == [400, 600]
    whole.positions[600:] = np.nan
    assert [int(held[0].stamps[0]) for _, held in hold_out_in_turn([whole], 20)] == []


@given(st.integers(2, 48), st.floats(0.0, 0.9), st.sampled_from([0.975, 0.9999]), st.integers(0))
def test_a_gain_is_sure_by_the_formula(count, alike, sure, seed):
    rng = np.random.default_rng(seed)
    old = rng.normal(1.0, 0.3, count)
    gains = rng.uniform(0.0, 0.3) + rng.uniform(0.01, 0.3) * rng.normal(size=count)
    least = stdtrit(count - 1, sure) * gains.std(ddof=1) / np.sqrt(count)
    expected = gains.mean() > least * np.sqrt((1.0 + alike) / (1.0 - alike))
    assert surely_lower(old - gains, old, sure, alike) == expected


def test_a_gain_without_spread_is_sure_and_no_gain_is_not():
    old = np.ones(8)
    with catch_warnings():
        simplefilter('error')
        for errors in (old - 0.5, 0.9 * old):
            assert surely_lower(errors, old, 0.9999)
        for others in (old, old - 0.5):
            assert not surely_lower(old, others, 0.9999)
