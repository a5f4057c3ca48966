# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions that no speed of the drive explains, and those that one does."""

import numpy as np
import pytest

from two_manifold_ros.recordings.excursions import explained, unexplained_steps
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.typing import Floats, Ints

Drive = tuple[Ints, Floats]
START_NS = 1_700_000_000_000_000_000


def drive(seconds: float = 60.0, rate_hz: float = 25.0, noise_m: float = 0.01) -> Drive:
    """Drive laps of 8 s on an ellipse of 4 m by 2 m, at 1.2 m/s on average."""
    times = np.arange(round(seconds * rate_hz)) / rate_hz
    angle = 2.0 * np.pi * times / 8.0
    places = np.stack([2.0 * np.cos(angle), np.sin(angle)], axis=1)
    places += np.random.default_rng(1).normal(scale=noise_m, size=places.shape)
    return stamps_of(times), places


def stamps_of(times: Floats) -> Ints:
    return START_NS + np.round(times * 1e9).astype(np.int64)


def left_out(stamps: Ints, places: Floats) -> list[int]:
    return np.flatnonzero(~explained(stamps, places)).tolist()


@pytest.mark.parametrize('noise_m', [0.0, 0.01, 0.1])
@pytest.mark.parametrize('rate_hz', [1.0, 25.0, 100.0])
def test_of_a_clean_drive_nothing_is_left_out_and_of_another_the_glitch(rate_hz, noise_m):
    stamps, places = drive(120.0, rate_hz, noise_m)
    assert left_out(stamps, places) == []
    assert not unexplained_steps((stamps - stamps[0]) * 1e-9, places).any()
    for row, metres in ((0, 50.0), (70, 1e3), (-1, 1e5)):
        stamps, places = drive(120.0, rate_hz, noise_m)
        places[row, 0] += metres
        assert left_out(stamps, places) == [row % len(places)]


def test_a_tenth_of_the_positions_are_glitches_of_any_size():
    stamps, places = drive(120.0)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(len(places), len(places) // 10, replace=False))
    metres = np.exp(rng.uniform(0.0, np.log(1e5), len(rows)))
    places[rows] += metres[:, None] * np.where(rng.random((len(rows), 1)) < 0.5, [1, 0], [0, -1])
    found = set(left_out(stamps, places))
    assert found >= set(rows.tolist())
    # A right one between two wrong ones may go with them.
    assert len(found) < 1.05 * len(rows)


@pytest.mark.parametrize(('seconds', 'metres'), [(0.5, 2.0), (1.0, 10.0), (10.0, 1e3)])
def test_a_burst_is_left_out_if_it_is_shorter_than_the_way(seconds, metres):
    """Also one of positions anywhere."""
    stamps, places = drive()
    end = 500 + round(25 * seconds)
    places[500:end] += [0.0, metres]
    assert left_out(stamps, places) == list(range(500, end))
    stamps, places = drive()
    places[500:550] = np.random.default_rng(0).normal(scale=30.0, size=(50, 2))
    assert set(left_out(stamps, places)) == set(range(500, 550))


def test_what_is_moved_for_good_is_a_jump_and_stays_but_not_the_shorter_part_far_away():
    stamps, places = drive()
    places[500:] += [0.0, 2.0]
    assert left_out(stamps, places) == []
    jumps = unexplained_steps((stamps - stamps[0]) * 1e-9, places)
    assert np.flatnonzero(jumps).tolist() == [499]
    stamps, places = drive()
    places[:400] += [8e5, 4e6]
    assert left_out(stamps, places) == list(range(400))


def test_a_slow_receiver_whose_positions_are_repeated():
    _, slow = drive(300.0, 1.0)
    times = np.arange(50 * len(slow)) / 50.0
    assert left_out(stamps_of(times), np.repeat(slow, 50, axis=0)) == []
    slow[100] += 100.0
    assert left_out(stamps_of(times), np.repeat(slow, 50, axis=0)) == list(range(5000, 5050))


def test_stamps_that_jitter_and_straight_on_and_back_and_forth():
    stamps, places = drive(120.0)
    jitter = np.random.default_rng(0).integers(0, 20_000_000, len(stamps))
    assert left_out(np.maximum.accumulate(stamps + jitter), places) == []
    times = np.arange(1500) / 25.0
    for x in (2.0 * times, np.abs((2.0 * times) % 16.0 - 8.0)):
        places = np.stack([x, np.full(len(x), 3.0)], axis=1)
        assert left_out(stamps_of(times), places) == []


def test_late_positions_and_what_is_given_twice_share_their_fate():
    stamps, places = drive()
    places[700] += 9.0
    twice = np.repeat(np.arange(len(places)), 2)
    assert left_out(stamps[twice], places[twice]) == [1400, 1401]
    # As of a bag that is recorded twice.
    order = np.arange(len(places))
    order[[300, 301]] = [301, 300]
    again = np.tile(order, 2)
    assert left_out(stamps[again], places[again]) == [700, 2200]


def test_what_is_not_finite_or_not_on_earth_is_not_usable():
    stamps, places = drive()
    places[3] += 1e3
    # Of a few positions nothing is known.
    assert left_out(stamps[:10], places[:10]) == []
    places[3], places[4], places[5] = np.nan, np.inf, -1e300
    assert left_out(stamps, places) == [3, 4, 5]
    # A stamp that says no time cuts no drive.
    for none in (0, -(10**18)):
        stamps, places = drive()
        stamps[::10] = none
        places[500:520, 1] += 2.0
        assert left_out(stamps, places) == [row for row in range(500, 520) if row % 10]
    # Positions that are anywhere all the time are left as they are.
    rng = np.random.default_rng(0)
    stamps = stamps_of(np.arange(20_000) / 25.0)
    assert len(left_out(stamps, rng.normal(size=(20_000, 2)))) < 100


@pytest.mark.parametrize(
    ('name', 'jumps'),
    [('f1tenth_ipz10', 0), ('f1tenth_frictionmaps_ds1', 1), ('f1tenth_ipz8/run_5', 1),
     ('ridge_car', 4)],
)  # fmt: skip
def test_of_real_drives_nothing_is_left_out_whatever_jumps(recordings_folder, name, jumps):
    pytest.importorskip('rosbags')
    stream = read_recording(recordings_folder / name).positions
    assert not stream.left_out.any()
    stamps, first = np.unique(stream.stamps, return_index=True)
    steps = unexplained_steps((stamps - stamps[0]) * 1e-9, stream.positions[first])
    assert np.count_nonzero(steps) == jumps
