# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Passes become places: as many as one lap has, and only what is one road becomes one."""

import itertools

from naive_route import merged_greedily
import numpy as np
import pytest

from two_manifold_ros.route.merging import FINENESS, merge_passes, merge_steps, Places
from two_manifold_ros.ticks.standing import standing, stretches_of, usual_speed

PERIOD_S = 0.1
RADIUS_M = 20.0
LAP_TICKS = 150
STEP_M = 2.0 * np.pi * RADIUS_M / LAP_TICKS


def places_of(*tracks: np.ndarray) -> Places:
    places = merge_passes(tracks, PERIOD_S)
    assert places is not None
    return places


def stands(track: np.ndarray, moving: np.ndarray | None = None) -> np.ndarray:
    """Return where a vehicle stands, at the usual speed of this track or another."""
    speed = usual_speed([track if moving is None else moving], PERIOD_S)
    return standing([track], speed, PERIOD_S)[0]


def circle(laps: float, seed: int = 0, noise: float = 0.05) -> np.ndarray:
    """Drive around, a little beside the line on each lap and with noise of the positions."""
    rng = np.random.default_rng(seed)
    ticks = round(laps * LAP_TICKS)
    angle = 2.0 * np.pi * np.arange(ticks) / LAP_TICKS
    beside = np.repeat(rng.normal(size=round(np.ceil(laps)) + 1), LAP_TICKS)[:ticks]
    beside = np.convolve(np.pad(beside, 25, 'edge'), np.full(51, 1 / 51), 'valid')
    reach = RADIUS_M + 0.3 * STEP_M * beside
    line = reach[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return line + noise * STEP_M * rng.normal(size=line.shape)


@pytest.mark.parametrize('laps', [2, 5, 20])
def test_any_number_of_laps_gives_the_places_of_one(laps):
    places = places_of(circle(laps))
    assert len(places) == pytest.approx(FINENESS * LAP_TICKS, rel=0.06)
    visits = np.bincount(places.visited, minlength=len(places))
    assert np.median(visits) == pytest.approx(laps, abs=1)


@pytest.mark.parametrize('wander', [0.0, 0.1, 0.2])
def test_a_receiver_that_wanders_while_the_vehicle_stands_makes_no_places(wander):
    """Noise in every tick, and a random walk by so many steps of the vehicle in a second."""
    rng = np.random.default_rng(7)
    laps, ticks = circle(3), 200
    begin = LAP_TICKS + 40
    walk = wander * STEP_M * np.cumsum(rng.normal(size=(ticks, 2)) * PERIOD_S**0.5, axis=0)
    stop = laps[begin] + walk + 0.05 * STEP_M * rng.normal(size=(ticks, 2))
    track = np.concatenate([laps[:begin], stop, laps[begin:]])
    still = stands(track)
    inside = still[begin : begin + ticks]
    assert inside.mean() > 0.9
    assert still.sum() - inside.sum() < 10
    places, plain = places_of(track), places_of(laps)
    assert len(places) < 1.05 * len(plain)
    assert len(places.visited) < 1.03 * len(plain.visited)


def test_a_receiver_of_one_position_a_second_still_shows_a_stop():
    """Between them lie straight lines, as fast as a vehicle that creeps."""
    rng = np.random.default_rng(3)
    laps, ticks = circle(2, noise=0.0), 300
    line = np.concatenate([laps[:100], np.repeat(laps[100:101], ticks, axis=0), laps[100:]])
    seconds = np.arange(0, len(line), 10)
    noisy = line[seconds] + 0.5 * STEP_M * rng.normal(size=(len(seconds), 2))
    track = np.stack(
        [np.interp(np.arange(seconds[-1]), seconds, axis) for axis in noisy.T], axis=1
    )
    still = stands(track)
    begin, end = max(stretches_of(still), key=lambda each: each[1] - each[0])
    assert (begin, end) == (pytest.approx(100, abs=15), pytest.approx(100 + ticks, abs=15))


@pytest.mark.parametrize('seconds', [0.5, 1.5, 3.0])
def test_standing_is_reported_from_a_second_on(seconds):
    ticks = round(seconds / PERIOD_S)
    laps = circle(2, noise=0.0)
    track = np.insert(laps, 100, np.repeat(laps[100:101], ticks, axis=0), axis=0)
    still = stands(track)
    wanted = ticks if seconds > 1.0 else 0
    assert still.sum() == pytest.approx(wanted, abs=2)
    assert still[101 : 99 + wanted].all()


def test_two_stops_beside_each_other_are_both_reported():
    """As of a queue that moves up, or a receiver that drifts."""
    laps = circle(2, noise=0.0)
    stops = np.concatenate([np.repeat(laps[100:101], 300, 0), np.repeat(laps[102:103], 250, 0)])
    drift = laps[150] + np.linspace(0.0, 3.0 * STEP_M, 600)[:, None] * [1.0, 0.0]
    track = np.concatenate([laps[:100], stops, laps[103:150], drift, laps[151:]])
    still = stands(track, laps)
    assert still[100:650].mean() > 0.95
    assert still[697:1297].mean() > 0.9
    assert still.sum() < 1160


def test_creeping_is_no_standstill():
    """A fifth of the usual speed is still driving; unknown positions show nothing."""
    laps = circle(2, noise=0.0)
    slow = np.stack([np.interp(np.arange(0, 149, 0.2), np.arange(150), c) for c in laps[:150].T])
    track = np.concatenate([laps, slow.T, np.full((50, 2), np.nan)])
    assert not stands(track, laps).any()


@pytest.mark.parametrize('lap_ticks', [8, 15, 30])
def test_a_lap_of_a_second_or_two_is_no_standstill(lap_ticks):
    angle = 2.0 * np.pi * np.arange(200) / lap_ticks
    assert not stands(np.stack([np.cos(angle), np.sin(angle)], axis=1)).any()


def test_laps_in_several_drives_are_merged_too():
    """And no stretch goes over from one of them to the next."""
    drives = [circle(3, seed) for seed in range(3)]
    places = places_of(*drives)
    assert len(places) == pytest.approx(FINENESS * LAP_TICKS, rel=0.06)
    assert sorted(set(places.segments.tolist())) == [0, 1, 2]
    for run in np.unique(places.runs):
        assert len(set(places.segments[places.runs == run].tolist())) == 1


def test_visits_are_where_and_when_they_say():
    track = circle(4)
    places = places_of(track)
    apart = (
        places.positions[places.visited]
        - circle(4, noise=0.0)[np.clip(np.round(places.times).astype(int), 0, len(track) - 1)]
    )
    assert np.linalg.norm(apart, axis=1).max() < places.radius_m + 2.0 * STEP_M
    assert places.times.min() > -1.0
    assert places.times.max() < len(track) + 1.0
    advance = np.diff(places.times)
    assert np.median(advance) == pytest.approx(1.0 / FINENESS, rel=0.1)
    np.testing.assert_allclose(np.linalg.norm(places.headings, axis=1), 1.0)
    assert places.usual_mps == pytest.approx(STEP_M / PERIOD_S, rel=0.05)


def two_lanes(apart: float) -> np.ndarray:
    """Drive a stretch five times along one line and five times along another, back elsewhere."""
    track, far = [], 200.0
    for lap in range(10):
        y = apart * STEP_M * (lap % 2)
        track += [
            np.linspace((0.0, y), (100.0, y), 100),
            np.linspace((101.0, y), (101.0, far), 150),
            np.linspace((100.0, far), (0.0, far), 100),
            np.linspace((-1.0, far), (-1.0, y), 150),
        ]
    return np.concatenate(track)


def test_lines_farther_apart_than_the_radius_stay_apart():
    places = places_of(two_lanes(30.0))
    assert places.radius_m < 30.0 * STEP_M
    middle = places.positions[np.abs(places.positions[:, 0] - 50.0) < 30.0]
    lower = middle[middle[:, 1] < 100.0]
    spread = np.unique(np.round(lower[:, 1] / (30.0 * STEP_M), 1))
    np.testing.assert_allclose(spread, [0.0, 1.0])
    assert (lower[:, 1] < 15.0 * STEP_M).mean() == pytest.approx(0.5, abs=0.1)


def test_a_figure_of_eight_keeps_its_crossing_apart():
    angle = 2.0 * np.pi * np.arange(6 * 200) / 200
    track = 30.0 * np.stack([np.sin(angle), np.sin(2.0 * angle) / 2.0], axis=1)
    places = places_of(track)
    near = np.linalg.norm(places.positions, axis=1) < 2.0
    ways = np.sign(places.headings[near, 0])
    assert set(ways.tolist()) == {-1.0, 1.0}
    # Each place at the crossing is left the way it was come to.
    visits = places.visited
    for before, here, after in zip(visits, visits[1:], visits[2:], strict=False):
        if near[here]:
            turned = places.headings[before] @ places.headings[after]
            assert turned > 0.7


def test_opposite_directions_stay_apart():
    there = np.linspace((0.0, 0.0), (100.0, 0.0), 100)
    track = np.concatenate([there, there[::-1]] * 5)
    places = places_of(track)
    middle = np.abs(places.positions[:, 0] - 50.0) < 30.0
    ways = np.sign(places.headings[middle, 0])
    assert (ways > 0).mean() == pytest.approx(0.5, abs=0.1)
    assert len(places) == pytest.approx(2 * FINENESS * 100, rel=0.1)


def test_unknown_positions_part_the_stretches():
    track = circle(4)
    track[210:230] = np.nan
    track[400] = np.nan
    places = places_of(track)
    assert len(np.unique(places.runs)) == 3
    assert np.isfinite(places.positions).all()
    assert np.isfinite(places.times).all()
    inside = (places.times > 211.0) & (places.times < 228.0)
    assert not inside.any()
    assert len(places) == pytest.approx(FINENESS * LAP_TICKS, rel=0.06)


@pytest.mark.parametrize(
    'track',
    [np.zeros((100, 2)), np.full((100, 2), np.nan), np.zeros((0, 2)), np.zeros((2, 2))],
    ids=['parked', 'unknown', 'empty', 'short'],
)
def test_what_never_moves_has_no_places(track):
    assert merge_passes([track], PERIOD_S) is None


def test_the_usual_speed_is_that_of_driving():
    moving = np.linspace((0.0, 0.0), (100.0, 0.0), 101)
    parked = np.repeat(moving[-1:], 150, axis=0)
    assert usual_speed([np.concatenate([moving, parked])], 0.5) == pytest.approx(2.0)


@pytest.mark.parametrize('parked', [0, 2_000, 20_000])
@pytest.mark.parametrize('leap_m', [0.0, 1e5])
def test_the_usual_speed_however_long_it_is_parked(parked, leap_m):
    """With noise that is a tenth of the usual step; and whatever a wrong position says."""
    laps = circle(5)
    noise = np.random.default_rng(3).normal(size=(parked, 2))
    track = np.concatenate([laps[0] + 0.1 * STEP_M * noise, laps])
    track[-200] += leap_m
    assert usual_speed([track], PERIOD_S) == pytest.approx(STEP_M / PERIOD_S, rel=0.03)


@pytest.mark.parametrize('metres', [60.0, 6e4])
def test_no_places_lie_where_positions_jump(metres):
    """Localisation is moved half-way: there are two circles and nothing in between."""
    track = circle(10)
    track[5 * LAP_TICKS :] += metres
    places = places_of(track)
    assert len(places) == pytest.approx(2 * FINENESS * LAP_TICKS, rel=0.06)
    centre = np.where(places.positions[:, :1] > metres / 2.0, metres, 0.0)
    assert np.linalg.norm(places.positions - centre, axis=1) == pytest.approx(RADIUS_M, rel=0.1)


def test_shifted_and_turned_the_places_are_the_same():
    track = circle(3)
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    places, other = places_of(track), places_of(track @ turn.T + [1000.0, -500.0])
    assert len(other) == pytest.approx(len(places), abs=3)


@pytest.mark.parametrize('seed', range(3))
def test_against_a_greedy_search_over_all_places(seed):
    """Every step is looked for among all places, not along the map first."""
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(2):
        turns = np.cumsum(0.05 * rng.normal(size=80))
        steps = np.stack([np.cos(turns), np.sin(turns)], axis=1)
        nodes = np.cumsum(steps, axis=0) + 0.2 * rng.normal(size=2)
        headings = np.gradient(nodes, axis=0)
        headings /= np.linalg.norm(headings, axis=1, keepdims=True)
        runs.append((nodes, headings))
    again = [(nodes + 0.3 * rng.normal(size=2), headings) for nodes, headings in runs]
    nodes = np.concatenate([each for each, _ in runs + again])
    headings = np.concatenate([each for _, each in runs + again])
    radius, same_pass = 0.8, 20
    # Every step starts a stretch of its own, so that none is looked for along the map.
    every = np.ones(len(nodes), dtype=np.bool_)
    visited, opened = merge_steps(nodes, headings, np.ones(len(nodes)), every, radius, same_pass)
    wanted = merged_greedily(nodes, headings, radius, same_pass)
    np.testing.assert_array_equal(visited, wanted)
    assert 0 < len(opened) == max(wanted) + 1 < len(nodes)
    assert all(visited[i] == place for place, i in enumerate(opened))


def to_and_fro(legs: int, noise: float) -> np.ndarray:
    """Drive along a line at 15 m/s, braking to a stop at its ends by as much as a train does."""
    rng = np.random.default_rng(0)
    ends = 200.0 * (np.arange(legs + 1) % 2) + 0.3 * rng.normal(size=legs + 1)
    speed, brakes_s = 15.0, 3.0
    parts = []
    for begin, end in itertools.pairwise(ends):
        ticks = round((abs(end - begin) / speed + brakes_s) / PERIOD_S)
        ramp = np.minimum(np.arange(1, ticks + 1), np.arange(ticks, 0, -1)) * PERIOD_S / brakes_s
        shares = np.cumsum(ramp.clip(max=1.0))
        parts.append(begin + (end - begin) * shares / shares[-1])
    along = np.concatenate(parts)
    line = np.stack([along, np.full(len(along), 3.0)], axis=1)
    return line + noise * rng.normal(size=line.shape)


@pytest.mark.parametrize('noise', [0.0, 0.05])
def test_a_line_driven_to_and_fro_has_each_place_twice(noise):
    """However often, and at the end one direction leads to the other."""
    tracks = [to_and_fro(legs, noise) for legs in (6, 12, 24)]
    few, more, most = (places_of(track) for track in tracks)
    assert len(most) < 1.05 * len(more) < 1.1 * len(few)
    np.testing.assert_allclose(np.linalg.norm(most.headings, axis=1), 1.0)
    forward = most.headings[most.visited, 0] > 0.0
    # A visit is driven as its place is.
    along = np.interp(most.times, np.arange(len(tracks[-1])), tracks[-1][:, 0])
    step = np.diff(along)
    away = (along[1:-1] > 20.0) & (along[1:-1] < 180.0)
    assert ((step[1:] > 0.0) == forward[1:-1])[away].all()
    # It turns back once at each end that it gets to, where it has done so before.
    turns = np.flatnonzero(forward[1:] != forward[:-1])
    assert len(turns) == pytest.approx(23, abs=1)
    assert np.abs(along[turns] - 200.0 * forward[turns]).max() < 3.0
    assert np.bincount(most.visited)[most.visited[turns]].mean() > 5.0
