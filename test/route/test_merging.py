# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Passes become places: as many as one lap has, of one road each, split before forks."""

from __future__ import annotations

import itertools

from naive_route import merged_greedily
import numpy as np
import pytest

from two_manifold_ros.route.merging import (
    FINENESS,
    merge_passes,
    merge_steps,
    Places,
    split_before_forks,
)
from two_manifold_ros.ticks.rest import usual_speed

PERIOD_S = 0.1
RADIUS_M = 20.0
LAP_TICKS = 150
STEP_M = 2.0 * np.pi * RADIUS_M / LAP_TICKS


def places_of(*tracks: np.ndarray) -> Places:
    places = merge_passes(tracks, PERIOD_S)
    assert places is not None
    return places


def circle(laps: float, noise: float = 0.05) -> np.ndarray:
    """Drive around, a little beside the line on each lap and with noise of the positions."""
    rng = np.random.default_rng(0)
    ticks = round(laps * LAP_TICKS)
    angle = 2.0 * np.pi * np.arange(ticks) / LAP_TICKS
    beside = np.repeat(rng.normal(size=round(np.ceil(laps)) + 1), LAP_TICKS)[:ticks]
    beside = np.convolve(np.pad(beside, 25, 'edge'), np.full(51, 1 / 51), 'valid')
    reach = RADIUS_M + 0.3 * STEP_M * beside
    line = reach[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return line + noise * STEP_M * rng.normal(size=line.shape)


@pytest.mark.parametrize('laps', [2, 5, 20])
def test_any_number_of_laps_gives_the_places_of_one_which_are_where_they_say(laps):
    track = circle(laps)
    places = places_of(track)
    assert len(places) == pytest.approx(FINENESS * LAP_TICKS, rel=0.06)
    visits = np.bincount(places.visited, minlength=len(places))
    assert np.median(visits) == pytest.approx(laps, abs=1)
    at = np.round(places.times).astype(int)
    assert -1 <= at.min() < at.max() <= len(track)
    apart = places.positions[places.visited] - circle(laps, 0.0)[at.clip(0, len(track) - 1)]
    assert np.linalg.norm(apart, axis=1).max() < places.radius_m + 2.0 * STEP_M
    assert np.median(np.diff(places.times)) == pytest.approx(1.0 / FINENESS, rel=0.1)
    np.testing.assert_allclose(np.linalg.norm(places.headings, axis=1), 1.0)
    assert places.usual_mps == pytest.approx(STEP_M / PERIOD_S, rel=0.05)


def test_a_figure_of_eight_keeps_its_crossing_apart():
    angle = 2.0 * np.pi * np.arange(6 * 200) / 200
    places = places_of(30.0 * np.stack([np.sin(angle), np.sin(2.0 * angle) / 2.0], axis=1))
    near = np.linalg.norm(places.positions, axis=1) < 2.0
    assert set(np.sign(places.headings[near, 0]).tolist()) == {-1.0, 1.0}
    # Each place at the crossing is left the way it was come to.
    headings = places.headings[places.visited]
    straight = (headings[:-2] * headings[2:]).sum(axis=1)
    assert straight[near[places.visited[1:-1]]].min() > 0.7


def test_unknown_positions_part_the_stretches_and_what_never_moves_has_no_places():
    track = circle(4)
    track[[*range(210, 230), 400]] = np.nan
    places = places_of(track)
    assert len(np.unique(places.runs)) == 3
    assert np.isfinite(places.positions).all()
    assert np.isfinite(places.times).all()
    assert not ((places.times > 211.0) & (places.times < 228.0)).any()
    assert len(places) == pytest.approx(FINENESS * LAP_TICKS, rel=0.06)
    for ticks, position in ((100, 0.0), (100, np.nan), (2, 0.0), (0, 0.0)):
        assert merge_passes([np.full((ticks, 2), position)], PERIOD_S) is None


@pytest.mark.parametrize('parked', [0, 2_000, 20_000])
@pytest.mark.parametrize('leap_m', [0.0, 1e5])
def test_the_usual_speed_however_long_it_is_parked(parked, leap_m):
    """With noise that is a tenth of the usual step; and whatever a wrong position says."""
    laps = circle(5)
    noise = np.random.default_rng(3).normal(size=(parked, 2))
    track = np.concatenate([laps[0] + 0.1 * STEP_M * noise, laps])
    track[-200] += leap_m
    assert usual_speed([track], PERIOD_S) == pytest.approx(STEP_M / PERIOD_S, rel=0.03)


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
    forward = most.headings[most.visited, 0] > 0.0
    # A visit is driven as its place is.
    along = np.interp(most.times, np.arange(len(tracks[-1])), tracks[-1][:, 0])
    away = (along[1:-1] > 20.0) & (along[1:-1] < 180.0)
    assert ((np.diff(along)[1:] > 0.0) == forward[1:-1])[away].all()
    # It turns back once at each end that it gets to, where it has done so before.
    turns = np.flatnonzero(forward[1:] != forward[:-1])
    assert len(turns) == pytest.approx(23, abs=1)
    assert np.abs(along[turns] - 200.0 * forward[turns]).max() < 3.0
    assert np.bincount(most.visited)[most.visited[turns]].mean() > 5.0


FORK_M, BRAKES_M = 30.0, 3.0


def forked_drive(turns: bool, seed: int) -> np.ndarray:
    """Drive along x; who turns left at the fork is half as fast from three metres before on."""
    rng, radius = np.random.default_rng(seed), 4.0
    metres = [0.0]
    while metres[-1] < 2.0 * FORK_M:
        slow = turns and abs(metres[-1] - FORK_M) < BRAKES_M
        metres.append(metres[-1] + (0.1 if slow else 0.2))
    line = np.stack([metres, np.zeros(len(metres))], axis=1)
    if turns:
        beyond = (line[:, 0] - FORK_M).clip(0.0)
        angle = (beyond / radius).clip(max=0.5 * np.pi)
        line[:, 0] += radius * np.sin(angle) - beyond
        line[:, 1] = radius * (1.0 - np.cos(angle)) + beyond - radius * angle
    return line + 0.02 * rng.normal(size=line.shape)


def forked_places(*turns: bool) -> Places:
    return places_of(*(forked_drive(each, seed) for seed, each in enumerate(turns)))


def shared(places: Places, begin_m: float, end_m: float) -> float:
    """Return the share of places on a stretch before the fork that both kinds of drives visit."""
    x = places.positions[:, 0]
    here = (x > begin_m) & (x < end_m) & (np.abs(places.positions[:, 1]) < 1.0)
    one, other = (
        np.bincount(places.visited[(places.segments < 3) == turned], minlength=len(x))
        for turned in (True, False)
    )
    return float(np.mean((one[here] > 0) & (other[here] > 0)))


def test_places_before_a_fork_are_split_by_where_they_lead():
    places = forked_places(True, True, True, False, False, False)
    assert shared(places, FORK_M - BRAKES_M, FORK_M) > 0.8
    split = split_before_forks(places, 60)
    assert shared(split, FORK_M - BRAKES_M, FORK_M) < 0.1
    # Far from it they are not, and no visit is anywhere else than before.
    assert shared(split, 5.0, FORK_M - 10.0) > 0.8
    assert np.array_equal(split.positions[split.visited], places.positions[places.visited])
    # One road has the places it had, and one drive alone makes no fork.
    for turns in ((True, True, True), (True, False, False, False)):
        places = forked_places(*turns)
        assert split_before_forks(places, 60) is places
