# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions that a running filter is told: what they change, and what wrong ones cannot."""

from __future__ import annotations

from dataclasses import replace
import math

from filter_runs import bits, feed
import numpy as np
import pytest
from small_network import branching_network, branching_route, PERIOD_S

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.fixes import Fix, FixedPlaces, NEWEST
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.network.belief import NetworkBelief
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.satellite_fixes import east_north, latitude_longitude
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.ticks.segments import positions_at

EXACT = np.zeros((2, 2))


@pytest.fixture(scope='module')
def drive(slot_car_laps):
    """Return stamps, samples and a function of stamps that gives true positions."""
    recording = slot_car_laps[1]
    stream = list(zip(recording.imu.stamps.tolist(), recording.imu.samples, strict=True))
    return stream, lambda *stamps: positions_at(recording.positions, np.array(stamps))


def errors(estimates, truth):
    places = np.array([each.positions[0] for each in estimates])
    return np.linalg.norm(places - truth(*(each.stamp_ns for each in estimates)), axis=1)


def spread_of(model):
    return float(np.sqrt(np.nanvar(model.track, axis=0).sum()))


@pytest.mark.parametrize('begins', [3, 110, 205])
def test_who_is_told_its_place_publishes_from_the_first_tick(begins, slot_car_model, drive):
    stream, truth = drive[0][begins:], drive[1]
    plain, live = Filter(slot_car_model), Filter(slot_car_model)
    live.fix(Fix(stream[0][0], truth(stream[0][0])[0], 1e-4 * np.eye(2)))
    told, untold = feed(live, stream[:100]), feed(plain, stream[:100])
    assert not untold[0].valid
    assert all(each.valid for each in told)
    assert errors(told, truth).max() < 0.25 * spread_of(slot_car_model)
    assert live.fixes == {'received': 1, 'agreeing': 1}


def test_fixes_that_agree_change_little_and_bring_no_error(slot_car_model, drive):
    stream, truth = drive
    plain, live = Filter(slot_car_model), Filter(slot_car_model)
    told = []
    for index, (stamp, sample) in enumerate(stream):
        if index % 25 == 0:
            live.fix(Fix(stamp, truth(stamp)[0], EXACT))
        told += live.push(stamp, sample)
    assert np.mean(errors(told, truth)) < np.mean(errors(feed(plain, stream), truth))
    assert live.fixes['contradicting'] == 0


def test_one_wrong_fix_is_reported_and_moves_nothing_and_a_second_decides(slot_car_model, drive):
    stream, truth = drive
    live, plain = Filter(slot_car_model), Filter(slot_car_model)
    cut = len(stream) // 2
    feed(live, stream[:cut])
    usual = feed(plain, stream)
    opposite = truth(stream[cut][0] - round(0.5e9 * slot_car_model.circuit.lap_s))[0]
    live.fix(Fix(live.latest.stamp_ns, opposite, EXACT))
    after = feed(live, stream[cut : cut + 60])
    causes = [each.cause for each in after]
    assert causes.count('fix_contradicts') >= slot_car_model.window
    assert after[causes.index('fix_contradicts')].status is Status.UNSURE
    memory = math.ceil(1.0 / slot_car_model.route.likelihood.persistence)
    same = {each.stamp_ns: each.positions[0] for each in usual}
    for each in after:
        assert math.dist(each.positions[0], same[each.stamp_ns]) < 0.1 * spread_of(slot_car_model)
    assert all(each.status is Status.TRACKING for each in after[causes.index('') + memory :])
    for _ in range(2):
        live.fix(Fix(live.latest.stamp_ns, opposite, EXACT))
    (moved, *_) = feed(live, stream[cut + 60 : cut + 70])
    assert math.dist(moved.positions[0], opposite) < 0.25 * spread_of(slot_car_model)
    assert live.fixes == {'received': 3, 'contradicting': 2, 'agreeing': 1}


def test_a_wrong_first_fix_costs_at_most_a_memory(slot_car_model, drive):
    """Of twenty starts, the median."""
    stream, truth = drive
    half_ns = round(0.5e9 * slot_car_model.circuit.lap_s)
    memory = math.ceil(1.0 / slot_car_model.route.likelihood.persistence)
    late = []
    for begins in range(60, 260, 10):
        live, plain = Filter(slot_car_model), Filter(slot_car_model)
        stamp = stream[begins][0]
        live.fix(Fix(stamp, truth(stamp - half_ns)[0], 1e-4 * np.eye(2)))
        part = stream[begins : begins + 100]
        found = [
            int(np.argmax(errors(feed(each, part), truth) < 0.1 * spread_of(slot_car_model)))
            for each in (live, plain)
        ]
        late.append(found[0] - found[1])
    assert np.median(late) <= memory


