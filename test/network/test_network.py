# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is learned of a network: speed ratios, shaking, headings, usual speeds, and joins."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
import itertools
import math

import numpy as np
import pytest

from two_manifold_ros.network import belief, learning
from two_manifold_ros.route.merging import Places
from two_manifold_ros.route.visits import lay_out, Passes

PERIOD_S, MEMORY_S = 0.1, 0.5
BLOCK_M, BEND_M, STRIDE_M = 40.0, 4.0, 1.0
"""Of a street between crossings, the radius of a bend, and what is driven in a tick."""

NOISE = 0.02
"""Of what is seen."""

Node = tuple[int, int]


@dataclass(frozen=True)
class Drive:
    """Positions (T, 2), headings (T,), and observations (T, 3), of which one shows turning."""

    track: np.ndarray
    headings: np.ndarray
    seen: np.ndarray


def line_of(nodes: Sequence[Node]) -> np.ndarray:
    """Return points (n, 2) every 5 cm along streets, with round corners."""
    corners = BLOCK_M * np.array(nodes, dtype=np.float64)
    parts, last = [], corners[0]
    for before, here, behind in zip(corners, corners[1:], corners[2:], strict=False):
        came, goes = (here - before) / BLOCK_M, (behind - here) / BLOCK_M
        if (came == goes).all():
            continue
        begin = here - BEND_M * came
        parts.append(straight(last, begin))
        angle = np.linspace(0.0, 0.5 * np.pi, round(0.5 * np.pi * BEND_M / 0.05), endpoint=False)
        parts.append(
            begin
            + BEND_M * np.sin(angle)[:, None] * came
            + BEND_M * (1.0 - np.cos(angle))[:, None] * goes
        )
        last = here + BEND_M * goes
    return np.concatenate([*parts, straight(last, corners[-1])])


