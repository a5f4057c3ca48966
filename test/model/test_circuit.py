# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One lap as a closed line: where a vehicle is on it, its times, and how it is found."""

from dataclasses import replace
import itertools
import math

import numpy as np
import pytest

from two_manifold_ros.model import circuit as module
from two_manifold_ros.route.merging import merge_passes

PERIOD_S = 0.1
LAP_TICKS = 150
RADIUS_M = 20.0


def circle(shares: np.ndarray) -> np.ndarray:
    angle = 2.0 * np.pi * shares
    return RADIUS_M * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def eight(shares: np.ndarray) -> np.ndarray:
    """Return a figure of eight, which crosses itself at a right angle."""
    angle = 2.0 * np.pi * shares
    return RADIUS_M * np.stack([np.sin(angle), np.sin(2.0 * angle) / 2.0], axis=-1)


shapes = pytest.mark.parametrize('shape', [circle, eight])


def circuit_along(points: np.ndarray, steps: np.ndarray | None = None) -> module.Circuit:
    """Return a circuit of points at even distances, so many seconds (n,) from each to the next."""
    count, behind = len(points), np.roll(points, -1, axis=0)
    ahead = behind - np.roll(points, 1, axis=0)
    steps = np.full(count, 15.0 / count) if steps is None else steps
    return module.Circuit(
        points=points, headings=ahead / np.linalg.norm(ahead, axis=1, keepdims=True),
        seconds=np.concatenate([[0.0], np.cumsum(steps)]), deviations=np.zeros(count),
        spreads=np.zeros(count + 1), sureness=1.0, repeated=1.0,
        length_m=float(np.linalg.norm(behind - points, axis=1).sum()), reach_m=2.0,
    )  # fmt: skip


def even(shape, count: int = 400) -> np.ndarray:
    fine = shape(np.linspace(0.0, 1.0, 20_001))
    metres = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(fine, axis=0), axis=1))])
    at = np.linspace(0.0, metres[-1], count + 1)[:-1]
    return np.column_stack([np.interp(at, metres, axis) for axis in fine.T])


def varied(shape) -> module.Circuit:
    return circuit_along(even(shape), np.random.default_rng(0).uniform(0.02, 0.06, 400))


def naive_metres(circuit: module.Circuit, position: np.ndarray, direction: np.ndarray) -> float:
    """Return the way to the nearest point of all segments that go in a direction."""
    closed = np.vstack([circuit.points, circuit.points[:1]])
    best, found = math.inf, math.nan
    for k, (begin, end) in enumerate(itertools.pairwise(closed)):
        side = end - begin
        if side @ direction < 0.5 * np.linalg.norm(side) * np.linalg.norm(direction):
            continue
        share = min(max((position - begin) @ side / (side @ side), 0.0), 1.0)
        apart = float(np.linalg.norm(position - begin - share * side))
        if apart < best:
            best, found = apart, (k + share) / len(circuit) * circuit.length_m
    return found % circuit.length_m if best <= circuit.reach_m else math.nan


def apart(one: float, other: float, length: float) -> float:
    return abs((one - other + 0.5 * length) % length - 0.5 * length)


@shapes
def test_a_place_is_that_of_the_nearest_segment_in_its_direction(shape):
    circuit = circuit_along(even(shape))
    rng = np.random.default_rng(1)
    step = circuit.length_m / len(circuit)
    for share in rng.random(150):
        k = int(share * len(circuit))
        position = circuit.points[k] + rng.uniform(-1.2, 1.2, 2)
        direction = circuit.headings[k] * rng.uniform(0.1, 20.0)
        spot = circuit.locate(position, direction)
        naive = naive_metres(circuit, position, direction)
        assert apart(spot.metres, naive, circuit.length_m) < 0.25 * step
        assert 0.0 <= spot.metres < circuit.length_m


def test_a_lane_back_beside_the_way_out_is_another_place():
    """To and fro: the same positions twice a lap, in opposite directions."""
    out = np.column_stack([np.linspace(0.0, 50.0, 101), np.zeros(101)])
    circuit = circuit_along(np.concatenate([out, out[::-1] + np.array([0.0, 0.1])]))
    there = circuit.locate(np.array([20.0, 0.05]), np.array([3.0, 0.0])).metres
    back = circuit.locate(np.array([20.0, 0.05]), np.array([-3.0, 0.0])).metres
    assert there == pytest.approx(20.0, abs=1.0)
    assert back == pytest.approx(80.0, abs=1.5)
    # Who stands shows no direction, but has come from somewhere.
    still = circuit.locate(np.array([20.0, 0.05]), np.zeros(2), between=(75.0, 85.0)).metres
    assert still == pytest.approx(back, abs=0.5)


