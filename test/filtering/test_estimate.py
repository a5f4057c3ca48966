# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Valid numbers, the reach of an ellipse, and the modes of a position."""

from dataclasses import dataclass, replace
import math
from typing import Any

from filter_runs import Adding, feed
import numpy as np
import pytest

from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.estimate import ANYWHERE, Estimate, limits_of, make_tick_filter
from two_manifold_ros.filtering.filter import Filter, judge_gaussian
from two_manifold_ros.filtering.status import EllipseLimits, Status, TickDiagnostics
from two_manifold_ros.filtering.tracker import half_axis, PositionModes
from two_manifold_ros.model.model import ModelHead, RouteModel
from two_manifold_ros.ticks.segments import Channels


def numbers() -> list[Any]:
    generator = np.random.default_rng(0)
    factors = generator.normal(size=(5, 2, 2))
    covariances = factors @ factors.transpose(0, 2, 1) + 1e-4 * np.eye(2)
    return [generator.normal(size=7), generator.normal(size=(5, 2)), covariances]


def is_valid_gaussian(*parts: np.ndarray) -> bool:
    ellipse_m, outside = judge_gaussian(*parts, ANYWHERE)
    assert not outside
    assert np.isnan(ellipse_m) or ellipse_m == half_axis(parts[2][0])
    return not np.isnan(ellipse_m)


NO_COVARIANCES = {
    'flat': [[0.0, 0.0], [0.0, 1.0]],
    'indefinite': [[1.0, 0.0], [0.0, -1.0]],
    'singular': [[1.0, 1.0], [1.0, 1.0]],
    'askew': [[1.0, 0.5], [0.4, 1.0]],
    'endless': [[1e308, 0.0], [0.0, 1e308]],
}


def test_the_long_axis_of_the_ellipse_and_one_bad_number_is_enough():
    for covariance in [*numbers()[2], np.eye(2), np.diag([1e-12, 4.0]), np.zeros((2, 2))]:
        wanted = np.sqrt(5.991464547 * np.linalg.eigvalsh(covariance)[-1])
        assert half_axis(covariance) == pytest.approx(wanted, rel=1e-9, abs=1e-12)
    assert is_valid_gaussian(*numbers())
    for part in range(3):
        for place in range(numbers()[part].size):
            for bad in (np.nan, np.inf, -np.inf):
                spoilt = numbers()
                spoilt[part].flat[place] = bad
                assert not is_valid_gaussian(*spoilt)
    for kind, covariance in NO_COVARIANCES.items():
        spoilt = numbers()
        spoilt[2][3] = covariance
        assert not is_valid_gaussian(*spoilt), kind


TRACK = [[0.0, 0.0], [0.04, 0.02], [10.0, 4.0], [np.nan, 1.0], [9.97, 4.03], [5.0, 0.0]]
LINE = np.column_stack([np.arange(100.0), np.zeros(100)])
FEWER = np.geomspace(1.0, 1e-2, 100) / np.geomspace(1.0, 1e-2, 100).sum()


@pytest.mark.parametrize(
    ('positions', 'weights', 'wanted'),
    [
        # Squares of 0.1 m; the tick that was nowhere keeps its share to itself.
        (
            TRACK,
            [0.1, 0.3, 0.2, 0.15, 0.05, 0.2],
            [[0.03, 0.015, 0.4], [9.994, 4.006, 0.25], [5.0, 0.0, 0.2]],
        ),
        # Many ticks at the first place do not hide the second.
        ([[0, 0]] * 500 + [[8, 3]], [0.9 / 500] * 500 + [0.1], [[0, 0, 0.9], [8, 3, 0.1]]),
        # Only the likeliest are given, and none that are faint.
        (LINE, FEWER, np.column_stack([LINE, FEWER])[:50]),
        (LINE, [0.9505, *[0.0005] * 99], [[0.0, 0.0, 0.9505]]),
        # A vehicle that never moved.
        ([[2, 2]] * 3, [1 / 3] * 3, [[2, 2, 1]]),
    ],
    ids=['passes', 'hidden', 'many', 'faint', 'parked'],
)
def test_passes_of_one_place_are_one_place(positions, weights, wanted):
    with np.errstate(all='raise'):
        found = PositionModes(np.array(positions, dtype=float)).read(np.array(weights))
    np.testing.assert_allclose(found, wanted)


@dataclass(frozen=True, kw_only=True)
class OtherModel(ModelHead):
    """A model of an unknown kind, over ten pixels."""

    @property
    def states(self) -> int:
        return 2


def pushed(live: Filter, *ticks: int) -> list[Estimate]:
    """Push a sample at each of some ticks, every pixel of which is the number of the tick."""
    return feed(live, [(tick * 100_000_000, np.full(10, float(tick))) for tick in ticks])