def straight(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return points every 5 cm from one to another, without the last."""
    count = max(round(float(np.linalg.norm(end - begin)) / 0.05), 1)
    return np.linspace(begin, end, count, endpoint=False)


def driven(
    line: np.ndarray,
    strides: np.ndarray | float = STRIDE_M,
    *,
    seed: int = 0,
    gain: float = 2.0,
    bias: float = 0.3,
) -> Drive:
    """
    Drive along a line to its end by ``strides``, metres in each tick, with noisy positions.

    Read of a turn is ``gain`` times it, and ``bias``.
    """
    rng = np.random.default_rng(seed)
    steps = np.diff(line, axis=0)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(steps, axis=1))])
    heading = np.unwrap(np.arctan2(*np.vstack([steps, steps[-1:]]).T[::-1]))
    if not np.ndim(strides):
        strides = np.concatenate([[0.0], np.full(int(along[-1] / strides), strides)])
    wanted = np.cumsum(strides)
    wanted = wanted[wanted < along[-1]]
    track = np.stack([np.interp(wanted, along, column) for column in line.T], axis=1)
    headings = np.interp(wanted, along, heading)
    turned = np.diff(headings, prepend=headings[0])
    seen = NOISE * rng.normal(size=(len(wanted), 3))
    seen[:, 1] += gain * turned + bias
    return Drive(track + 0.02 * rng.normal(size=track.shape), headings, seen)


def passes_of(seen: list[np.ndarray], tracks: list[np.ndarray]) -> Passes:
    """Lay out drives as those of a network."""
    passes = lay_out(seen, tracks, (0,), PERIOD_S, MEMORY_S, *np.zeros((3, 3)), network=True)
    assert passes is not None
    return passes


def parts_of(drives: list[Drive]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return what is seen, and the tracks."""
    return [each.seen for each in drives], [each.track for each in drives]


WINDOW = 60


@pytest.mark.parametrize('spread', [0.06, 0.12, 0.5])
@pytest.mark.parametrize(('period_s', 'memory_s'), [(0.1, 1.0), (0.02, 3.0), (0.5, 0.5)])
def test_speed_ratios_change_by_probabilities_that_sum_to_one(spread, period_s, memory_s):
    chances = belief.exchanges_of_ratios(spread, period_s, memory_s)
    assert (chances >= 0.0).all()
    assert np.allclose(chances.sum(axis=1), 1.0, rtol=0.0, atol=1e-12)
    assert (np.linalg.matrix_power(chances + np.eye(len(chances)), 40) > 0.0).all()


def test_a_driver_stops_step_by_step_and_drives_on_the_same_way():
    chances = belief.exchanges_of_ratios(0.1, 0.05, 2.0)
    steps = len(belief.STOPPING)
    off = chances - np.diag(np.diag(chances))
    # Who drives as usual brakes to the highest, and goes no farther in a tick.
    assert (off[belief.FIRST_USUAL :, steps] > 0.0).all()
    assert not off[belief.FIRST_USUAL :, :steps].any()
    assert not off[belief.FIRST_USUAL :, steps + 1 : belief.FIRST_USUAL].any()
    # Downwards it goes to the next lower one or up again at the same speed.
    for down in range(1, 1 + steps):
        assert set(np.flatnonzero(off[down])) == {down - 1, down + steps}
        assert belief.RATIOS[down] == belief.RATIOS[down + steps]
    assert np.flatnonzero(off[0]).tolist() == [1 + steps]
    assert (off[belief.FIRST_USUAL - 1, belief.FIRST_USUAL :] > 0.0).all()


@pytest.mark.parametrize('spread', [0.08, 0.15])
def test_usual_ratios_are_normal_in_their_logarithm_and_stay_so(spread):
    usual, logs = belief.usual_ratios(spread), np.log(belief.USUAL)
    assert not usual[: belief.FIRST_USUAL].any()
    expected = np.exp(-0.5 * (logs / spread) ** 2)
    assert np.allclose(usual[belief.FIRST_USUAL :], expected / expected.sum(), rtol=1e-12)
    # Without braking they would wander about it: the mean of where they end is near one.
    wander = belief.exchanges_of_ratios(spread, 0.05, 2.0)[
        belief.FIRST_USUAL :, belief.FIRST_USUAL :
    ]
    wander /= wander.sum(axis=1, keepdims=True)
    last = np.linalg.matrix_power(wander, 100_000)[0]
    mean = last @ logs
    assert abs(mean) < 0.4 * spread
    assert np.sqrt(last @ (logs - mean) ** 2) == pytest.approx(spread, rel=0.25)


def learned() -> tuple[belief.Network, learning.NetworkPasses, list[np.ndarray]]:
    """Learn a network of drives at three speeds, which begin at rest, and return their speeds."""
    rng = np.random.default_rng(3)
    line = line_of([(0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (1, 0), (0, 0)])
    drives, shakes, speeds = [], [], []
    for number, stride in enumerate((0.32, 0.55, 1.0)):
        strides = np.full(1000, stride)
        strides[: round(10.0 / PERIOD_S)] = 0.0
        drive = driven(line, strides, seed=number)
        speed = strides[: len(drive.track)] / PERIOD_S
        spreads = (0.01 + 0.05 * speed)[:, None] * [1.0, 3.0, 0.5]
        drives.append(drive)
        shakes.append(belief.shakes_of(spreads * np.exp(0.2 * rng.normal(size=spreads.shape))))
        speeds.append(speed)
    passes = learning.lay_out_network(passes_of, *parts_of(drives), shakes, [True] * len(drives))
    assert passes is not None
    return learning.learn_network(passes, WINDOW), passes, speeds


def test_how_much_ticks_shake_is_learned_of_each_speed_and_how_likely_turns_are_on_any_road():
    network, passes, speeds = learned()
    assert (np.diff(network.speeds) > 0.0).all()
    assert network.speeds[0] == 0.0
    assert np.allclose(network.speeds[1:], [3.2, 5.5, 10.0], rtol=0.05)
    speed, shakes = np.concatenate(speeds), np.concatenate(passes.shakes)
    for row, here in enumerate((0.0, 3.2, 5.5, 10.0)):
        mine = shakes[np.abs(speed - here) < 0.1]
        assert np.allclose(network.shakes[row], np.median(mine, axis=0), atol=0.05)
        assert np.allclose(network.scales[row], 0.2, rtol=0.3)
    # A misfit is what shakes unlike any speed.
    means = []
    for driven_so in passes.shakes:
        expected = []
        for shaken in driven_so:
            squared = ((shaken - network.shakes) / network.scales) ** 2
            expected.append(np.log(1.0 + squared / 5.0).mean(axis=1).min())
        assert np.allclose(belief.misfits(driven_so, network.shakes, network.scales), expected)
        means += [np.mean(expected[i : i + WINDOW]) for i in range(len(expected) - WINDOW + 1)]
    usual = np.median(means)
    largest = usual + 2.0 * max(max(means) - usual, 0.5 * usual)
    assert network.largest_misfit == pytest.approx(largest)
    turned = np.concatenate(passes.observations) @ network.turning + network.turning_offset
    assert 0.02 <= network.turning_spread < 0.2
    for turn, chance in zip(network.turns, network.chances, strict=True):
        apart = (turned - turn) / network.turning_spread
        assert chance == pytest.approx(np.exp(-0.5 * apart**2).mean(), rel=0.1, abs=1e-3)
    # Nobody turned farther than the table goes, nor is anything impossible.
    assert network.turns[0] < turned.min()
    assert network.turns[-1] > turned.max()
    assert (network.chances > 0.0).all()


STREETS = [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (1, 2), (2, 2), (3, 2), (3, 1), (3, 0), (2, 0)]
DEGREE = np.pi / 180.0


def both_ways(**sensor: float) -> list[Drive]:
    lines = [line_of(STREETS), line_of(STREETS[::-1])]
    return [driven(line, seed=seed, **sensor) for seed, line in enumerate(lines)]


def courses_for(drives: list[Drive]) -> tuple[Places, learning.Courses]:
    seen, tracks = parts_of(drives)
    places = passes_of(seen, tracks).places
    courses = learning.courses_along(places, tracks, seen)
    assert courses is not None
    return places, courses


def apart(places: Places, courses: learning.Courses, drives: list[Drive]) -> np.ndarray:
    """Return by how far the headings of the visits differ from those driven, rad."""
    true = np.empty(len(places.visited))
    for number, each in enumerate(drives):
        mine = places.segments == number
        ticks = np.arange(len(each.headings))
        true[mine] = np.interp(places.times[mine], ticks, each.headings)
    return np.abs(learning.wrapped(courses.headings - true))


@pytest.mark.parametrize('seed', range(3))
def test_headings_and_what_shows_turning_are_learned(seed):
    rng = np.random.default_rng(seed)
    gain, bias = rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 5.0), rng.normal()
    drives = both_ways(gain=gain, bias=bias)
    places, courses = courses_for(drives)
    assert courses.known.all()
    errors = apart(places, courses, drives)
    assert np.median(errors) < 2.0 * DEGREE
    assert errors.max() < 10.0 * DEGREE
    # Only the channel that measures it counts, by the inverse of its gain; the bias is left out.
    assert courses.turning[1] == pytest.approx(1.0 / gain, rel=0.03)
    assert (np.abs(courses.turning[[0, 2]]) * NOISE < 0.01).all()
    straight = courses.turning[1] * bias + courses.offset
    assert straight == pytest.approx(0.0, abs=0.005)


def test_places_have_the_mean_heading_of_their_visits_and_too_short_a_drive_none():
    places, courses = courses_for(both_ways())
    along = learning.courses_of(places, courses)
    for place in range(0, len(places), 17):
        headings = courses.headings[places.visited == place]
        mean = np.angle(np.exp(1j * headings).mean())
        assert along[place] == pytest.approx(mean, abs=1e-9)
    # One that no heading is known of has that of its positions.
    none = learning.courses_of(places, replace(courses, known=np.zeros_like(courses.known)))
    assert np.allclose(none, np.arctan2(places.headings[:, 1], places.headings[:, 0]))
    line = np.stack([np.linspace(0.0, BLOCK_M, 800), np.zeros(800)], axis=1)
    seen, tracks = parts_of([driven(line[:280])])
    assert learning.courses_along(passes_of(seen, tracks).places, tracks, seen) is None


ALONG = 8
"""Visits each way over which a speed is measured."""

CLASSES, FAST = 20, 0.9
NODES = [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 3), (4, 4), (5, 4)]
"""Of a street that bends at each crossing, to the left and to the right."""


