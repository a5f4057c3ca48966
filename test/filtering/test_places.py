# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The places where the vehicle may be, and how often they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filter_runs import bits, feed
import numpy as np
import pytest

from two_manifold_ros.filtering.estimate import FAINTEST, MOST_PLACES, Places
from two_manifold_ros.filtering.filter import Filter

if TYPE_CHECKING:
    from filter_runs import Stream

    from two_manifold_ros.model.model import Model
    from two_manifold_ros.model.route_model import RouteModel

TRACK = np.array([[0.0, 0.0], [0.04, 0.02], [10.0, 4.0], [np.nan, 1.0], [9.97, 4.03], [5.0, 0.0]])


def test_passes_of_one_place_are_one_place() -> None:
    found = Places(TRACK).read(np.array([0.1, 0.3, 0.2, 0.15, 0.05, 0.2]))
    # Squares of 0.1 m; the tick that was nowhere keeps its share to itself.
    wanted = [[0.03, 0.015, 0.4], [9.994, 4.006, 0.25], [5.0, 0.0, 0.2]]
    np.testing.assert_allclose(found, wanted)


def test_the_second_place_is_not_hidden_by_many_ticks_at_the_first() -> None:
    positions = np.concatenate([np.zeros((500, 2)), [[8.0, 3.0]]])
    weights = np.append(np.full(500, 0.9 / 500), 0.1)
    np.testing.assert_allclose(Places(positions).read(weights), [[0, 0, 0.9], [8, 3, 0.1]])


def test_only_the_likeliest_and_none_that_are_faint() -> None:
    positions = np.column_stack([np.arange(100.0), np.zeros(100)])
    weights = np.geomspace(1.0, 1e-2, 100)
    found = Places(positions).read(weights / weights.sum())
    assert len(found) == MOST_PLACES
    np.testing.assert_allclose(found[:, 0], np.arange(MOST_PLACES))
    weights = np.full(100, 0.5 * FAINTEST)
    weights[7] = 1.0 - weights[1:].sum()
    np.testing.assert_allclose(Places(positions).read(weights), [[7.0, 0.0, weights[7]]])


def test_a_vehicle_that_never_moved() -> None:
    with np.errstate(all='raise'):
        found = Places(np.full((3, 2), 2.0)).read(np.full(3, 1 / 3))
    np.testing.assert_allclose(found, [[2.0, 2.0, 1.0]])


@pytest.mark.long
@pytest.mark.parametrize(('places_hz', 'every'), [(5.0, 2), (3.0, 4), (99.0, 1)])
def test_they_are_told_as_often_as_asked(
    places_hz: float, every: int, slot_car_model: RouteModel, stream: Stream
) -> None:
    found = feed(Filter(slot_car_model, places_hz), stream)
    told = [each.tick for each in found if each.places is not None]
    assert told == list(range(0, len(found), every))
    assert bits(found) == bits(feed(Filter(slot_car_model), stream))


def test_they_are_where_the_position_is_once_it_is_found(
    slot_car_model: RouteModel, stream: Stream
) -> None:
    # Not where the drives began, which says where it is before anything is observed.
    found = feed(Filter(slot_car_model, 5.0), stream[65:])
    first, later = found[0].places, [each for each in found[40:] if each.places is not None]
    assert first is not None
    assert len(first) > 10
    assert first[:, 2].max() < 0.5
    for each in later:
        assert each.places is not None
        chances = each.places[:, 2]
        assert 0.9 < chances.sum() <= 1.0 + 1e-12
        assert (np.diff(chances) <= 0.0).all()
        mean = chances @ each.places[:, :2] / chances.sum()
        np.testing.assert_allclose(mean, each.positions[0], atol=0.1)


def test_they_are_not_told_unasked_nor_by_the_spectral_filter(
    slot_car_model: RouteModel, spectral_model: Model, stream: Stream
) -> None:
    for live in (Filter(slot_car_model), Filter(spectral_model, 5.0)):
        assert all(each.places is None for each in feed(live, stream[:60]))