@pytest.mark.parametrize('ticks', [3, 10])
def test_a_late_fix_says_what_a_fix_in_time_said(ticks, slot_car_model, drive):
    stream, truth = drive
    late, never = Filter(slot_car_model), Filter(slot_car_model)
    feed(late, stream[150:170]), feed(never, stream[150:170])
    stamp = late.latest.stamp_ns - ticks * slot_car_model.period_ns
    late.fix(Fix(stamp, truth(stamp)[0], EXACT))
    told, untold = (errors(feed(each, stream[170:182]), truth) for each in (late, never))
    assert told[0] < 0.1 * spread_of(slot_car_model) < untold[0]
    assert late.fixes['agreeing'] == 1


@pytest.mark.parametrize(
    ('model', 'changes', 'count'),
    [
        ('slot_car_model', {'frame_id': 'another'}, 'other_frame'),
        ('slot_car_model', {'origin': GeodeticOrigin(48.0, 11.0, 0.0)}, 'other_frame'),
        ('slot_car_model', {'stamp_ns': -(10**11)}, 'late'),
        ('slot_car_model', {'stamp_ns': 10**11}, 'ahead'),
        # Other models take none.
        ('spectral_model', {}, 'other_frame'),
    ],
)
def test_what_cannot_be_used_is_counted_and_changes_no_bit(model, changes, count, drive, request):
    stream, _ = drive
    live, plain = (Filter(request.getfixturevalue(model)) for _ in range(2))
    feed(live, stream[:100]), feed(plain, stream[:100])
    now = live.latest.stamp_ns
    changes = {**changes, 'stamp_ns': now + changes.get('stamp_ns', 0)}
    live.fix(replace(Fix(now, np.zeros(2), EXACT), **changes))
    assert bits(feed(live, stream[100:200])) == bits(feed(plain, stream[100:200]))
    assert live.fixes == {'received': 1, count: 1}


def test_a_fix_waits_for_its_tick_and_a_shift_of_all_stamps_changes_no_bit(slot_car_model, drive):
    stream, truth = drive[0][70:200], drive[1]
    runs = []
    for shift, early in ((0, 0), (10**12, 0), (0, 3)):
        live, found = Filter(slot_car_model), []
        for index, (stamp, sample) in enumerate(stream):
            if index == 50 - early:
                stamp_ns = stream[50][0]
                live.fix(Fix(stamp_ns + shift, truth(stamp_ns)[0], EXACT))
            found += live.push(stamp + shift, sample)
        runs.append(bits(found))
    assert runs[0] == runs[1] == runs[2]


def test_a_heading_tells_directions_apart_and_the_newest_tick_needs_no_stamp(slot_car_model):
    places = FixedPlaces(slot_car_model.route)
    targets = slot_car_model.route.readout.targets
    course = math.atan2(*targets[40, -1, ::-1])
    fix = Fix(NEWEST, targets[40, 0], np.eye(2), course, 0.01)
    ratios = np.ones((1, len(targets)))
    ahead, back, none = (
        places.weigh(replace(fix, heading=each), 0.0, ratios).near[0, 40]
        for each in (course, course + math.pi, math.nan)
    )
    assert back < 0.01 * none < none < ahead


def test_satellite_fixes_come_from_any_plane(slot_car_model):
    here, there = GeodeticOrigin(48.0, 11.0, 500.0), GeodeticOrigin(48.01, 11.02, 520.0)
    model = replace(slot_car_model, origin=here)
    position = np.array([[12.0, -7.0]])
    degrees = latitude_longitude(position, here)
    elsewhere = east_north(degrees[:, 0], degrees[:, 1], np.array([there.altitude_m]), there)
    fix = Fix(NEWEST, elsewhere[0], EXACT, origin=there).on_map_of(model)
    np.testing.assert_allclose(fix.position, position[0], atol=0.05)


