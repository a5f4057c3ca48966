# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A stretch that agrees with no other lap does not count, until a second lap is like it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.adapting import outlier_laps
from two_manifold_ros.adapting.outlier_laps import find_outliers, without_outliers
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Ints

LAP_S, RATE_HZ, EVERY = 10.0, 50.0, 5
ORIGIN_NS = 10**18


class Drive:
    """A drive of some laps, of which parts are to be spoiled: stamps, samples, fixes."""

    def __init__(self, laps: float = 6.0, seed: int = 0, begin_ns: int = ORIGIN_NS) -> None:
        random = np.random.default_rng(seed)
        seconds = np.arange(round(laps * LAP_S * RATE_HZ)) / RATE_HZ
        self.stamps: Ints = begin_ns + np.round(1e9 * seconds).astype(np.int64)
        # No two laps are equally fast.
        ratio = np.interp(
            seconds, np.arange(0.0, laps * LAP_S, LAP_S), random.normal(size=99)[: math.ceil(laps)]
        )
        self.laps: Floats = np.cumsum(1.0 + 0.01 * ratio) / (LAP_S * RATE_HZ)
        self.samples: Floats = felt(self.laps) + 0.2 * random.normal(size=(len(seconds), 6))
        self.fix_laps: Floats = self.laps[::EVERY]
        self.fixes: Floats = places(self.fix_laps) + 0.05 * random.normal(
            size=(len(self.fix_laps), 2)
        )
        self.known: Bools = np.ones(len(self.fix_laps), dtype=np.bool_)

    def part(self, first: float, last: float) -> tuple[Bools, Bools]:
        """Return which samples and fixes are of some laps."""
        return tuple((each >= first) & (each < last) for each in (self.laps, self.fix_laps))  # type: ignore[return-value]

    def recording(self, until: float = math.inf) -> Recording:
        mine, fixed = self.part(0.0, until)
        fixed &= self.known
        stamps, fix_stamps = self.stamps[mine], self.stamps[::EVERY][fixed]
        imu = ImuStream('/imu', 'imu', stamps, self.samples[mine], stamps)
        return Recording(
            'live', imu, PositionStream('/at', 'map', 'P', fix_stamps, self.fixes[fixed])
        )

    def out(self, *drives: Drive, until: float = math.inf) -> Floats:
        """Return how much of each lap does not count, in laps, of the last of some drives."""
        recordings = [each.recording() for each in drives] + [self.recording(until)]
        left = without_outliers(recordings, LAP_S)[-1]
        gone = ~np.isin(recordings[-1].imu.stamps, left.imu.stamps)
        return np.asarray(
            np.bincount(self.laps[: len(gone)].astype(int), gone) / (LAP_S * RATE_HZ)
        )


def felt(laps: Floats) -> Floats:
    angle = 2.0 * np.pi * laps
    waves = [np.sin(k * angle + shift) for k, shift in ((1, 0.3), (2, 1.0), (3, 2.0), (5, 0.5))]
    return np.stack(
        [waves[0] + waves[2], waves[1] + waves[3], waves[2], waves[3], waves[0], waves[1]], axis=1
    )


def places(laps: Floats) -> Floats:
    angle = 2.0 * np.pi * laps
    return np.stack(
        [20.0 * np.cos(angle), 12.0 * np.sin(angle) + 4.0 * np.sin(2.0 * angle)], axis=1
    )


def stuck(drive: Drive, first: float, last: float) -> None:
    part, _ = drive.part(first, last)
    drive.samples[part] = drive.samples[np.flatnonzero(part)[0]]


def lifted(drive: Drive, first: float, last: float) -> None:
    part, fixed = drive.part(first, last)
    drive.samples[part] = 0.2 * np.random.default_rng(7).normal(size=(part.sum(), 6))
    drive.fixes[fixed] = drive.fixes[np.flatnonzero(fixed)[0]]


def elsewhere(drive: Drive, first: float, last: float) -> None:
    """Drive another road of the same kind without positions."""
    part, fixed = drive.part(first, last)
    drive.samples[part] = felt(2.7 * drive.laps[part])[:, [2, 0, 1, 5, 3, 4]]
    drive.known &= ~fixed


def aside(drive: Drive, first: float, last: float) -> None:
    _, fixed = drive.part(first, last)
    drive.fixes[fixed] += [4.0, 3.0]


def turned(drive: Drive, first: float, last: float) -> None:
    part, _ = drive.part(first, last)
    drive.samples[part] *= -1.0


SPOILED = (stuck, lifted, elsewhere, aside, turned)


@pytest.mark.parametrize('seed', range(3))
def test_all_of_a_drive_of_like_laps_counts(seed: int) -> None:
    drive = Drive(seed=seed)
    recording = drive.recording()
    (left,) = without_outliers([recording], LAP_S)
    np.testing.assert_array_equal(left.imu.samples, recording.imu.samples)
    assert not find_outliers([recording], LAP_S)


