# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drives placed along their laps by marks and by the IMU, and marks from files and topics."""

from dataclasses import replace
from pathlib import Path

from lap_drives import driven, recorded
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.laps.unplaced import place, place_by_imu, place_by_marks, read_marks
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.typing import Floats, Ints


def marks_of(recording: Recording, phases: Floats) -> Ints:
    """Return when each lap of a drive begins, ns."""
    numbers = np.arange(np.ceil(phases[0]), np.floor(phases[-1]) + 1.0)
    stamps = recording.imu.stamps
    seconds = np.interp(numbers, phases + 1e-9 * np.arange(len(phases)), stamps - stamps[0])
    return stamps[0] + np.rint(seconds).astype(np.int64)


def phases_on(recording: Recording) -> tuple[Ints, Floats]:
    stream = recording.positions
    assert stream is not None
    return stream.stamps, np.arctan2(*stream.positions.T[::-1]) / (2.0 * np.pi)


def error_of(stamps: Ints, found: Floats, recording: Recording, phases: Floats) -> float:
    """Return the median distance of phases on a ring after the best shift, laps."""
    origin = recording.imu.stamps[0]
    true = np.interp(stamps - origin, recording.imu.stamps - origin, phases)
    turns = np.exp(2j * np.pi * (found - true))
    return float(np.median(np.abs(np.angle(turns / turns.mean())))) / (2.0 * np.pi)


@pytest.mark.parametrize('spoilt', [False, True], ids=['all', 'missed and doubled'])
def test_marks_place_a_drive(spoilt):
    """A beacon may miss two passages, once in a row, and a button be pressed twice."""
    recording, phases = driven(laps=12.0, seed=1)
    marks = given = marks_of(recording, phases)
    if spoilt:
        given = np.sort(np.append(np.delete(marks, [3, 7, 8]), marks[5] + 300_000_000))
    placed = place_by_marks([recording], [given])
    assert placed.laps == len(marks) - 1
    usual = np.median(np.diff(marks)) * 1e-9
    assert placed.lap_s == pytest.approx(usual, rel=0.02 if spoilt else 1e-6)
    stamps, found = phases_on(placed.recordings[0])
    assert error_of(stamps, found, recording, phases) < 0.01
    # At a mark a lap begins.
    at_marks = [found[np.argmin(np.abs(stamps - mark))] for mark in marks[1:-1].tolist()]
    assert np.abs(at_marks).max() < 0.02


def test_marks_at_random_times_or_all_the_time_are_no_passages():
    recording, phases = driven(laps=10.0, seed=1)
    begin, whole = recording.imu.first_stamp, int(np.ptp(recording.imu.stamps))
    given = [np.arange(0, whole, period_ns) for period_ns in (10_000_000, 400_000_000)]
    for seed in range(3):
        times = np.random.default_rng(seed).uniform(0.0, float(whole), 11)
        given.append(np.sort(times).astype(np.int64))
    for each in given:
        with pytest.raises(InputError, match=r'no passages of one line|are no laps'):
            place_by_marks([recording], [begin + each])
    assert place_by_marks([recording], [marks_of(recording, phases)]).laps == 8


@pytest.mark.parametrize(('late_s', 'begin'), [(300, '3'), (10**6, '1000')])
def test_marks_by_another_clock_are_named_beside_the_time_of_the_imu(late_s, begin):
    recording, phases = driven(seed=1)
    with pytest.raises(InputError, match=rf'0 of 7 marks, which lie {begin}[0-9.]+ to'):
        place_by_marks([recording], [marks_of(recording, phases) + late_s * 10**9])


@pytest.mark.parametrize('every', [1, 2, 3])
@pytest.mark.parametrize('seed', range(3))
def test_most_marks_missed_are_seen_in_the_imu(every, seed):
    recording, phases = driven(laps=14.0, seed=seed)
    marks = marks_of(recording, phases)[::every]
    placed = place_by_marks([recording], [marks])
    assert placed.laps == len(marks) - 1
    assert (f'repeats {every} times' in placed.sentence) == (every > 1)


def test_a_long_stop_is_no_missed_mark():
    recording, phases = driven(laps=9.0, seed=4)
    marks = marks_of(recording, phases)
    stands = int(np.searchsorted(recording.imu.stamps, marks[4] + 3 * 10**9))
    extra = round(0.8 * np.median(np.diff(marks)) * 1e-9 * 20.0)
    rows = np.concatenate(
        [np.arange(stands), np.full(extra, stands), np.arange(stands, len(phases))]
    )
    standing = recorded(recording.imu.samples[rows], 20.0)
    later = marks + (marks > recording.imu.stamps[stands]) * (extra * 50_000_000)
    placed = place_by_marks([standing], [later])
    assert placed.laps == len(marks) - 1


def test_two_drives_without_positions_have_the_same_phases():
    recording, phases = driven(seed=2)
    cut = len(phases) // 2
    first, second = (
        replace(recording, name=name, imu=recording.imu.select(mask))
        for name, mask in (
            ('first', np.arange(len(phases)) < cut),
            ('second', np.arange(len(phases)) >= cut),
        )
    )
    placed = place_by_imu([first, second])
    assert placed.laps > 0.9 * (phases[-1] - phases[0])
    assert [each.name for each in placed.recordings] == ['first', 'second']
    both = [phases_on(each) for each in placed.recordings]
    stamps, found = (np.concatenate(each) for each in zip(*both, strict=True))
    assert error_of(stamps, found, recording, phases) < 0.01


def test_marks_come_from_a_file(tmp_path: Path):
    recording, phases = driven(seed=1)
    marks = marks_of(recording, phases)
    seconds = (marks - recording.imu.first_stamp) * 1e-9
    file = tmp_path / 'marks.txt'
    file.write_text('# passages\n' + '\n'.join(f'{each:.9f},' for each in seconds) + '\n\n')
    assert np.abs(read_marks(str(file), recording) - marks).max() <= 1
    placed = place([recording], str(file))
    assert f'{len(marks) - 1} laps by marks' in placed.sentence
    assert placed.recordings[0].marked
    file.write_text('1.0\n2.0\nlap three\n')
    with pytest.raises(InputError, match='line 3'):
        read_marks(str(file), recording)


def test_marks_come_from_a_topic(tmp_path: Path):
    recording, phases = driven(seed=1)
    marks = marks_of(recording, phases)
    with BagWriter(tmp_path / 'bag') as bag:
        for number, mark in enumerate(marks.tolist()):
            bag.write('/line', 'std_msgs/msg/Float64', mark, {'data': float(number)})
    named = replace(recording, name=str(tmp_path / 'bag'))
    assert read_marks('/line', named).tolist() == marks.tolist()
    with pytest.raises(InputError, match='no topic or file /lime'):
        read_marks('/lime', named)
