# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of an IMU with everything done to them that may be done on the way."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
from raw_imu import raw_imu

from two_manifold_ros.interface.assessment import REJECTIONS
from two_manifold_ros.simulation.slot_car_run import SlotCarRun

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