@pytest.mark.parametrize('spoil', SPOILED)
@pytest.mark.parametrize('until', [4.8, 5.3, 6.0])
def test_a_lap_like_no_other_does_not_count(spoil: type, until: float) -> None:
    drive = Drive()
    spoil(drive, 4.0, 5.0)
    out = drive.out(until=until)
    assert out[4] > 0.9 * (min(until, 5.0) - 4.0)
    assert np.delete(out, 4).max() < 0.1


@pytest.mark.parametrize('spoil', [aside, turned])
def test_a_second_lap_like_it_makes_both_count(spoil: type) -> None:
    drive = Drive()
    spoil(drive, 4.0, math.inf)
    assert drive.out(until=4.9)[4] > 0.8
    assert not drive.out().any()


def test_a_stretch_that_was_rebuilt_counts_once_it_was_driven_twice() -> None:
    drive = Drive(7.0)
    part, fixed = (each.copy() for each in drive.part(4.0, math.inf))
    part &= np.abs(drive.laps % 1.0 - 0.5) < 0.2
    fixed &= np.abs(drive.fix_laps % 1.0 - 0.5) < 0.2
    drive.samples[part] = felt(-drive.laps[part])
    drive.fixes[fixed] += [6.0, 0.0]
    assert drive.out(until=5.0)[4] == pytest.approx(0.4, abs=0.15)
    assert not drive.out(until=6.0).any()


@pytest.mark.parametrize(
    ('laps', 'first', 'last'),
    [(0.3, 1.0, 2.0), (2.8, 1.0, 2.0), (6.0, 0.0, 0.5), (6.0, 3.2, 3.3)],
    ids=['a part of a lap', 'one against one', 'where a drive begins', 'a skid'],
)
def test_unlike_but_not_left_out(laps: float, first: float, last: float) -> None:
    drive = Drive(laps)
    turned(drive, first, last)
    assert not drive.out().any()


def test_laps_that_are_noisier_for_good_count_though_no_two_are_alike() -> None:
    drive = Drive()
    part, _ = drive.part(4.0, math.inf)
    drive.samples[part] += 6.0 * np.random.default_rng(1).normal(size=(part.sum(), 6))
    assert drive.out(until=4.9)[4] > 0.8
    assert not drive.out(until=5.5).any()


def test_laps_of_another_drive_agree_as_well() -> None:
    first, second = Drive(4.0), Drive(0.9, seed=1, begin_ns=ORIGIN_NS + 10**12)
    assert not second.out(first).any()
    turned(second, 0.3, 0.9)
    assert second.out(first)[0] > 0.5


def test_another_road_without_positions_never_counts() -> None:
    drive = Drive(8.0)
    elsewhere(drive, 3.0, 5.0)
    assert drive.out()[3:5].min() > 0.8


def test_a_vehicle_with_a_silent_sensor_may_park() -> None:
    drive = Drive(7.0)
    for first in (2.0, 4.0):
        part, fixed = drive.part(first, first + 0.4)
        drive.samples[part] = 0.0
        drive.fixes[fixed] = places(np.array([2.0]))
    assert not drive.out().any()


def test_positions_stay() -> None:
    drive = Drive()
    aside(drive, 3.0, 4.0)
    recording = drive.recording()
    (left,) = without_outliers([recording], LAP_S)
    assert len(left.imu.stamps) < len(recording.imu.stamps)
    assert left.positions is recording.positions


@pytest.mark.parametrize('spoiled', ['nothing', 'no samples', 'all', 'a channel', 'places'])
@pytest.mark.filterwarnings('error')
def test_what_cannot_be_used_is_no_reason_to_fail(spoiled: str) -> None:
    drive = Drive()
    if spoiled == 'all':
        drive.samples[:] = np.nan
    elif spoiled == 'a channel':
        drive.samples[:, 3] = 0.0
        drive.samples[200:300] = np.nan
    elif spoiled == 'places':
        drive.fixes[100:] = np.nan
    recordings = [] if spoiled == 'nothing' else [drive.recording(until=0.0), drive.recording()]
    if spoiled == 'no samples':
        recordings = recordings[:1]
    assert len(without_outliers(recordings, LAP_S)) == len(recordings)
    assert not find_outliers(recordings, math.nan)
    assert not find_outliers(recordings, LAP_S)


def test_long_drives_have_longer_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlier_laps, 'MOST_TICKS', 360)
    drive = Drive()
    turned(drive, 3.0, 4.0)
    assert drive.out()[3] > 0.8
    monkeypatch.setattr(outlier_laps, 'MOST_TICKS', 60)
    assert not drive.out().any()


def test_blocks_are_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    drive = Drive()
    aside(drive, 3.0, 4.0)
    found = find_outliers([drive.recording()], LAP_S)
    monkeypatch.setattr(outlier_laps, 'BLOCK', 7)
    assert find_outliers([drive.recording()], LAP_S) == found
    assert len(found) == 1
