# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which of many routes, or line of a network, is driven: changes, cost, the same as one alone."""

from dataclasses import replace
import itertools
import math

from filter_runs import bits, feed, Stream
import numpy as np
import pytest

from two_manifold_ros.filtering.coarse import CoarseBelief
from two_manifold_ros.filtering.estimate import limits_of
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.fixes import Fix, NEWEST
from two_manifold_ros.filtering.network_lines import LineFollower
from two_manifold_ros.filtering.status import CAUSES, Status
from two_manifold_ros.model.model import atlas_of, NetworkLines
from two_manifold_ros.route.belief import Shares
from two_manifold_ros.ticks.stamps import average_ticks


def later(kart_drives, name):
    imu = kart_drives[name][1].imu
    return list(zip(imu.stamps.tolist(), imu.samples, strict=True))


def joined(*streams: Stream, pause_s: float = 20.0) -> Stream:
    """Return streams one after the other, with pauses, on one clock."""
    found, end_ns = [], 10**18
    for stream in streams:
        shift_ns = end_ns - stream[0][0]
        found += [(stamp + shift_ns, sample) for stamp, sample in stream]
        end_ns = found[-1][0] + round(1e9 * pause_s)
    return found


def test_a_filter_says_what_holds_of_the_chosen_route(kart_atlas, kart_drives):
    """The newest estimate stays between two ticks, and a reset leaves no trace."""
    live, stream = Filter(kart_atlas), later(kart_drives, 'ring')[:3000]
    said = []
    for stamp, sample in stream:
        said += live.push(stamp, sample)
        assert live.latest is (said[-1] if said else None)
    assert said[-1].route
    assert live.model is kart_atlas
    assert live.running is kart_atlas.routes[said[-1].route]
    assert live.limits == limits_of(live.running)
    assert live.counters['received'] == 3000
    live.reset('again')
    assert live.said.status is Status.WAITING
    assert bits(feed(live, stream)) == bits(said)


@pytest.mark.parametrize(('many', 'phase'), [(1, 0), (2, 1), (5, 3)])
def test_one_map_under_many_names_says_what_the_map_says(many, phase, kart_atlas, kart_drives):
    own, stream = kart_atlas.routes['hall'], later(kart_drives, 'hall')[phase:]
    # Also after a long gap.
    stream = joined(stream[:4000], stream[4000:])
    alone = feed(Filter(own), stream)
    found = feed(Filter(atlas_of({f'hall_{each}': own for each in range(many)})), stream)
    assert {each.route for each in found} == {'hall_0'}
    for what in ('stamp_ns', 'status', 'cause'):
        assert [getattr(each, what) for each in found] == [getattr(each, what) for each in alone]
    where = [[each.positions for each in those] for those in (found, alone)]
    np.testing.assert_array_equal(*where)
    assert many > 1 or bits(found) == bits(alone)


