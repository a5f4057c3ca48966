# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lap times from the IMU are those of the way that the slot car drove."""

from dataclasses import replace
import math

import numpy as np
import pytest

from two_manifold_ros.evaluation.lap_times import LapTimes, time_laps
from two_manifold_ros.laps.timing import make_timer
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.recordings.recording import Recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate


@pytest.fixture(scope='module')
def laps() -> Recording:
    """Return laps of another day."""
    return run_to_recording(simulate(SlotCarSettings(seed=2, rate_hz=10.0), laps=6))


@pytest.fixture(scope='module')
def timed(slot_car_model: RouteModel, laps: Recording) -> LapTimes:
    return time_laps(slot_car_model, laps, make_timer(slot_car_model))


def truths_of(times: LapTimes, recording: Recording) -> np.ndarray:
    """Return the stamps, s, at which positions cross the start line, by a straight line there."""
    stream, circuit = recording.positions, times.circuit
    along = (stream.positions - circuit.points[0]) @ circuit.headings[0]
    near = np.linalg.norm(stream.positions - circuit.points[0], axis=1) < 0.1 * circuit.length_m
    at = np.flatnonzero(near[1:] & (along[:-1] < 0.0) & (along[1:] >= 0.0))
    share = -along[at] / (along[at + 1] - along[at])
    return (stream.stamps[at] + share * np.diff(stream.stamps)[at]) * 1e-9


def test_lap_times_are_those_of_the_simulated_car_and_those_by_positions_stand_beside(timed, laps):
    crossed = truths_of(timed, laps)
    known = [lap for lap in timed.laps if math.isfinite(lap.time.seconds)]
    assert len(known) >= 3
    for lap in known:
        begin = np.argmin(np.abs(crossed - lap.begin_ns * 1e-9))
        error = lap.time.seconds - (crossed[begin + 1] - crossed[begin])
        assert abs(error) < 4.0 * lap.time.deviation_s + 0.02
        assert abs(error) < 0.1 * timed.circuit.lap_s
    by_positions = [each.time.seconds for each in timed.references]
    assert by_positions == pytest.approx(np.diff(crossed)[-len(by_positions) :], abs=0.05)
    errors = [lap.time.seconds - timed.reference_of(lap).time.seconds for lap in known]
    assert timed.errors() == pytest.approx(errors, abs=0.0)


def test_without_positions_there_are_the_same_laps_and_no_others_beside(
    timed, slot_car_model, laps
):
    times = time_laps(slot_car_model, replace(laps, positions=None), make_timer(slot_car_model))
    assert times.references == ()
    assert len(times.errors()) == 0
    assert [lap.begin_ns for lap in times.laps] == [lap.begin_ns for lap in timed.laps]
