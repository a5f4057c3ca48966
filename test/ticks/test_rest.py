# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rest is where the newest ticks hardly differ, whatever they are."""

from __future__ import annotations

import numpy as np
import pytest

from two_manifold_ros.ticks.rest import Rest, RestRule, Spread, spreads_along

SEEN = np.random.default_rng(0).normal(size=(50, 3))


@pytest.mark.parametrize('ticks', [2, 3, 20])
def test_the_spread_is_that_of_the_newest_ticks(ticks: int) -> None:
    found = spreads_along(SEEN, ticks)
    assert np.isinf(found[: ticks - 1]).all()
    for tick in range(ticks - 1, len(SEEN)):
        newest = SEEN[tick - ticks + 1 : tick + 1]
        assert found[tick] == pytest.approx(np.sqrt(newest.var(axis=0).mean()), rel=1e-12)


def test_a_level_is_no_spread() -> None:
    level = np.array([100.0, -3.0, 0.1])
    np.testing.assert_allclose(spreads_along(SEEN + level, 4), spreads_along(SEEN, 4), rtol=1e-9)


def test_it_is_the_same_tick_by_tick_and_until_the_limit_excluded() -> None:
    spreads = spreads_along(SEEN, 4)
    limit = float(np.sort(spreads)[20])
    rest = Rest(RestRule(4, limit), 3)
    assert [rest.push(each) for each in SEEN] == (spreads < limit).tolist()


def test_what_is_forgotten_is_not_compared() -> None:
    spread = Spread(3, 3)
    before = [spread.push(each) for each in SEEN[:7]]
    spread.clear()
    assert [spread.push(each) for each in SEEN[:7]] == before