@pytest.mark.parametrize('name', ['hall', 'paddock', 'ring'])
def test_the_driven_route_is_found_and_followed_as_if_alone(name, fast_kart_atlas, kart_drives):
    live, stream = Filter(fast_kart_atlas), later(kart_drives, name)
    model, found = fast_kart_atlas.routes[name], feed(live, stream)
    # The kart stands for three seconds.
    begins_ns = stream[0][0] + 3e9 + 1.5 * model.window * model.period_ns
    late = [each for each in found if each.stamp_ns > begins_ns]
    assert np.mean([each.route == name for each in late]) > 0.95
    assert all(each.route == name for each in late if each.status is Status.TRACKING)
    assert np.mean([each.valid for each in late]) > 0.8
    # From some time on the others sleep, and it says what the filter of the route itself says,
    # which started sooner: their ticks end at other stamps.
    assert len(live.ticks.awake) == 1
    own = feed(Filter(model), stream)
    track = np.array([each.positions[0] for each in own])
    newest = found[-len(found) // 3 : -1]
    asked, stamps = ([each.stamp_ns for each in those] for those in (newest, own))
    expected = [np.interp(asked, stamps, axis) for axis in track.T]
    apart = [each.positions[0] for each in newest] - np.transpose(expected)
    apart, usual = np.linalg.norm(apart, axis=1), np.median([each.ellipse_m for each in newest])
    assert np.median(apart) < 0.05 * usual
    assert np.max(apart) < usual
    assert all(0.0 <= sum(each.chances.values()) <= 1.0 + 1e-9 for each in found)


@pytest.mark.parametrize(('one', 'other'), [('hall', 'ring'), ('ring', 'hall')])
def test_a_change_is_followed_within_two_windows(one, other, fast_kart_atlas, kart_drives):
    first, second = later(kart_drives, one)[:4000], later(kart_drives, other)[2500:6000]
    # The filter that takes over has already seen the samples of the last window.
    stream = joined(first, second, pause_s=0.01)
    found = feed(Filter(fast_kart_atlas), stream)
    changed_ns = stream[len(first)][0]
    right = [each.stamp_ns for each in found if each.valid and each.route == other]
    assert right[0] - changed_ns < 1.8 * fast_kart_atlas.window_ns
    stamps = [each.stamp_ns for each in found]
    assert stamps == sorted(set(stamps))


def test_a_road_that_is_none_of_them_is_off_all(fast_kart_atlas, kart_drives):
    known = atlas_of({name: fast_kart_atlas.routes[name] for name in ('hall', 'paddock')})
    found = feed(Filter(known), later(kart_drives, 'ring'))
    assert np.mean([each.valid for each in found]) < 0.05
    assert np.mean([sum(each.chances.values()) < 0.5 for each in found[200:]]) > 0.9


def with_targets(model, targets):
    """Return a model whose positions at the horizons, and velocities behind them, are others."""
    readout = replace(model.route.readout, targets=targets)
    return replace(model, route=replace(model.route, readout=readout))


def moved(model, by_m):
    return with_targets(model, model.route.readout.targets + by_m)


@pytest.mark.slow
def test_twins_of_one_place_are_no_rivals_and_of_two_places_or_ways_are(kart_atlas, kart_drives):
    own = kart_atlas.routes['ring']
    stream = later(kart_drives, 'ring')
    same = feed(Filter(atlas_of({'one': own, 'two': own})), stream)
    last = [each for each in same if each.valid][-1]
    # The place is known, and the name is not.
    assert max(last.chances.values()) < 0.6
    assert last.off_route < 0.5
    assert not last.branches
    apart = feed(Filter(atlas_of({'one': own, 'two': moved(own, 500.0)})), stream)
    both = [each for each in apart if each.branches]
    assert both
    for each in both[-3:]:
        own_way, branch = each.branches
        assert [own_way.name, {own_way.name, branch.name}] == [each.route, {'one', 'two'}]
        assert np.linalg.norm(branch.positions[0] - each.positions[0]) > 400.0
    targets = own.route.readout.targets.copy()
    targets[:, -1] *= -1.0
    back = feed(Filter(atlas_of({'one': own, 'two': with_targets(own, targets)})), stream)
    assert not any(each.status is Status.TRACKING for each in apart + back)


def test_from_a_cold_start_and_after_a_gap_the_search_is_over_all_routes(kart_atlas, kart_drives):
    """The ring comes last, behind more routes than are followed."""
    ring, paddock = later(kart_drives, 'ring')[:5000], kart_atlas.routes['paddock']
    others = {f'a{number}': moved(paddock, 500.0 * number) for number in range(5)}
    known = atlas_of({**others, 'ring': kart_atlas.routes['ring']})
    live = Filter(known)
    # Switched off for an hour soon after the start, on another route.
    feed(live, [(stamp - 3600 * 10**9, sample) for stamp, sample in ring[:400]])
    for each in (Filter(known), live):
        last = feed(each, ring)[-1]
        assert (last.route, last.status) == ('ring', Status.TRACKING)


def test_what_is_withheld_says_so_and_what_is_refused_wakes_the_others(kart_atlas, kart_drives):
    live, stream = Filter(kart_atlas), later(kart_drives, 'hall')
    feed(live, stream[:3900])
    assert live.said.status is Status.TRACKING
    live.withheld = True
    (*_, last) = feed(live, stream[3900:4000])
    for each in (live.said, last):
        assert (each.status, each.cause) == (Status.LOST, 'not_useful')
        assert each.why.endswith(CAUSES['not_useful'])
    live.withheld = False
    assert live.said.status is Status.TRACKING
    feed(live, stream[4000:])
    assert len(live.ticks.awake) == 1
    last_ns, sample = stream[-1]
    stamps = range(last_ns, last_ns + kart_atlas.window_ns + 300_000_000, 10_000_000)
    assert feed(live, [(stamp, 1e4 * sample) for stamp in stamps[1:]]) == []
    # Meanwhile the vehicle may have been carried to any route.
    feed(live, [(stamps[-1] + 10_000_000 * each, sample) for each in range(1, 25)])
    assert len(live.ticks.awake) == len(kart_atlas.members)


def test_what_one_route_has_is_in_range_on_all_and_a_turned_imu_is_named(kart_atlas, kart_drives):
    hall, ring = kart_atlas.routes['hall'], kart_atlas.routes['ring']
    narrow = replace(ring.channels, limit=0.01 * ring.channels.limit)
    live = Filter(atlas_of({'hall': hall, 'a ring': replace(ring, channels=narrow)}))
    feed(live, later(kart_drives, 'hall')[:3000])
    assert live.counters['used'] == 3000
    assert live.finding is None
    live.reset('turned about z')
    signs = np.array([-1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
    causes = set()
    for stamp, sample in later(kart_drives, 'hall')[:6000]:
        live.push(stamp, signs * sample)
        causes.add('' if live.finding is None else live.finding.cause)
    assert causes == {'', 'turned_about_z'}


def first_of(kart_drives, name, seconds):
    """Return stamps and samples of the second day, up to that time."""
    stream = later(kart_drives, name)
    return [each for each in stream if each[0] < stream[0][0] + round(1e9 * seconds)]


def ticks_of(stream, model):
    stamps, samples = map(np.array, zip(*stream, strict=True))
    ends, means = average_ticks(stamps, samples, model.period_ns)
    return list(zip(ends.tolist(), means.copy(), strict=True))


def true_place(kart_drives, name, stamp):
    stream = kart_drives[name][1].positions
    return np.array([np.interp(stamp, stream.stamps, column) for column in stream.positions.T])


@pytest.mark.parametrize(('number', 'name'), enumerate(['hall', 'paddock', 'ring']))
def test_the_driven_route_is_likeliest_and_its_place_known(number, name, kart_atlas, kart_drives):
    belief = CoarseBelief(kart_atlas.members)
    assert np.allclose(belief.shares, 1.0 / 3.0)
    best, apart = [], []
    stream = ticks_of(first_of(kart_drives, name, 60.0), kart_atlas)
    for stamp, means in stream:
        if belief.push(means) and stamp > stream[0][0] + 15e9:
            best.append(int(np.argmax(belief.shares)))
            place = belief.positions[number]
            apart.append(np.linalg.norm(place - true_place(kart_drives, name, stamp)))
            assert belief.shares.sum() == pytest.approx(1.0)
    assert np.mean(np.array(best) == number) > 0.9
    assert np.median(apart) < 20.0
    places = belief.places(number)
    assert len(places) == kart_atlas.members[number].route.places
    assert places.sum() == pytest.approx(1.0)
    belief.start()
    assert np.allclose(belief.shares, 1.0 / 3.0)


@pytest.mark.parametrize('huge', [1e4, 1e200, np.nan])
def test_after_huge_numbers_and_none_it_finds_the_route_again(huge, kart_atlas, kart_drives):
    belief = CoarseBelief(kart_atlas.members)
    stream = ticks_of(first_of(kart_drives, 'hall', 50.0), kart_atlas)
    for number, (_, means) in enumerate(stream):
        belief.push(np.full(6, huge) if 100 < number < 110 else means)
        assert np.isfinite(belief.shares).all()
    assert np.argmax(belief.shares) == 0


def test_who_starts_at_places_knows_its_own_at_once(kart_atlas, kart_drives, spectral_model):
    stream, belief = first_of(kart_drives, 'hall', 41.0), CoarseBelief(kart_atlas.members)
    begins = len(first_of(kart_drives, 'hall', 40.0))
    for _, means in ticks_of(stream[:begins], kart_atlas):
        belief.push(means)
    apart = []
    for placed in (False, True):
        live = Filter(kart_atlas.members[0])
        live.reset('a test')
        if placed:
            live.ticks.place(belief.places(0))
        feed(live, stream[begins:])
        true = true_place(kart_drives, 'hall', stream[-1][0])
        apart.append(np.linalg.norm(live.latest.positions[0] - true))
    assert apart[1] < 20.0 < apart[0]
    with pytest.raises(TypeError, match='places'):
        Filter(spectral_model).ticks.place(np.ones(3) / 3.0)


PERIOD_S = 0.1


class Given:
    """A belief that is set by hand, over places of no extent."""

    shares = Shares(1.0, 1.0, 0.0)

    def __init__(self, places: int) -> None:
        self._places = places
        self.chances = np.zeros((places, 7))
        self.support = np.arange(places, dtype=np.uint32)
        self.at(np.full(places, 1.0 / places))

    def at(self, weights):
        self.chances[:] = 0.0
        self.chances[: len(weights), 0] = weights

    def targets_with(self, places, ahead):
        targets = np.zeros((self._places, *ahead.shape[1:]))
        targets[places] = ahead
        return targets

    def read_among(self, shares, targets):
        weights = self.chances[:, 0] * shares
        mean = np.tensordot(weights, targets, 1) / weights.sum()
        return np.vstack([mean, np.zeros(2)])


def follower(kept_s=100.0, apart_m=5.0, trunk=(1.0, 1.0), left=1, beside=10_000):
    """Return a follower on a trunk, place 0, and branches of ``left`` and one places; a belief."""
    ways = np.array([[[0.0, 0.0], [10.0, 9.0]], [[0.0, 0.0], [10.0, -9.0]]])
    passes = [trunk, (1.0, 0.0), (0.0, 1.0), *[(1.0, 0.0)] * (left - 1), *[(0.0, 0.0)] * beside]
    lines = NetworkLines(
        names=('left', 'right'),
        kept_s=kept_s,
        passes=np.array(passes),
        forks=np.array([0, 1, 2]),
        ahead=np.stack([ways] * 3),
        apart_m=apart_m,
    )
    belief = Given(len(passes))
    return LineFollower(lines, belief, (0.0, 1.0), PERIOD_S), belief


def chances_at(lines, belief, weights, ticks=1):
    belief.at(weights)
    for _ in range(ticks):
        lines.follow()
    return lines.read().chances


def test_on_a_trunk_the_line_of_the_last_branch_is_remembered_and_slowly_forgotten():
    lines, belief = follower()
    assert chances_at(lines, belief, [1.0, 1.0, 1.0]) == pytest.approx({'left': 0.5, 'right': 0.5})
    chances = chances_at(lines, belief, [0.0, 0.0, 1.0])
    assert chances == pytest.approx({'left': 0.0, 'right': 1.0}, abs=1e-3)
    chances = chances_at(lines, belief, [1.0], 1000)
    # After as long as one line is driven.
    left = -math.expm1(-1000 * PERIOD_S / 100.0)
    assert chances['left'] == pytest.approx(left / (1.0 + left), rel=1e-3)
    assert lines.read().name == 'right'
    chances = chances_at(lines, belief, [0.0, 1.0])
    assert chances == pytest.approx({'left': 1.0, 'right': 0.0}, abs=1e-3)
    assert lines.read().name == 'left'
    # Ticks without observations count as many times.
    other, beside = follower()
    chances_at(other, beside, [0.0, 1.0])
    beside.at([1.0])
    other.follow(50)
    assert other.read().chances == pytest.approx(chances_at(lines, belief, [1.0], 50), rel=1e-9)


def test_the_same_evidence_is_not_counted_again_at_each_tick_nor_for_the_longer_line():
    chances = chances_at(*follower(trunk=(1.0, 0.8), kept_s=1e9), [1.0], 1000)
    assert chances == pytest.approx({'left': 1.0 / 1.8, 'right': 0.8 / 1.8}, rel=1e-3)
    # A belief that is anywhere does not prefer the longer line.
    lines, belief = follower(left=90, beside=0, kept_s=1e9)
    chances_at(lines, belief, [1.0 / 92.0] * 92, 100)
    assert chances_at(lines, belief, [1.0]) == pytest.approx({'left': 0.5, 'right': 0.5})


def test_ways_ahead_are_those_of_each_line_with_its_chance():
    lines, belief = follower()
    chances_at(lines, belief, [1.0])
    read = lines.read()
    assert [each.name for each in read.branches] == ['left', 'right']
    assert [each.chance for each in read.branches] == pytest.approx([0.5, 0.5])
    assert read.fork == 1
    assert read.branches[0].positions.tolist() == [[0.0, 0.0], [10.0, 9.0]]
    assert read.branches[1].positions.tolist() == [[0.0, 0.0], [10.0, -9.0]]
    assert read.branches[0].ahead_s == (0.0, 1.0)
    # Lines that go the same way are one branch.
    lines, belief = follower(apart_m=20.0)
    chances_at(lines, belief, [1.0])
    assert (lines.read().branches, lines.read().fork) == ((), None)


def test_lines_are_named_as_they_are_driven(forked_model, forked_drives):
    imu = forked_drives['both'].imu
    found = feed(Filter(forked_model), zip(imu.stamps.tolist(), imu.samples, strict=True))
    named = [name for name, _ in itertools.groupby(each.line for each in found if each.valid)]
    assert named == ['left', 'right', 'left']
    assert {each.route for each in found} == {''}
    for each in found:
        assert list(each.chances) == ['left', 'right']
        assert sum(each.chances.values()) == pytest.approx(1.0 - each.off_route, abs=1e-9)


@pytest.mark.parametrize('name', ['hall', 'paddock', 'ring'])
def test_a_fix_names_the_route_at_the_first_tick_and_keeps_it(name, kart_atlas, kart_drives):
    """The others are in other frames."""
    drive = kart_drives[name][1]
    stream, positions = later(kart_drives, name)[2000:], drive.positions
    nearest = int(np.searchsorted(positions.stamps, stream[0][0]))
    fix = Fix(NEWEST, positions.positions[nearest], 0.01 * np.eye(2), frame_id=name)
    live = Filter(kart_atlas)
    live.fix(fix)
    estimates = feed(live, stream[:2000])
    assert all(each.route == name and each.valid for each in estimates)
    assert live.fixes == {'received': 1, 'agreeing': 1}
    # One on another route is wrong, and a second one there is not.
    other = next(each for each in kart_drives if each != name)
    elsewhere = replace(fix, frame_id=other, position=kart_drives[other][1].positions.positions[0])
    live.fix(elsewhere)
    assert {each.route for each in feed(live, stream[2000:2300])} == {name}
    # Where the vehicle was carried there, the route is named with the fixes.
    carried = joined(stream[:2300], later(kart_drives, other)[2000:], pause_s=1.0)
    live = Filter(kart_atlas)
    feed(live, carried[:2320])
    places = kart_drives[other][1].positions
    begins = int(np.searchsorted(places.stamps, later(kart_drives, other)[2000][0]))
    there = replace(elsewhere, position=places.positions[begins])
    live.fix(there)
    feed(live, carried[2320:2340])
    live.fix(there)
    found = feed(live, carried[2340:3300])
    assert np.mean([each.route == other for each in found]) > 0.9
    with_other_frame = Filter(kart_atlas)
    with_other_frame.fix(replace(fix, frame_id='none of them'))
    feed(with_other_frame, stream[:100])
    assert with_other_frame.fixes == {'received': 1, 'other_frame': 1}
