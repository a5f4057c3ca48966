# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated slot car as a node: IMU and reference, without hardware."""

from __future__ import annotations

from time import monotonic_ns

import numpy as np

from two_manifold_ros.interface.parameters import SlotCarParameters
from two_manifold_ros.nodes.callbacks import GuardedNode
from two_manifold_ros.nodes.running import declare
from two_manifold_ros.recordings.ros_messages import message_class, to_message
from two_manifold_ros.simulation.slot_car import Camera, SlotCar, SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import (
    imu_message,
    IMU_TYPE,
    reference_message,
    REFERENCE_TYPE,
)


class SlotCarNode(GuardedNode):
    """Publish ``imu`` and ``reference`` of a car that never leaves the track."""

    def __init__(self) -> None:
        super().__init__('slot_car_node')
        chosen = declare(self, SlotCarParameters)
        settings = SlotCarSettings(
            seed=chosen.seed,
            rate_hz=chosen.imu_rate_hz,
            noise=chosen.noise,
            speed_wander=chosen.speed_wander,
            driver=chosen.driver,
        )
        self._car = SlotCar(settings)
        self._camera = Camera(settings)
        self._variances = self._car.imu_noise.variances()
        self._period_ns = settings.period_ns
        self._sparing = max(1, round(settings.rate_hz / chosen.reference_rate_hz))
        self._speed, self._sent = chosen.speed, 0
        # Reliable, as REP-2003 asks of sensors; the reader decides.
        self._imu = self.create_publisher(message_class(IMU_TYPE), 'imu', 1000)
        self._reference = self.create_publisher(message_class(REFERENCE_TYPE), 'reference', 1000)
        self._origin_ns = self.now_ns
        self._start_ns = monotonic_ns()
        self.every(max(1e-3, self._period_ns / 1e9 / chosen.speed), self._drive)
        self.get_logger().info(
            f'Publishes {self._imu.topic_name} at {settings.rate_hz:g} Hz and '
            f'{self._reference.topic_name} at {settings.rate_hz / self._sparing:g} Hz of the '
            f'time in the stamps, which runs {chosen.speed:g} times as fast as the clock'
        )

    def _drive(self) -> None:
        due = int((monotonic_ns() - self._start_ns) * self._speed / self._period_ns) - self._sent
        # After a stall the samples of a second are sent at once, and the rest later.
        for _ in range(min(due, round(1e9 * self._speed / self._period_ns))):
            sample, stamp_ns = self._car.step(), self._origin_ns + self._sent * self._period_ns
            imu = np.concatenate([sample.specific_force, sample.angular_rate])
            fields = imu_message(stamp_ns, imu, self._variances)
            self._imu.publish(to_message(IMU_TYPE, fields))
            if self._sent % self._sparing == 0:
                seen = self._camera.see(sample.position)
                fields = reference_message(stamp_ns, seen, sample.quaternion)
                self._reference.publish(to_message(REFERENCE_TYPE, fields))
            self._sent += 1
