# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the simulated slot car."""

from two_manifold_ros.nodes.parameter import Parameter

SLOT_CAR = (
    Parameter(
        name='seed',
        default=0,
        description='Seed of driving and noise; the same seed drives the same laps.',
        low=0,
        high=2**31 - 1,
    ),
    Parameter(
        name='imu_rate_hz',
        default=100.0,
        description='IMU messages per second of the simulated car.',
        units='Hz',
        low=1.0,
        high=1000.0,
    ),
    Parameter(
        name='reference_rate_hz',
        default=20.0,
        description='Reference poses per second of the simulated car; at most the IMU rate.',
        units='Hz',
        low=1.0,
        high=1000.0,
    ),
    Parameter(
        name='noise',
        default=1.0,
        description='Scales the errors of the IMU and of the reference; 0 means none.',
        low=0.0,
        high=100.0,
    ),
    Parameter(
        name='speed_wander',
        default=1.0,
        description='Scales how much the speed differs from lap to lap; 0 means not at all.',
        low=0.0,
        high=5.0,
    ),
    Parameter(
        name='speed',
        default=1.0,
        description=(
            'How many times faster than the clock the car drives; stamps run ahead of the clock '
            'accordingly.'
        ),
        low=0.1,
        high=20.0,
    ),
)
