# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps without positions: the loop, its alignment, drives placed by marks, and a ring."""

from collections.abc import Sequence
from dataclasses import replace
import itertools
from pathlib import Path

import numpy as np
import pytest
from worlds.drive import drive
from worlds.shuttle import Line, shuttle
from worlds.table import world_named

from two_manifold_ros.errors import InputError
from two_manifold_ros.laps import alignment
from two_manifold_ros.laps.alignment import align_marks, drive_series, find_path, Grid
from two_manifold_ros.laps.ring import ClosedLine, HARMONICS, NOISES, on_line, REACHES
from two_manifold_ros.laps.unplaced import find_loop, place, place_by_marks
from two_manifold_ros.names import LAP_FRAME, MARKS
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.typing import Floats, Ints

RATE_HZ = 20.0


def signal(phases: Floats, seed: int) -> Floats:
    """Return what six channels see at phases (T,), laps: (T, 6)."""
    random = np.random.default_rng(seed)
    waves = np.arange(1, 8)
    turns = 2.0 * np.pi * phases[:, None] * waves
    along, aside = random.normal(size=(2, 7, 6))
    seen: Floats = np.sin(turns) @ along + np.cos(turns) @ aside
    return seen


def phases_driven(laps: float, lap_s: float, seed: int, spread: float = 0.1) -> Floats:
    """Return rising phases (T,) at speeds that wander by ``spread`` over half a lap."""
    random = np.random.default_rng(seed + 100)
    count = int(laps * lap_s * RATE_HZ)
    knots = np.arange(0, count + lap_s * RATE_HZ, 0.5 * lap_s * RATE_HZ)
    speeds = np.interp(np.arange(count), knots, 1.0 + spread * random.standard_normal(len(knots)))
    rising: Floats = np.cumsum(np.clip(speeds, 0.3, None)) / (lap_s * RATE_HZ)
    return rising


def recorded(samples: Floats, rate_hz: float = RATE_HZ) -> Recording:
    """Return a recording of samples (N, 6)."""
    stamps = 10**18 + (np.arange(len(samples)) * 1e9 / rate_hz).astype(np.int64)
    return Recording('made up', ImuStream('/imu', 'imu', stamps, samples, stamps))


def driven(
    laps: float = 7.3, lap_s: float = 20.0, seed: int = 0, noise: float = 0.5
) -> tuple[Recording, Floats]:
    """Return a drive, and its phases."""
    phases = phases_driven(laps, lap_s, seed)
    random = np.random.default_rng(seed + 200)
    seen = signal(phases, seed) + noise * random.standard_normal((len(phases), 6))
    return recorded(seen), phases


def wrong_by(found: Floats, truth: Floats) -> float:
    """Return the median distance of phases after the best shift, laps."""
    away = found - truth
    away -= np.median(away)
    return float(np.median(np.abs(away)))


@pytest.mark.parametrize('seed', range(3))
def test_the_loop_is_found(seed: int) -> None:
    recording, phases = driven(seed=seed)
    loop = find_loop(recording)
    assert loop.laps == pytest.approx(phases[-1] - phases[0], abs=0.15)
    assert wrong_by(loop.phases, phases[: len(loop.phases)]) < 0.01
    assert (np.diff(loop.phases) >= -1e-9).all()
    assert 0.95 <= loop.confidence <= 1.0
    assert loop.confidence == pytest.approx(
        1.0 - (1.0 - loop.explained) ** (loop.laps - 1.0), abs=0.02
    )


def alike_halves() -> tuple[Recording, Floats]:
    phases = phases_driven(8.0, 20.0, 3)
    seen = signal(2.0 * phases, 3) + 0.7 * signal(phases, 4)
    return recorded(seen + 0.3 * np.random.default_rng(0).standard_normal(seen.shape)), phases


def kart() -> tuple[Recording, Floats]:
    """Return a drive of which only windows some laps apart look alike."""
    made = drive(world_named('kart_25hz'), day=1, laps=12, seed=1)
    return made.recording, made.laps


@pytest.mark.parametrize(
    ('made', 'within'),
    [
        (alike_halves, 0.3),
        # Windows that are most alike lie any number of laps apart.
        (lambda: driven(laps=60.0, noise=1.0, seed=0), 0.5),
        pytest.param(lambda: driven(laps=300.0, noise=1.0, seed=2), 0.5, marks=pytest.mark.slow),
        (kart, 0.5),
        # There and back: the ways look alike to a vehicle that turns at its ends, and not quite.
        (lambda: (shuttle(16, Line(turns=True), day=1, seed=1).recording, [0.0, 7.85]), 0.3),
    ],
)
def test_neither_half_a_lap_nor_several_are_taken_for_one(made, within) -> None:
    recording, phases = made()
    assert find_loop(recording).laps == pytest.approx(phases[-1] - phases[0], abs=within)


