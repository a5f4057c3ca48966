# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learned values of a place: levels, slopes by speed ratio, chances, successors."""

from dataclasses import replace

from circuit import CHANNELS, Circuit, laid, LAP_TICKS, learned, NOISE, PERIOD_S
from naive_route import log_density
import numpy as np
import pytest
from scipy.spatial import KDTree
from small_route import numbers_of

from two_manifold_ros.route.learning import (
    chances_to_move,
    Durations,
    exchanges_for,
    learn_trust,
    reach,
    Tuning,
    usual_speeds,
)
from two_manifold_ros.route.merging import Places
from two_manifold_ros.route.route import HYPOTHESES, JUMPED, LIMITS, MEMORIES, Route, SETTLED
from two_manifold_ros.route.visits import (
    LARGEST_LOG_RATIO,
    main_ways,
    Passes,
    RATIO_PLACES,
    ways_of,
)


def shares_at(passes: Passes) -> np.ndarray:
    """Return the share of the way round of each place."""
    fine = np.linspace(0.0, 1.0, 20 * LAP_TICKS, endpoint=False)
    apart, nearest = KDTree(Circuit().at(fine)).query(passes.places.positions)
    assert apart.max() < 0.5
    return fine[nearest]


def observed(route: Route) -> list[np.ndarray]:
    """Return usual observations (P, d), and what they gain per log-ratio, given slow means."""
    of = route.likelihood
    return [
        np.linalg.solve(of.whitening, rows.T).T[:, -CHANNELS:] for rows in (of.means, of.slopes)
    ]


def test_levels_and_what_a_speed_ratio_adds(route):
    passes, circuit = laid(Circuit().laps(40)), Circuit()
    learned_of_many, shares = learned(passes), shares_at(passes)
    levels, slopes = observed(learned_of_many)
    # The usual speed of a place is the median of its passes.
    gained = circuit.gained(shares)
    wanted = circuit.felt(shares) + np.median(passes.log_ratios) * gained
    assert np.sqrt(np.mean((levels - wanted) ** 2)) < NOISE
    for mine, true in zip(slopes.T[:-1], gained.T[:-1], strict=True):
        assert np.corrcoef(mine, true)[0, 1] > 0.95
    assert np.sum(slopes * gained) / np.sum(gained * gained) == pytest.approx(1.0, abs=0.2)
    # A mean of n visits is itself off by the n-th part of their variance.
    once = learned(laid(Circuit().laps(1))).likelihood.noise
    assert np.median(once) > 1.5 * np.median(route.likelihood.noise)


def test_the_observation_alone_has_the_same_usual_values(route):
    """Only its noise is another: no slow mean explains a part of it."""
    for alone, given in zip(route.likelihood.usual(), observed(route), strict=True):
        np.testing.assert_allclose(alone, given, atol=1e-9)
    root = np.linalg.inv(route.likelihood.whitening)
    whole = root @ root.T
    root = np.linalg.inv(route.likelihood.new_whitening)
    np.testing.assert_allclose(root @ root.T, whole[-CHANNELS:, -CHANNELS:], atol=1e-9)
    given = np.linalg.inv(np.linalg.inv(whole)[-CHANNELS:, -CHANNELS:])
    wider = np.linalg.slogdet(root @ root.T)[1] - np.linalg.slogdet(given)[1]
    assert route.likelihood.new_level == pytest.approx(-0.5 * wider)
    assert route.likelihood.new_level < 0.0


def test_where_the_drives_began():
    begins = (0.0, 0.5, 0.5)
    passes = laid(
        *(Circuit().drive(np.zeros(2 * LAP_TICKS), i, begin) for i, begin in enumerate(begins))
    )
    (rolling, standing), shares = learned(passes).switching.beginnings, shares_at(passes)
    assert rolling.sum() + standing.sum() == pytest.approx(1.0)
    assert rolling.min() >= 0.0
    # Of three drives none started at rest, half a drive is unknown: it may have started anywhere.
    np.testing.assert_allclose(standing, 0.5 / 4.0 / len(standing), rtol=1e-9)
    rolling = rolling / rolling.sum() - 0.5 / len(rolling)
    for begin, wanted in ((0.0, 1.0 / 6.0), (0.5, 2.0 / 6.0)):
        away = np.abs((shares - begin + 0.5) % 1.0 - 0.5)
        assert rolling[away < 0.02].sum() == pytest.approx(wanted)


