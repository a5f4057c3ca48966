# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The motion of the vehicle and what the IMU felt, on one grid of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from two_manifold_ros.inspection.motion import measure_motion, on_grid, SMOOTHING_S
from two_manifold_ros.inspection.timing import advancing, measure_timing
from two_manifold_ros.ticks.usable import absurd_values, usable_places, usable_samples

if TYPE_CHECKING:
    from two_manifold_ros.inspection.motion import Motion
    from two_manifold_ros.recordings.recording import ImuStream, PositionStream
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Together:
    """
    Motion and IMU of one recording.

    Parameters
    ----------
    motion
        From the positions.
    imu : (G, 6) float64
        On the grid of the motion and as smooth; NaN where the IMU is silent.

    """

    motion: Motion
    imu: Floats


def put_together(
    positions: PositionStream, imu: ImuStream, smoothing_s: float = SMOOTHING_S
) -> Together | None:
    """
    Return both on one grid, or nothing if the positions are too few or never move.

    Parameters
    ----------
    positions, imu
        Of one recording.
    smoothing_s
        As of `measure_motion`.

    """
    seconds, points = usable_positions(positions, imu.first_stamp)
    gap_s = measure_timing(positions.stamps, imu.first_stamp).gap_s
    motion = measure_motion(seconds, points, gap_s, smoothing_s)
    if motion is None:
        return None
    usable, samples = usable_samples(imu.samples)
    usable &= ~absurd_values(samples, usable).any(axis=1)
    good = advancing(imu.stamps) & usable
    imu_seconds = (imu.stamps[good] - imu.first_stamp) / 1e9
    return Together(motion, on_grid(motion, imu_seconds, samples[good]))


def usable_positions(positions: PositionStream, origin_ns: int) -> tuple[Floats, Floats]:
    """Return increasing seconds (M,) from the origin on, and usable positions (M, 2)."""
    usable = usable_places(positions.positions) & advancing(positions.stamps)
    return (positions.stamps[usable] - origin_ns) / 1e9, positions.positions[usable]
