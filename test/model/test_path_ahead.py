# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The path ahead: near enough poses, along the route; and lines of a network, where each leads."""

from dataclasses import replace
import math
from types import SimpleNamespace

from filter_runs import feed
import numpy as np
import pytest
from ring_map import LAP, PERIOD_NS, ring
from scipy.spatial import cKDTree, KDTree

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.messages import choose_scene
from two_manifold_ros.model import path_ahead as module
from two_manifold_ros.model.line_learning import carry_lines
from two_manifold_ros.model.path_ahead import is_dense, MOST_POSES, PathAhead


def check(ahead, ticks, positions, period_s):
    """Check what holds of every path through positions at horizons, in ticks."""
    assert np.isfinite(ahead.positions).all()
    sides = np.diff(ahead.positions, axis=0)
    metres = np.hypot(*sides.T)
    # A path that is too long for so many poses has them farther apart.
    turned = np.abs(np.diff(np.unwrap(np.arctan2(sides[:, 1], sides[:, 0]))))
    whole = metres.sum() / module.SPACING_M + period_s * ticks[-1] / module.SPACING_S
    whole += turned.sum() / module.SPACING_RAD
    within = max(1.0, 1.01 * whole / MOST_POSES)
    steps = np.diff(ahead.ticks)
    assert (steps > 0.0).all()
    assert len(steps) <= MOST_POSES + len(ticks)
    assert period_s * steps.max() <= within * module.SPACING_S + 1e-6
    assert metres.max() <= within * module.SPACING_M + 1e-4
    assert is_dense(period_s * ahead.ticks)
    assert not is_dense(period_s * np.array([0, 10 * ticks[-1]]))
    at = np.searchsorted(ahead.ticks, ticks)
    assert ahead.ticks[at].tolist() == list(ticks)
    assert np.array_equal(ahead.positions[at], positions)


