# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Limits of the ellipse: what the model knows, or what is given."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from filter_runs import feed
import numpy as np
import pytest

from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.estimate import half_axis
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.state_machine import EllipseLimits
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.tick_estimator import limits_of, make_tick_filter

if TYPE_CHECKING:
    from filter_runs import Stream

    from two_manifold_ros.model.route_model import RouteModel

KINDS = ('slot_car_model', 'spectral_model', 'tpsr_model')


@pytest.mark.parametrize('kind', KINDS)
def test_one_who_knows_nothing_is_beyond_them_and_a_usual_drive_is_not(
    kind: str, stream: Stream, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(kind)
    limits = limits_of(model)
    assert half_axis(make_tick_filter(model).read()[1][0]) > limits.error_m > limits.warn_m
    assert limits.error_m < half_axis(np.cov(model.track.T))
    full = feed(Filter(model), stream)[model.window :]
    assert all(each.ellipse_m < limits.warn_m for each in full)


def test_what_is_given_counts(slot_car_model: RouteModel, stream: Stream) -> None:
    usual = limits_of(slot_car_model)
    assert limits_of(slot_car_model, 0.1) == EllipseLimits(0.1, usual.error_m)
    assert limits_of(slot_car_model, 0.0, 0.1) == EllipseLimits(0.1, 0.1)
    assert limits_of(slot_car_model, 5.0, 7.0) == EllipseLimits(5.0, 7.0)
    strict = Filter(slot_car_model, limits=limits_of(slot_car_model, 1e-4, 2e-4))
    found = feed(strict, stream)
    assert {each.status for each in found} == {Status.FILLING, Status.LOCALISING}
    assert found[-1].why.startswith('localising: the 95 % ellipse still reaches 0.')


@pytest.mark.parametrize(
    'given', [(-1.0, 1.0), (2.0, 1.0), (1.0, -1.0), (1e9, 0.0), (math.nan, 1.0)]
)
def test_limits_that_make_no_sense_are_refused(
    given: tuple[float, float], slot_car_model: RouteModel
) -> None:
    with pytest.raises(InputError, match='set both so that the first is above 0'):
        limits_of(slot_car_model, *given)


def test_of_a_stream_of_which_nothing_was_learned_there_are_none() -> None:
    assert limits_of(make_head()) == EllipseLimits(math.inf, math.inf)
