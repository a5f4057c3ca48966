# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Surprise: doubt comes soon, and ends when what follows fits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from two_manifold_ros.localisation.surprise import CALM, LIMITS, MOST, Surprise

GAINS = np.array([0.25, 0.1, 0.025])
USUAL = 0.4


def feed(surprise: Surprise, values: list[float], share: float = 1.0) -> list[bool]:
    said = []
    for value in values:
        surprise.push(math.exp(-USUAL * share * value), share)
        said.append(surprise.doubted)
    return said


@pytest.mark.parametrize('share', [1.0, 0.5])
def test_usual_observations_raise_no_doubt(share: float) -> None:
    surprise = Surprise(USUAL, GAINS)
    assert not any(feed(surprise, [1.0, 0.3, 2.5, 1.0, 0.2] * 50, share))
    assert surprise.newest == pytest.approx(0.2)
    assert 0.5 < surprise.recent < 1.5


def test_a_mean_over_each_memory_raises_doubt() -> None:
    """The more surprising, the sooner: each limit is the first to be passed by some value."""
    for value, gain in zip([MOST, 2.45, 2.1], GAINS, strict=True):
        said = feed(Surprise(USUAL, GAINS), [1.0] * 200 + [value] * 200)
        first = said.index(True) - 200
        assert 0.1 / gain < first + 1 < 3.0 / gain


def test_a_spike_counts_no_more_than_the_most() -> None:
    surprise = Surprise(USUAL, GAINS)
    feed(surprise, [1.0] * 50)
    surprise.push(0.0, 1.0)
    assert surprise.newest == MOST
    assert not surprise.doubted


def test_doubt_ends_after_a_calm_time() -> None:
    surprise = Surprise(USUAL, GAINS)
    assert feed(surprise, [1.0] * 50 + [MOST] * 30)[-1]
    said = feed(surprise, [1.0] * 40)
    # The second memory is ten ticks long, and what was before the last outburst is forgotten.
    assert said == [True] * 9 + [False] * 31


def test_doubt_lasts_while_observations_surprise() -> None:
    surprise = Surprise(USUAL, GAINS)
    feed(surprise, [1.0] * 50 + [MOST] * 10)
    assert all(feed(surprise, [CALM + 0.1] * 100))
    assert all(feed(surprise, [MOST] * 3 + ([1.0] * 5 + [MOST] * 3) * 5))


def test_cleared_it_begins_anew() -> None:
    surprise = Surprise(USUAL, GAINS)
    feed(surprise, [MOST] * 20)
    surprise.clear()
    assert not surprise.doubted
    assert surprise.recent == 0.0
    other = Surprise(USUAL, GAINS)
    values = [1.0, 3.0, 2.0] * 30
    assert feed(surprise, values) == feed(other, values)


def test_one_gain_will_do_and_more_than_limits_too() -> None:
    assert feed(Surprise(USUAL, GAINS[:1]), [MOST] * 10)[-1]
    more = np.append(GAINS, 0.001)
    values = [1.0] * 30 + [2.5] * 60 + [1.0] * 30
    assert len(more) > len(LIMITS)
    assert feed(Surprise(USUAL, more), values) == feed(Surprise(USUAL, GAINS), values)
