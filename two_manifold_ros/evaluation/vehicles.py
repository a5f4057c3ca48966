# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Measure a vehicle that a model has not seen, from recordings of its IMU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import estimates_along, imu_misfit
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.tracker import RouteTracker
from two_manifold_ros.model.vehicle import check_vehicle, UNKNOWN, Vehicle, VehicleLearner

if TYPE_CHECKING:
    from two_manifold_ros.filtering.status import TickDiagnostics
    from two_manifold_ros.model.model import ModelHead, RouteModel
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats


class Measured(NamedTuple):
    """A vehicle, the ticks followed, and those at which the filter believes it on the route."""

    vehicle: Vehicle
    ticks: int
    counted: float


class LearningTracker(RouteTracker):
    """The filter of a route from whose belief, at samples of a vehicle, a ``learner`` learns."""

    def __init__(self, model: RouteModel, vehicle: Vehicle, learner: VehicleLearner) -> None:
        super().__init__(model)
        self._vehicle, self._learner = vehicle, learner

    def update(self, values: Floats) -> TickDiagnostics:
        """Take the means of one tick as the vehicle corrects them, see `TickFilter`."""
        shown = super().update(values)
        self._learner.learn(self._vehicle.measured(values[:6]), self.belief)
        return shown


def measure_vehicle(
    model: ModelHead,
    recordings: Sequence[Recording],
    progress: Callable[[str, float], None] = lambda *_: None,
) -> Measured:
    """Measure a vehicle from recordings that fit a model of a route; no position is needed."""
    route = check_vehicle(model)
    for recording in recordings:
        if trouble := imu_misfit(recording, model):
            raise InputError(trouble)
    vehicle = UNKNOWN
    # Each time with what was measured before.
    for _ in range(3):
        learner, ticks = VehicleLearner(model), 0
        for recording in recordings:
            live = Filter(model, correction=vehicle)
            live.ticks = LearningTracker(route, vehicle, learner)
            ticks += sum(1 for _ in estimates_along(live, recording, progress))
        vehicle = learner.vehicle
    if not ticks:
        names = ', '.join(recording.name for recording in recordings)
        msg = f'{names}: no tick ends in them, so nothing is measured; give a longer part'
        raise InputError(msg)
    return Measured(vehicle, ticks, learner.ticks)


def corrected(recording: Recording, vehicle: Vehicle) -> Recording:
    """Return a recording of a vehicle as an IMU of the training would have made it."""
    imu = recording.imu
    return replace(recording, imu=replace(imu, samples=vehicle.correct(imu.samples)))
