# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Look for defects of a recording from Python, and name the cures.

It prints::

    as recorded:
    positions late by 0.2 s:
      time_offset: The stamps of the positions are 0.206 s (+- 0.014 s) behind the stamps
    of the IMU, and estimates would be off by the distance driven in that time: train corrects
    it by default; evaluate with --position-lag auto, or set the clocks (NTP or PTP) and stamp
    camera images when they are taken.
    gyroscope in degrees:
      gyroscope_in_degrees: angular_velocity.z is 67 times the rate at which the course turns,
    so it is probably in deg/s, not in rad/s: have the driver convert, or keep it the same when
    the filter runs.
"""

from dataclasses import replace

import numpy as np

from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.recordings.recording import Recording


def show(name: str, recording: Recording) -> None:
    """Print what an inspection finds."""
    print(f'{name}:')
    for finding in inspect_recording(recording).findings:
        if finding.severity == 'warning':
            print(f'  {finding.code}: {finding.sentence}')


recording = read_recording('my_bag')
show('as recorded', recording)
show('positions late by 0.2 s', recording.with_positions_earlier(-0.2))

in_degrees = recording.imu.samples * np.array([1.0, 1.0, 1.0, 57.3, 57.3, 57.3])
show('gyroscope in degrees', replace(recording, imu=replace(recording.imu, samples=in_degrees)))
