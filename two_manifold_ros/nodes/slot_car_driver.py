# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publishes a slot car at the pace of the clock."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.utilities import ok

from two_manifold_ros.nodes.declaring import declare, values
from two_manifold_ros.nodes.guarding import Guard
from two_manifold_ros.nodes.notices import Notices
from two_manifold_ros.nodes.pacing import Pacing
from two_manifold_ros.nodes.slot_car_parameters import SLOT_CAR
from two_manifold_ros.nodes.translating import message_class, to_message
from two_manifold_ros.simulation.camera import Camera
from two_manifold_ros.simulation.slot_car import SlotCar
from two_manifold_ros.simulation.slot_car_messages import (
    imu_message,
    IMU_TYPE,
    reference_message,
    REFERENCE_TYPE,
)
from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings

if TYPE_CHECKING:
    from two_manifold_ros.simulation.slot_car import SlotCarSample

# Reliable, as REP-2003 asks of sensors; the reader decides.
_DEPTH = 1000


class SlotCarNode(Node):
    """Publishes ``imu`` and ``reference`` of a car that never leaves the track."""

    def __init__(self) -> None:
        super().__init__('slot_car_node')
        self.exit_status: int | None = None
        declare(self, SLOT_CAR)
        chosen: dict[str, Any] = values(self, SLOT_CAR)
        settings = SlotCarSettings(
            seed=chosen['seed'],
            rate_hz=chosen['imu_rate_hz'],
            noise=chosen['noise'],
            speed_wander=chosen['speed_wander'],
        )
        self._car = SlotCar(settings)
        self._camera = Camera(settings)
        self._variances = self._car.imu_noise.variances()
        self._period_ns = settings.period_ns
        self._sparing = max(1, round(settings.rate_hz / chosen['reference_rate_hz']))
        self._pacing = Pacing(settings.period_ns, chosen['speed'])
        self._notices = Notices(self.get_logger().warning, self.get_logger().info)
        self._imu = self.create_publisher(message_class(IMU_TYPE), 'imu', _DEPTH)
        self._reference = self.create_publisher(message_class(REFERENCE_TYPE), 'reference', _DEPTH)
        self._origin_ns = self.get_clock().now().nanoseconds
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._start_ns = self._steady.now().nanoseconds
        pace_s = max(1e-3, self._period_ns / 1e9 / chosen['speed'])
        guard = Guard(self.get_logger().error, ok)
        self.create_timer(pace_s, guard(self._drive), clock=self._steady)
        self.get_logger().info(
            f'Publishes {self._imu.topic_name} at {settings.rate_hz:g} Hz and '
            f'{self._reference.topic_name} at {settings.rate_hz / self._sparing:g} Hz of the '
            f'time in the stamps, which runs {chosen["speed"]:g} times as fast as the clock'
        )

    def _drive(self) -> None:
        elapsed_ns = self._steady.now().nanoseconds - self._start_ns
        for _ in range(self._pacing.due(elapsed_ns)):
            self._publish(self._car.step())
        self._notices.update(self._pacing.troubles(elapsed_ns), elapsed_ns / 1e9)

    def _publish(self, sample: SlotCarSample) -> None:
        stamp_ns = self._origin_ns + self._pacing.sent * self._period_ns
        imu = np.concatenate([sample.specific_force, sample.angular_rate])
        fields = imu_message(stamp_ns, imu, self._variances)
        self._imu.publish(to_message(IMU_TYPE, fields))
        if self._pacing.sent % self._sparing == 0:
            seen = self._camera.see(sample.position)
            fields = reference_message(stamp_ns, seen, sample.quaternion)
            self._reference.publish(to_message(REFERENCE_TYPE, fields))
        self._pacing.sent += 1
