# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Networks of roads: kart tracks of one kart, tram lines with a trunk, errands in a yard."""

import itertools

import numpy as np
import pytest
from scipy.spatial import KDTree
from worlds.drive import mounting
from worlds.network import rounds, tracks, tram_network, travel, Yard
from worlds.table import world_named

LINES = tuple(tram_network().lines)


def test_tracks_are_of_one_kart_and_nothing_else_alike():
    worlds = tracks()
    assert len({world.name for world in worlds}) == len(worlds) == 12
    kart = world_named('kart')
    for world in worlds:
        assert mounting(world, 1).as_quat() == pytest.approx(mounting(kart, 1).as_quat())
    corners = [np.array(world.corners)[:, :2].ravel() for world in worlds]
    for one, other in itertools.combinations(corners, 2):
        assert np.abs(one - other).max() > 20.0


@pytest.mark.parametrize(('one', 'other'), itertools.combinations(LINES, 2))
def test_lines_share_their_trunk_and_leave_it(one, other):
    first, second = (
        travel(tram_network(), rounds(tram_network(), [name]), seed=1).truth
        for name in (one, other)
    )
    near = KDTree(second).query(first)[0]
    trunk = (first[:, 0] < 500.0) & (first[:, 1] < 60.0)
    # The line wanders by centimetres, and samples are up to 30 cm apart.
    assert near[trunk].max() < 0.5
    assert (near[~trunk] > 30.0).mean() > 0.3


def test_trams_halt_at_the_stops_of_their_line():
    made = travel(tram_network(), rounds(tram_network(), ['east', 'east']), seed=4)
    rate = tram_network().world.rate_hz
    stands = np.linalg.norm(np.diff(made.truth, axis=0), axis=1) * rate < 0.02
    stops = np.array(tram_network().stops)[:, :2]
    apart = KDTree(stops).query(made.truth[1:][stands])[0]
    assert (apart < 4.0).mean() > 0.6
    # The first is its own start; each round it halts four times on the trunk and once beyond.
    begins = np.flatnonzero(np.diff(stands.astype(np.int64)) == 1)
    assert len(begins) >= 9


@pytest.mark.parametrize('seed', range(5))
def test_errands_go_along_aisles_and_never_straight_back(seed):
    yard = Yard()
    corners = np.array(yard.errands(20, seed))[:, :2]
    steps = np.diff(corners, axis=0)
    assert ((np.abs(steps) > 0.0).sum(axis=1) == 1).all()
    apart = np.abs(steps).sum(axis=1)
    assert set(apart.round(6).tolist()) <= set(yard.apart_m)
    assert ((steps[1:] * steps[:-1]).sum(axis=1) >= 0.0).all()
    assert corners[1:].min() >= 0.0