def test_where_drives_stopped():
    """On every lap at a quarter of the way, on every second one half round as well."""
    ratios, dwell = np.zeros(8 * LAP_TICKS), 40
    for quarter in (29, 27, 25, 21, 19, 17, 13, 11, 9, 5, 3, 1):
        ratios = np.insert(ratios, quarter * LAP_TICKS // 4, np.full(dwell, -np.inf))
    passes = laid(Circuit().drive(ratios, seed=3))
    route, shares = learned(passes), shares_at(passes)
    stopping, going_on = route.switching.stops
    # Of one that is driven through: as many stops as ticks, times the chance in each.
    met = stopping / route.motion.rates
    for share, chance in ((0.25, 1.0), (0.75, 0.5)):
        near = np.abs(shares - share) < 0.06
        assert met[near].sum() == pytest.approx(chance, rel=0.2)
        assert 1.0 / going_on[near].max() == pytest.approx(dwell, rel=0.15)
    far = np.minimum(np.abs(shares - 0.25), np.abs(shares - 0.75)) > 0.08
    assert not route.switching.stops[:, far].any()


def test_a_hundredth_of_the_driving_looks_as_much_like_standing():
    passes = laid(Circuit().halting(before=400, standing=60, after=400, seed=2))
    route = learned(passes)
    of, likelier = route.likelihood, []
    for features in passes.series:
        means, seen, nothing = features[:-CHANNELS], features[-CHANNELS:], features[:0]
        lasting, resting = (
            of.persistence * log_density(each, means, nothing)
            for each in (of.other_means, of.rest_means)
        )
        alone = log_density(of.rest_alone, seen, nothing) + lasting
        stands = max(alone, log_density(of.rest, seen, means) + resting)
        moves = max(log_density(each, seen, means) for each in (of.slow, of.other))
        likelier.append(stands - moves - lasting)
    wanted = max(np.quantile(likelier, 0.99), 0.0)
    assert route.switching.mistakable == pytest.approx(wanted, abs=1e-9)
    assert route.switching.mistakable > 0.0


def test_how_fast_a_speed_ratio_of_its_own_may_be():
    """As fast as any visit, nearly; around a stop, where all of them were slow, faster."""
    ratios = Circuit().laps(12, spread=0.05).log_ratios
    ratios = np.insert(ratios, 5 * LAP_TICKS, np.full(40, -np.inf))
    passes = laid(Circuit().drive(ratios, seed=2))
    fastest, places = learned(passes).motion.fastest, passes.places
    stop = np.flatnonzero(passes.halts)[0]
    around = places.visited[np.abs(places.times - places.times[stop]) * PERIOD_S < 3.0]
    assert (fastest[around] == LIMITS.fastest).all()
    (bound,) = np.unique(fastest[fastest < LIMITS.fastest])
    assert (fastest == bound).mean() > 0.4
    assert (np.exp(passes.log_ratios) > bound).mean() <= 0.011


def test_how_far_the_forward_axis_is_trusted(passes):
    """A regression of how the ratio changes on what was felt between, beside its return to one."""
    rng = np.random.default_rng(4)
    places, ratios, tuning = passes.places, passes.log_ratios, Tuning()
    usual = rng.standard_normal((len(places), CHANNELS))
    tick_lengths = rng.uniform(0.5, 2.0, len(places))
    trust, largest = learn_trust(passes, usual, tick_lengths, tuning)
    felt = (passes.features[:, -CHANNELS:] - usual[places.visited]) @ passes.forward.weights
    felt *= tick_lengths[places.visited]
    gained, rows = felt[:-1] * np.diff(places.times).clip(0.0, tuning.most_stay), []
    for first in range(len(felt) - 2 * RATIO_PLACES):
        last = first + 2 * RATIO_PLACES
        steep = max(abs(ratios[first]), abs(ratios[last])) >= LARGEST_LOG_RATIO
        if places.runs[first] == places.runs[last] and not steep:
            rows.append((gained[first:last].sum(), -ratios[first], ratios[last] - ratios[first]))
    design, changes = np.split(np.array(rows), [2], axis=1)
    slope = np.linalg.lstsq(design, changes, rcond=None)[0][0, 0]
    assert trust == pytest.approx(min(max(slope, 0.0), 1.0), abs=1e-6)
    assert largest == pytest.approx(np.quantile(np.abs(felt), tuning.usual_share))


def test_positions_ahead_and_the_velocity(passes, route):
    circuit, shares, readout = Circuit(), shares_at(passes), route.readout
    usual = float(np.median(passes.log_ratios))
    tick = 2.0 * np.pi * 20.0 / LAP_TICKS
    for column, horizon in enumerate(passes.horizons):
        ahead = circuit.at(shares + np.exp(usual) * horizon / LAP_TICKS)
        missed = np.linalg.norm(readout.targets[:, column] - ahead, axis=1)
        assert np.median(missed) < 0.5 * tick + 0.06 * horizon * tick
    speed = np.linalg.norm(readout.targets[:, -1], axis=1)
    assert np.median(speed) == pytest.approx(passes.places.usual_mps, rel=0.1)
    # Who is faster by a hundredth is farther by nearly that share of the way.
    gained = np.linalg.norm(readout.drifts[:, 2], axis=1)
    assert np.median(gained) == pytest.approx(20.0 * tick, rel=0.35)


def test_what_is_left_out_is_not_learned_and_expects_nothing(laps, passes):
    """Places are there, but hardly anything observed speaks for or against them."""
    half = len(laps.track) // 2
    kept = passes.places.times < half
    broken = laps.observations.copy()
    broken[half + 1 :] += 100.0
    other = laid(replace(laps, observations=broken))
    first, second = (numbers_of(learned(each, kept)) for each in (passes, other))
    for name in (
        'whitening', 'means', 'slopes', 'new_means', 'new_whitening', 'noise', 'targets',
        'covariances', 'moves',
    ):  # fmt: skip
        np.testing.assert_allclose(first[name], second[name], atol=1e-9)
    means = [learned(each).likelihood.means for each in (passes, other)]
    assert not np.allclose(*means, atol=0.1)
    shares = shares_at(passes)
    of = learned(passes, shares[passes.places.visited] < 0.6).likelihood
    unknown = (shares > 0.65) & (shares < 0.95)
    assert np.isfinite(of.means).all()
    assert of.noise[unknown].min() > 10.0 * of.noise[(shares > 0.05) & (shares < 0.55)].max()
    assert (of.slopes[unknown] == 0.0).all()


def test_a_place_is_where_it_is_however_unusual_the_speed_of_its_visits(passes):
    """Near stops all laps differ by more than elsewhere; a place without a kept visit is blank."""
    away = np.abs(shares_at(passes) - 0.5)
    visits = away[passes.places.visited] < 0.03
    unusual = np.where(np.arange(len(visits)) % 2 > 0, 1.0, -1.0)
    other = replace(passes, log_ratios=np.where(visits, unusual, passes.log_ratios))
    route, blank = learned(other), learned(other, ~visits).readout.targets[:, 0]
    missed = np.linalg.norm(route.readout.targets[:, 0] - passes.places.positions, axis=1)
    assert missed[away < 0.03].max() < 2.0
    assert route.likelihood.noise[away < 0.03].max() < 10.0 * np.median(route.likelihood.noise)
    known = blank[away >= 0.03].mean(axis=0)
    assert np.linalg.norm(blank[away < 0.02] - known, axis=1).max() < 1e-6


def made_up(along: np.ndarray, visited: np.ndarray, runs: np.ndarray) -> Places:
    """Return places on a line, so many metres along it, of a usual speed of 10 m/s."""
    return Places(
        positions=np.column_stack([along, np.zeros(len(along))]),
        headings=np.tile([1.0, 0.0], (len(along), 1)),
        radius_m=1.0,
        usual_mps=10.0,
        visited=visited,
        segments=runs,
        runs=runs,
        times=np.arange(len(visited), dtype=np.float64),
        standing=(np.zeros(len(visited), dtype=np.bool_),),
    )


def drives(*visits: list[int]) -> Places:
    """Return places that drives visited in this order, each in a stretch of its own."""
    visited = np.concatenate(visits)
    runs = np.repeat(np.arange(len(visits)), [len(each) for each in visits])
    return made_up(np.zeros(visited.max() + 1), visited, runs)


WAY = list(range(20))
LEFT, RIGHT = [0, 1, 2, 3, 4, 5], [0, 1, 10, 11, 12, 13]


@pytest.mark.parametrize(
    ('visits', 'wanted'),
    [
        # Who stays at a place for a while goes on all the same.
        ([[0, 1, 1, 1, 2, 0, 1, 2]], {0: {1: 1.0}, 1: {2: 1.0}, 2: {0: 1.0}}),
        # From one drive to the next no way leads.
        ([[0, 1], [2, 3]], {0: {1: 1.0}, 1: {}, 2: {3: 1.0}}),
        ([LEFT, LEFT, LEFT, RIGHT], {1: {2: 0.75, 10: 0.25}, 10: {11: 1.0}}),
        # Who skips a place or slips back is on the same way; a short cut is a way of its own.
        (
            [WAY, WAY, [3, 4, 6, 7], [8, 9, 8, 9, 10], [11, 14, 15]],
            {place: {place + 1: 1.0} for place in range(19)},
        ),
        ([WAY, WAY, [3, 15, 16]], {3: {4: 2.0 / 3.0, 15: 1.0 / 3.0}}),
        # Of two equal ways the next place is the main one.
        ([[0, 1, 2, 3, 4, 5, 6], [5, 4]], {4: {5: 1.0}, 5: {6: 1.0}}),
    ],
    ids=['round', 'drives', 'fork', 'noise', 'short cut', 'equal'],
)
def test_ways_and_their_shares(visits, wanted):
    places = drives(*visits)
    found = ways_of(places, np.ones(len(places.visited), dtype=np.bool_))
    for place, to in wanted.items():
        assert dict(found.get(place, [])) == pytest.approx(to)


def test_only_kept_visits_show_ways_and_main_ones_are_those_of_most():
    places = drives([0, 1, 2, 3], [0, 1, 20, 21])
    kept = np.arange(8) < 4
    assert ways_of(places, kept) == {0: [(1, 1.0)], 1: [(2, 1.0)], 2: [(3, 1.0)]}
    kept[2] = False
    assert ways_of(places, kept) == {0: [(1, 1.0)]}
    found = main_ways({0: [(1, 0.3), (4, 0.7)], 1: [(2, 1.0)]}, 5)
    np.testing.assert_array_equal(found, [4, 2, 2, 3, 4])


def test_reach_against_powers_of_a_matrix():
    """A fork that comes together again, and a dead end where all stay."""
    found = {0: [(1, 0.6), (2, 0.4)], 1: [(3, 1.0)], 2: [(3, 0.5), (4, 0.5)], 3: [(0, 1.0)]}
    matrix = np.zeros((5, 5))
    matrix[4, 4] = 1.0
    for a, to in found.items():
        for b, share in to:
            matrix[a, b] = share
    begins, targets, steps, shares = geometry = reach(found, 5, 6)
    assert all(each.dtype == np.int64 for each in geometry[:3])
    of = np.repeat(np.arange(5), np.diff(begins))
    assert begins[0] == 0
    assert len(of) == len(targets) == len(np.unique([steps, of, targets], axis=1).T)
    table = np.zeros((7, 5, 5))
    table[steps, of, targets] = shares
    for step in range(7):
        wanted = np.linalg.matrix_power(matrix, step)
        np.testing.assert_allclose(table[step], wanted, atol=1e-12)


def test_a_speed_ratio_moves_as_far_as_it_says():
    moves = chances_to_move(27)
    steps = np.arange(moves.shape[1])
    assert len(moves) == 28
    assert (moves >= 0.0).all()
    np.testing.assert_allclose(moves.sum(axis=1), 1.0, atol=1e-12)
    means = moves @ steps
    np.testing.assert_allclose(means, np.arange(28) / LIMITS.rows_a_place, atol=1e-6)
    variances = moves @ steps**2 - means**2
    np.testing.assert_allclose(variances[means >= 1.0], 0.36, rtol=0.15)
    # Who stands stays, and who hardly moves is not unsteadier than that.
    assert moves[0, 0] == 1.0
    assert (variances <= 1.15 * 0.36).all()
    assert (variances >= means % 1.0 * (1.0 - means % 1.0) - 1e-9).all()
    assert moves[:, -1].max() < 0.1


@pytest.mark.parametrize(('period_s', 'memory_s'), [(0.1, 1.0), (0.05, 0.4)])
def test_each_thing_happens_once_in_its_time(period_s, memory_s):
    table = np.concatenate(exchanges_for(period_s, memory_s), axis=1)
    after_of = [*HYPOTHESES, *(f'anywhere {mode}' for mode in JUMPED)]
    mean = Durations()
    for before, after, memories, share in (
        ('on', 'off', mean.leave, 0.5),
        ('on', 'anywhere on new', mean.enter, 1.0),
        ('elsewhere', 'anywhere off', mean.elsewhere_lasts, 0.25),
        ('free motion', 'slow', mean.slow, 1.0),
        ('stands', 'free motion', mean.pull_away, 1.0),
        ('on new', 'on', SETTLED * max(MEMORIES), 1.0),
        ('free motion', 'elsewhere', mean.own_lasts, 1.0),
    ):
        chance = table[HYPOTHESES.index(before), after_of.index(after)]
        # In so many ticks all but 1 / e have gone over.
        left = (1.0 - chance / share) ** (memories * memory_s / period_s)
        assert left == pytest.approx(np.exp(-1.0)), (before, after)


@pytest.mark.parametrize('period_s', [0.01, 0.1, 1.0])
@pytest.mark.parametrize('memory', [4.0, 20.0])
def test_no_hypothesis_is_left_more_often_than_always(period_s, memory):
    exchanges, jumps = exchanges_for(period_s, memory * period_s)
    # From elsewhere no vehicle gets to the same place: there was none.
    assert not exchanges[-1, :-1].any()
    assert min(exchanges.min(), jumps.min()) >= 0.0
    np.testing.assert_allclose(exchanges.sum(axis=1) + jumps.sum(axis=1), 1.0, atol=1e-12)
    assert 0.25 < np.diag(exchanges).min() <= np.diag(exchanges).max() < 1.0


def test_usual_speeds_are_those_of_the_ways():
    """A metre at every half tick of a tenth of a second is 20 m/s."""
    index = np.arange(31)
    places, after = made_up(1.0 * index, index, 0 * index), np.minimum(index + 1, 30)
    stays = np.full(31, 0.5)
    rates, tick_lengths = usual_speeds(places, stays, after, 0.1)
    np.testing.assert_allclose(rates, 2.0)
    np.testing.assert_allclose(0.1 / tick_lengths, 20.0, rtol=0.01)
    # Where all stop, nobody is slower than a tenth of the usual speed of 10 m/s.
    stays[10:20] = 1e6
    rates, tick_lengths = usual_speeds(places, stays, after, 0.1)
    assert rates.min() > 0.0
    assert (0.1 / tick_lengths).min() == pytest.approx(1.0, rel=0.3)
