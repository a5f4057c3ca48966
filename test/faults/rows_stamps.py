# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of the fault matrix: stamps, and the way of messages."""

from __future__ import annotations

from changing_stamps import (
    at_rate,
    disordered,
    doubled,
    drifting,
    jittering,
    later,
    lost,
    one_wild,
    played_again,
    set_back,
    unstamped,
)
from fault import FILLING, REFUSED, StreamFault, TRACKING, UNSURE

AFTER = 40
"""Ticks: the window, and as long again until a better status is believed."""

STEADY = {'says': (TRACKING, ''), 'within_s': 0.0, 'recovers': 1}
COUNTED = {'says': (TRACKING, ''), 'within_s': 1.0, 'recovers': 1}

STAMPS = (
    StreamFault(
        name='10 % of the messages twice', seen='zed-ros-wrapper#577, #670',
        rule='the second one is dropped and counted', says=(TRACKING, 'duplicate_stamp'),
        within_s=6.0, recovers=1, seconds=6.0, change=doubled(0.1),
    ),
    StreamFault(
        name='disorder within 50 ms', seen='phidgets_drivers#17, realsense-ros#1607',
        rule='late messages are dropped and counted; the warning names reorder_s',
        says=(TRACKING, 'out_of_order'), words='reorder_s', within_s=6.0, recovers=1, seconds=6.0,
        change=disordered(0.05, refused='out_of_order'),
    ),
    StreamFault(
        name='disorder within 50 ms, with reorder_s', seen='phidgets_drivers PR#26',
        rule='sorted; every message is used', **STEADY, reorder_s=0.06, change=disordered(0.05),
    ),
    StreamFault(
        name='2 % of the messages lost at random', seen='', rule='what was measured last holds on',
        **STEADY, change=lost(0.02),
    ),
    StreamFault(
        name='jitter of the stamps by 45 % of their distance',
        seen='dawonn/vectornav#87, realsense-ros#577',
        rule='averaged over ticks by stamp, whenever it arrives', **STEADY, change=jittering(0.45),
    ),
    StreamFault(
        name='IMU at double the rate of training', seen='', rule='averaged over ticks by stamp',
        **STEADY, change=at_rate(100.0),
    ),
    StreamFault(
        name='IMU at half the rate of training', seen='', rule='averaged over ticks by stamp',
        **STEADY, change=at_rate(25.0),
    ),
    StreamFault(
        name='IMU at half the rate of the ticks', seen='',
        rule='named with both rates; unsure as long as it is so', says=(UNSURE, 'too_slow'),
        words='but the model needs 10 Hz', within_s=10.0, seconds=6.0, recovers=AFTER, blind=2,
        change=at_rate(5.0),
    ),
    StreamFault(
        name='clock set ahead by 0.1 s', seen='sick_scan_xd#487',
        rule='below the gap limit: what was measured last holds on', says=(TRACKING, ''),
        within_s=0.0, recovers=20, blind=3, seconds=0.0, after=later(0.1),
    ),
    StreamFault(
        name='clock set ahead by 30 s (NTP)', seen='sick_scan_xd#487',
        rule='as a gap: start again, say so', says=(FILLING, 'stepped_ahead'),
        words='the stamps stepped ahead', within_s=0.5, recovers=AFTER, seconds=0.0,
        after=later(30.0), counts={'gaps': 1, 'resets': 1},
    ),
    StreamFault(
        name='clock set back by 0.3 s', seen='',
        rule='what is older than before is refused; then a gap: unsure, say so',
        says=(UNSURE, 'stepped_back'), within_s=0.5, recovers=AFTER, seconds=0.0,
        after=set_back(0.3), counts={'gaps': 1, 'resets': 0},
    ),
    StreamFault(
        name='clock set back by 30 s (NTP)', seen='sick_scan_xd#487',
        rule='start again once, say so', says=(FILLING, 'stepped_back'), within_s=0.5,
        recovers=AFTER, seconds=0.0, after=later(-30.0), counts={'resets': 1},
    ),
    StreamFault(
        name='bag played in a loop', seen='rosbag2#99, ros_comm#156',
        rule='start again exactly once', says=(FILLING, 'stepped_back'), within_s=0.5,
        recovers=AFTER, seconds=0.0, after=played_again(5.0), counts={'resets': 1},
    ),
    StreamFault(
        name='one wild stamp', seen='depthai-ros#736',
        rule='a jump that the next message does not go on from is dropped and counted', **COUNTED,
        counter='wild_stamp', change=one_wild(40_000_000.0),
    ),
    StreamFault(
        name='clock slower by 1 %', seen='fusioncore 0.3.4',
        rule='lagging but advancing: nothing happens', **STEADY, seconds=8.0,
        change=drifting(-0.01), after=later(-0.08),
    ),
    StreamFault(
        name='zero stamps', seen='imu_tools#82, #145',
        rule='refused, with use_receive_time named as the cure', says=(REFUSED, 'zero_stamp'),
        words='use_receive_time', within_s=1.0, recovers=AFTER, change=unstamped(),
    ),
)  # fmt: skip
