# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Drive an updater: IMU and positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geometry_msgs.msg import PoseStamped
from imu_feed import connect
import numpy as np
from raw_imu import raw_imu
from ros_talk import Health

from two_manifold_ros.nodes.publishing import to_message
from two_manifold_ros.simulation.slot_car_run import reference_message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from healthy_drive import HealthyDrive
    from ros_talk import Talk

CHOSEN = {
    'learner': 'tpsr',
    'input_timeout_s': 60.0,
}
"""Learns soon."""

AHEAD = np.array([0.0, 0.0, 0.0, 1.0])


class UpdaterDrive:
    """Publishers of a drive from which an updater has heard, and what it says of itself."""

    def __init__(self, talk: Talk, drive: HealthyDrive) -> None:
        self._talk = talk
        self._drive = drive
        self._health = Health(talk)
        self._reference = talk.node.create_publisher(PoseStamped, 'reference', 1000)
        self._imu = connect(talk, self._health)
        self._health.until_value('reference_type', 'geometry_msgs/msg/PoseStamped')

    @property
    def values(self) -> Mapping[str, str]:
        return self._health.values

    @property
    def level(self) -> int:
        return self._health.level

    def send(self, begin_s: float, end_s: float) -> None:
        """Publish a part quickly, but never more at once than fits into the queues."""
        samples = self._drive.between(begin_s, end_s)
        places = self._drive.places(np.array([each.stamp_ns for each in samples]))
        for index, (sample, place) in enumerate(zip(samples, places, strict=True)):
            self._imu.publish(raw_imu(sample.stamp_ns, sample.values, sample.frame))
            if index % 5 == 0:
                fields = reference_message(sample.stamp_ns, np.append(place, 0.0), AHEAD)
                self._reference.publish(to_message('geometry_msgs/msg/PoseStamped', fields))
            self._talk.spin(0.0003)

    def until(self, condition: Callable[[Mapping[str, str]], object], what: str) -> None:
        """Wait for a word about itself."""
        self._talk.until(lambda: self.values and condition(self.values), what)
