# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Familiarity as arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from two_manifold_ros.ticks.novelty import (
    contrast,
    contrast_gap,
    FamiliarAnchors,
    Familiarity,
    SMALLEST_RATIO,
    UNFAMILIAR,
)

ANCHORS = FamiliarAnchors(squared=10.0, own=-2.0, other=-1.0, still=5)


def pushed(familiarity: Familiarity, contrasts: list[float]) -> list[float]:
    """Push windows near enough for nothing but their contrast to count."""
    return [familiarity.push(1e-3, 1e-3 / math.exp(value), 0) for value in contrasts]


def test_the_contrast_is_a_logarithm() -> None:
    assert contrast(1.0, math.e**3) == pytest.approx(-3.0)
    assert contrast(5.0, 5.0) == 0.0


def test_the_contrast_of_what_is_there_twice_is_finite() -> None:
    assert contrast(0.0, 4.0) == math.log(SMALLEST_RATIO)
    assert contrast(0.0, 0.0) == 0.0


def test_one_is_the_own_route_and_two_another() -> None:
    familiarity = Familiarity(ANCHORS, 1)
    assert pushed(familiarity, [-2.0, -1.0, -3.0]) == pytest.approx([1.0, 2.0, 0.5])


def test_the_last_windows_are_averaged_and_before_there_are_enough_what_there_is() -> None:
    values = np.random.default_rng(0).uniform(-4.0, 0.0, 50).tolist()
    means = [np.mean(values[max(i - 6, 0) : i + 1]) for i in range(50)]
    wanted = [2.0 ** (mean + 2.0) for mean in means]
    assert pushed(Familiarity(ANCHORS, 7), values) == pytest.approx(wanted, rel=1e-12)


def test_rounding_does_not_build_up() -> None:
    """After a full round of ones alike, the mean is theirs to the last bit but one or two."""
    familiarity = Familiarity(ANCHORS, 50)
    sizes = np.random.default_rng(1).uniform(-6.0, 0.9, 50 * 1_200)
    pushed(familiarity, (-(10.0**sizes)).tolist())
    assert pushed(familiarity, [-2.0] * 50)[-1] == pytest.approx(1.0, abs=1e-15)


def test_what_has_no_distance_has_no_familiarity_and_leaves_no_trace() -> None:
    familiarity, other = Familiarity(ANCHORS, 4), Familiarity(ANCHORS, 4)
    pushed(familiarity, [-2.0, -1.0])
    pushed(other, [-2.0, -1.0])
    assert math.isnan(familiarity.push(math.nan, math.nan, 0))
    assert pushed(familiarity, [-0.5]) == pushed(other, [-0.5])


def test_clearing_forgets_everything() -> None:
    familiarity = Familiarity(ANCHORS, 3)
    pushed(familiarity, [-0.1, -0.2, -0.3, -0.4])
    familiarity.clear()
    values = [-2.0, -1.5, -1.0, -2.5, -0.5]
    assert pushed(familiarity, values) == pushed(Familiarity(ANCHORS, 3), values)


@pytest.mark.parametrize('other', [-1.95, -2.0, -2.5])
def test_routes_that_are_hardly_told_apart_do_not_make_it_jump(other: float) -> None:
    familiarity = Familiarity(FamiliarAnchors(10.0, -2.0, other, 0), 1)
    assert pushed(familiarity, [-2.0 + contrast_gap(-2.0, other)]) == pytest.approx([2.0])


def test_a_window_far_from_all_is_refused_whatever_its_contrast() -> None:
    familiarity = Familiarity(ANCHORS, 1)
    just = 10.0 * ANCHORS.squared
    assert familiarity.push(just, 1e9, 0) == pytest.approx(UNFAMILIAR)
    assert familiarity.push(3.0 * just, 1e9, 0) == pytest.approx(3.0 * UNFAMILIAR)


def test_a_sensor_still_for_a_window_longer_than_ever_in_training_is_refused() -> None:
    familiarity = Familiarity(ANCHORS, 20)
    found = [familiarity.push(0.0, 1.0, still) for still in (0, 20, 25, 50)]
    assert max(found[:2]) < UNFAMILIAR
    assert found[2:] == pytest.approx([UNFAMILIAR, 2.0 * UNFAMILIAR])