@pytest.mark.parametrize(
    ('change', 'rate_hz'),
    [
        (lambda samples: samples * np.array([1.0, 0.01, 30.0, 2.0, 5.0, 0.3]) + 7.0, RATE_HZ),
        (lambda samples: samples[::-1].copy(), RATE_HZ),
        (lambda samples: samples[300:], RATE_HZ),
        (lambda samples: np.repeat(samples, 2, axis=0), 2.0 * RATE_HZ),
    ],
    ids=['scaled', 'reversed', 'later', 'faster'],
)
def test_the_lap_is_the_same(change, rate_hz) -> None:
    recording, _ = driven(laps=8.0, seed=5)
    other = recorded(change(recording.imu.samples), rate_hz)
    assert find_loop(other).lap_s == pytest.approx(find_loop(recording).lap_s, rel=0.02)


def without_a_loop(kind: str, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    noise: Floats = random.standard_normal((3000, 6))
    if kind == 'one lap':
        return signal(np.linspace(0.0, 1.0, 3000), seed) + 0.3 * noise
    if kind == 'errands':
        knots = random.normal(size=(151, 6))
        return np.stack([np.interp(np.arange(3000), 20 * np.arange(151), k) for k in knots.T], 1)
    return noise if kind == 'noise' else 1e-3 * noise


@pytest.mark.parametrize('kind', ['one lap', 'errands', 'noise', 'standing'])
@pytest.mark.parametrize('seed', range(2))
def test_nothing_is_claimed_where_nothing_repeats(kind: str, seed: int) -> None:
    with pytest.raises(InputError, match='nothing repeats'):
        find_loop(recorded(without_a_loop(kind, seed)))


SMALL = Grid(6, 2, np.array([0, 1, 2, 3, 4]))


def cost_of(seen: Floats, means: Floats, variances: Floats, start: int, gears: list[int]) -> float:
    """Return what a way costs, as the module says it: gears are indices, the first of tick 1."""
    unlike = 0.5 * alignment.TEMPER * alignment.UNLIKE * seen.shape[1]

    def emission(t: int, at: int) -> float:
        away = np.square(seen[t] - means[at % SMALL.bins])
        return min(float((0.5 * alignment.TEMPER * away / variances).sum()), unlike)

    at, total = start, emission(0, start)
    for t, gear in enumerate(gears, start=1):
        at += int(SMALL.gears[gear])
        if gear == 0:
            total += alignment.STANDING + min(emission(t, at), 0.4 * unlike)
        else:
            ratio = SMALL.gears[gear] / SMALL.bins_a_step - 1.0
            total += emission(t, at) + alignment.UNUSUAL * ratio**2
        before = gears[t - 2] if t > 1 else gear
        if gear != before:
            step = alignment.CHANGE if abs(gear - before) == 1 else float('inf')
            total += alignment.HALT if 0 in (gear, before) else step
    return total


@pytest.mark.parametrize('seed', range(4))
def test_the_path_is_the_cheapest_of_all(seed: int) -> None:
    random = np.random.default_rng(seed)
    seen = random.standard_normal((5, 2))
    template = random.standard_normal((SMALL.bins, 2)), np.array([0.5, 0.2])
    gears_of_all = list(np.ndindex(*(len(SMALL.gears),) * 4))
    ways = [(start, list(gears)) for start in range(SMALL.bins) for gears in gears_of_all]
    start, gears = min(ways, key=lambda way: cost_of(seen, *template, *way))
    wanted = start + np.concatenate([[0], np.cumsum(SMALL.gears[gears])])
    found = find_path(seen, *template, np.zeros(5, dtype=np.int64), SMALL.bins, SMALL)
    assert found.tolist() == wanted.tolist()
    # Without evidence the speed is the usual one.
    nothing, low = np.full((9, 2), np.nan), np.zeros(9, dtype=np.int64)
    path = find_path(nothing, np.zeros((SMALL.bins, 2)), np.ones(2), low, SMALL.bins, SMALL)
    assert np.diff(path).tolist() == [SMALL.bins_a_step] * 8


def aligned(seen: Recording, phases: Floats) -> Floats:
    """Return the phases that marks at the passages of the line give."""
    marks = np.interp(np.arange(1, int(phases[-1]) + 1), phases, np.arange(len(phases)))
    return align_marks(drive_series(seen), marks, np.arange(float(len(marks))))


@pytest.mark.parametrize('seed', range(3))
def test_marks_give_phases_to_one_per_cent(seed: int) -> None:
    recording, phases = driven(laps=10.5, seed=seed)
    found = aligned(recording, phases)
    assert (np.diff(found) >= -1e-9).all()
    assert wrong_by(found, phases[: len(found)]) < 0.01


def test_a_halt_a_gap_and_a_bad_lap_do_not_disturb_the_others() -> None:
    phases = phases_driven(9.5, 20.0, 1)
    rest = int(3.4 * 20.0 * RATE_HZ)
    phases = np.insert(phases, rest, np.full(200, phases[rest]))
    seen = signal(phases, 1)
    seen[rest : rest + 200] = 0.0
    random = np.random.default_rng(0)
    seen += 0.3 * random.standard_normal(seen.shape)
    bad = (phases > 6.0) & (phases < 6.5)
    seen[bad] = random.standard_normal((int(bad.sum()), 6))
    seen[(phases > 7.2) & (phases < 7.4)] = np.nan
    found = aligned(recorded(seen), phases + 1e-9 * np.arange(len(phases)))
    usual = np.flatnonzero(~bad & ((phases < 3.3) | (phases > 3.8)))
    usual = usual[usual < len(found)]
    assert wrong_by(found[usual], phases[usual]) < 0.01
    assert np.ptp(found[rest + 40 : rest + 160]) < 0.05


def track(phases: Floats) -> Floats:
    angles = 2.0 * np.pi * phases
    return np.stack([30.0 * np.cos(angles), 12.0 * np.sin(angles) + 4.0 * np.cos(angles)], 1)


def test_a_lap_on_the_ring_is_as_long_as_it_takes():
    recording = recorded(np.zeros((400, 6)))
    stamps, phases = recording.imu.stamps, np.linspace(0.0, 2.0, 400)
    phases[:10] = np.nan
    (placed,) = on_line([(recording, stamps, phases)], 7.5, MARKS)
    stream = placed.positions
    assert placed.marked
    assert stream.frame_id == LAP_FRAME
    assert stream.stamps.tolist() == stamps[10:].tolist()
    way = np.linalg.norm(np.diff(stream.positions, axis=0), axis=1).sum()
    assert way == pytest.approx(7.5 * (2.0 - phases[10]), rel=1e-3)
    turned = np.arctan2(*stream.positions[0, ::-1]) / (2.0 * np.pi)
    assert turned == pytest.approx(phases[10])


def naive(at: Floats, places: Floats, wanted: Floats) -> tuple[Floats, Floats, float]:
    """Return line, variances and noise by a Gaussian process in the space of the fixes."""
    middle = places.mean(axis=0)
    size = np.sqrt(np.square(places - middle).sum() / len(at))
    numbers = np.arange(1, HARMONICS + 1)
    evidences, lines, variances, noises = [], [], [], []
    for reach, noise in itertools.product(REACHES, NOISES):
        shape = 1.0 / (1.0 + (numbers / reach) ** 4)
        shape /= 2.0 * shape.sum()

        def kernel(one: Floats, other: Floats, shape: Floats = shape) -> Floats:
            turns = 2.0 * np.pi * (one[:, None] - other[None])
            return 1.0 + (shape * np.cos(turns[..., None] * numbers)).sum(axis=2)

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


STANDING, THREE_LAPS = recorded(np.zeros((400, 6))), np.linspace(0.0, 3.0, 400)


def fixes_at(every: slice) -> Recording:
    """Return a drive of three laps with fixes on the track at some of its samples."""
    stamps, places = STANDING.imu.stamps[every], track(THREE_LAPS[every])
    return replace(STANDING, positions=PositionStream('/fix', 'map', '', stamps, places))


@pytest.mark.parametrize(
    ('every', 'words'),
    [(slice(50, 250, 50), '4 fixes in whole laps'), (slice(0, 60, 5), 'no fix lies on 5[0-9]%')],
)
def test_too_few_fixes_and_those_of_one_part_are_refused(every: slice, words: str):
    with pytest.raises(InputError, match=words):
        on_line([(fixes_at(every), STANDING.imu.stamps, THREE_LAPS)], 1.0)


def test_fixes_of_one_drive_place_the_other_too():
    stamps, phases, later = STANDING.imu.stamps, THREE_LAPS.copy(), THREE_LAPS + 0.25
    # A fix before the first mark is at no phase.
    phases[:5] = later[:20] = np.nan
    drives = [(fixes_at(slice(0, None, 8)), stamps, phases), (STANDING, stamps, later)]
    one, other = (each.positions for each in on_line(drives, 1.0))
    assert one.positions == pytest.approx(track(phases[5:]), abs=0.1)
    assert other.positions == pytest.approx(track(later[20:]), abs=0.1)
    assert other.stamps.tolist() == stamps[20:].tolist()
    assert (other.topic, other.frame_id) == ('/fix', 'map')


def marks_of(recording: Recording, phases: Floats) -> Ints:
    """Return when each lap of a drive begins, ns."""
    numbers = np.arange(np.ceil(phases[0]), np.floor(phases[-1]) + 1.0)
    stamps = recording.imu.stamps
    seconds = np.interp(numbers, phases + 1e-9 * np.arange(len(phases)), stamps - stamps[0])
    return stamps[0] + np.rint(seconds).astype(np.int64)


def phases_on(recordings: Sequence[Recording]) -> tuple[Ints, Floats]:
    streams = [each.positions for each in recordings]
    stamps, places = (
        np.concatenate([getattr(each, name) for each in streams])
        for name in ('stamps', 'positions')
    )
    return stamps, np.arctan2(*places.T[::-1]) / (2.0 * np.pi)


def error_of(stamps: Ints, found: Floats, recording: Recording, phases: Floats) -> float:
    """Return the median distance of phases on a ring after the best shift, laps."""
    origin = recording.imu.stamps[0]
    true = np.interp(stamps - origin, recording.imu.stamps - origin, phases)
    turns = np.exp(2j * np.pi * (found - true))
    return float(np.median(np.abs(np.angle(turns / turns.mean())))) / (2.0 * np.pi)


@pytest.mark.parametrize('spoilt', ['no', 'missed and doubled', 'long stop'])
def test_marks_place_a_drive(spoilt):
    """A beacon may miss two passages, once in a row, and a button be pressed twice."""
    recording, phases = driven(laps=12.0, seed=1)
    marks = marks_of(recording, phases)
    given, usual = marks, np.median(np.diff(marks)) * 1e-9
    if spoilt == 'missed and doubled':
        given = np.sort(np.append(np.delete(marks, [3, 7, 8]), marks[5] + 300_000_000))
    if spoilt == 'long stop':
        stands = int(np.searchsorted(recording.imu.stamps, marks[4] + 3 * 10**9))
        extra = round(0.8 * usual * RATE_HZ)
        rows = np.sort(np.append(np.arange(len(phases)), np.full(extra, stands)))
        recording, phases = recorded(recording.imu.samples[rows]), phases[rows]
        given = marks = marks_of(recording, phases)
    placed = place_by_marks([recording], [given])
    assert placed.laps == len(marks) - 1
    assert placed.lap_s == pytest.approx(usual, rel=1e-6 if spoilt == 'no' else 0.02)
    stamps, found = phases_on(placed.recordings)
    assert error_of(stamps, found, recording, phases) < 0.01
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
def test_most_marks_missed_are_seen_in_the_imu(every):
    recording, phases = driven(laps=14.0, seed=1)
    placed = place_by_marks([recording], [marks_of(recording, phases)[::every]])
    assert (f'repeats {every} times' in placed.sentence) == (every > 1)


def test_two_drives_without_positions_have_the_same_phases():
    recording, phases = driven(seed=2)
    first = np.arange(len(phases)) < len(phases) // 2
    halves = [recording.imu.select(mask) for mask in (first, ~first)]
    placed = place([replace(recording, imu=each) for each in halves], None)
    assert placed.laps > 0.9 * (phases[-1] - phases[0])
    assert error_of(*phases_on(placed.recordings), recording, phases) < 0.01


def test_marks_come_from_a_topic(tmp_path: Path):
    recording, phases = driven(seed=1)
    marks = marks_of(recording, phases)
    with BagWriter(tmp_path / 'bag') as bag:
        for number, mark in enumerate(marks.tolist()):
            bag.write('/line', 'std_msgs/msg/Float64', mark, {'data': float(number)})
    named = replace(recording, name=str(tmp_path / 'bag'))
    placed = place([named], '/line')
    assert placed.laps == len(marks) - 1
    assert placed.recordings[0].marked
    with pytest.raises(InputError, match='no topic /lime'):
        place([named], '/lime')
