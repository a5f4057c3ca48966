# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Every fault that can be put into a good recording is found, named and given a cure."""

from collections.abc import Callable
from dataclasses import replace
import json
import re

from ellipse import drive
import numpy as np
from other_recordings import with_imu, without_positions
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.inspecting import (
    describe,
    inspect_recording,
    Report,
    training_warnings,
)
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import Recording

Change = Callable[[np.ndarray], object]
DEGREES = 180 / np.pi


def codes(recording: Recording) -> set[str]:
    """Return the codes of all findings; each has a sentence with a cause and a cure."""
    findings = inspect_recording(recording).findings
    assert all(each.sentence.endswith('.') and each.cause and each.cure for each in findings)
    return {finding.code for finding in findings}


ARRAYS = {
    'samples': [('imu', 'samples')],
    'stamps': [('imu', 'stamps')],
    'positions': [('positions', 'positions')],
    'clock': [('imu', 'stamps'), ('positions', 'stamps')],
}


def changed(recording: Recording, name: str, change: Change) -> Recording:
    streams = {}
    for stream, field in ARRAYS[name]:
        old = getattr(recording, stream)
        array = getattr(old, field).copy()
        change(array)
        streams[stream] = replace(old, **{field: array})
    return replace(recording, **streams)


def scale(part: slice, factor: float) -> Change:
    return lambda samples: np.multiply(samples[:, part], factor, out=samples[:, part])


def put(where: object, value: object) -> Change:
    return lambda array: array.__setitem__(where, value)


@pytest.mark.parametrize(
    ('change', 'expected'),
    [
        (scale(slice(0, 3), 1 / 9.81), {'acceleration_in_g'}),
        (scale(slice(3, 6), DEGREES), {'gyroscope_in_degrees'}),
        (scale(slice(3, 6), 1 / DEGREES), {'gyroscope_scale'}),
        (scale(slice(0, 6), -1.0), set()),
        (scale(slice(0, 3), 3.3), {'acceleration_unclear'}),
        (put((slice(None), 2), 0.0), {'gravity_removed', 'dead_channels'}),
        (put((slice(None), 4), 1.25), {'dead_channels'}),
        (put((slice(100, 110), 3), np.nan), {'imu_not_finite'}),
        (put((slice(100, 110), 3), 1e300), {'imu_absurd'}),
        (put(([100, 300], [0, 5]), [-np.finfo(float).max, np.finfo(float).max]), {'imu_absurd'}),
        (put(slice(1000, 1200), [0.1, 0.2, 9.8, 0.0, 0.0, 0.7]), {'imu_stuck'}),
    ],
)
def test_faults_of_the_samples(change, expected):
    spoilt = changed(drive(), 'samples', change)
    assert codes(spoilt) == expected
    report = inspect_recording(spoilt)
    content = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert set(content) == {'name', 'imu', 'positions', 'findings', 'notes'}
    # What cannot be is left out, and spoils nothing else.
    assert any(report.imu.absurd) == ('imu_absurd' in expected)
    assert max(abs(channel.highest) for channel in report.imu.channels) < 1000.0
    severities = [finding.severity for finding in report.findings]
    assert severities == sorted(severities, reverse=True)


@pytest.mark.parametrize(
    ('change', 'expected'),
    [
        (put(10, 0), {'imu_zero'}),
        (put([0, 500, 501], 0), {'imu_zero'}),
        (lambda stamps: put(10, stamps[9])(stamps), {'imu_duplicates'}),
        (lambda stamps: put([10, 11], stamps[[11, 10]])(stamps), {'imu_backward'}),
    ],
)
def test_faults_of_the_stamps(change, expected):
    recording = changed(drive(), 'stamps', change)
    assert codes(recording) >= expected
    timing = inspect_recording(recording).imu.timing
    assert timing.start_s == pytest.approx(0.0, abs=0.1)
    assert timing.duration_s == pytest.approx(48.0, abs=0.1)
    # No clock was set back.
    assert timing.apart == 0


