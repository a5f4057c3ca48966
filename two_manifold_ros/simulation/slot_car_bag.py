# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A run of the slot car as a `Recording` or as a bag."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.simulation.camera import Camera
from two_manifold_ros.simulation.slot_car_imu import ImuNoise
from two_manifold_ros.simulation.slot_car_messages import (
    IMU_FRAME,
    imu_message,
    IMU_TOPIC,
    IMU_TYPE,
    reference_message,
    REFERENCE_TOPIC,
    REFERENCE_TYPE,
    TRACK_FRAME,
)
from two_manifold_ros.simulation.slot_car_run import unheard

if TYPE_CHECKING:
    from pathlib import Path

    from two_manifold_ros.simulation.slot_car_run import Report, SlotCarRun

_FASTEST_CAMERA_HZ = 50.0
_REPORT_EVERY = 1000  # samples


def samples_per_reference(rate_hz: float) -> int:
    """Return of how many IMU samples one has a reference pose: a camera sees 50 Hz at most."""
    return math.ceil(rate_hz / _FASTEST_CAMERA_HZ)


def run_to_recording(run: SlotCarRun) -> Recording:
    """Return what reading the bag of `write_run` would give, without a bag."""
    every = samples_per_reference(run.settings.rate_hz)
    stamps = run.stamps_ns[::every]
    positions = Camera(run.settings).see(run.positions[::every])[:, :2]
    return Recording(
        name=f'slot car with seed {run.settings.seed}',
        imu=ImuStream(IMU_TOPIC, IMU_FRAME, run.stamps_ns, run.imu, run.stamps_ns),
        positions=PositionStream(REFERENCE_TOPIC, TRACK_FRAME, REFERENCE_TYPE, stamps, positions),
    )


def write_run(run: SlotCarRun, path: str | Path) -> None:
    """
    Write a new rosbag2 (mcap) with ``/imu`` and ``/reference``.

    Raises
    ------
    InputError
        If the path exists already, or `rosbags` is missing.

    """
    with BagWriter(path) as bag:
        write_messages(run, bag)


def write_messages(run: SlotCarRun, bag: BagWriter, report: Report = unheard) -> None:
    """Write all messages of a run into an open bag; ``report`` hears how far it is."""
    every = samples_per_reference(run.settings.rate_hz)
    seen = Camera(run.settings).see(run.positions[::every])
    variances = ImuNoise(run.settings).variances()
    for index, stamp in enumerate(run.stamps_ns.tolist()):
        bag.write(IMU_TOPIC, IMU_TYPE, stamp, imu_message(stamp, run.imu[index], variances))
        if index % every == 0:
            pose = reference_message(stamp, seen[index // every], run.quaternions[index])
            bag.write(REFERENCE_TOPIC, REFERENCE_TYPE, stamp, pose)
        if index % _REPORT_EVERY == 0:
            report('writing', index / len(run.stamps_ns))
