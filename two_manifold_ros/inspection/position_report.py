# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was measured of the positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.inspection.jumps import find_jumps
from two_manifold_ros.inspection.laps import count_laps
from two_manifold_ros.inspection.motion import measure_motion
from two_manifold_ros.inspection.timing import advancing, measure_timing
from two_manifold_ros.inspection.yaw_agreement import compare_yaw

if TYPE_CHECKING:
    from two_manifold_ros.inspection.jumps import Jump
    from two_manifold_ros.inspection.laps import Laps
    from two_manifold_ros.inspection.timing import Timing
    from two_manifold_ros.inspection.yaw_agreement import YawAgreement
    from two_manifold_ros.recordings.recording import ImuStream, PositionStream
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class PositionReport:
    """
    Measurements of one stream of positions, some of them against the IMU.

    Parameters
    ----------
    topic, frame_id, msgtype
        Where it came from.
    timing
        Of its stamps.
    not_finite
        Positions with NaN or infinity.
    coverage
        Share of the IMU's time for which there are positions, in [0, 1].
    extent_m
        Width and height of the box around all positions.
    standing
        Share of the known time at which the vehicle hardly moves, in [0, 1].
    jumps
        Leaps.
    laps
        ``None`` if no lap was closed.
    yaw
        The gyroscope against the course; ``None`` if that cannot be compared.

    """

    topic: str
    frame_id: str
    msgtype: str
    timing: Timing
    not_finite: int
    coverage: float
    extent_m: tuple[float, float]
    standing: float
    jumps: tuple[Jump, ...]
    laps: Laps | None
    yaw: YawAgreement | None


def measure_positions(positions: PositionStream, imu: ImuStream) -> PositionReport:
    """
    Measure positions against the IMU.

    Parameters
    ----------
    positions, imu
        Of one recording, each with at least one message.

    """
    origin_ns = imu.first_stamp
    timing = measure_timing(positions.stamps, origin_ns)
    finite = np.isfinite(positions.positions).all(axis=1)
    usable = finite & advancing(positions.stamps)
    seconds = (positions.stamps[usable] - origin_ns) / 1e9
    points = positions.positions[usable]
    motion = measure_motion(seconds, points, timing.gap_s)
    good = advancing(imu.stamps) & np.isfinite(imu.samples).all(axis=1)
    imu_seconds = (imu.stamps[good] - origin_ns) / 1e9
    return PositionReport(
        topic=positions.topic,
        frame_id=positions.frame_id,
        msgtype=positions.msgtype,
        timing=timing,
        not_finite=int((~finite).sum()),
        coverage=_coverage(seconds, imu_seconds, timing.gap_s),
        extent_m=_extent(points),
        standing=1 - float(motion.moving.sum() / motion.known.sum()) if motion else 1.0,
        jumps=find_jumps(seconds, points, timing.gap_s),
        laps=count_laps(motion) if motion else None,
        yaw=compare_yaw(motion, imu_seconds, imu.samples[good, 3:]) if motion else None,
    )


def _coverage(seconds: Floats, imu_seconds: Floats, gap_s: float) -> float:
    """Return the share of IMU samples that lie between two positions with no gap between."""
    after = np.searchsorted(seconds, imu_seconds)
    inside = (after > 0) & (after < len(seconds))
    steps = np.diff(seconds)
    covered = steps[after[inside] - 1] <= gap_s
    return float(covered.sum()) / len(imu_seconds)


def _extent(points: Floats) -> tuple[float, float]:
    if not len(points):
        return 0.0, 0.0
    width, height = np.ptp(points, axis=0).tolist()
    return width, height
