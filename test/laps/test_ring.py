# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions by laps: on a ring, and on the line through a few fixes."""

from dataclasses import replace

from lap_drives import recorded
import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.laps.ring import ClosedLine, HARMONICS, NOISES, on_ring, on_route, REACHES
from two_manifold_ros.names import LAP_FRAME, MARKS
from two_manifold_ros.recordings.recording import PositionStream, Recording
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


def test_more_fixes_make_the_line_better_and_it_closes():
    random = np.random.default_rng(0)
    wanted, errors = np.linspace(0.0, 1.0, 200), []
    for count in (6, 20, 80):
        at = random.uniform(0.0, 3.0, count)
        line = ClosedLine()
        line.add(at, track(at) + 0.05 * random.standard_normal((count, 2)))
        found = line.draw().at(wanted)
        errors.append(np.sqrt(np.square(found - track(wanted)).sum(1).mean()))
        assert found == pytest.approx(line.draw().at(wanted + 5.0), abs=1e-6)
    assert errors[2] < 0.1
    assert errors[2] < errors[0]


def naive(at: Floats, places: Floats, wanted: Floats) -> tuple[Floats, Floats, float]:
    """Return line, variances and noise by a Gaussian process in the space of the fixes."""
    middle = places.mean(axis=0)
    size = np.sqrt(np.square(places - middle).sum() / len(at))
    numbers = np.arange(1, HARMONICS + 1)
    evidences, lines, variances, noises = [], [], [], []
    for reach in REACHES:
        shape = 1.0 / (1.0 + (numbers / reach) ** 4)
        shape /= 2.0 * shape.sum()

        def kernel(one: Floats, other: Floats, shape: Floats = shape) -> Floats:
            turns = 2.0 * np.pi * (one[:, None] - other[None])
            return 1.0 + (shape * np.cos(turns[..., None] * numbers)).sum(axis=2)

        for noise in NOISES:
            covariance = kernel(at, at) + noise * np.eye(len(at))
            solved = np.linalg.solve(covariance, (places - middle) / size)
            quadratic = ((places - middle) / size * solved).sum()
            evidences.append(-0.5 * quadratic - np.linalg.slogdet(covariance)[1])
            cross = kernel(wanted, at)
            known = np.einsum('ij,ji->i', cross, np.linalg.solve(covariance, cross.T))
            lines.append(middle + size * cross @ solved)
            variances.append(size**2 * (np.diagonal(kernel(wanted, wanted)) - known))
            noises.append(size**2 * noise)
    chances = np.exp(np.array(evidences) - np.max(evidences))
    chances /= chances.sum()
    line = np.tensordot(chances, np.array(lines), 1)
    apart = np.square(np.array(lines) - line).mean(axis=2)
    return line, chances @ (np.array(variances) + apart), float(chances @ noises)


@pytest.mark.parametrize('count', [5, 30, 200])
def test_sums_of_fixes_draw_the_line_that_all_fixes_draw(count: int):
    random = np.random.default_rng(count)
    wanted = np.linspace(0.0, 1.0, 37)
    at = random.uniform(-1.0, 3.0, count)
    places = track(at) + 0.3 * random.standard_normal((count, 2)) + [4e5, -2e5]
    line = ClosedLine()
    for part in np.array_split(np.arange(count), 4):
        line.add(at[part], places[part])
    drawn = line.draw()
    expected, variances, noise_m2 = naive(at, places, wanted)
    assert drawn.at(wanted) == pytest.approx(expected, abs=1e-4)
    assert drawn.variances(wanted) == pytest.approx(variances, rel=1e-3, abs=1e-6)
    assert drawn.noise_m2 == pytest.approx(noise_m2, rel=1e-6)


def test_the_line_is_as_unsure_as_it_errs():
    random = np.random.default_rng(2)
    wanted, squares = np.linspace(0.0, 1.0, 100), []
    for _ in range(40):
        at = random.uniform(0.0, 1.0, 40)
        line = ClosedLine()
        line.add(at, track(at) + 0.5 * random.standard_normal((40, 2)))
        drawn = line.draw()
        apart = np.square(drawn.at(wanted) - track(wanted)).sum(axis=1)
        squares.append(apart / drawn.variances(wanted))
    # Two coordinates; priors of a rougher line than the ellipse make it somewhat less.
    assert 0.5 < np.mean(squares) < 2.5


def fixes_at(recording: Recording, every: slice) -> Recording:
    """Return a drive of three laps with fixes on the track at some of its samples."""
    phases = np.linspace(0.0, 3.0, len(recording.imu.stamps))
    stream = PositionStream('/fix', 'map', '', recording.imu.stamps[every], track(phases[every]))
    return replace(recording, positions=stream)


@pytest.mark.parametrize(
    ('every', 'words'),
    [(slice(50, 250, 50), '4 fixes in whole laps'), (slice(0, 60, 5), 'no fix lies on 5[0-9]%')],
)
def test_too_few_fixes_and_those_of_one_part_are_refused(every: slice, words: str):
    recording = recorded(np.zeros((400, 6)))
    phases = np.linspace(0.0, 3.0, 400)
    with pytest.raises(InputError, match=words):
        on_route([(fixes_at(recording, every), recording.imu.stamps, phases)])


def test_fixes_of_one_drive_place_the_other_too():
    recording = recorded(np.zeros((400, 6)))
    stamps, phases = recording.imu.stamps, np.linspace(0.0, 3.0, 400)
    # A fix before the first mark is at no phase.
    phases[:5] = np.nan
    later = phases + 0.25
    later[:20] = np.nan
    one, other = on_route(
        [(fixes_at(recording, slice(0, None, 8)), stamps, phases), (recording, stamps, later)]
    )
    assert one.positions is not None
    assert other.positions is not None
    assert one.positions.positions == pytest.approx(track(phases[5:]), abs=0.1)
    assert other.positions.positions == pytest.approx(track(later[20:]), abs=0.1)
    assert other.positions.stamps.tolist() == stamps[20:].tolist()
    assert (other.positions.topic, other.positions.frame_id) == ('/fix', 'map')