@pytest.mark.parametrize(
    'changes',
    [
        {'position': np.array([np.nan, 0.0])},
        {'covariance': np.array([[1.0, 2.0], [2.0, 1.0]])},
        {'covariance': np.diag([-1.0, 1.0])},
        {'covariance': np.array([[1.0, 0.5], [0.0, 1.0]])},
        {'heading_variance': -1.0},
    ],
)
def test_a_fix_that_is_none_is_refused(changes):
    with pytest.raises(InputError, match='position fix'):
        replace(Fix(0, np.zeros(2), np.eye(2)), **changes)


@pytest.mark.parametrize('kind', ['route', 'network'])
def test_the_weights_are_those_of_bayes_rule(kind, slot_car_model, drive):
    """Over what a vehicle did before the fix, and whether the fix is a gross error."""
    belief = NetworkBelief(branching_route(), branching_network(), PERIOD_S)
    if kind == 'route':
        live = Filter(slot_car_model)
        feed(live, drive[0][:60])
        belief = live.ticks.belief
    near = np.random.default_rng(0).exponential(size=(6, len(belief.chances)))
    on, off = belief.chances[:, :5].T.copy(), belief.chances[:, 5:].sum() + belief.elsewhere
    gross, returns, moved = RouteBelief.fix_gross, RouteBelief.fix_returns, RouteBelief.fix_moved
    came = near[5] * (moved * on.sum() + returns * off) / near.shape[1]
    stayed, left = (1.0 - moved) * on, (1.0 - returns) * off
    wrong = gross * np.append(stayed.sum(axis=0), left)
    right = (1.0 - gross) * np.append((stayed * near[:5]).sum(axis=0) + came, left * 0.3)
    whole = (wrong + right).sum()
    assert belief.fix(near, 0.3) == pytest.approx(right.sum() / whole)
    now = belief.chances
    found = np.append(now[:, :5].sum(axis=1), now[:, 5:].sum() + belief.elsewhere)
    np.testing.assert_allclose(found, (wrong + right) / whole, atol=1e-4)


@pytest.mark.parametrize('line', ['left', 'right'])
def test_a_fix_on_a_branch_settles_which_line_is_driven(line, forked_model, forked_drives):
    """As soon as it is there, where the drive alone takes a window and more."""
    drive = forked_drives[line]
    off_trunk = int(np.argmax(drive.positions.positions[:, 1] ** 2 > 70.0**2))
    stamp = int(drive.positions.stamps[off_trunk])
    live = Filter(forked_model)
    live.fix(Fix(stamp, drive.positions.positions[off_trunk], np.eye(2)))
    first = int(np.searchsorted(drive.imu.stamps, stamp))
    stream = zip(drive.imu.stamps[first:].tolist(), drive.imu.samples[first:], strict=True)
    estimates = feed(live, [each for each, _ in zip(stream, range(200), strict=False)])
    assert all(each.line == line for each in estimates)
    assert all(each.valid for each in estimates[15:])
    assert estimates[0].chances[line] > 0.8
    # A vehicle that is carried to the other branch is there with the second fix.
    other = forked_drives['right' if line == 'left' else 'left'].positions.positions
    there = other[np.argmax(other[:, 1] ** 2 > 70.0**2)]
    for _ in range(2):
        live.fix(Fix(NEWEST, there, np.eye(2)))
    (carried, *_) = feed(live, [next(stream) for _ in range(20)])
    assert carried.line != line


@pytest.mark.parametrize('covariance', [1e12, 1e20, 1e90])
def test_no_covariance_breaks_a_filter(covariance, slot_car_model, drive):
    stream, truth = drive
    live = Filter(slot_car_model)
    line = covariance * np.ones((2, 2))
    live.fix(Fix(stream[0][0], truth(stream[0][0])[0], line))
    live.fix(Fix(NEWEST, np.zeros(2), line * (1.0 + 1e-12 * np.array([[0.0, 1.0], [1.0, 0.0]]))))
    assert all(np.isfinite(each.positions).all() for each in feed(live, stream[:60]))
    assert live.fixes['received'] == sum(live.fixes.values()) / 2 == 2


def test_what_waits_at_a_reset_is_counted_and_a_click_is_not_the_oldest(slot_car_model, drive):
    live = Filter(slot_car_model)
    for stamp in (NEWEST, *range(drive[0][0][0], drive[0][0][0] + 101)):
        live.fix(Fix(stamp, np.zeros(2), EXACT))
    assert live.fixes == {'received': 102, 'dropped': 2}
    live.reset('a test')
    live.fix(Fix(NEWEST, np.zeros(2), EXACT))
    assert live.fixes == {'received': 103, 'dropped': 102}
