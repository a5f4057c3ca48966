# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Eight robots on one machine: a filter node each, in namespaces of one ROS domain.

Run `./run bench robots` where ROS 2 is; it takes three minutes. One robot with a fast IMU comes
after them. One process sends an IMU to each, all at the same moments, and hears what they answer.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
from tempfile import TemporaryDirectory

from node_feed import Ground, HEADS, ROW, train


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--robots', type=int, help='in place of eight, and of one with a fast IMU')
    parser.add_argument('--rate', type=float, default=100.0, help='IMUs of --robots, Hz')
    parser.add_argument('--seconds', type=float, default=60.0)
    options = parser.parse_args()
    setups = [(options.robots, options.rate)] if options.robots else [(8, 100.0), (1, 8000.0)]
    wrong = 0
    with TemporaryDirectory() as folder:
        model = Path(folder) / 'model.npz'
        train(model)
        for robots, rate_hz in setups:
            print(ROW.format(*HEADS))
            with Ground() as ground:
                for number in range(robots):
                    ground.robot(model, f'robot_{number}')
                cpu, found = ground.measure(rate_hz, options.seconds)
            print(f'all: CPU {100 * sum(cpu) / options.seconds:.0f} % of a core')
            wrong += found
    print(f'lost, and answers of others: {wrong} (to reach: 0; and p99 below a tick, 50000 us)')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
