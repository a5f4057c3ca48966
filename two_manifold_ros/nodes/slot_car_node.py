# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated slot car as a node: an IMU and a reference, without hardware."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.utilities import ok

from two_manifold_ros.interface.log import Guard, Notices
from two_manifold_ros.interface.parameters import SLOT_CAR
from two_manifold_ros.nodes.declaring import declare, values
from two_manifold_ros.nodes.publishing import message_class, to_message
from two_manifold_ros.simulation.slot_car import Camera, SlotCar, SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import (
    imu_message,
    IMU_TYPE,
    reference_message,
    REFERENCE_TYPE,
)
from two_manifold_ros.stopping import Stopping
from two_manifold_ros.threads import one_blas_thread

if TYPE_CHECKING:
    from two_manifold_ros.simulation.slot_car import SlotCarSample


MOST_AT_ONCE = 200
"""Samples sent in one go after a stall; what is older than that is caught up with later."""

BEHIND_S = 1.0
"""By how much the stamps may be late before that is worth a warning."""


class Pacing:
    """
    Keeps samples at the pace of a clock.

    Parameters
    ----------
    period_ns
        Between two samples, in their stamps.
    speed
        How many times faster than the clock.

    Attributes
    ----------
    sent
        Samples until now.

    """

    def __init__(self, period_ns: int, speed: float) -> None:
        self._period = period_ns
        self._speed = speed
        self.sent = 0

    def due(self, elapsed_ns: int) -> int:
        """Return how many to send now, after so many nanoseconds of the clock."""
        return min(int(elapsed_ns * self._speed / self._period) - self.sent, MOST_AT_ONCE)

    def troubles(self, elapsed_ns: int) -> dict[str, str]:
        """Return a sentence by cause if it is far behind."""
        behind_s = (elapsed_ns * self._speed - self.sent * self._period) / 1e9
        if behind_s <= BEHIND_S:
            return {}
        return {
            'behind': (
                'The simulated car cannot keep pace with the clock: its stamps are late; lower '
                'speed or imu_rate_hz, or give it more of the computer'
            )
        }


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


def main(args: list[str] | None = None) -> int:
    """Drive until stopped, and return the exit status."""
    one_blas_thread()
    # Loading all of it takes a second, in which a signal may come.
    with Stopping() as stop:
        # NumPy reads the number of threads when it is imported, which these modules do.
        from two_manifold_ros.nodes.running import run  # noqa: PLC0415

        return run(SlotCarNode, stop, args)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
