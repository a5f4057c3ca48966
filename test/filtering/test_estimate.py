# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which numbers are valid, how far an ellipse reaches, and the modes of a position."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from filter_runs import bits, feed
import numpy as np
import pytest

from two_manifold_ros.filtering.estimate import half_axis, is_valid_gaussian, PositionModes
from two_manifold_ros.filtering.filter import Filter

if TYPE_CHECKING:
    from filter_runs import Stream

    from two_manifold_ros.model.model import Model, RouteModel


def numbers() -> list[Any]:
    generator = np.random.default_rng(0)
    factors = generator.normal(size=(5, 2, 2))
    covariances = factors @ factors.transpose(0, 2, 1) + 1e-4 * np.eye(2)
    covariances[:, 1, 0] = covariances[:, 0, 1]
    return [generator.normal(size=7), generator.normal(size=(5, 2)), covariances]


def test_the_long_axis_of_the_ellipse() -> None:
    for covariance in [*numbers()[2], np.eye(2), np.diag([1e-12, 4.0]), np.zeros((2, 2))]:
        wanted = np.sqrt(5.991464547 * np.linalg.eigvalsh(covariance)[-1])
        assert half_axis(covariance) == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_one_bad_number_is_enough() -> None:
    assert is_valid_gaussian(*numbers())
    for part in range(3):
        for place in range(numbers()[part].size):
            for bad in (np.nan, np.inf, -np.inf):
                spoilt = numbers()
                spoilt[part].flat[place] = bad
                assert not is_valid_gaussian(*spoilt)


@pytest.mark.parametrize(
    'bad',
    [
        [[0.0, 0.0], [0.0, 1.0]],
        [[1.0, 0.0], [0.0, -1.0]],
        [[-1.0, 0.0], [0.0, -1.0]],
        [[1.0, 1.0], [1.0, 1.0]],
        [[1.0, 0.5], [0.4, 1.0]],
        [[1e308, 0.0], [0.0, 1e308]],
    ],
    ids=['flat', 'indefinite', 'negative', 'singular', 'askew', 'endless'],
)
def test_every_covariance_has_to_be_one(bad: list[list[float]]) -> None:
    state, means, covariances = numbers()
    covariances[3] = bad
    assert not is_valid_gaussian(state, means, covariances)


TRACK = np.array([[0.0, 0.0], [0.04, 0.02], [10.0, 4.0], [np.nan, 1.0], [9.97, 4.03], [5.0, 0.0]])


def test_passes_of_one_place_are_one_place() -> None:
    found = PositionModes(TRACK).read(np.array([0.1, 0.3, 0.2, 0.15, 0.05, 0.2]))
    # Squares of 0.1 m; the tick that was nowhere keeps its share to itself.
    wanted = [[0.03, 0.015, 0.4], [9.994, 4.006, 0.25], [5.0, 0.0, 0.2]]
    np.testing.assert_allclose(found, wanted)


def test_the_second_place_is_not_hidden_by_many_ticks_at_the_first() -> None:
    positions = np.concatenate([np.zeros((500, 2)), [[8.0, 3.0]]])
    weights = np.append(np.full(500, 0.9 / 500), 0.1)
    np.testing.assert_allclose(PositionModes(positions).read(weights), [[0, 0, 0.9], [8, 3, 0.1]])


def test_only_the_likeliest_and_none_that_are_faint() -> None:
    positions = np.column_stack([np.arange(100.0), np.zeros(100)])
    weights = np.geomspace(1.0, 1e-2, 100)
    found = PositionModes(positions).read(weights / weights.sum())
    assert len(found) == 50
    np.testing.assert_allclose(found[:, 0], np.arange(50))
    weights = np.full(100, 0.0005)
    weights[7] = 1.0 - weights[1:].sum()
    np.testing.assert_allclose(PositionModes(positions).read(weights), [[7.0, 0.0, weights[7]]])


def test_a_vehicle_that_never_moved() -> None:
    with np.errstate(all='raise'):
        found = PositionModes(np.full((3, 2), 2.0)).read(np.full(3, 1 / 3))
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
