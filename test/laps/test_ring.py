# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions by laps: on a ring, and on the line through a few fixes."""

from dataclasses import replace

from lap_drives import recorded
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.laps.ring import closed_line, on_ring, on_route
from two_manifold_ros.names import LAP_FRAME, MARKS
from two_manifold_ros.recordings.recording import PositionStream
from two_manifold_ros.typing import Floats


def track(phases: Floats) -> Floats:
    angles = 2.0 * np.pi * phases
    return np.stack([30.0 * np.cos(angles), 12.0 * np.sin(angles) + 4.0 * np.cos(angles)], 1)


def test_a_lap_on_the_ring_is_as_long_as_it_takes():
    recording = recorded(np.zeros((400, 6)))
    stamps = recording.imu.stamps
    phases = np.linspace(0.0, 2.0, len(stamps))
    phases[:10] = np.nan
    placed = on_ring(recording, stamps, phases, 7.5, MARKS)
    stream = placed.positions
    assert stream is not None
    assert placed.marked
    assert stream.frame_id == LAP_FRAME
    assert stream.stamps.tolist() == stamps[10:].tolist()
    way = np.linalg.norm(np.diff(stream.positions, axis=0), axis=1).sum()
    assert way == pytest.approx(7.5 * (2.0 - phases[10]), rel=1e-3)
    turned = np.arctan2(*stream.positions[0, ::-1]) / (2.0 * np.pi)
    assert turned == pytest.approx(phases[10])


def test_five_fixes_make_a_ring_an_ellipse():
    wanted = np.linspace(0.0, 1.0, 50)
    at = np.array([0.03, 0.21, 0.44, 0.63, 0.87])
    line = closed_line(at, track(at), wanted)
    # An affine image of the ring takes three; the five leave a part of its harmonics open.
    assert np.abs(line - track(wanted)).max() < 4.0


@pytest.mark.parametrize('shift', [0.0, 0.3])
def test_more_fixes_make_the_line_better_and_it_closes(shift: float):
    random = np.random.default_rng(0)
    wanted = np.linspace(0.0, 1.0, 200) + shift
    errors = []
    for count in (6, 20, 80):
        at = random.uniform(0.0, 3.0, count)
        places = track(at) + 0.05 * random.standard_normal((count, 2))
        line = closed_line(at, places, wanted)
        errors.append(np.sqrt(np.square(line - track(wanted)).sum(1).mean()))
        assert line[0] == pytest.approx(closed_line(at, places, wanted + 5.0)[0], abs=1e-6)
    assert errors[2] < 0.1
    assert errors[2] < errors[0]


def test_a_line_moves_and_turns_with_its_fixes():
    at, wanted = np.arange(12) / 12, np.linspace(0.0, 1.0, 40)
    line = closed_line(at, track(at), wanted)
    turn = np.array([[0.0, -2.0], [2.0, 0.0]])
    moved = closed_line(at, track(at) @ turn.T + [1e5, -3.0], wanted)
    assert moved == pytest.approx(line @ turn.T + [1e5, -3.0], abs=1e-6)


def test_four_fixes_are_refused():
    recording = recorded(np.zeros((400, 6)))
    stamps = recording.imu.stamps
    fixes = PositionStream('/fix', 'map', '', stamps[50:250:50], track(np.arange(4) / 4))
    with pytest.raises(InputError, match='4 fixes on /fix'):
        on_route(replace(recording, positions=fixes), stamps, np.linspace(0.0, 3.0, len(stamps)))
