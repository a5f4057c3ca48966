# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rest, and samples that do not change at all."""

import numpy as np
import pytest

from two_manifold_ros.ticks import rest as resting
from two_manifold_ros.typing import Bools, Floats

SEEN = np.random.default_rng(0).normal(size=(50, 3))


@pytest.mark.parametrize('ticks', [2, 3, 20])
def test_the_spread_is_that_of_the_newest_ticks(ticks):
    found = resting.spreads_along(SEEN, ticks)
    assert np.isinf(found[: ticks - 1]).all()
    for tick in range(ticks - 1, len(SEEN)):
        newest = SEEN[tick - ticks + 1 : tick + 1]
        assert found[tick] == pytest.approx(np.sqrt(newest.var(axis=0).mean()), rel=1e-12)


def test_observations_that_change_nothing_are_counted_and_what_is_forgotten_is_not_compared():
    rest = resting.Rest(3, 3)
    before = [rest.push(each) for each in SEEN[:7]]
    # Clearing forgets the last one too.
    rest.clear()
    assert [rest.push(each) for each in SEEN[:7]] == before
    rest = resting.Rest(4, 2)
    given = np.array([[0, 0], [0, 0], [0, 0], [0, 1], [0, 1], [2, 1], [2, 1]], dtype=float)
    assert [rest.push(each)[1] for each in given] == [0, 1, 2, 0, 1, 0, 1]
    rest.clear()
    assert rest.push(given[-1]) == (np.inf, 0)


def test_rounding_is_no_change_and_the_longest_run_of_each_channel_and_of_all():
    first = np.array([1.0, -2.0])
    assert resting.alike(first, first + 0.4 * resting.ROUNDING)
    assert not resting.alike(first, first - 3.0 * resting.ROUNDING)
    assert not resting.alike(first, np.full(2, np.nan))
    series = np.array([[1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0], np.arange(7.0), np.zeros(7)])
    assert resting.longest_runs(series).tolist() == [2, 0, 6]
    assert resting.longest_runs(series[:, :1]).tolist() == [0, 0, 0]
    assert (resting.longest_stuck(series), resting.longest_stuck(series[:1])) == (0, 2)


def naive(track: Floats, slow_mps: float, most_m: float, period_s: float) -> Bools:
    """Return the ticks of windows in which a vehicle gets nowhere, each window by itself."""
    still = np.zeros(len(track), dtype=np.bool_)
    for seconds in resting.STANDS_S:
        width = max(round(seconds / period_s), 2) + 1
        for begin in range(len(track) - width + 1):
            window = track[begin : begin + width]
            extent = np.linalg.norm(np.ptp(window, axis=0))
            if extent < min(slow_mps * (width - 1) * period_s, most_m):
                still[begin : begin + width] = True
    return still


@pytest.mark.parametrize('rate_hz', [1.0, 3.0, 20.0, 80.0])
@pytest.mark.parametrize('seed', range(4))
def test_standstills_are_those_of_each_window_by_itself(rate_hz, seed):
    draws = np.random.default_rng(seed)
    speeds = np.repeat(draws.choice([0.0, 0.5, 2.0], 12), round(6.0 * rate_hz))
    headings = np.cumsum(draws.normal(0.0, 0.3 / np.sqrt(rate_hz), len(speeds)))
    steps = speeds[:, None] / rate_hz * np.column_stack([np.cos(headings), np.sin(headings)])
    track = np.cumsum(steps, axis=0) + draws.normal(0.0, 0.001, (len(speeds), 2))
    track[draws.random(len(track)) < 0.003] = np.nan
    known = track[np.isfinite(track).all(axis=1)]
    most_m = resting.SLOW_SHARE * float(np.linalg.norm(np.ptp(known, axis=0)))
    (found,) = resting.standing([track], 2.0, 1.0 / rate_hz)
    every = naive(track, resting.SLOW_SHARE * 2.0, most_m, 1.0 / rate_hz)
    assert every.any()
    assert not every.all()
    # The last metres before a standstill, and the first after, are driven: the rest is the same.
    assert not (found & ~every).any()
    assert found.sum() > 0.5 * every.sum()
    nearby = round(2.0 * resting.STANDS_S[-1] * rate_hz)
    for begin, end in resting.stretches_of(every & ~found):
        edges = [edge for each in resting.stretches_of(every) for edge in each]
        assert min(abs(begin - edge) for edge in edges) <= nearby
        assert min(abs(end - edge) for edge in edges) <= nearby