@pytest.mark.parametrize('which', ['circuit', 'fork'])
def test_a_path_follows_the_road_where_straight_lines_do_not(
    which, slot_car_model, slot_car_laps, forked_model, forked_drives
):
    model, drive = slot_car_model, slot_car_laps[1]
    if which == 'fork':
        lines = replace(forked_model.lines, kept_s=1.0)
        model, drive = replace(forked_model, lines=lines), forked_drives['both']
    scene = choose_scene(model)
    stream = list(zip(drive.imu.stamps.tolist(), drive.imu.samples, strict=True))
    found = [each for each in feed(Filter(model), stream) if each.valid]
    road = cKDTree(drive.positions.positions)
    size = np.ptp(drive.positions.positions, axis=0).max()
    beside, cut, parted = [], [], 0
    for each in found[:: max(1, len(found) // 300)]:
        own = scene.of(each)
        ahead, ticks = own.ahead(each), own.model.horizons
        check(ahead, ticks, each.path, own.model.period_ns * 1e-9)
        known = road.query(each.path)[0].max()
        # At first another route may seem to be driven.
        if known > 0.03 * size:
            continue
        beside.append(road.query(ahead.positions)[0].max() - known)
        chords = [np.interp(ahead.ticks, ticks, axis) for axis in each.path.T]
        cut.append(road.query(np.column_stack(chords))[0].max() - known)
        for branch in each.branches:
            parted += 1
            along = own.along(branch.positions, branch.name)
            check(along, ticks, branch.positions, own.model.period_ns * 1e-9)
            known = road.query(branch.positions)[0].max()
            assert road.query(along.positions)[0].max() < known + 0.03 * size
    assert len(beside) > 150
    assert np.quantile(beside, 0.9) < 0.01 * size
    assert np.max(beside) < 0.03 * size
    assert np.quantile(cut, 0.9) > 2.0 * max(np.quantile(beside, 0.9), 0.01 * size)
    assert (parted > 20) == (which == 'fork')


@pytest.mark.parametrize('shift', [0.0, 5e5])
@pytest.mark.parametrize(
    ('radius', 'horizons'),
    [
        (5.0, (0, 10, 50)),
        # Laps shorter than the way to a horizon, and than the way from one to the next.
        (5.0, (0, 10, 100, 300)),
        (1.0, (0, 200)),
        # As fast as an aeroplane, and for a minute: no more poses than a message can have.
        (2000.0, (0, 10, 50)),
        (5.0, (0, 1200)),
        (5.0, (0, 1)),
    ],
)
def test_a_path_is_on_the_circle_that_was_driven(radius, horizons, shift):
    model = ring(radius, horizons)
    model.route.readout.targets += shift
    positions = model.route.readout.targets[7, :-1]
    ahead = PathAhead(model).along(positions)
    check(ahead, horizons, positions, PERIOD_NS * 1e-9)
    x, y = (ahead.positions - shift).T
    # Chords between poses are short, but for those of a path that is cut to so many poses.
    assert np.hypot(x, y) == pytest.approx(radius, rel=0.02)
    turned = np.unwrap(np.arctan2(y, x))
    assert turned[-1] - turned[0] == pytest.approx(2.0 * math.pi * horizons[-1] / LAP, rel=0.02)
    assert (np.diff(turned) > 0.0).all()
    assert len(turned) > MOST_POSES or np.diff(turned).max() < 1.05 * module.SPACING_RAD


def test_one_horizon_is_the_present_and_a_dead_end_leads_straight_to_what_is_expected():
    now = np.array([[3.0, 4.0]])
    ahead = PathAhead(ring(horizons=(0,))).along(now)
    assert (ahead.ticks.tolist(), ahead.positions.tolist()) == ([0.0], [[3.0, 4.0]])
    line = np.column_stack([np.arange(9.0), np.zeros(9)])
    ended = ring(spots=line, ways={**{each: [each + 1] for each in range(8)}, 8: [8]})
    expected = np.array([[7.5, 0.0], [8.0, 1.0], [8.0, 3.0]])
    ahead = PathAhead(ended).along(expected)
    check(ahead, ended.horizons, expected, PERIOD_NS * 1e-9)
    assert (ahead.positions[:, 0] <= 8.0).all()


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('noise', [0.0, 0.1, 0.5, 2.0])
@pytest.mark.parametrize('stands', [0, 40])
def test_a_path_turns_back_only_where_the_route_does(noise, seed, stands):
    there = np.concatenate([np.arange(0.0, 50.0, 0.5), np.full(stands, 50.0)])
    straight = np.concatenate([there, np.arange(50.0, 150.0, 0.5)])
    shuttle = np.concatenate([there, np.arange(50.0, -50.0, -0.5)])
    for way, turns in ((straight, 0), (shuttle, 1)):
        true = np.column_stack([way[[0, 200]], [0.0, 0.0]])
        spots = np.column_stack([way, np.zeros_like(way)])
        spread = max(noise, 1e-6)
        spots += np.random.default_rng(seed).normal(0.0, spread, spots.shape)
        ways = {each: [min(each + 1, len(way) - 1)] for each in range(len(way))}
        model = ring(spots=spots, ways=ways, horizons=(0, 200), noise=spread)
        ahead = PathAhead(model).along(true)
        check(ahead, (0, 200), true, PERIOD_NS * 1e-9)
        steps = np.diff(ahead.positions[:, 0])
        assert (np.diff(np.sign(steps[np.abs(steps) > 1e-6])) != 0.0).sum() == turns
        # Up to where the road turns, but for what noise hides of it.
        beyond = ahead.positions[:, 0].max() - way[:201].max()
        assert -7.0 * noise - 1.1 < beyond < 3.0 * noise + 1e-3


def test_a_road_that_no_number_describes_has_a_short_path_or_none():
    model = ring()
    positions = model.route.readout.targets[7, :-1]
    for wild in (math.nan, math.inf):
        ahead = PathAhead(model).along(np.where(np.eye(3, 2), wild, positions))
        assert (len(ahead.ticks), ahead.positions.shape) == (0, (0, 2))
    # A vehicle that stands, or is half as fast.
    for late in (0.0, 0.5):
        spots = model.route.readout.targets[[7 + round(late * each) for each in model.horizons], 0]
        check(PathAhead(model).along(spots), model.horizons, spots, PERIOD_NS * 1e-9)
    # Places that are never left, and that are passed in no time.
    for rate in (0.0, math.inf):
        model.route.motion.rates[:] = rate
        check(PathAhead(model).along(positions), model.horizons, positions, PERIOD_NS * 1e-9)


def test_at_a_fork_a_path_is_along_the_named_line_or_the_way_most_driven():
    # Places 0 to 9 lead east; from 10 on the left line goes north, from 30 on the right one south.
    there = np.arange(20.0)
    x = np.concatenate([np.arange(10.0), np.full(40, 10.0)])
    spots = np.column_stack([x, np.concatenate([np.zeros(10), there, -there])])
    ways = {each: [each + 1] for each in range(49)} | {9: [30, 10, 10], 29: [29], 49: [49]}
    passes = np.zeros((50, 2))
    passes[:10], passes[10:30, 0], passes[30:, 1] = 1.0, 1.0, 1.0
    lines = SimpleNamespace(names=('left', 'right'), passes=passes)
    ahead_of = PathAhead(ring(spots=spots, ways=ways, horizons=(0, 4, 20), lines=lines))
    for name, side in (('left', 1.0), ('right', -1.0)):
        expected = np.array([[4.0, 0.0], [8.0, 0.0], [10.0, side * 14.0]])
        ahead = ahead_of.along(expected, name)
        assert np.abs(ahead.positions[:, 1] * (ahead.positions[:, 0] - 10.0)).max() < 0.5
    # Two of three drives went left.
    expected[2, 1] = 14.0
    named, unnamed = ahead_of.along(expected, 'left'), ahead_of.along(expected)
    assert np.array_equal(named.positions, unnamed.positions)


def test_places_are_of_the_lines_that_drive_there_which_part_only_ahead_of_the_fork(
    forked_model, forked_drives
):
    places, lines = forked_model.route.readout.targets[:, 0], forked_model.lines
    drives = [forked_drives[name] for name in ('left', 'right')]
    roads = [KDTree(each.positions.positions) for each in drives]
    near = np.stack([road.query(places)[0] < 2.0 for road in roads], axis=1)
    alone = near.sum(axis=1) == 1
    assert 0.4 < np.mean(alone) < 0.95
    # Near the fork a place may be of both.
    assert np.mean((lines.passes[alone] >= 0.5) == near[alone]) > 0.97
    assert (lines.passes.max(axis=1) > 0.0).all()
    usual_s = np.mean([len(each.imu.stamps) / 100.0 for each in drives])
    assert lines.kept_s == pytest.approx(usual_s, rel=0.3)
    assert 20 < len(lines.forks) < 0.3 * len(places)
    # The trunk ends at 40 m, and three seconds ahead are some forty metres.
    assert (places[lines.forks, 0] > -70.0).mean() > 0.9
    assert np.abs(places[lines.forks, 1]).max() < 40.0
    for column, road in enumerate(roads):
        assert np.median(road.query(lines.ahead[:, column, -1])[0]) < 2.0


def test_lines_are_carried_to_a_newer_map_of_the_same_roads(forked_model):
    same = carry_lines(forked_model, forked_model)
    for name in ('passes', 'forks', 'ahead'):
        assert np.array_equal(getattr(same, name), getattr(forked_model.lines, name))
    readout = forked_model.route.readout
    away = replace(readout, targets=readout.targets + np.array([500.0, 0.0]))
    moved = replace(forked_model, route=replace(forked_model.route, readout=away))
    assert carry_lines(forked_model, moved) is None
    assert carry_lines(replace(forked_model, lines=None), forked_model) is None
    found = carry_lines(forked_model, replace(forked_model, horizons=(0, 10, 20, 30)))
    assert np.array_equal(found.passes, forked_model.lines.passes)
    assert found.ahead.shape == (0, 2, 4, 2)
