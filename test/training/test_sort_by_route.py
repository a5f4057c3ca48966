# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings by the route that they are of: by their places, their frames, or by given names."""

from dataclasses import replace

import numpy as np
from other_recordings import with_positions
import pytest
from worlds.network import rounds, tram_network, travel, Yard, yard_network

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection import shared_places as shared_places_module
from two_manifold_ros.inspection.shared_places import (
    LOOK_S,
    SHARED,
    shared_places,
    sort_by_route,
)


def names(routes):
    return {route: [each.name for each in group] for route, group in routes.items()}


def moved_to_town(drive, metres):
    places = drive.positions.positions + np.array([metres, 0.0])
    return with_positions(drive, frame_id='town', positions=places)


def named(recording, name):
    return replace(recording, name=name)


@pytest.mark.parametrize('share', [0.5, 1.0])
def test_lines_with_a_common_trunk_and_errands_in_a_yard_are_networks(share, monkeypatch):
    monkeypatch.setattr(shared_places_module, 'LOOK_S', share * LOOK_S)
    network = tram_network()
    drives = [
        named(travel(network, rounds(network, [line] * 2), seed=seed).recording, line)
        for seed, line in enumerate(network.lines)
    ]
    found = sort_by_route(drives)
    assert names(found) == {'east': ['east', 'north', 'south']}
    assert [each.line for each in found['east']] == ['east', 'north', 'south']
    yard = Yard()
    errands = [
        named(travel(yard_network(), yard.errands(40, seed), seed=seed).recording, f'day_{seed}')
        for seed in range(3)
    ]
    found = sort_by_route(errands)
    assert names(found) == {'day_0': ['day_0', 'day_1', 'day_2']}
    # They drive the same aisles: none is a line of its own.
    assert {each.line for each in found['day_0']} == {''}


def lines(routes):
    return {route: sorted({each.line for each in group}) for route, group in routes.items()}


def test_given_names_are_lines_on_one_map_where_they_share_places_or_as_is_said(kart_drives):
    # hall_0, hall_1, paddock_0, paddock_1, ring_0, ring_1
    drives = [drive for both in kart_drives.values() for drive in both]
    drives = [moved_to_town(each, 2000.0 * (number // 2)) for number, each in enumerate(drives)]
    found = sort_by_route(drives, ['b', 'b', 'a', 'a', 'd', 'c'])
    assert names(found) == {
        'a': ['paddock_0', 'paddock_1'], 'b': ['hall_0', 'hall_1'], 'c': ['ring_0', 'ring_1']
    }  # fmt: skip
    assert lines(found) == {'a': ['a'], 'b': ['b'], 'c': ['c', 'd']}
    # Of one name is one map, whatever is shared.
    found = sort_by_route(drives, ['a', 'a', 'a', 'a', 'b', 'b'])
    assert names(found)['a'] == ['hall_0', 'hall_1', 'paddock_0', 'paddock_1']
    # And a map that is named has what is said.
    found = sort_by_route(drives, ['x/1', 'y/1', 'x/2', 'x/2', 'p', 'p'])
    assert names(found) == {
        'p': ['ring_0', 'ring_1'], 'x': ['hall_0', 'paddock_0', 'paddock_1'], 'y/1': ['hall_1']
    }  # fmt: skip
    assert lines(found) == {'p': ['p'], 'x': ['x/1', 'x/2'], 'y/1': ['y/1']}
    with pytest.raises(InputError, match='2 names of routes for 6 bags'):
        sort_by_route(drives, ['a', 'b'])
    with pytest.raises(InputError, match='names no map, or no line'):
        sort_by_route(drives, ['a/', 'b', 'b', 'b', 'b', 'b'])


def test_one_name_in_two_frames_is_refused(kart_drives):
    bags = [kart_drives['hall'][0], kart_drives['ring'][0]]
    with pytest.raises(InputError, match='bags of the name a are in several frames'):
        sort_by_route(bags, ['a', 'a'])
    with pytest.raises(
        InputError, match=r'bags of the map m are in several frames \(hall, ring\)'
    ):
        sort_by_route(bags, ['m/a', 'm/b'])


@pytest.mark.parametrize(
    ('paths', 'expected'),
    [
        (['x/run_1', 'y/run_1/'], ['x', 'y']),
        (['/data/set/x/run_1', '/data/set/y/run_1'], ['x', 'y']),
        (['x/in/run_1.mcap', 'y/in/run_1.mcap'], ['x', 'y']),
        (['x/run_1', 'y/run_2'], ['run_1', 'run_2']),
        (['run_1', 'y/run_1'], ['run_1', 'y_run_1']),
        (['a/x/run', 'a/y/run', 'b/x/run'], ['a_x_run', 'a_y_run', 'b_x_run']),
        # Folders that are there, and a file beside them: it alone has an ending.
        (['run_1.2', 'run_1.3/', 'run_1.4.mcap'], ['run_1.2', 'run_1.3', 'run_1.4']),
    ],
)
def test_routes_are_named_by_the_least_that_tells_bags_apart(
    kart_drives, paths, expected, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for folder in ('run_1.2', 'run_1.3'):
        (tmp_path / folder).mkdir()
    drives = [kart_drives[each][0] for each in ('hall', 'ring', 'paddock')]
    bags = [named(each, path) for each, path in zip(drives, paths, strict=False)]
    assert sorted(sort_by_route(bags)) == expected


def test_roads_beside_each_other_are_apart_from_a_distance_on():
    random = np.random.default_rng(0)

    def shared(apart_m: float, look_s: float) -> np.ndarray:
        along = np.arange(0.0, 600.0, 20.0 * look_s)
        roads = [np.stack([along, np.full(len(along), y)], axis=1) for y in (0.0, apart_m)]
        return shared_places(
            [road + random.normal(0.0, 0.1, road.shape) for road in roads], look_s
        )

    assert shared(24.0, LOOK_S)[0, 1] > SHARED
    assert shared(40.0, LOOK_S)[0, 1] < SHARED
    # Fewer positions would let them fall together.
    assert shared(40.0, 2.0 * LOOK_S)[0, 1] > SHARED


@pytest.mark.parametrize('jump_s', [-1000, 3600 * 24 * 365 * 5])
def test_a_clock_that_is_set_on_the_way_parts_no_day_from_its_route(jump_s, kart_drives):
    # As on a computer without a battery, which asks for the time when it has a network.
    one, other = kart_drives['hall']
    later_ns = one.imu.stamps[len(one.imu.stamps) // 3]

    imu, positions = (
        replace(each, stamps=each.stamps + (each.stamps >= later_ns) * jump_s * 10**9)
        for each in (one.imu, one.positions)
    )
    jumped = replace(one, imu=imu, positions=positions)
    assert names(sort_by_route([jumped, other])) == {'hall_0': ['hall_0', 'hall_1']}
