# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Before a fork those who turn and those who do not are at places of their own."""

import numpy as np

from two_manifold_ros.route.merging import merge_passes, Places, split_before_forks

PERIOD_S = 0.1
STEP_M = 0.2
BRAKES_M = 3.0
FORK_M = 30.0


def drive(turns: bool, seed: int) -> np.ndarray:
    """Drive along x; who turns left at the fork is half as fast from three metres before on."""
    rng = np.random.default_rng(seed)
    metres = [0.0]
    while metres[-1] < 2.0 * FORK_M:
        slow = turns and abs(metres[-1] - FORK_M) < BRAKES_M
        metres.append(metres[-1] + (0.5 if slow else 1.0) * STEP_M)
    along = np.array(metres)
    radius = 4.0
    angle = (along - FORK_M).clip(0.0, 0.5 * np.pi * radius) / radius
    beyond = (along - FORK_M - 0.5 * np.pi * radius).clip(0.0)
    bent = np.stack([FORK_M + radius * np.sin(angle), radius * (1.0 - np.cos(angle)) + beyond], 1)
    straight = np.stack([along, np.zeros(len(along))], axis=1)
    line = np.where((along > FORK_M)[:, None], bent, straight) if turns else straight
    return line + 0.02 * rng.normal(size=line.shape)


def places_of(*turns: bool) -> Places:
    tracks = [drive(each, seed) for seed, each in enumerate(turns)]
    places = merge_passes(tracks, PERIOD_S)
    assert places is not None
    return places


def shared(places: Places, begin_m: float, end_m: float, turned: list[int]) -> float:
    """Return the share of places on a stretch before the fork that both kinds of drives visit."""
    x = places.positions[:, 0]
    here = (x > begin_m) & (x < end_m) & (np.abs(places.positions[:, 1]) < 1.0)
    one, other = (
        np.bincount(places.visited[np.isin(places.segments, turned) == kind], minlength=len(x))
        for kind in (True, False)
    )
    return float(np.mean((one[here] > 0) & (other[here] > 0)))


def test_places_before_a_fork_are_split_by_where_they_lead():
    places = places_of(True, True, True, False, False, False)
    before = FORK_M - BRAKES_M, FORK_M
    assert shared(places, *before, [0, 1, 2]) > 0.8
    split = split_before_forks(places, 60)
    assert shared(split, *before, [0, 1, 2]) < 0.1
    # Far from it they are not, and no visit is anywhere else than before.
    assert shared(split, 5.0, FORK_M - 10.0, [0, 1, 2]) > 0.8
    assert np.array_equal(split.positions[split.visited], places.positions[places.visited])


def test_one_road_has_the_places_it_had():
    places = places_of(True, True, True)
    assert split_before_forks(places, 60) is places


def test_one_drive_alone_makes_no_fork():
    places = places_of(True, False, False, False)
    assert split_before_forks(places, 60) is places
