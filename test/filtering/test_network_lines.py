# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which line of a network is driven, and the ways ahead on one map."""

import itertools
import math

from filter_runs import feed
import numpy as np
import pytest

from two_manifold_ros.filtering.atlas import make_filter
from two_manifold_ros.filtering.network_lines import LineFollower
from two_manifold_ros.model.model import NetworkLines
from two_manifold_ros.route.belief import Shares

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
    found = feed(make_filter(forked_model), zip(imu.stamps.tolist(), imu.samples, strict=True))
    named = [name for name, _ in itertools.groupby(each.line for each in found if each.valid)]
    assert named == ['left', 'right', 'left']
    assert {each.route for each in found} == {''}
    for each in found:
        assert list(each.chances) == ['left', 'right']
        assert sum(each.chances.values()) == pytest.approx(1.0 - each.off_route, abs=1e-9)
