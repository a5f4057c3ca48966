# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of the fault matrix: a driver that dies, stalls or is not alone, and its clock."""

from __future__ import annotations

from changing_stamps import clock_back, clock_stopped, from_two, later, nothing
from fault import FILLING, NO_DATA, StreamFault, TRACKING, UNSURE

DEAD = {
    'lane': 'prompt',
    'says': (NO_DATA, 'silent'),
    'within_s': 2.0,
    'silent_s': 5.0,
    'change': nothing,
    'seconds': 1.0,
}
"""The timeout of that node is 1 s."""

DRIVER = (
    StreamFault(
        name='driver dies and comes back after 1 s', seen='depthai-ros#736, #474',
        rule='said within the timeout; then the belief goes on where it is', **DEAD, recovers=40,
        counts={'gaps': 1, 'resets': 0},
    ),
    StreamFault(
        name='driver dies and comes back after 1 min', seen='',
        rule='said within the timeout; then start again, once', **DEAD, recovers=40,
        after=later(59.0), counts={'gaps': 1, 'resets': 1},
    ),
    StreamFault(
        name='driver dies and comes back after 1 h', seen='',
        rule='said within the timeout; then start again, once', **DEAD, recovers=40,
        after=later(3599.0), counts={'gaps': 1, 'resets': 1},
    ),
    StreamFault(
        name='batches of 50 messages at once', seen='microstrain_inertial#357, depthai-ros#56',
        rule='stamps decide, whenever it arrives', says=(TRACKING, ''), within_s=0.0, recovers=1,
        lane='plain', pace_hz=200.0, batch=50,
    ),
    StreamFault(
        name='two publishers on the topic', seen='',
        rule='named; unsure as long as there are several', says=(UNSURE, 'several_publishers'),
        words='stop all but one', within_s=4.0, recovers=40, blind=5, lane='plain', pace_hz=160.0,
        change=from_two,
    ),
    StreamFault(
        name='/clock stops (use_sim_time)', seen='autoware_universe#398',
        rule='stamps decide, and reports follow a clock that always runs',
        says=(TRACKING, 'clock_stands'), within_s=6.0, seconds=6.0, recovers=1,
        lane='simulated time', pace_hz=120.0, change=clock_stopped,
    ),
    StreamFault(
        name='/clock goes back by 30 s, stamps go on (use_sim_time)', seen='ctu-vras/ros-utils',
        rule='stamps decide: nothing happens', says=(TRACKING, ''), within_s=0.0, recovers=1,
        lane='simulated time', change=clock_back,
    ),
    StreamFault(
        name='/clock and stamps go back by 30 s (use_sim_time)',
        seen='rosbag2 PR#675, autoware PR#646', rule='start again exactly once',
        says=(FILLING, 'stepped_back'), within_s=0.5, recovers=40, seconds=0.0,
        lane='simulated time', after=later(-30.0), counts={'resets': 1},
    ),
)  # fmt: skip
