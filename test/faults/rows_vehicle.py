# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What happens to the car rather than to its IMU: faults, and rows of the matrix."""

from fault import ANY, HealthyDrive, LOST, RATE_HZ, REFUSED, StreamFault, Stretch, with_options
import numpy as np
from rows_values import AFTER_LOOKS

from two_manifold_ros.simulation.slot_car import ImuNoise, true_imu
from two_manifold_ros.simulation.track import Track

OVAL = np.array(
    [
        (1.9 * np.cos(angle), 1.2 * np.sin(angle) + 0.3 * np.cos(3 * angle), 0.0, 0.0)
        for angle in np.linspace(0.0, 2.0 * np.pi, 20, endpoint=False)
    ]
)
"""Control points of another track, as long as that of the model and with as tight bends."""


@with_options
def elsewhere(stretch: Stretch, drive: HealthyDrive, seconds: float) -> Stretch:
    """Lift the car off and put it down where it would have been later, driving."""
    begin_s = (stretch[0].taken_ns - drive.begin_ns) / 1e9 + seconds
    there = drive.between(begin_s, begin_s + len(stretch) / RATE_HZ)
    return [
        here._replace(taken_ns=other.taken_ns, values=other.values)
        for here, other in zip(stretch, there, strict=True)
    ]


def in_the_hand(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Carry the car: tilted, turned and shaken."""
    random = np.random.default_rng(4)
    time = np.arange(len(stretch)) / RATE_HZ
    tilt = np.minimum(time, 1.0)
    values = random.normal(scale=[1.0, 1.0, 1.0, 0.5, 0.5, 0.5], size=(len(stretch), 6))
    values[:, 1] += 9.81 * np.sin(tilt)
    values[:, 2] += 9.81 * np.cos(tilt)
    values[:, 3] += tilt < 1.0
    rows = zip(stretch, values, strict=True)
    return [each._replace(taken_ns=None, values=row) for each, row in rows]


def backwards(stretch: Stretch, drive: HealthyDrive) -> Stretch:
    """
    Turn the car round and let it drive back the way it came, as quickly.

    Turned round in time forces stay and rates turn; turned round in space x and y turn.
    """
    end = (stretch[0].taken_ns - drive.begin_ns) / 1e9
    before = drive.between(end - len(stretch) / RATE_HZ, end)[::-1]
    signs = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, -1.0])
    return [
        here._replace(taken_ns=there.taken_ns, values=there.values * signs)
        for here, there in zip(stretch, before, strict=True)
    ]


def on_another_track(stretch: Stretch, drive: HealthyDrive) -> Stretch:
    """Put the car on another track and let it drive there as quickly."""
    run = drive.run
    rows = np.searchsorted(run.stamps_ns, [each.taken_ns for each in stretch])
    speed = run.speeds
    pull = np.gradient(speed, (run.stamps_ns - run.stamps_ns[0]) / 1e9)
    felt = true_imu(Track(OVAL), run.distances[rows], speed[rows], pull[rows])
    noisy = ImuNoise(run.settings).disturb(felt, speed[rows])
    return [
        each._replace(taken_ns=None, values=values)
        for each, values in zip(stretch, noisy, strict=True)
    ]


WINDOW_S = 2.0

AFTER = 50
"""
Ticks until a vehicle that was put down elsewhere is tracked again.

The window leaves the hand behind (20), the novelty of the last windows does (20), and the
better status is believed (10).
"""

VEHICLE = (
    StreamFault(
        name='kidnapped: put down elsewhere in an instant', seen='',
        rule='lost or relocalised within a window, never a confident wrong position',
        says=(LOST, ANY), within_s=WINDOW_S, recovers=40, blind=3, seconds=0.0,
        after=elsewhere(5.0),
    ),
    StreamFault(
        name='kidnapped: carried in the hand for 1.5 s, then put down elsewhere', seen='',
        rule='lost or relocalised within a window, never a confident wrong position',
        says=(LOST, ANY), within_s=WINDOW_S, recovers=AFTER, blind=1, seconds=1.5,
        change=in_the_hand, after=elsewhere(5.0),
    ),
    StreamFault(
        name='driven the wrong way round', seen='',
        rule='named; nothing is published once it is known', says=(REFUSED, 'wrong_way'),
        within_s=10.0, recovers=AFTER_LOOKS, blind=5, seconds=12.0, change=backwards,
        # On from where it was so long before this stretch.
        after=elsewhere(-24.0),
    ),
    StreamFault(
        name='driven on another track', seen='', rule='lost; nothing is published',
        says=(LOST, ANY), within_s=6.0, recovers=40, blind=12, seconds=10.0,
        change=on_another_track,
    ),
)  # fmt: skip
