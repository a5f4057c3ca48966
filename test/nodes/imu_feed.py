# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feed a node under test with the IMU of a slot car."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np
from sensor_msgs.msg import Imu

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.messages import choose_scene, messages_of
from two_manifold_ros.interface.parameters import FilterParameters
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.nodes.publishing import to_message
from two_manifold_ros.simulation.slot_car_run import imu_message

if TYPE_CHECKING:
    from pathlib import Path

    from rclpy.publisher import Publisher
    from ros_talk import Health, Talk

    from two_manifold_ros.simulation.slot_car_run import SlotCarRun

SAMPLES = 400
ESTIMATES = 60
"""Eighty ticks of five samples, of which the first twenty fill the window."""


def messages(drive: SlotCarRun, count: int = SAMPLES) -> list[Imu]:
    """Return the last samples of a drive."""
    stamps, samples = drive.stamps_ns[-count:].tolist(), drive.imu[-count:]
    return [
        to_message('sensor_msgs/msg/Imu', imu_message(stamp, sample, np.zeros(6)))
        for stamp, sample in zip(stamps, samples, strict=True)
    ]


def send(talk: Talk, publisher: Publisher, drive: list[Imu]) -> None:
    """Publish quickly, but never more at once than fits into the queues."""
    for message in drive:
        publisher.publish(message)
        talk.spin(0.0005)


def connect(talk: Talk, health: Health) -> Publisher:
    """Return a publisher of imu from which the node has heard already.

    That our side has matched says nothing about the node's side, and a sample that is sent before
    is lost. The probes lie so far back that the filter starts again after them.
    """
    publisher = talk.publisher(Imu, 'imu')
    probe = Imu()
    probe.header.stamp.sec = 1_000_000
    probe.linear_acceleration.z = 9.81

    def heard() -> bool:
        probe.header.stamp.nanosec += 1_000_000
        publisher.publish(probe)
        return int(health.values.get('received', 0)) > 0

    health.clear()
    talk.until(heard, 'the first IMU message to arrive')
    return publisher


def expected(drive: SlotCarRun, path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what replaying the same samples offline would publish."""
    model = load_model(path)
    machine, scene = Filter(model, FilterParameters.particles_rate_hz), choose_scene(model)
    published: dict[str, list[dict[str, Any]]] = {}
    stamps, samples = drive.stamps_ns[-SAMPLES:].tolist(), drive.imu[-SAMPLES:]
    for stamp, sample in zip(stamps, samples, strict=True):
        for estimate in machine.push(stamp, sample):
            for topic, _, message in messages_of(estimate, scene):
                published.setdefault(topic, []).append(message)
    return published
