# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trials are scored on the same held-out time, compared, and kept in a journal."""

from __future__ import annotations

from dataclasses import replace
import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.ticks.segments import Segment
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.tuning_trials import (
    clearly_better,
    Failure,
    HeldTime,
    hold_time,
    Journal,
    key_of,
    laps_won,
    set_apart,
    Trial,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from two_manifold_ros.recordings.recording import Recording

NAN = float('nan')
BEFORE = Trial(1.0, ((1.0, 1.0, 1.0), (1.0, 1.0)))


@pytest.mark.parametrize(
    ('score_m', 'blocks', 'better'),
    [
        (0.9, ((0.9, 0.9, 0.92), (0.88, 0.9)), True),
        (0.981, ((0.9, 0.9, 0.92), (0.88, 0.9)), False),  # hardly better in total
        (0.9, ((0.9, 0.9, 0.92), (1.1, 1.1)), False),  # in one block of two
        (0.9, ((0.9, 0.9, 0.1), (0.9, 1.06)), False),  # one lap makes it, within the noise
        (0.9, ((0.9, 0.9, NAN), (0.88, NAN)), True),
        (0.9, ((0.9, 0.91, NAN), (NAN, NAN)), True),  # the only block
        (0.9, ((0.9, NAN, NAN), (NAN, NAN)), False),  # one lap says nothing
        (1.1, ((1.1, 1.1, 1.1), (1.1, 1.2)), False),
    ],
)
def test_clearly_better(score_m: float, blocks: tuple[tuple[float, ...]], better: bool) -> None:
    trial = Trial(score_m, blocks)
    assert clearly_better(trial, BEFORE) == better
    assert clearly_better(BEFORE, trial) == (score_m > 1.0)


def test_most_laps_have_to_be_won() -> None:
    """A mean gain of certain sign is not enough if most laps lose."""
    before = Trial(1.0, ((1.0,) * 4, (1.0,) * 4, (1.0,) * 12))
    laps = Trial(0.8, ((0.01,) * 4, (0.01,) * 4, (1.001,) * 12))
    assert laps_won(laps, before) == (8, 20)
    assert not clearly_better(laps, before)


def test_chance_is_rarely_taken_for_a_gain() -> None:
    rng = np.random.default_rng(0)
    taken = 0
    for _ in range(2000):
        before, after = 1.0 + 0.2 * rng.normal(size=(2, 6))
        trials = [Trial(float(each.mean()), (tuple(each),)) for each in (before, after)]
        taken += clearly_better(trials[1], trials[0])
    assert 10 <= taken <= 60


SPANS = HeldTime(((100, 200), (400, 460)), settle_ns=20, lap_ns=50, laps=3.2)


def segment(first: int, period_ns: int, count: int) -> Segment:
    stamps = first + period_ns * np.arange(count, dtype=np.int64)
    return Segment(stamps, np.zeros((count, 6)), np.zeros((count, 2)))


@pytest.mark.parametrize('period_ns', [5, 10, 20, 30])
def test_no_tick_of_the_part_to_fit_reaches_into_a_block(period_ns: int) -> None:
    whole = segment(period_ns, period_ns, 600 // period_ns)
    fit, held = SPANS.split([whole], period_ns, 0)
    assert len(held) == 2
    for block, (start, stop) in zip(held, SPANS.spans, strict=True):
        assert block.stamps[0] - period_ns <= start < block.stamps[0]
        assert block.stamps[-1] - period_ns < stop <= block.stamps[-1]
    for part in fit:
        for start, stop in SPANS.spans:
            assert ((part.stamps <= start) | (part.stamps - period_ns >= stop)).all()
    assert sum(map(len, fit)) + sum(map(len, held)) == len(whole)


def test_too_short_a_recording_says_so(
    drive: Callable[..., Recording], slot_car_laps: tuple[Recording, Recording]
) -> None:
    def time_refusal(recording: Recording, window: int) -> str:
        found = hold_time([recording], build_dataset([recording], TrainingSettings(window=window)))
        assert isinstance(found, str)
        return found

    assert '1.5 laps in 1 block can be held out, but 3 laps in 2 blocks' in time_refusal(
        drive(), 60
    )
    assert '1.5 laps in 2 blocks can be held out' in time_refusal(drive(), 20)
    assert 'in 1 block can be held out' in time_refusal(slot_car_laps[0], 90)
    assert 'the positions never close a lap' in time_refusal(drive(7.5), 20)
    assert time_refusal(replace(drive(), name='x'), 60).startswith('the recording is too short')


def test_trials_come_back(tmp_path: Path, usual: TrainingSettings) -> None:
    path = tmp_path / 'm.tuning.json'
    journal = Journal(path, 'key')
    assert len(journal) == 0
    assert journal.start is None
    assert not path.exists()
    other = replace(usual, window=30)
    trial = Trial(1 / 3, ((0.1 + 0.2, math.nan), (1e-17,)))
    journal.keep(usual, trial)
    journal.keep(other, Failure('why'))
    assert list(tmp_path.iterdir()) == [path]
    json.loads(path.read_text(), parse_constant=pytest.fail)
    again = Journal(path, 'key')
    assert len(again) == 2
    assert again.start == usual
    assert repr(again.find(usual)) == repr(trial)
    assert again.find(other) == Failure('why')
    assert again.find(replace(usual, window=31)) is None
    for forgetful in (Journal(path, 'other key'), Journal(path, 'key', resume=False)):
        assert len(forgetful) == 0
        assert forgetful.find(usual) is None


@pytest.mark.parametrize('text', ['', 'notes', '[1]', '{"format": "another"}', '{}'])
def test_what_is_no_journal_is_left_alone(text: str, tmp_path: Path) -> None:
    path = tmp_path / 'm.tuning.json'
    path.write_text(text)
    with pytest.raises(InputError, match=r'm\.tuning\.json exists and is no journal of a tuning'):
        Journal(path, 'key', resume=False)
    assert path.read_text() == text


def test_the_key_is_of_data_settings_and_what_is_given(
    drive: Callable[..., Recording], usual: TrainingSettings
) -> None:
    recording = drive(4.0)
    assert recording.positions is not None
    key = key_of([recording], usual, {'states'})
    assert key == key_of([replace(drive(4.0), name='moved')], usual, ['states'])
    samples, places = recording.imu.samples.copy(), recording.positions.positions.copy()
    samples[-1, -1] += 1e-9
    places[-1, -1] += 1e-9
    other_imu = replace(recording, imu=replace(recording.imu, samples=samples))
    late = recording.with_positions_earlier(-0.1)
    moved = replace(recording, positions=replace(recording.positions, positions=places))
    others = [key_of([each], usual, {'states'}) for each in (other_imu, late, moved)]
    others.append(key_of([recording, recording], usual, {'states'}))
    others.append(key_of([recording], replace(usual, horizons=(0,)), {'states'}))
    others.append(key_of([recording], usual, set()))
    assert len({key, *others}) == len(others) + 1


def test_most_blocks_have_to_be_won() -> None:
    """Many laps of one block are of one time, and may be alike by one chance."""
    before = Trial(1.0, ((1.0,) * 10, (1.0,), (1.0,)))
    assert clearly_better(Trial(0.9, ((0.9,) * 10, (0.9,), (1.01,))), before)
    assert not clearly_better(Trial(0.9, ((0.9,) * 10, (1.01,), (1.01,))), before)


def test_recordings_are_set_apart(drive: Callable[..., Recording]) -> None:
    whole = drive(8.0)
    stamps = whole.imu.stamps.copy()
    stamps[[5, 7]] = 0, -1
    first, second = set_apart([replace(whole, imu=replace(whole.imu, stamps=stamps)), whole])
    assert np.flatnonzero(first.imu.stamps == 0).tolist() == [5, 7]
    assert first.imu.stamps.max() < second.imu.stamps.min()
    for each in (first, second):
        assert each.positions is not None
        assert each.positions.stamps[0] - each.imu.stamps[0] == 0


def test_laps_won() -> None:
    assert laps_won(Trial(0.9, ((0.5, 1.0, 2.0), (NAN, 0.9))), BEFORE) == (2, 4)


def test_what_is_too_short_to_be_scored_is_not_held() -> None:
    fit, held = SPANS.split([segment(10, 10, 12), segment(150, 10, 30)], 10, 5)
    assert [len(block) for block in held] == [6, 4]  # of the first segment 110 and 120 only
    assert [len(part) for part in fit] == [12, 20]


def test_a_folder_that_is_gone(tmp_path: Path, usual: TrainingSettings) -> None:
    journal = Journal(tmp_path / 'none' / 'm', 'key')
    with pytest.raises(InputError, match='the trials cannot be written'):
        journal.keep(usual, Failure('why'))