@pytest.fixture
def pixels(slot_car_model: RouteModel) -> OtherModel:
    """Return a model over ten channels at 10 Hz."""
    names = tuple(f'pixel.{number}' for number in range(10))
    channels = Channels(np.zeros(10), np.ones(10), np.full(10, 255.0), np.arange(10) < 8, names)
    shared = {name: getattr(slot_car_model, name) for name in ModelHead.__dataclass_fields__}
    return OtherModel(**shared | {'window': 3, 'horizons': (0,), 'channels': channels})


def test_any_number_of_channels_and_a_gap_reach_the_tick_filter(pixels):
    adding = Adding()
    live = Filter(pixels, 10.0, tick_filter=adding)
    live.warm_up()
    assert adding.seen == 0
    found = pushed(live, *range(1, 7))
    assert [each.state[0] for each in found] == [10.0, 20.0, 30.0, 40.0, 50.0]
    assert [each.status for each in found][1:3] == [Status.FILLING, Status.TRACKING]
    np.testing.assert_array_equal(found[-1].positions, [[50.0, 50.0]])
    assert found[-1].places is not None
    live = Filter(replace(pixels, max_gap_ns=pixels.period_ns), tick_filter=Adding())
    assert pushed(live, 1, 2, 5, 6)[-1].state[1] == 3.0
    # Without a filter of its own an unknown kind of model is a bug.
    with pytest.raises(TypeError, match='no filter runs a OtherModel'):
        make_tick_filter(pixels)


@pytest.mark.parametrize('part', ['state', 'means', 'covariances'])
def test_an_estimate_with_a_number_that_is_not_finite_is_never_valid(part, pixels, monkeypatch):
    adding = Adding()
    live = Filter(pixels, tick_filter=adding)
    assert pushed(live, *range(1, 7))[-1].valid
    means, covariances = adding.read()
    broken = {'state': adding.state, 'means': means, 'covariances': covariances}
    broken[part].flat[-1] = np.nan
    monkeypatch.setattr(adding, 'read', lambda: (means, covariances))
    (found,) = pushed(live, 7)
    assert (found.status, found.cause) == (Status.LOST, 'numerics')
    assert np.isnan(found.ellipse_m)


@pytest.mark.parametrize('standing', [True, False])
def test_ticks_at_rest_are_neither_rejected_nor_restarts(standing, pixels, monkeypatch):
    adding = Adding()
    live = Filter(pixels, tick_filter=adding)
    result = TickDiagnostics(0.0, False, 1.0, True, standing=standing)
    monkeypatch.setattr(adding, 'update', lambda _: result)
    pushed(live, 1, 2, 3)
    assert live.counters['rejected_observations'] == (0 if standing else 2)
    assert live.counters['restarts'] == (0 if standing else 2)


def test_a_uniform_prior_is_beyond_limits_and_a_drive_is_not(each_model, spectral_model, stream):
    limits = limits_of(each_model)
    assert half_axis(make_tick_filter(each_model).read()[1][0]) > limits.error_m > limits.warn_m
    assert limits.error_m < half_axis(np.cov(each_model.track.T))
    found = feed(Filter(each_model), stream)
    assert all(each.ellipse_m < limits.warn_m for each in found[each_model.window :])
    # Places are not reported unasked, nor by the spectral filter.
    found += feed(Filter(spectral_model, 5.0), stream[:60])
    assert all(each.places is None for each in found)


def test_limits_that_are_given_count_and_those_without_sense_are_refused(slot_car_model, stream):
    usual = limits_of(slot_car_model)
    assert limits_of(slot_car_model, 0.1) == EllipseLimits(0.1, usual.error_m)
    assert limits_of(slot_car_model, 0.0, 0.1) == EllipseLimits(0.1, 0.1)
    assert limits_of(slot_car_model, 5.0, 7.0) == EllipseLimits(5.0, 7.0)
    found = feed(Filter(slot_car_model, ellipse_m=(1e-4, 2e-4)), stream)
    assert {each.status for each in found} == {Status.FILLING, Status.LOCALISING}
    for given in ((-1.0, 1.0), (2.0, 1.0), (1.0, -1.0), (1e9, 0.0), (math.nan, 1.0)):
        with pytest.raises(InputError, match='set both so that the first is above 0'):
            limits_of(slot_car_model, *given)
    # Of a stream of which nothing was learned there are none.
    assert limits_of(make_head()) == EllipseLimits(math.inf, math.inf)


def test_only_a_model_that_is_known_to_be_no_better_than_the_mean_is_withheld(slot_car_model):
    """A summary may be anything."""
    for validation, withheld in (
        ({'followed_m': 2.0, 'mean_position_m': 1.0}, True),
        ({'followed_m': 1.0, 'mean_position_m': 2.0}, False),
        ({'followed_m': None, 'mean_position_m': 2.0}, False),
        ({}, False),
        ('none', False),
    ):
        model = replace(slot_car_model, summary={'validation': validation})
        assert Filter(model).withheld == withheld
