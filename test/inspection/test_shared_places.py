# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which recordings go onto one map: each two by themselves, whatever else there is."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import drives_of_no_use as simple
import numpy as np
import pytest

from two_manifold_ros.inspection.shared_places import group_by_places, sort_by_route
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording

TURN = 2.0 * np.pi


def recorded(
    name: str, track: np.ndarray, rate_hz: float = 20.0, seed: int = 0, noise_m=0.005
) -> Recording:
    """Record a drive along positions, metres, with noise."""
    stamps = simple.START_NS + np.round(np.arange(len(track)) * 1e9 / rate_hz).astype(np.int64)
    track = track + np.random.default_rng(seed).normal(size=track.shape) * noise_m
    kind = 'geometry_msgs/msg/PoseStamped'
    positions = PositionStream('/pose', 'map', kind, stamps, track)
    return Recording(
        name, ImuStream('/imu', 'imu', stamps, np.zeros((len(track), 6)), stamps), positions
    )


def oval(
    name, at=(0.0, 0.0), size=(4.0, 2.4), lap_s=10.0, laps=4.0, rate_hz=20.0, seed=0, noise_m=0.005
):
    """Drive around an oval; backwards if a lap takes less than no time."""
    turns = TURN * np.arange(round(laps * abs(lap_s) * rate_hz)) / rate_hz / lap_s
    track = at + np.stack([np.cos(turns), np.sin(turns)], axis=1) * size
    return recorded(name, track, rate_hz, seed, noise_m)


def course(name, seed, shift_m=0.0, seconds=40.0):
    made = simple.drive(simple.track(seed=seed), seconds, seed=round(100 * shift_m))
    return recorded(name, made.positions.positions + shift_m, 25.0, seed)


def road(name, corners, laps=1, speed=10.0):
    """Drive from the origin by corners, metres, and as often again from the first one on."""
    corners = np.array([(0.0, 0.0), *corners])
    far = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))])
    at = np.arange(0.0, laps * far[-1], speed / 20.0) % far[-1]
    return recorded(name, np.stack([np.interp(at, far, each) for each in corners.T], axis=1))


def loop(name, height):
    """Drive twice along a street of 80 m and back over another one, up or down."""
    return road(name, [(80.0, 0.0), (80.0, height), (0.0, height), (0.0, 0.0)], laps=2)


def grouped(recordings: Sequence[Recording]) -> set[frozenset[str]]:
    return {frozenset(each.name for each in group) for group in group_by_places(recordings)}


SETS = {
    'nothing is shared': ([oval('a'), oval('b', (20.0, 0.0)), oval('c', (0.0, 20.0))], 'a b c'),
    'they cross': ([oval('a'), oval('b', size=(2.4, 4.0)), oval('c', (5.0, 1.0))], 'a b c'),
    'as far apart as the reviewed ones': (
        [
            oval(n, (x, 0.0), (2.0, 1.2), 5.0, 8.0, seed=i)
            for i, (n, x) in enumerate([('a', 0.0), ('b', 1.2), ('c', 2.4)])
        ],
        'a b c',
    ),
    'a street is shared': ([loop('a', 50.0), loop('b', -50.0), loop('c', -90.0)], 'abc'),
    'one is driven twice': (
        [oval('a'), oval('b', lap_s=13.0, seed=1), oval('c', (3.0, 0.0))],
        'ab c',
    ),
    'one is driven back': ([oval('a'), oval('b', lap_s=-10.0), oval('c', lap_s=-9.0)], 'a bc'),
    'calibrated anew': ([course('a', 1), course('b', 1, 0.1), course('c', 1, 0.3)], 'abc'),
    'calibrated anew beside one that crosses': (
        [course('a', 5), course('b', 5, 0.2), course('c', 6), course('d', 6, 0.3)],
        'ab cd',
    ),
    'no lap is closed': (
        [
            road('a', [(100.0, 0.0), (200.0, 90.0)]),
            road('b', [(100.0, 0.0), (200.0, -90.0)]),
            road('c', [(0.0, 200.0)]),
        ],
        'ab c',
    ),
    'a lap, and less': (
        [course('a', 3), course('b', 3, seconds=10.0), course('c', 3, seconds=5.0)],
        'abc',
    ),
}

STANDS = recorded('stands', np.zeros((600, 2)))
BESIDE = {
    'none': [],
    'large': [oval(f'l{i}', (500.0 * i + 500.0, 0), (30.0, 18.0), noise_m=0.3) for i in range(3)],
    'small': [oval(f's{i}', (0.0, -500.0 - 9.0 * i), (0.8, 0.5), 3.0) for i in range(3)],
    'seldom': [oval(f'r{i}', (-500.0 - 500.0 * i, 0.0), rate_hz=5.0) for i in range(2)],
    'once': [recorded('once', np.linspace([3e3, 0.0], [4e3, 0.0], 1200)), STANDS],
}  # fmt: skip


@pytest.mark.parametrize('beside', BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize(('drives', 'expected'), SETS.values(), ids=SETS)
def test_what_shares_a_map_depends_on_these_drives_alone(drives, expected, beside):
    wanted = {frozenset(each) for each in expected.split()}
    wanted |= {frozenset([each.name]) for each in beside}
    for order in list(permutations(drives))[:: 2 + bool(beside)]:
        assert grouped([*order[:1], *beside, *order[1:]]) == wanted
    # Nor on how they are named, and so in which order they are sorted.
    other = dict(zip('abcd', 'zyxw', strict=True))
    again = [replace(each, name=other.get(each.name, each.name)) for each in [*beside, *drives]]
    found = sort_by_route(again).values()
    turned = {frozenset(other.get(each, each) for each in group) for group in wanted}
    assert {frozenset(each.name for each in group) for group in found} == turned


@pytest.mark.parametrize('scale', [0.2, 5.0, 100.0])
@pytest.mark.parametrize('which', ['they cross', 'one is driven twice', 'calibrated anew'])
def test_models_of_vehicles_are_sorted_as_large_ones(which, scale):
    drives, expected = SETS[which]
    drives = [
        replace(
            each, positions=replace(each.positions, positions=scale * each.positions.positions)
        )
        for each in drives
    ]
    assert grouped(drives) == {frozenset(each) for each in expected.split()}