def laid_by(*strides: np.ndarray | float) -> Passes:
    """Lay out drives along the street by these strides, each in a tick."""
    drives = [driven(line_of(NODES), each, seed=seed) for seed, each in enumerate(strides)]
    return passes_of(*parts_of(drives))


def alike(places: Places, speeds: np.ndarray) -> np.ndarray:
    """Return the mean over visits of the median speed where roads bend as much, at each place."""
    bends = np.empty(len(speeds))
    for visit, run in enumerate(places.runs):
        low, high = max(visit - ALONG, 0), min(visit + ALONG, len(speeds) - 1)
        while places.runs[low] != run:
            low += 1
        while places.runs[high] != run:
            high -= 1
        before, behind = places.headings[places.visited[[low, high]]]
        bends[visit] = np.arccos(np.clip(before @ behind, -1.0, 1.0))
    usual = np.empty(len(speeds))
    for part in np.array_split(np.argsort(bends, kind='stable'), CLASSES):
        usual[part] = np.median(speeds[part])
    return np.array([usual[places.visited == place].mean() for place in range(len(places))])


def test_usual_is_what_nine_tenths_of_the_visits_and_one_of_like_bends_are_below():
    # The fourth is slow on a stretch from 70 to 90 m.
    slowed = np.concatenate([np.ones(70), np.full(67, 0.3), np.ones(400)])
    passes = laid_by(0.6, 0.8, 1.0, slowed, 0.9)
    speeds, _ = learning.driving_speeds(passes.places, PERIOD_S)
    others = alike(passes.places, speeds)
    found, usual_mps = learning.with_usual_speeds(passes)
    visited = passes.places.visited
    expected = [
        np.quantile([*speeds[visited == place], other], FAST) for place, other in enumerate(others)
    ]
    assert np.allclose(usual_mps, expected, rtol=1e-12)
    ratios = np.log(speeds / usual_mps[visited]).clip(-1.0, 1.0)
    assert np.allclose(found.log_ratios, ratios, rtol=1e-12)
    # As far from place to place as a drive gets in half a tick.
    ticks = 0.5 * passes.places.usual_mps / usual_mps
    assert np.median(np.abs(found.stays / ticks - 1.0)) < 0.05


