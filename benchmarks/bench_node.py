# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The filter node beside an empty relay node, or some filter nodes, fed with an IMU over DDS.

Run `./run bench node` where ROS 2 is. The relay answers every IMU message with an odometry message
and does nothing else, in the same executor; the filter answers every tick. With `--robots 8` a
filter node each runs in eight namespaces of one ROS domain, and no relay.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
from tempfile import TemporaryDirectory

from node_feed import Ground, HEADS, ROW, train

TO_REACH = 1.4
"""CPU of the filter to that of the relay at 100 Hz, at most."""


def relay() -> int:
    """Run the empty node."""
    from nav_msgs.msg import Odometry  # noqa: PLC0415 - only this process is the relay
    from rclpy.node import Node  # noqa: PLC0415 - as above
    from rclpy.serialization import serialize_message  # noqa: PLC0415 - as above
    from sensor_msgs.msg import Imu  # noqa: PLC0415 - as above

    from two_manifold_ros.interface.messages import Topics  # noqa: PLC0415 - as above
    from two_manifold_ros.nodes.callbacks import qos  # noqa: PLC0415 - as above
    from two_manifold_ros.nodes.running import run  # noqa: PLC0415 - as above
    from two_manifold_ros.stopping import Stopping  # noqa: PLC0415 - as above

    class Relay(Node):
        def __init__(self) -> None:
            super().__init__('relay')
            self.exit_status = None
            self.answers = self.create_publisher(Odometry, 'odometry', qos(Topics.ODOMETRY))
            self.answer = serialize_message(Odometry())
            self.create_subscription(Imu, 'imu', self.take, qos(Topics.IMU), raw=True)

        def take(self, raw: bytes) -> None:
            # Both messages start with a stamp: that of the IMU shows to what this is the answer.
            self.answers.publish(self.answer[:4] + raw[4:12] + self.answer[12:])

    with Stopping() as stop:
        return run(Relay, stop)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=20.0, help='seconds per rate')
    parser.add_argument('--rates', default='100,1000', help='IMU rates in Hz')
    parser.add_argument('--robots', type=int, default=0, help='filter nodes without a relay')
    options = parser.parse_args()
    wrong = 0
    print(ROW.format(*HEADS))
    with TemporaryDirectory() as folder:
        model = Path(folder) / 'model.npz'
        train(model)
        for rate in map(float, options.rates.split(',')):
            with Ground() as ground:
                if not options.robots:
                    ground.start([str(Path(__file__).resolve()), '--relay', '--ros-args'], 'relay')
                for number in range(options.robots or 1):
                    ground.robot(model, f'filter_{number}')
                cpu, found = ground.measure(rate, options.seconds)
            wrong += found
            print(f'all: CPU {100 * sum(cpu) / options.seconds:.0f} % of a core')
            if not options.robots:
                ratio = f'{cpu[1] / cpu[0]:.2f} (to reach at 100 Hz: {TO_REACH:g})'
                print(f'CPU of the filter to that of the relay: {ratio}')
    print(f'lost, and answers of others: {wrong} (to reach: 0)')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(relay() if '--relay' in sys.argv else main())
