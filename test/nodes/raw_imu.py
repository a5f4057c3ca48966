# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Serialised IMU messages without ROS."""

from collections.abc import Iterator
import struct

import numpy as np

from two_manifold_ros.simulation.slot_car_run import SlotCarRun


def raw_imu(stamp_ns: int, sample: np.ndarray, frame: str = '') -> bytes:
    """Return a ``sensor_msgs/Imu`` in little-endian CDR."""
    seconds, nanoseconds = divmod(stamp_ns, 10**9)
    numbers = np.zeros(37)
    numbers[13:16], numbers[25:28] = sample[3:], sample[:3]
    head = struct.pack('<iII', seconds, nanoseconds, len(frame) + 1) + frame.encode() + b'\x00'
    head += bytes(-len(head) % 8)
    return b'\x00\x01\x00\x00' + head + numbers.astype('<f8').tobytes()


def raw_drive(drive: SlotCarRun) -> Iterator[bytes]:
    """Yield the messages of a drive one after the other."""
    for stamp, sample in zip(drive.stamps_ns.tolist(), drive.imu, strict=True):
        yield raw_imu(stamp, sample)
