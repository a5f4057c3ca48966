# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is held out is the same drive at every rate, and no tick of it is learned from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.holdout import hold_out
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.tuning_trials import HeldTime, hold_time, set_apart

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.recordings.recording import Recording

SPANS = HeldTime(((100, 200), (400, 460)), settle_ns=20, lap_ns=50, laps=3.2)


def segment(first: int, period_ns: int, count: int) -> Segment:
    stamps = first + period_ns * np.arange(count, dtype=np.int64)
    return Segment(stamps, np.zeros((count, 6)), np.zeros((count, 2)))


@pytest.mark.parametrize('period_ns', [5, 10, 20, 30])
def test_no_tick_is_in_both_or_reaches_over_an_edge(period_ns: int) -> None:
    whole = segment(period_ns, period_ns, 600 // period_ns)
    fit, held = SPANS.split([whole], period_ns, 0)
    assert len(held) == 2
    for block, (start, stop) in zip(held, SPANS.spans, strict=True):
        assert block.stamps[0] - period_ns >= start
        assert block.stamps[-1] <= stop
        assert stop - start - 2 * period_ns < len(block) * period_ns <= stop - start
    for part in fit:
        for start, stop in SPANS.spans:
            assert ((part.stamps <= start) | (part.stamps - period_ns >= stop)).all()
    left = sum(map(len, fit)) + sum(map(len, held))
    assert len(whole) - 4 <= left <= len(whole)
    if period_ns in {5, 10, 20}:
        assert left == len(whole)


def test_what_is_short_is_dropped() -> None:
    fit, held = SPANS.split([segment(10, 10, 12), segment(150, 10, 30)], 10, 5)
    assert [len(block) for block in held] == [6, 4]  # of the first segment 110 and 120 only
    assert [len(part) for part in fit] == [20]


def test_blocks_are_those_of_a_training(slot_car_laps: tuple[Recording, Recording]) -> None:
    dataset = build_dataset(slot_car_laps[:1], TrainingSettings(window=20))
    held_time = hold_time(slot_car_laps[:1], dataset)
    assert isinstance(held_time, HeldTime)
    fit, held = held_time.split(dataset.segments, dataset.period_ns, dataset.window)
    for found, wanted in zip((fit, held), hold_out(dataset.segments, dataset.window), strict=True):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one.stamps, other.stamps)
    assert held_time.settle_ns == 2_000_000_000
    assert held_time.laps == pytest.approx(4.0, abs=0.2)
    assert held_time.lap_ns * held_time.laps == pytest.approx(1e8 * sum(map(len, held)))


def test_too_short_a_recording_says_so(
    drive: Callable[..., Recording], slot_car_laps: tuple[Recording, Recording]
) -> None:
    def refusal(recording: Recording, window: int) -> str:
        found = hold_time([recording], build_dataset([recording], TrainingSettings(window=window)))
        assert isinstance(found, str)
        return found

    assert '1.5 laps in 1 block can be held out, but 3 laps in 2 blocks' in refusal(drive(), 60)
    assert '1.5 laps in 2 blocks can be held out' in refusal(drive(), 20)
    assert 'in 1 block can be held out' in refusal(slot_car_laps[0], 90)
    assert 'the positions never close a lap' in refusal(drive(7.5), 20)
    assert refusal(replace(drive(), name='x'), 60).startswith('the recording is too short')


def test_recordings_are_set_apart_without_another_change(drive: Callable[..., Recording]) -> None:
    whole = drive()
    first, second = whole.between(None, 30.0), whole.between(2.0, 40.0)
    settings = TrainingSettings(window=20)
    before = build_dataset([first, second], settings)
    after = build_dataset(set_apart([first, second]), settings)
    for one, other in zip(before.segments, after.segments, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.positions, other.positions)
        np.testing.assert_array_equal(np.diff(one.stamps), np.diff(other.stamps))
    assert before.segments[0].stamps[-1] > before.segments[1].stamps[0]
    assert after.segments[0].stamps[-1] < after.segments[1].stamps[0]
    stamps = first.imu.stamps.copy()
    stamps[5] = 0
    (unset,) = set_apart([replace(first, imu=replace(first.imu, stamps=stamps))])
    assert np.flatnonzero(unset.imu.stamps == 0).tolist() == [5]
