# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The route filter over ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from filter_runs import feed
import numpy as np
import pytest

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.filtering.filter import Filter

if TYPE_CHECKING:
    from filter_runs import Stream

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.model import RouteModel
    from two_manifold_ros.recordings.recording import Recording


WINDOW = 20


def stream_of(recording: Recording) -> Stream:
    imu = recording.imu
    return list(zip(imu.stamps.tolist(), imu.samples, strict=True))


def estimates(model: RouteModel, stream: Stream) -> list[Estimate]:
    found: list[Estimate] = feed(Filter(model), stream)
    return found[WINDOW:]


def test_it_is_right_at_every_tick_and_its_ellipses_hold(
    slot_car_model: RouteModel, slot_car_laps: tuple[Recording, Recording]
) -> None:
    now, _, later = evaluate(slot_car_model, [slot_car_laps[1]]).scores
    assert now.model.told_share == 1.0
    assert now.model.all.rmse_m is not None
    assert now.model.all.rmse_m < 0.06
    assert later.model.all.rmse_m is not None
    assert later.model.all.rmse_m < 0.3
    assert now.model.coverage95 is not None
    assert 0.85 < now.model.coverage95 <= 1.0


@pytest.mark.long
def test_a_vehicle_that_stands_for_a_minute_is_known_afterwards(
    slot_car_model: RouteModel, slot_car_laps: tuple[Recording, Recording]
) -> None:
    """It stops within a tick, which no vehicle can; what it knew must not be lost for that."""
    stamps, samples = slot_car_laps[1].imu.stamps, slot_car_laps[1].imu.samples
    stop, still = 150, 600
    noise = np.random.default_rng(1).normal(size=(still, 6)) * [0.05, 0.05, 0.05, 0.01, 0.01, 0.01]
    standing = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0]) + noise
    order = np.concatenate([samples[:stop], standing, samples[stop:]])
    ticks = stamps[0] + 100_000_000 * np.arange(len(order))
    found = feed(Filter(slot_car_model), zip(ticks.tolist(), order, strict=True))
    usual = feed(Filter(slot_car_model), stream_of(slot_car_laps[1]))
    settled = 60
    apart = [
        float(np.linalg.norm(one.positions[0] - other.positions[0]))
        for one, other in zip(
            found[stop + still + settled :], usual[stop + settled :], strict=False
        )
    ]
    assert np.quantile(apart, 0.9) < 0.1


@pytest.mark.long
def test_a_sensor_that_repeats_itself_is_not_told_for_long(
    slot_car_model: RouteModel, slot_car_laps: tuple[Recording, Recording]
) -> None:
    imu = slot_car_laps[1].imu
    samples = imu.samples.copy()
    samples[100:] = samples[100]
    found = estimates(slot_car_model, list(zip(imu.stamps.tolist(), samples, strict=True)))
    assert not any(each.valid for each in found[150:])
