# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rest, and samples that do not change at all."""

import numpy as np
import pytest

from two_manifold_ros.ticks.rest import (
    alike,
    longest_runs,
    longest_stuck,
    Rest,
    ROUNDING,
    spreads_along,
)

SEEN = np.random.default_rng(0).normal(size=(50, 3))


@pytest.mark.parametrize('ticks', [2, 3, 20])
def test_the_spread_is_that_of_the_newest_ticks(ticks):
    found = spreads_along(SEEN, ticks)
    assert np.isinf(found[: ticks - 1]).all()
    for tick in range(ticks - 1, len(SEEN)):
        newest = SEEN[tick - ticks + 1 : tick + 1]
        assert found[tick] == pytest.approx(np.sqrt(newest.var(axis=0).mean()), rel=1e-12)


def test_what_is_forgotten_is_not_compared():
    rest = Rest(3, 3)
    before = [rest.push(each) for each in SEEN[:7]]
    rest.clear()
    assert [rest.push(each) for each in SEEN[:7]] == before


def test_observations_that_change_nothing_are_counted():
    rest = Rest(4, 2)
    given = [[0, 0], [0, 0], [0, 0], [0, 1], [0, 1], [2, 1], [2, 1]]
    found = [rest.push(np.array(each, dtype=float))[1] for each in given]
    assert found == [0, 1, 2, 0, 1, 0, 1]
    # Clearing forgets the last one too.
    rest.clear()
    assert rest.push(np.array([2.0, 1.0])) == (np.inf, 0)


def test_rounding_is_no_change():
    first = np.array([1.0, -2.0])
    assert alike(first, first + 0.4 * ROUNDING)
    assert not alike(first, first - 3.0 * ROUNDING)
    assert not alike(first, np.full(2, np.nan))


def test_the_longest_of_each_channel_and_of_all():
    series = np.array([[1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0], np.arange(7.0), np.zeros(7)])
    assert longest_runs(series).tolist() == [2, 0, 6]
    assert longest_runs(series[:, :1]).tolist() == [0, 0, 0]
    assert longest_stuck(series[:1]) == 2
    assert longest_stuck(series[1:2]) == 0
