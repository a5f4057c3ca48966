# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The filter node beside an empty relay node, or some filter nodes, fed with an IMU over DDS.

Run `./run bench node` where ROS 2 is. The relay (relay.py) answers every IMU message with an
odometry message and does nothing else, in the same executor; it imports nothing of the package.
The filter answers every tick. With `--robots 8` a
filter node each runs in eight namespaces of one ROS domain, and no relay.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
from tempfile import TemporaryDirectory

from node_feed import Ground, HEADS, ROW, train

CPU_TO_REACH, MEMORY_TO_REACH = 1.4, 2.4
"""The filter over the relay at 100 Hz, at most."""

RELAY = Path(__file__).resolve().parent / 'relay.py'


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
                    ground.start([str(RELAY), '--ros-args'], 'relay')
                for number in range(options.robots or 1):
                    ground.robot(model, f'filter_{number}')
                cpu, memory, found = ground.measure(rate, options.seconds)
            wrong += found
            print(f'all: CPU {100 * sum(cpu) / options.seconds:.0f} % of a core')
            if not options.robots:
                print(
                    f'filter over relay: CPU {cpu[1] / cpu[0]:.2f}, resident memory '
                    f'{memory[1] / memory[0]:.2f} times '
                    f'(to reach at 100 Hz: {CPU_TO_REACH:g} and {MEMORY_TO_REACH:g})'
                )
    print(f'lost, and answers of others: {wrong} (to reach: 0)')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