def tracks_of(laps: int, shape=circle, seed: int = 0, begin: float = 0.0) -> np.ndarray:
    """Return laps of 150 ticks, with noise of a tenth of a step."""
    shares = begin + np.arange(round(laps * LAP_TICKS)) / LAP_TICKS
    step = 2.0 * np.pi * RADIUS_M / LAP_TICKS
    return shape(shares) + 0.05 * step * np.random.default_rng(seed).normal(size=(len(shares), 2))


def found(*tracks: np.ndarray) -> module.Circuit | None:
    places = merge_passes(tracks, PERIOD_S)
    assert places is not None
    return module.find_circuit(places, tracks, PERIOD_S)


@shapes
@pytest.mark.parametrize('chopped', [False, True])
def test_laps_give_a_circuit_of_their_length_and_time(shape, chopped):
    whole = tracks_of(6, shape)
    parts = [whole[begin : begin + 220] for begin in range(0, 680, 200)] if chopped else [whole]
    circuit = found(*parts)
    assert circuit.length_m == pytest.approx(circuit_along(even(shape)).length_m, rel=0.03)
    assert circuit.lap_s == pytest.approx(LAP_TICKS * PERIOD_S, rel=0.02)
    steps = np.linalg.norm(np.diff(circuit.points, axis=0), axis=1)
    assert steps == pytest.approx(circuit.length_m / len(circuit), rel=0.1)
    assert found(np.column_stack([np.arange(600.0), 0.01 * np.arange(600.0)])) is None


def out_and_in() -> list[np.ndarray]:
    """Return drives from a garage beside the line onto it, laps, and back."""
    lane = np.linspace(1.4, 1.0, 60)[:, None]
    outward = lane * circle(np.linspace(-0.15, 0.0, 60))
    inward = lane[::-1] * circle(np.linspace(0.0, 0.15, 60))
    drive = np.concatenate([outward, tracks_of(5), inward])
    return [drive, drive + 0.02]


def spins() -> list[np.ndarray]:
    """Return small circles that come back to a place in a tenth of a lap, more than laps."""
    spin = [RADIUS_M - 2.5, 0.0] + circle(np.linspace(0.0, 1.0, 15)) / 8.0
    lap = tracks_of(1)
    return [np.concatenate([lap, spin, spin, lap, spin, lap, lap, spin, lap, lap, lap])]


@pytest.mark.parametrize('drives', [out_and_in(), spins()], ids=['pit lane', 'spins'])
def test_pit_lanes_and_spins_are_no_laps(drives):
    circuit = found(*drives)
    assert circuit.length_m == pytest.approx(2.0 * np.pi * RADIUS_M, rel=0.05)
    assert circuit.lap_s == pytest.approx(LAP_TICKS * PERIOD_S, rel=0.05)


def test_ways_and_laps_along_a_circuit_are_those_that_were_driven():
    circuit = circuit_along(even(circle))
    track = tracks_of(4, begin=-0.1, seed=3)
    ways = module.way_along(circuit, track, np.gradient(track, axis=0))
    want = (np.arange(len(track)) / LAP_TICKS - 0.1) * circuit.length_m
    assert ways - ways[0] == pytest.approx(want - want[0], abs=0.5)
    laps = module.laps_along(circuit, ways, PERIOD_S)
    assert laps.shape == (3, len(circuit) + 1)
    assert laps[:, -1] == pytest.approx([15.0] * 3, abs=0.05)
    assert (np.diff(laps, axis=1) >= 0.0).all()
    gap = ways.copy()
    gap[200:220] = np.nan
    assert len(module.laps_along(circuit, gap, PERIOD_S)) == 2


def held_out(circuit: module.Circuit, errors_m: np.ndarray, deviation_m: float) -> tuple:
    """Return laps that are estimated with errors (laps, n) along the way, metres."""
    laps = len(errors_m), 1
    truths, headings = np.tile(circuit.points, laps), np.tile(circuit.headings, laps)
    covariances = np.tile(deviation_m**2 * np.eye(2), (len(truths), 1, 1))
    positions = truths + errors_m.reshape(-1, 1) * headings
    return positions, headings, covariances, truths, headings


