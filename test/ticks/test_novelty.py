# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""NoveltyScore as arithmetic."""

import math

import numpy as np
import pytest

from two_manifold_ros.ticks.sliding import (
    contrast,
    contrast_gap,
    NOVEL,
    NoveltyAnchors,
    NoveltyScore,
    SMALLEST_RATIO,
)

ANCHORS = NoveltyAnchors(squared=10.0, own=-2.0, other=-1.0, still=5)


def pushed(novelty: NoveltyScore, contrasts: list[float]) -> list[float]:
    """Push windows near enough for nothing but their contrast to count."""
    return [novelty.push(1e-3, 1e-3 / math.exp(value), 0) for value in contrasts]


def test_one_is_the_own_route_and_two_another_by_the_mean_logarithm_of_the_last_windows():
    """Before there are enough, of what there is."""
    assert contrast(1.0, math.e**3) == -3.0
    assert contrast(5.0, 5.0) == contrast(0.0, 0.0) == 0.0
    # What is there twice.
    assert contrast(0.0, 4.0) == math.log(SMALLEST_RATIO)
    assert pushed(NoveltyScore(ANCHORS, 1), [-2.0, -1.0, -3.0]) == pytest.approx([1.0, 2.0, 0.5])
    values = np.random.default_rng(0).uniform(-4.0, 0.0, 50).tolist()
    means = [np.mean(values[max(i - 6, 0) : i + 1]) for i in range(50)]
    wanted = [2.0 ** (mean + 2.0) for mean in means]
    assert pushed(NoveltyScore(ANCHORS, 7), values) == pytest.approx(wanted, rel=1e-12)
    # After a full round of ones alike, the mean is theirs to the last bit but one or two.
    novelty = NoveltyScore(ANCHORS, 50)
    sizes = np.random.default_rng(1).uniform(-6.0, 0.9, 50 * 1_200)
    pushed(novelty, (-(10.0**sizes)).tolist())
    assert pushed(novelty, [-2.0] * 50)[-1] == pytest.approx(1.0, abs=1e-15)
    # Routes that are hardly reported apart do not make it jump.
    for other in (-1.95, -2.0, -2.5):
        novelty = NoveltyScore(NoveltyAnchors(10.0, -2.0, other, 0), 1)
        assert pushed(novelty, [-2.0 + contrast_gap(-2.0, other)]) == pytest.approx([2.0])


def test_what_has_no_distance_leaves_no_trace_and_clearing_none_of_anything():
    novelty, other = NoveltyScore(ANCHORS, 4), NoveltyScore(ANCHORS, 4)
    values = [-2.0, -1.5, -1.0, -2.5, -0.5]
    wanted = pushed(other, values)
    assert pushed(novelty, values[:2]) == wanted[:2]
    assert math.isnan(novelty.push(math.nan, math.nan, 0))
    assert pushed(novelty, values[2:]) == wanted[2:]
    novelty.clear()
    assert pushed(novelty, values) == wanted


def test_a_window_far_from_all_is_refused_whatever_its_contrast():
    novelty = NoveltyScore(ANCHORS, 1)
    just = 10.0 * ANCHORS.squared
    assert novelty.push(just, 1e9, 0) == pytest.approx(NOVEL)
    assert novelty.push(3.0 * just, 1e9, 0) == pytest.approx(3.0 * NOVEL)
    # And so is a sensor that is still for a window longer than ever in training.
    novelty = NoveltyScore(ANCHORS, 20)
    found = [novelty.push(0.0, 1.0, still) for still in (0, 20, 25, 50)]
    assert max(found[:2]) < NOVEL
    assert found[2:] == pytest.approx([NOVEL, 2.0 * NOVEL])
