# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Comparisons route by route, and our filter with all routes in one model."""

from dataclasses import replace

import numpy as np
import pytest

from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.outcome import Failure
from two_manifold_ros.comparison.own_filters import methods_named
from two_manifold_ros.comparison.protocol import plan_bags, plan_share
from two_manifold_ros.comparison.routes import compare_routes, nearest_rows, plan_routes
from two_manifold_ros.errors import InputError
from two_manifold_ros.training.settings import TrainingSettings

SETTINGS = TrainingSettings(rate_hz=10.0)


def parts(plans):
    """Return by route what is learned from and what is followed."""
    return {
        name: (
            plan.protocol,
            [each.name for each in plan.train.recordings],
            [each.name for each in plan.followed],
        )
        for name, plan in plans.items()
    }


@pytest.fixture(scope='module')
def halls_and_ring(kart_drives):
    return [*kart_drives['hall'], kart_drives['ring'][0]]


def test_each_route_is_compared_as_if_it_were_alone(halls_and_ring):
    hall, later, ring = halls_and_ring
    expected = {
        'hall_0': ('bags', ['hall_0'], ['hall_1']),
        'ring_0': ('share', ['ring_0'], ['ring_0']),
    }
    assert parts(plan_routes(halls_and_ring, 0, (), SETTINGS)) == expected
    # The order decides which is followed, and nothing else.
    expected['hall_0'] = ('bags', ['hall_1'], ['hall_0'])
    assert parts(plan_routes([ring, later, hall], 0, (), SETTINGS)) == expected
    methods = methods_named(['mean', 'previous'])
    found = compare_routes(plan_routes(halls_and_ring, 0, (), SETTINGS), methods)
    alone = {
        'hall_0': compare(plan_bags([hall], [later], SETTINGS), methods),
        'ring_0': compare(plan_share(ring, SETTINGS), methods),
    }
    assert {name: each.to_json() for name, each in found.items()} == {
        name: each.to_json() for name, each in alone.items()
    }


def test_drives_that_are_named_to_be_followed_go_to_their_routes(kart_drives):
    (hall, hall_later), (ring, ring_later) = kart_drives['hall'], kart_drives['ring']
    plans = plan_routes([hall, ring, ring_later, hall_later], 2, (), SETTINGS)
    assert parts(plans) == {
        'hall_0': ('bags', ['hall_0'], ['hall_1']),
        'ring_0': ('bags', ['ring_0'], ['ring_1']),
    }
    with pytest.raises(InputError, match='ring_0: no bag of this route is followed'):
        plan_routes([hall, ring, hall_later], 1, (), SETTINGS)
    with pytest.raises(InputError, match='ring_1: no bag of this route is learned from'):
        plan_routes([hall, hall_later, ring_later], 2, (), SETTINGS)


def test_names_decide_which_route_a_drive_is_of(kart_drives):
    both = list(kart_drives['hall'])
    assert len(plan_routes(both, 0, (), SETTINGS)) == 1
    assert parts(plan_routes(both, 0, ['day/1', 'night/1'], SETTINGS)) == {
        'day/1': ('share', ['hall_0'], ['hall_0']),
        'night/1': ('share', ['hall_1'], ['hall_1']),
    }


def test_a_share_is_that_of_routes_with_one_drive_each(kart_drives, halls_and_ring):
    alone = [kart_drives[name][0] for name in ('hall', 'ring')]
    for share in (0.2, 0.5):
        for name, plan in plan_routes(alone, 0, (), SETTINGS, share).items():
            (whole,) = (each for each in alone if each.name == name)
            first, last = whole.imu.first_stamp, whole.imu.last_stamp
            cut = plan.followed[0].imu.first_stamp
            assert (last - cut) / (last - first) == pytest.approx(share, abs=0.01)
    with pytest.raises(InputError, match='--share cuts a single bag in two'):
        plan_routes(halls_and_ring, 0, (), SETTINGS, 0.3)


@pytest.mark.long
def test_one_model_of_all_routes_errs_as_that_of_the_route(kart_drives):
    (hall, hall_later), (ring, ring_later) = kart_drives['hall'], kart_drives['ring']
    plans = plan_routes([hall, hall_later, ring, ring_later], 0, (), SETTINGS)
    stages = []
    found = compare_routes(
        plans, methods_named(['mean', 'default']), progress=lambda what, _: stages.append(what)
    )
    assert stages == [
        'hall_0: compared mean', 'hall_0: compared default', 'ring_0: compared mean',
        'ring_0: compared default', 'atlas of all routes',
    ]  # fmt: skip
    for each in found.values():
        assert [result.name for result in each.results] == ['mean', 'default', 'atlas']
        _, own, atlas = each.to_json()['methods']
        # Before a position is published it depends on the phase of the ticks by two hundredths.
        assert atlas['naming']['right'] > 0.93
        assert atlas['naming']['wrong_published'] < 0.01
        assert 'naming' not in own
        for alone, together in zip(own['scores'], atlas['scores'], strict=True):
            # A wrong name counts as the mean position.
            assert together['rmse_m'] == pytest.approx(alone['rmse_m'], rel=0.08)
            assert together['published_share'] == pytest.approx(alone['published_share'], abs=0.02)


@pytest.mark.long
def test_a_route_that_is_taken_for_another_counts_as_an_error(kart_drives):
    """Of the same samples in two frames nothing says which."""
    # Three laps and one are enough to follow it at all.
    hall, later = (
        each.between(None, seconds)
        for each, seconds in zip(kart_drives['hall'], (150.0, 60.0), strict=True)
    )
    twins = [
        replace(each, name=f'twin_{each.name}', positions=replace(each.positions, frame_id='twin'))
        for each in (hall, later)
    ]
    plans = plan_routes([hall, later, *twins], 0, (), SETTINGS)
    assert len(plans) == 2
    found = compare_routes(plans, methods_named(['default']))
    by_right = sorted(
        (each.to_json()['methods'] for each in found.values()),
        key=lambda methods: methods[1]['naming']['right'],
    )
    (own, wrong), (_, right) = by_right
    # The prior is the same, and a name has to be given.
    assert wrong['naming']['right'] + right['naming']['right'] == pytest.approx(1.0, abs=0.01)
    assert wrong['naming']['right'] < 0.5
    assert wrong['scores'][0]['rmse_m'] > 2.0 * own['scores'][0]['rmse_m']


def test_where_our_method_fails_there_is_no_model_of_all(kart_drives, monkeypatch):
    plans = plan_routes([kart_drives[name][0] for name in ('hall', 'ring')], 0, (), SETTINGS)
    monkeypatch.setattr(
        'two_manifold_ros.comparison.comparing.try_method', lambda *_: Failure('too short')
    )
    found = compare_routes(plans, methods_named(['default']))
    for each in found.values():
        assert each.results[-1].name == 'atlas'
        assert 'default failed' in (each.results[-1].failure or '')


def test_ticks_that_lie_beside_those_that_are_scored_are_found():
    # A filter at 20 Hz that woke up on the way: its ticks are 10 ms later, in nanoseconds.
    scored = np.arange(5) * 50_000_000
    assert nearest_rows(scored[1:] + 10_000_000, scored, 50_000_000).tolist() == [-1, 0, 1, 2, 3]
    # Half a period away is near enough, and a clock that was set back changes nothing.
    assert nearest_rows(np.array([100, 0]), np.array([0, 25, 60, 126]), 50).tolist() == [
        1, 1, -1, -1,
    ]  # fmt: skip
    assert nearest_rows(scored[:0], scored, 50_000_000).tolist() == [-1] * 5
