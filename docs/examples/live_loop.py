# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Filter without ROS: samples of any driver in, estimates out.

It prints::

    -> filling the window  filling
    -> tracking
    x  -0.00 m  y   0.22 m  +- 0.08 m
    x   1.21 m  y  -0.00 m  +- 0.32 m
    x  -0.00 m  y  -0.79 m  +- 0.07 m
    x   1.72 m  y  -0.00 m  +- 0.19 m
    x  -0.30 m  y  -1.14 m  +- 0.06 m
"""

from collections.abc import Iterator

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.recordings.reading import read_recording


def driver() -> Iterator[tuple[int, list[float]]]:
    """Yield stamp in ns, and specific force and angular rate: here from a bag."""
    imu = read_recording('my_bag').between(80.0, 110.0).imu
    yield from zip(imu.stamps.tolist(), imu.samples.tolist(), strict=True)


live = Filter(load_model('model.npz'))
live.warm_up()
status, seconds = None, -1
for stamp_ns, sample in driver():
    # Most samples end no tick and give no estimate; after a gap one sample may give several.
    for estimate in live.push(stamp_ns, sample):
        if estimate.status is not status:
            status = estimate.status
            print(f'-> {status.value}  {estimate.cause}')
        if estimate.valid and estimate.stamp_ns // 10**9 != seconds:
            seconds = estimate.stamp_ns // 10**9
            if seconds % 5 == 0:
                x, y = estimate.positions[0]
                print(f'x {x:6.2f} m  y {y:6.2f} m  +- {estimate.ellipse_m:.2f} m')
