# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Absurd samples and unmeasured axes are told from real ones."""

import numpy as np
import pytest

from two_manifold_ros.ticks.segments import (
    absurd_values,
    believable,
    largest_believable,
    unmeasured_axes,
    usable_places,
    usable_samples,
)

SAMPLES = np.random.default_rng(0).normal(size=(3000, 6)) * [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]


@pytest.mark.parametrize('value', [1e4, -1e4, 1e308, -np.finfo(float).max])
@pytest.mark.parametrize('count', [20, 500, 3000])
def test_one_absurd_sample_does_not_move_the_range(value: float, count: int) -> None:
    spoiled = SAMPLES[:count].copy()
    spoiled[7, 2] = value
    largest = largest_believable([spoiled])
    clean = SAMPLES[:count]
    assert (largest <= np.abs(clean).max(axis=0)).all()
    assert (largest >= np.quantile(np.abs(clean), 0.9, axis=0)).all()
    inside = believable(spoiled, largest)
    assert not inside[7]
    assert np.delete(inside, 7).all()


def test_a_channel_that_is_hardly_ever_used_keeps_its_range() -> None:
    samples = SAMPLES.copy()
    samples[:, 4] = 0.0
    samples[100, 4] = 0.7
    assert largest_believable([samples])[4] == 0.7
    assert believable(samples, largest_believable([samples])).all()


def test_channels_that_are_zero_are_believable() -> None:
    assert believable(np.zeros((5, 6)), largest_believable([np.zeros((5, 6))])).all()


def test_nothing_finite() -> None:
    nothing = np.full((4, 6), np.nan)
    assert unmeasured_axes(nothing).all()
    assert not usable_samples(nothing)[0].any()
    assert (largest_believable([nothing]) == 0.0).all()


def test_an_unmeasured_axis_is_zero_and_a_missing_value_is_not_usable() -> None:
    samples = SAMPLES[:10].copy()
    samples[:, 3] = np.inf
    samples[4, 0] = np.nan
    usable, cleaned = usable_samples(samples)
    assert usable.tolist() == [index != 4 for index in range(10)]
    assert (cleaned[:, 3] == 0.0).all()
    np.testing.assert_array_equal(cleaned[usable][:, :3], samples[usable][:, :3])


def test_many_impossible_values_do_not_move_the_range() -> None:
    spoiled = SAMPLES.copy()
    spoiled[:1000, 2] = 1e300
    largest = largest_believable([spoiled])
    assert (largest <= np.abs(SAMPLES).max(axis=0)).all()
    inside = believable(spoiled, largest)
    assert not inside[:1000].any()
    assert inside[1000:].all()


def test_absurd_values_are_told_by_sample_and_channel() -> None:
    spoiled = SAMPLES.copy()
    spoiled[[1, 2], [3, 4]] = [1e5, -1e300]
    spoiled[5, 0] = np.nan
    usable, cleaned = usable_samples(spoiled)
    assert np.argwhere(absurd_values(cleaned, usable)).tolist() == [[1, 3], [2, 4]]


def test_places_are_on_earth() -> None:
    places = np.array([[0.0, 6.4e6], [1e300, 0.0], [0.0, -np.inf], [np.nan, 0.0], [-1e7, 1e7]])
    assert usable_places(places).tolist() == [True, False, False, False, True]
