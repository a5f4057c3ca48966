# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A stream of samples that the model was not trained on, and a filter for them."""

from filter_runs import feed, Stream
import pytest

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.recordings.recording import Recording


@pytest.fixture(scope='session')
def stream(slot_car_laps: tuple[Recording, Recording]) -> Stream:
    """Return 25 s of the laps to test on: 250 samples, one a tick."""
    imu = slot_car_laps[1].imu
    return list(zip(imu.stamps[:250].tolist(), imu.samples[:250], strict=True))


@pytest.fixture
def live(slot_car_model: RouteModel) -> Filter:
    return Filter(slot_car_model)


@pytest.fixture(scope='session')
def usual(slot_car_model: RouteModel, stream: Stream) -> list[Estimate]:
    return feed(Filter(slot_car_model), stream)
