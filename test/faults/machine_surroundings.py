# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Folders and networks that are missing."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from machine import in_namespaces

if TYPE_CHECKING:
    from machine import Machine

UNSET = {'HOME': None, 'ROS_HOME': None, 'ROS_LOG_DIR': None}
READ_ONLY = 'mount -t tmpfs -o ro tmpfs /mnt'
FULL = 'mount -t tmpfs -o size=4k tmpfs /mnt; dd if=/dev/zero of=/mnt/full 2>/dev/null || :'


def in_poor_surroundings(machine: Machine) -> tuple[float, ...]:
    """Start nodes that lack folders and networks."""
    lonely = machine.node(
        'filter_node',
        in_namespaces('n', ''),
        UNSET,
        model=machine.model,
    )
    found = machine.node(
        'filter_node',
        in_namespaces('mn', f'{READ_ONLY}; ip link set lo up'),
        UNSET | {'HOME': '/mnt'},
        model=machine.model,
    )
    found.until(lambda: found.hears_signals, 'it to start')
    beside = ['nsenter', '-U', '-n', '--preserve-credentials', '-t', str(found.popen.pid)]
    car = machine.node(
        'slot_car_node',
        [*beside, *in_namespaces('m', FULL)],
        {'ROS_LOG_DIR': '/mnt'},
        seed=5,
        imu_rate_hz=50.0,
        speed=4.0,
    )
    # Who is unsure before it tracks says when that is over instead.
    tracking = 'State: tracking', 'Over after'
    for node, any_of, others in (
        (
            lonely,
            ('it has no publisher',),
            [
                'No network interface is up, not even loopback',
                'No log file is written, because HOME is not set',
            ],
        ),
        (
            found,
            tracking,
            [
                'written, because /mnt/.ros/log cannot be written (Read-only file system)',
                'Loops are compiled again by every process',
            ],
        ),
        (car, ('Publishes /imu at 50 Hz',), []),
    ):
        node.until_said(*any_of)
        assert [words for words in others if words not in node.said] == [], node.said
    for node in (car, found, lonely):
        node.popen.send_signal(signal.SIGINT)
        assert node.ended() == 0, node.said
        assert 'Traceback' not in node.said, node.said
    return (0.0,) * 5
