# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feed a node under test with the IMU and the positions of a slot car."""

from collections.abc import Callable
from time import monotonic

import numpy as np
from rclpy.publisher import Publisher
from ros_talk import Health, Talk
from sensor_msgs.msg import Imu

from two_manifold_ros.recordings.ros_messages import to_message
from two_manifold_ros.simulation.slot_car_run import imu_message, reference_message, SlotCarRun


def connect(talk: Talk, health: Health) -> Publisher:
    """Return a publisher of imu from which the node has heard: what is sent before is lost."""
    publisher = talk.publisher(Imu, 'imu')
    probe = Imu()
    # So far back that the filter starts again after them.
    probe.header.stamp.sec = 1_000_000
    probe.linear_acceleration.z = 9.81

    def heard() -> bool:
        probe.header.stamp.nanosec += 1_000_000
        publisher.publish(probe)
        return int(health.values.get('received', 0)) > 0

    health.clear()
    talk.until(heard, 'the first IMU message to arrive')
    return publisher


class Feed:
    """A run that is published sample after sample, ``every`` so-manieth with its position."""

    def __init__(
        self,
        talk: Talk,
        run: SlotCarRun,
        imu: Publisher,
        reference: Publisher | None = None,
        every: int = 2,
    ) -> None:
        self._talk, self._run, self._imu = talk, run, imu
        self.reference, self.every, self.sent = reference, every, 0
        # Metres by which positions are moved, and what changes each message of the IMU.
        self.moved = np.zeros(3)
        self.spoil: Callable[[Imu], object] = lambda _: None

    def send(self, count: int, pause_s: float = 0.0005, *, positions: bool = True) -> None:
        """Publish quickly, but never more at once than fits into the queues."""
        run = self._run
        for index in range(self.sent, self.sent + count):
            stamp = int(run.stamps_ns[index])
            fields = imu_message(stamp, run.imu[index], np.zeros(6))
            message = to_message('sensor_msgs/msg/Imu', fields)
            self.spoil(message)
            self._imu.publish(message)
            if positions and self.reference is not None and index % self.every == 0:
                place = run.positions[index] + self.moved
                seen = reference_message(stamp, place, run.quaternions[index])
                self.reference.publish(to_message('geometry_msgs/msg/PoseStamped', seen))
            self._talk.spin(pause_s)
        self.sent += count

    def go_on(self, period_s: float) -> None:
        """Drive by the clock from now on, whenever our node waits for something."""
        due = monotonic()

        def step() -> None:
            nonlocal due
            self.send(1, 0.0)
            due = max(due + period_s, monotonic())
            self._talk.rest(due - monotonic())

        self._talk.meanwhile = step
