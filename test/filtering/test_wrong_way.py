# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laying a stretch over the training against trying every way to do it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from two_manifold_ros.filtering import mistake_search
from two_manifold_ros.filtering.mistake_search import SKIPPED, WrongWay

if TYPE_CHECKING:
    from two_manifold_ros.model.route_model import RouteModel


def least_cost(stretch: np.ndarray, learned: np.ndarray, end: int) -> float:
    """Return the cost of the best way that ends at a part: dwell, step, or leave one out."""

    @cache
    def cost(row: int, place: int) -> float:
        apart = float(np.sum((stretch[row] - learned[place]) ** 2))
        if row == 0:
            return apart
        before = [cost(row - 1, place) + SKIPPED]
        if place > 0:
            before.append(cost(row - 1, place - 1))
        if place > 1:
            before.append(cost(row - 1, place - 2) + SKIPPED)
        return apart + min(before)

    return cost(len(stretch) - 1, end)


def test_it_is_the_least_cost_of_all_ways(slot_car_model: RouteModel) -> None:
    search = WrongWay(slot_car_model)
    stretch = np.random.default_rng(0).normal(size=(6, 5))
    found = search._cost(stretch)
    for end in (0, 1, 2, 5, 30, 31, len(found) - 1):
        assert found[end] == pytest.approx(least_cost(stretch, search._learned, end))


def test_a_stretch_of_the_route_at_another_pace_costs_little(slot_car_model: RouteModel) -> None:
    search = WrongWay(slot_car_model)
    stretch = search._learned[200:240]
    slower = stretch.repeat(3, axis=0)[::2][:40]
    assert search._cost(slower).min() < 0.5 * search._cost(stretch[::-1]).min()


def test_forward_acceleration_tells_nothing(slot_car_model: RouteModel) -> None:
    live = np.array([True, False, False, False, False, False])
    channels = replace(slot_car_model.channels, live=live)
    search = WrongWay(replace(slot_car_model, channels=channels, series=slot_car_model.series[:1]))
    for _ in range(100):
        search.push(np.ones(6), strange=True)
    assert search.finding is None


def test_a_training_too_short_to_compare_with_tells_nothing(slot_car_model: RouteModel) -> None:
    series = np.ascontiguousarray(slot_car_model.series[:, : 2 * mistake_search.STRETCH])
    search = WrongWay(replace(slot_car_model, series=series))
    for _ in range(100):
        search.push(np.ones(6), strange=True)
    assert search.finding is None
