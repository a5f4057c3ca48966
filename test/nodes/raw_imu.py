# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Serialised IMU messages without ROS, also with everything done to them on their way."""

from collections import Counter
from collections.abc import Iterator
import struct

import numpy as np

from two_manifold_ros.interface.assessment import REJECTIONS
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


MS = 1_000_000


def odd_stream(drive: SlotCarRun, count: int, seed: int = 0) -> Iterator[bytes]:
    """Yield messages, every fourth of which is odd in one of many ways."""
    generator = np.random.default_rng(seed)
    shift = 0
    for index in range(count):
        stamp, sample = int(drive.stamps_ns[index]), drive.imu[index].copy()
        # A few at a time, as a clock that was set stays set.
        odd = int(generator.integers(40))
        shift += {0: 700 * MS, 1: -20_000 * MS, 2: 5_000 * MS}.get(odd, 0)
        lone = {3: -90 * MS, 4: 10**6 * MS, 5: -(10**6) * MS}.get(odd, 0)
        stamp = {6: 0, 7: int(drive.stamps_ns[index - 1]) + shift}.get(odd, stamp + shift + lone)
        sample[odd % 6] = {8: np.nan, 9: 1e30, 10: -np.inf}.get(odd, sample[odd % 6])
        yield b'\x00\x01garbage' if odd == 11 else raw_imu(stamp, sample, 'imu_link')


def unaccounted(counts: Counter[str]) -> int:
    """Return how many messages were received and neither used nor counted by a cause."""
    rejected = sum(counts[cause] for cause in REJECTIONS)
    return counts['received'] - counts['used'] - counts['waiting'] - rejected
