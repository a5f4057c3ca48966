# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which recordings go onto one map, how routes are named, and which bags are trained on."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
import math
from random import Random

from hypothesis import example, given
from hypothesis import strategies as st
import numpy as np
from other_recordings import with_positions
import pytest
import rounds as simple
from worlds.network import rounds, tram_network, travel, Yard, yard_network

from two_manifold_ros.errors import InputError
from two_manifold_ros.fleet import ItemJournal
from two_manifold_ros.inspection import coverage
from two_manifold_ros.inspection import shared_places as shared_places_module
from two_manifold_ros.inspection.coverage import (
    choose,
    MOST_CELLS,
    recorded_s,
    Survey,
    survey_bags,
    survey_recording,
)
from two_manifold_ros.inspection.shared_places import group_by_places, LOOK_S, sort_by_route
from two_manifold_ros.recordings.reading import ReadingOptions
from two_manifold_ros.recordings.recording import GeodeticOrigin, Recording
from two_manifold_ros.recordings.satellite_fixes import in_plane
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate, write_run

TURN = 2.0 * np.pi


def recorded(name: str, track: np.ndarray, rate_hz=20.0, seed=0, noise_m=0.005) -> Recording:
    """Record a drive along positions, metres, with noise."""
    track = track + np.random.default_rng(seed).normal(size=track.shape) * noise_m
    return simple.recording_of(np.zeros((len(track), 6)), track, rate_hz, name)


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
    'they overlap': (
        [oval(name, (1.2 * seed, 0.0), (2.0, 1.2), 5.0, 8.0, seed=seed)
         for seed, name in enumerate('abc')],
        'a b c',
    ),
    'a street is shared': ([loop('a', 50.0), loop('b', -50.0), loop('c', -90.0)], 'abc'),
    'one is driven twice': ([oval('a'), oval('b', lap_s=13.0, seed=1), oval('c', (3.0, 0.0))],
                            'ab c'),
    'one is driven back': ([oval('a'), oval('b', lap_s=-10.0), oval('c', lap_s=-9.0)], 'a bc'),
    'calibrated anew beside one that crosses': (
        [course('a', 5), course('b', 5, 0.2), course('c', 6), course('d', 6, 0.3)], 'ab cd'
    ),
    'no lap is closed': (
        [road('a', [(100.0, 0.0), (200.0, 90.0)]), road('b', [(100.0, 0.0), (200.0, -90.0)]),
         road('c', [(0.0, 200.0)])],
        'ab c',
    ),
    'a lap, and less': (
        [course('a', 3), course('b', 3, seconds=10.0), course('c', 3, seconds=5.0)], 'abc'
    ),
}  # fmt: skip

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


@pytest.mark.parametrize('scale', [0.2, 100.0])
@pytest.mark.parametrize('which', ['they cross', 'one is driven twice', 'a lap, and less'])
def test_models_of_vehicles_are_sorted_as_large_ones(which, scale):
    drives, expected = SETS[which]
    drives = [moved(each, lambda xy: scale * xy) for each in drives]
    assert grouped(drives) == {frozenset(each) for each in expected.split()}


@pytest.fixture(scope='module')
def laps():
    return run_to_recording(simulate(SlotCarSettings(seed=5, rate_hz=20.0), laps=3))


def moved(recording, change):
    return with_positions(recording, positions=change(recording.positions.positions))


def bag(name, cells, lasts_s=60.0):
    """Return the survey of a bag that drives through numbered cells, in the order of its name."""
    places = frozenset((each, 0, 0) for each in cells)
    return Survey(name, '', name, 'map', lasts_s, 0, places)


def test_a_survey_has_as_many_cells_as_it_may_and_no_more(laps):
    survey, twice = (survey_recording(moved(laps, lambda xy, k=k: k * xy)) for k in (1.0, 2.0))
    assert MOST_CELLS / 8 < len(survey.cells) <= MOST_CELLS
    assert survey.lasts_s == pytest.approx(3 * 9.0, rel=0.2)
    assert (twice.cells, twice.level) == (survey.cells, survey.level + 1)
    assert Survey.of_json(survey.to_json()) == survey
    for none in (replace(laps, positions=None), moved(laps, np.ones_like)):
        assert survey_recording(none).cells == frozenset()