@pytest.mark.parametrize('stands_s', [5.0, 20.0])
def test_around_a_standstill_at_a_start_the_speed_is_that_four_seconds_later(stands_s):
    # One that stands, and gains speed up to 10 m/s.
    seconds = np.arange(500) * PERIOD_S - stands_s
    places = laid_by(seconds.clip(0.0, 10.0) * PERIOD_S, 1.0).places
    speeds, _ = learning.driving_speeds(places, PERIOD_S)
    mine = places.segments == 0
    left = np.flatnonzero(~places.standing[0])[0]
    near = mine & (places.times < left + 4.0 / PERIOD_S)
    assert near.sum() > 10
    # Ticks later it is the speed at which it then drives, about the one metre away.
    assert np.ptp(speeds[near]) < 0.5
    assert speeds[near].mean() == pytest.approx(4.0 + left * PERIOD_S - stands_s, abs=1.0)
    assert speeds[mine][-1] == pytest.approx(10.0, rel=0.05)
    assert np.allclose(speeds[~mine], 10.0, rtol=0.3)


SIZE = 3
Way = tuple[Node, Node, Node]
"""From a crossing over another to a third one."""

BANNED: Way = ((0, 1), (1, 1), (1, 2))
"""A turn to the left in the middle of the grid."""


def beside(node: Node) -> list[Node]:
    return [
        each for each in itertools.product(range(SIZE), repeat=2) if math.dist(each, node) == 1
    ]