def test_the_start_line_is_where_held_out_drives_were_timed_best():
    circuit = circuit_along(even(circle))
    rng = np.random.default_rng(4)
    sizes = np.where(np.abs(np.arange(400) - 250) < 30, 0.02, 0.4)
    errors = sizes * rng.normal(size=(12, 400))
    timed = module.calibrated(circuit, [held_out(circuit, errors, 0.4)])
    start = circuit.locate(timed.points[0], timed.headings[0]).metres
    assert apart(start, 250 / 400 * circuit.length_m, circuit.length_m) < 0.05 * circuit.length_m
    assert timed.deviations[0] == timed.deviations.min()
    speed = circuit.length_m / circuit.lap_s
    assert timed.deviations[200] == pytest.approx(0.4 / speed, rel=0.2)


@pytest.mark.parametrize('factor', [0.5, 1.0, 3.0])
def test_the_sureness_is_the_ratio_of_errors_to_what_the_filter_says(factor):
    circuit = circuit_along(even(circle))
    errors = 0.2 * factor * np.random.default_rng(2).normal(size=(10, 400))
    run = held_out(circuit, errors, 0.2)
    # An estimate beside the circuit does not count.
    run[0][40:60] = 500.0
    timed = module.calibrated(circuit, [run])
    naive = np.sqrt(np.mean(errors**2)) / 0.2
    assert timed.sureness == pytest.approx(naive, rel=0.05)


@pytest.mark.parametrize('own', [0.05, 0.2, 1.0])
def test_the_repeated_share_is_what_differs_between_laps(own):
    """Errors that are the same on all laps, and a part of its own on each; over whole bends."""
    circuit = circuit_along(even(circle))
    rng = np.random.default_rng(6)
    common = np.repeat(rng.normal(size=50), 8) * math.sqrt(1.0 - own**2)
    alone = np.repeat(rng.normal(size=(20, 50)), 8, axis=1) * own
    timed = module.calibrated(circuit, [held_out(circuit, 0.3 * (common + alone), 0.3)])
    assert timed.repeated == pytest.approx(own, abs=0.05, rel=0.15)


def test_without_held_out_drives_the_start_line_is_where_driving_is_fastest():
    circuit = varied(circle)
    timed = module.calibrated(circuit, [])
    assert timed.seconds[1] == pytest.approx(np.diff(circuit.seconds).min())
    assert not timed.deviations.any()
    # A deviation is worth the time that it takes there, times the sureness.
    behind, ahead = circuit.seconds_along(np.array([29.0, 31.0]))
    wide = module.deviation_at(30.0, 1.0, replace(circuit, sureness=2.0).known)
    assert wide == pytest.approx(ahead - behind)


def test_a_predicted_lap_begins_as_usual_and_ends_as_it_was():
    course = varied(eight).seconds
    assert module.predicted(course, 0.0, 0.0) == pytest.approx(course[-1])
    for took in (0.8, 1.0, 1.3):
        assert module.predicted(course, took * course[-1], course[-1]) == pytest.approx(
            took * course[-1]
        )
    for usual in course[::40]:
        assert module.predicted(course, usual, usual) == pytest.approx(course[-1])
    slower = module.predicted(course, 1.1 * course[200], course[200])
    assert course[-1] + 0.1 * course[200] < slower < 1.1 * course[-1]


def test_spreads_are_the_errors_of_predicted_laps_of_the_training():
    circuit = varied(circle)
    laps = np.array([1.0, 1.1, 0.95])[:, None] * circuit.seconds
    spread = module.with_spreads(circuit, laps).spreads
    passed = float(circuit.seconds[120])
    errors = [module.predicted(circuit.seconds, float(lap[120]), passed) - lap[-1] for lap in laps]
    assert spread[120] == pytest.approx(math.sqrt(np.mean(np.square(errors))))
    assert spread[-1] == pytest.approx(0.0, abs=1e-9)
    unknown = module.with_spreads(circuit, np.empty((0, 401))).spreads
    assert unknown[0] == pytest.approx(0.25 * circuit.lap_s)
    assert unknown[-1] == pytest.approx(0.0, abs=1e-9)


def test_spots_of_many_positions_are_those_of_each():
    circuit = varied(eight)
    random = np.random.default_rng(3)
    positions = circuit.points[random.integers(0, len(circuit), 200)]
    positions += 0.5 * circuit.reach_m * random.standard_normal((200, 2))
    directions = random.standard_normal((200, 2))
    directions[::7] = 0.0
    positions[::11], directions[::13] = np.nan, np.nan
    metres, _ = module.spots_along(circuit, positions, directions)
    for position, direction, way in zip(positions, directions, metres, strict=True):
        known = np.isfinite([*position, *direction]).all()
        one = circuit.locate(position, direction).metres if known else np.nan
        assert way == pytest.approx(one, nan_ok=True)
    assert 10 < np.isnan(metres).sum() < 190