def test_a_bag_in_which_the_vehicle_stands_is_named_and_a_wild_fix_changes_no_cells(laps):
    drives = [survey_recording(laps.between(begin_s, None)) for begin_s in (0.0, 2.0, 4.0)]
    choice = choose([*drives, survey_recording(STANDS)])
    assert set(choice.trained) == {0, 1, 2}
    assert 'no position moves' in choice.troubles[3]
    wild = np.isin(np.arange(len(laps.positions.stamps)), [30, 70])[:, None]
    survey, far = survey_recording(laps), survey_recording(moved(laps, lambda xy: xy + 1e5 * wild))
    assert far.level == survey.level
    assert len(survey.cells - far.cells) < 0.05 * len(survey.cells)


def ranked_naively(surveys):
    """Return ranks of bags in the order of their digests, by a loop over all pairs."""
    ordered = sorted(surveys, key=lambda each: each.digest)
    ranks = {}
    for number, each in enumerate(ordered):
        before = ordered[:number]
        counts = sorted(sum(cell in other.cells for other in before) for cell in each.cells)
        ranks[each.digest] = counts[math.floor(0.1 * len(counts))]
    return ranks


ROUTES = st.lists(
    st.tuples(st.integers(0, 12), st.integers(6, 20), st.floats(10.0, 100.0)),
    min_size=3,
    max_size=25,
)
GAPPED = [*[(0, 6, 10.0)] * 4, *[(2, 6, 10.0), (1, 6, 10.0), (0, 7, 21.0)], *[(1, 6, 10.0)] * 2]
"""No bag that is not trained on has the next rank, and those of the rank after are long."""


@example(GAPPED, Random(0), 30.0)  # noqa: S311 - shuffles bags
@given(ROUTES, st.randoms(use_true_random=False), st.floats(30.0, 800.0))
def test_the_draw_is_that_of_the_definition_in_any_order(drives, shuffling, most_s):
    surveys = [
        # All have a stretch in common, so that they are of one route.
        bag(f'{number * 7919 % 97:02d}', [*range(begin, begin + count), 97, 98, 99], lasts_s)
        for number, (begin, count, lasts_s) in enumerate(drives)
    ]
    choice = choose(surveys, most_s)
    ranks = ranked_naively(surveys)
    trained = {surveys[each].digest for each in choice.trained}
    assert trained == {name for name, rank in ranks.items() if rank < choice.times}
    lasting_s = sum(surveys[each].lasts_s for each in choice.trained)
    assert lasting_s <= most_s or choice.times <= 3
    # Once more would not fit.
    more = [each for each in surveys if ranks[each.digest] <= choice.times]
    assert not choice.tried or sum(each.lasts_s for each in more) > most_s
    # As many minutes of the others are tried, those of the next ranks.
    others = [ranks[surveys[each].digest] for each in choice.tried]
    rest = [ranks[surveys[each].digest] for each in choice.rest]
    assert not others or min(others) >= choice.times
    assert not rest or max(others) < min(rest)
    tried_s = sum(surveys[each].lasts_s for each in choice.tried)
    assert tried_s <= most_s or max(others) == min(others)
    mixed = surveys.copy()
    shuffling.shuffle(mixed)
    again = choose(mixed, most_s)
    # In the same order as well: what is learned depends on it.
    assert [mixed[each].digest for each in again.trained] == sorted(trained)
    assert sorted((*again.trained, *again.tried, *again.rest)) == list(range(len(surveys)))