def walk(banned: Way | None, seed: int = 0) -> list[Node]:
    """Return a way over all crossings, which takes each turn there at least once."""
    rng = np.random.default_rng(seed)
    nodes = itertools.product(range(SIZE), repeat=2)
    left = {(a, b, c) for b in nodes for a, c in itertools.permutations(beside(b), 2)} - {banned}
    path: list[Node] = [(0, 0), (0, 1)]
    while left:
        before, here = path[-2:]
        options = [each for each in beside(here) if (before, here, each) != banned]
        options = [each for each in options if each != before]
        new = [each for each in options if (before, here, each) in left] or options
        path.append(new[rng.integers(len(new))])
        left.discard((before, here, path[-1]))
    return path


def laid(*ways: list[Node]) -> learning.NetworkPasses:
    """Lay out drives that take some ways."""
    drives = [driven(line_of(way), seed=seed) for seed, way in enumerate(ways)]
    seen, tracks = parts_of(drives)
    shakes = [np.zeros_like(each) for each in seen]
    begins = [number != 1 for number in range(len(ways))]
    found = learning.lay_out_network(passes_of, seen, tracks, shakes, begins)
    assert found is not None
    joins = len(found.tracks) - len(drives)
    assert len(found.observations) == len(found.tracks)
    assert found.passes.begins.tolist() == begins + joins * [False]
    return found


def takes(track: np.ndarray, way: Way) -> bool:
    """Return whether a track leads from the middle of a street over a crossing to that behind."""
    before, here, behind = BLOCK_M * np.array(way, dtype=np.float64)
    ticks = []
    for share, node in ((0.35, before), (0.0, here), (0.35, behind)):
        apart = np.linalg.norm(track - here - share * (node - here), axis=1)
        if apart.min() > 3.0:
            return False
        ticks.append(int(apart.argmin()))
    return ticks == sorted(ticks)


def test_a_turn_that_nobody_took_is_joined_and_sees_what_was_seen_where_it_is_taken_from():
    """Of a drive that takes all turns but one."""
    joined = laid(walk(BANNED))
    drives = joined.tracks[len(joined.shakes) :]
    assert 1 <= len(drives) <= 2
    assert any(takes(each, BANNED) for each in drives)
    rows = {row.tobytes() for row in joined.observations[0]}
    for track, seen in zip(joined.tracks[1:], joined.observations[1:], strict=True):
        assert len(track) == len(seen)
        assert all(row.tobytes() in rows for row in seen)
        # What the IMU reads of turning is how far the track turns.
        turned = seen @ joined.courses.turning + joined.courses.offset
        begins, _, ends = np.diff(track[[0, 3, -4, -1]], axis=0)
        heading = np.arctan2(ends[1], ends[0]) - np.arctan2(begins[1], begins[0])
        assert abs(learning.wrapped(turned.sum() - heading)) < 0.3


@pytest.mark.parametrize('seed', [0, 1])
def test_nothing_is_joined_where_all_turns_were_taken_or_too_little_is_driven(seed):
    drive = driven(line_of([(0, 0), (1, 0)])[:300])
    assert (
        learning.lay_out_network(passes_of, [drive.seen], [drive.track], [drive.seen], [True])
        is None
    )
    found = laid(walk(None, seed))
    assert len(found.tracks) == len(found.shakes)


@pytest.mark.parametrize(
    ('crossings', 'joins'), [([2] * 6, False), ([1, 2, 3, 4], False), ([1, 2, 3, 4, 4], True)]
)
def test_a_turn_is_joined_that_was_taken_often_and_at_several_crossings(crossings, joins):
    """All other ways over crossings are straight on."""
    ways = [[(x, y) for x in range(4)] for y in range(7)]
    ways += [[(x, y) for y in range(7)] for x in (1, 2)]
    turns = [[(0, y), (1, y), (1, y + 1), (1, y + 2)] for y in crossings]
    found = laid(*ways, *turns)
    assert (len(found.tracks) > len(found.shakes)) == joins
    drives = found.tracks[len(ways) + len(turns) :]
    assert any(takes(each, ((1, 2), (2, 2), (2, 3))) for each in drives) == joins