@pytest.mark.parametrize(
    ('change', 'expected'),
    [
        (put((slice(500, 510), 0), np.nan), {'positions_not_finite'}),
        (put((slice(500, 510), 1), -1e300), {'positions_absurd'}),
        (lambda positions: np.add(positions[600:], 3.0, out=positions[600:]), {'position_jumps'}),
        (put((slice(500, 510), 1), 40.0), {'positions_left_out'}),
        (put(slice(300, None), [0.0, 0.0]), {'standing', 'few_laps'}),
        (put(slice(None), [1.0, 1.0]), {'no_laps', 'standing', 'offset_unknown'}),
    ],
)
def test_faults_of_the_positions(change, expected):
    faulty = changed(drive(), 'positions', change)
    assert codes(faulty) >= expected
    if expected == {'positions_left_out'}:
        before, after = (inspect_recording(each).positions for each in (drive(), faulty))
        assert (before.left_out, after.left_out, after.jumps) == (0, 10, ())
        assert after.extent_m == pytest.approx(before.extent_m)
        assert after.laps.time_s == pytest.approx(before.laps.time_s, rel=0.01)


@pytest.mark.parametrize(('late_s', 'side'), [(0.2, 'behind'), (-0.2, 'ahead of')])
def test_a_time_offset(late_s, side):
    (finding,) = inspect_recording(drive(late_s=late_s)).findings
    assert finding.code == 'time_offset'
    said = re.search(rf'are (\S+) s \(\+- 0.014 s\) {side} the stamps of', finding.sentence)
    assert float(said[1]) == pytest.approx(0.2, abs=0.003)
    assert '--position-lag auto' in finding.cure
    # Less than half a tick is no finding.
    assert codes(drive(late_s=0.022)) == set()
    assert codes(drive(late_s=0.03)) == {'time_offset'}
    recording = drive(late_s=0.06)
    slow = replace(recording, imu=recording.imu.select(slice(None, None, 20)))
    assert 'time_offset' not in codes(slow)


def warned(*recordings: Recording, rate_hz: float | None = None) -> list[str]:
    return list(training_warnings([inspect_recording(each) for each in recordings], rate_hz))


def test_training_is_reported_of_one_lag_once():
    late = [replace(drive(late_s=0.06), name=name) for name in 'abc']
    (sentence,) = warned(*late)
    assert sentence.startswith('a and 2 more: The stamps of the positions are 0.06')
    assert not warned(*late, rate_hz=5.0)
    assert len(warned(*late, drive(late_s=0.2))) == 4
    assert not warned()
    # Laps are in the notes of a model.
    short = drive(seconds=12.0)
    assert 'few_laps' in codes(short)
    assert not warned(short)


def test_no_laps_are_counted_where_positions_are_rare():
    recording = drive(seconds=300.0)
    rare = replace(recording, positions=recording.positions.select(slice(None, None, 60)))
    assert 'laps_not_counted' in codes(rare)
    assert not {'few_laps', 'no_laps'} & codes(rare)
    assert 'laps_not_counted' not in codes(recording)
    assert 'laps:' not in str([*describe(inspect_recording(rare))])


def assert_driven(report: Report, seconds: float, driven_s: float, laps=0.1, rest=1.0) -> None:
    """All of so many seconds of laps of eight seconds, 0.2 s late, is seen and measured."""
    positions = report.positions
    assert positions.timing.duration_s == pytest.approx(seconds, abs=0.2)
    assert positions.coverage == pytest.approx(1.0, abs=0.01 * rest)
    assert positions.laps.count == pytest.approx(driven_s / 8.0, abs=laps)
    assert positions.lag.seconds == pytest.approx(0.2, abs=0.005 * rest)