def test_what_is_driven_by_few_is_kept_beside_what_is_driven_by_many():
    many = [bag(f'{number:02d}', range(20)) for number in range(30)]
    few = [bag(f'x{number}', range(15, 40)) for number in range(3)]
    other = [bag(f'y{number}', range(50, 70)) for number in range(10)]
    choice = choose([*many, *few, *other], 840.0)
    assert set(choice.trained) > {30, 31, 32}
    assert {each // 33 for each in choice.trained} == {0, 1}
    assert not choice.troubles
    with pytest.raises(InputError, match='is damaged'):
        choose([Survey('a', 'a is damaged')])


@pytest.mark.parametrize(
    ('odd', 'word'),
    [
        (Survey('odd', 'odd is damaged'), 'odd is damaged'),
        (Survey('odd', digest='odd', lasts_s=60.0), 'no position moves'),
        (bag('03', range(20)), 'counts once'),
        (bag('odd', range(100, 120)), 'another route'),
        (replace(bag('odd', ()), cells=frozenset((n, 0, 2) for n in range(20))), 'another route'),
        (replace(bag('odd', range(20)), frame_id='other'), 'another route'),
        # Nor does one that reaches far make cells coarse.
        (replace(bag('far', range(20)), level=11), 'times as far'),
    ],
)
def test_a_bag_of_no_use_is_named_and_costs_nothing_else(odd, word):
    surveys = [bag(f'{number:02d}', range(20)) for number in range(10)]
    alone, beside = choose(surveys, 300.0), choose([*surveys, odd], 300.0)
    assert (beside.trained, beside.tried, beside.rest) == (alone.trained, alone.tried, alone.rest)
    assert list(beside.troubles) == [10]
    assert word in beside.troubles[10]
    # A line that is a few times as long as most drives is no other route.
    long = replace(bag('long', range(40)), level=2)
    assert not choose([*surveys, long], math.inf).troubles


def test_fixes_are_surveyed_alike_about_any_origin(laps):
    one, other = GeodeticOrigin(50.0, 8.0, 100.0), GeodeticOrigin(50.02, 8.03, 90.0)
    stream = replace(laps.positions, positions=100.0 * laps.positions.positions, origin=one)
    # A kilometre to the north, none is the same.
    north = replace(stream, positions=stream.positions + np.array([0.0, 1000.0]))
    first, again, far = (
        survey_recording(replace(laps, positions=each))
        for each in (stream, in_plane(stream, other), north)
    )
    assert first.level == again.level
    assert len(first.cells & again.cells) > 0.97 * len(first.cells)
    assert not first.cells & far.cells


def test_bags_are_surveyed_once_and_a_damaged_one_is_named(tmp_path, laps, monkeypatch):
    pytest.importorskip('rosbags')
    run = simulate(SlotCarSettings(seed=5, rate_hz=20.0), laps=3)
    paths = [str(tmp_path / name) for name in ('one', 'two', 'bad.mcap')]
    for path in paths[:2]:
        write_run(run, path)
    (tmp_path / 'bad.mcap').write_bytes(b'no bag')
    lasts_s = recorded_s(paths, math.inf)
    assert lasts_s == pytest.approx(2 * survey_recording(laps).lasts_s, rel=0.01)
    assert recorded_s(paths, 1.0) < lasts_s
    file = tmp_path / 'journal'
    first = survey_bags(paths, ReadingOptions(), None, ItemJournal(file))
    assert [bool(each.trouble) for each in first] == [False, False, True]
    assert first[0].digest == first[1].digest == survey_recording(laps).digest
    # A run that was ended in the middle of a line goes on behind the last whole one. What could
    # not be read is tried again.
    file.write_text(file.read_text()[:-20])
    monkeypatch.setattr(coverage, 'survey_bag', lambda *_: Survey('new', 'again'))
    again = survey_bags(paths, ReadingOptions(), None, ItemJournal(file))
    assert again == [first[0], *[Survey('new', 'again')] * 2]
    other = survey_bags(paths[:1], ReadingOptions(use_receive_time=True), None, ItemJournal(file))
    assert other == [Survey('new', 'again')]


def names(routes):
    return {route: [each.name for each in group] for route, group in routes.items()}


@pytest.mark.parametrize('share', [0.5, 1.0])
def test_lines_with_a_common_trunk_and_errands_in_a_yard_are_networks(share, monkeypatch):
    monkeypatch.setattr(shared_places_module, 'LOOK_S', share * LOOK_S)
    network = tram_network()
    drives = [
        replace(travel(network, rounds(network, [line] * 2), seed=seed).recording, name=line)
        for seed, line in enumerate(network.lines)
    ]
    found = sort_by_route(drives)
    assert names(found) == {'east': ['east', 'north', 'south']}
    assert [each.line for each in found['east']] == ['east', 'north', 'south']
    yard = yard_network()
    errands = [travel(yard, Yard().errands(40, seed), seed=seed).recording for seed in range(3)]
    errands = [replace(each, name=f'day_{seed}') for seed, each in enumerate(errands)]
    found = sort_by_route(errands)
    assert names(found) == {'day_0': ['day_0', 'day_1', 'day_2']}
    # They drive the same aisles: none is a line of its own.
    assert {each.line for each in found['day_0']} == {''}


def lines(routes):
    return {route: sorted({each.line for each in group}) for route, group in routes.items()}


def test_given_names_are_lines_on_one_map_where_they_share_places_or_as_is_said(kart_drives):
    drives = [drive for both in kart_drives.values() for drive in both]
    for number, each in enumerate(drives):
        places = each.positions.positions + np.array([2000.0 * (number // 2), 0.0])
        drives[number] = with_positions(each, frame_id='town', positions=places)
    found = sort_by_route(drives, ['b', 'b', 'a', 'a', 'd', 'c'])
    assert names(found) == {
        'a': ['paddock_0', 'paddock_1'], 'b': ['hall_0', 'hall_1'], 'c': ['ring_0', 'ring_1']
    }  # fmt: skip
    assert lines(found) == {'a': ['a'], 'b': ['b'], 'c': ['c', 'd']}
    # Of one name is one map, whatever is shared.
    found = sort_by_route(drives, ['a', 'a', 'a', 'a', 'b', 'b'])
    assert len(found['a']) == 4
    # And a map that is named has what is said.
    found = sort_by_route(drives, ['x/1', 'y/1', 'x/2', 'x/2', 'p', 'p'])
    assert names(found) == {
        'p': ['ring_0', 'ring_1'], 'x': ['hall_0', 'paddock_0', 'paddock_1'], 'y/1': ['hall_1']
    }  # fmt: skip
    assert lines(found) == {'p': ['p'], 'x': ['x/1', 'x/2'], 'y/1': ['y/1']}
    # One name is in one frame.
    bags = [kart_drives['hall'][0], kart_drives['ring'][0]]
    for given_names, words in (
        ('a', '1 names of routes for 2 bags'),
        (('a/', 'b'), 'names no map, or no line'),
        ('aa', 'bags of the name a are in several frames'),
        (('m/a', 'm/b'), r'the map m are in several frames \(hall, ring\)'),
    ):
        with pytest.raises(InputError, match=words):
            sort_by_route(bags, [*given_names])


@pytest.mark.parametrize(
    ('paths', 'expected'),
    [
        (['x/in/run_1.mcap', 'y/in/run_1.mcap'], ['x', 'y']),
        (['run_1', 'y/run_1'], ['run_1', 'y_run_1']),
        (['a/x/run', 'a/y/run', 'b/x/run'], ['a_x_run', 'a_y_run', 'b_x_run']),
        # Folders that are there, and a file beside them: it alone has an ending.
        (['run_1.2', 'run_1.3/', 'run_1.4.mcap'], ['run_1.2', 'run_1.3', 'run_1.4']),
    ],
)
def test_names_of_routes_tell_bags_apart(kart_drives, paths, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ('run_1.2', 'run_1.3'):
        (tmp_path / folder).mkdir()
    drives = [kart_drives[each][0] for each in ('hall', 'ring', 'paddock')]
    bags = [replace(each, name=path) for each, path in zip(drives, paths, strict=False)]
    assert sorted(sort_by_route(bags)) == expected


@pytest.mark.parametrize('jump_s', [-1000, 3600 * 24 * 365 * 5])
def test_a_clock_that_is_set_on_the_way_parts_no_day_from_its_route(jump_s, kart_drives):
    one, other = kart_drives['hall']
    later_ns = one.imu.stamps[len(one.imu.stamps) // 3]
    imu, positions = (
        replace(each, stamps=each.stamps + (each.stamps >= later_ns) * jump_s * 10**9)
        for each in (one.imu, one.positions)
    )
    jumped = replace(one, imu=imu, positions=positions)
    assert names(sort_by_route([jumped, other])) == {'hall_0': ['hall_0', 'hall_1']}