@pytest.mark.parametrize('by_s', [-2.0, -10.0, -12 * 3600.0, 3600.0, 50 * 365 * 86_400.0])
@pytest.mark.parametrize('at_s', [12.0, 23.99, 36.0])
def test_of_a_clock_that_is_set_back_the_larger_part_is_inspected_and_ahead_all(at_s, by_s):
    def change(stamps: np.ndarray) -> None:
        stamps[stamps >= stamps[0] + round(at_s * 1e9)] += round(by_s * 1e9)

    recording = drive(late_s=0.2)
    few = recording.positions.select(slice(None, None, 2))
    report = inspect_recording(changed(replace(recording, positions=few), 'clock', change))
    said = {'imu_gaps', 'position_gaps'} if by_s > 0 else {'imu_backward', 'position_backward'}
    assert said <= {each.code for each in report.findings}
    seconds = 48.0 + by_s if by_s > 0 else max(at_s, 48.0 - at_s)
    assert_driven(report, seconds, min(seconds, 48.0), laps=0.5, rest=2.0)


@pytest.mark.parametrize('index', [0, 100, -1])
@pytest.mark.parametrize('by_s', [-3600.0, 86_400.0])
def test_a_wild_stamp_of_the_imu_or_at_an_end(index, by_s):
    def change(stamps: np.ndarray) -> None:
        stamps[index] += round(by_s * 1e9)

    report = inspect_recording(changed(drive(late_s=0.2), 'clock', change))
    assert {each.code for each in report.findings} == {'imu_wild', 'position_wild', 'time_offset'}
    for timing in (report.imu.timing, report.positions.timing):
        assert (timing.wild, timing.apart, timing.backward, timing.gaps) == (1, 0, 0, ())
    assert_driven(report, 48.0, 48.0)


def test_a_few_samples_and_none_at_all():
    assert inspect_recording(drive().between(None, 0.05)).positions.timing.count == 2
    for recording, words in (
        (drive().between(100.0, None), 'ellipse has no IMU samples in this stretch'),
        (changed(drive(), 'samples', put(slice(None), np.nan)), 'no finite sample among 4800'),
        (changed(drive(), 'samples', put(slice(None), 1e300)), 'no possible sample among 4800'),
    ):
        with pytest.raises(InputError, match=words):
            inspect_recording(recording)


def test_where_positions_are_missing_is_said():
    recording = replace(drive(), positions=None)
    assert codes(recording) == {'no_positions'}
    fast = changed(recording, 'samples', scale(slice(3, 6), DEGREES))
    assert codes(fast) == {'no_positions', 'gyroscope_too_fast'}
    # In the middle and at the end.
    seen = without_positions(without_positions(drive(), 6.0, 12.0), 24.0, 48.0)
    report = inspect_recording(seen)
    assert report.positions.coverage == pytest.approx(18 / 48, abs=0.01)
    (found,) = (each for each in report.findings if each.code == 'positions_missing')
    assert f'cover {report.positions.coverage:.0%} of the time of the IMU: ' in found.sentence
    # All of them, where nothing shows by how much a clock is off.
    late = drive(late_s=3600.0)
    noise = np.random.default_rng(1).normal(size=late.imu.samples.shape)
    report = inspect_recording(with_imu(late, samples=noise))
    (found,) = (each for each in report.findings if each.code == 'clocks_differ')
    assert '3600.0 s after the first sample' in found.sentence


@pytest.mark.parametrize(
    ('name', 'found', 'laps'),
    [
        ('f1tenth_frictionmaps_ds2', {'acceleration_in_g', 'gyroscope_in_degrees', 'imu_gaps',
                                      'position_gaps', 'position_jumps'}, None),
        ('f1tenth_ipz10', {'gravity_removed'}, 6.5),
        *((f'f1tenth_ipz20/run_{run}', {'dead_channels'}, None) for run in (1, 2, 7)),
    ],
)  # fmt: skip
def test_real_recordings(name, found, laps, recordings_folder):
    pytest.importorskip('rosbags')
    report = inspect_recording(read_recording(recordings_folder / name))
    assert {finding.code for finding in report.findings} >= found
    if laps is not None:
        assert report.positions.laps.count == pytest.approx(laps, abs=0.5)
        # Against the course of the positions; the twist in the same messages is reversed.
        assert report.positions.yaw.slope == pytest.approx(1.0, abs=0.2)
