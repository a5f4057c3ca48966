# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was measured of the positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.inspection.jumps import find_jumps
from two_manifold_ros.inspection.laps import count_laps
from two_manifold_ros.inspection.position_lag import hear_gyroscope, lag_between
from two_manifold_ros.inspection.stretch import Stretch
from two_manifold_ros.inspection.timing import advancing, measure_timing
from two_manifold_ros.inspection.together import put_together, usable_positions
from two_manifold_ros.inspection.yaw_agreement import compare_yaw
from two_manifold_ros.ticks.usable import usable_places

if TYPE_CHECKING:
    from two_manifold_ros.inspection.jumps import Jump
    from two_manifold_ros.inspection.laps import Laps
    from two_manifold_ros.inspection.position_lag import Lag
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
    absurd
        Positions that are finite but nowhere on earth.
    coverage
        Share of the IMU's time for which there are positions, in [0, 1].
    longest_hole
        The longest stretch of that time for which there are none; ``None`` if there is no hole.
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
    lag
        By how much the positions lag the IMU.

    """

    topic: str
    frame_id: str
    msgtype: str
    timing: Timing
    not_finite: int
    absurd: int
    coverage: float
    longest_hole: Stretch | None
    extent_m: tuple[float, float]
    standing: float
    jumps: tuple[Jump, ...]
    laps: Laps | None
    yaw: YawAgreement | None
    lag: Lag


def measure_positions(positions: PositionStream, imu: ImuStream) -> PositionReport:
    """
    Measure positions against the IMU.

    Parameters
    ----------
    positions, imu
        Of one recording, each with at least one message.

    """
    origin_ns = imu.first_stamp
    finite = np.isfinite(positions.positions).all(axis=1)
    timing = measure_timing(positions.stamps, origin_ns)
    seconds, points = usable_positions(positions, origin_ns)
    imu_seconds = (imu.stamps[advancing(imu.stamps)] - origin_ns) / 1e9
    both = put_together(positions, imu)
    motion = both.motion if both else None
    gyroscope = hear_gyroscope(both) if both and imu.of_imu else None
    return PositionReport(
        topic=positions.topic,
        frame_id=positions.frame_id,
        msgtype=positions.msgtype,
        timing=timing,
        not_finite=int((~finite).sum()),
        absurd=int((finite & ~usable_places(positions.positions)).sum()),
        coverage=_coverage(seconds, imu_seconds, timing.gap_s),
        longest_hole=_longest_hole(seconds, imu_seconds, timing.gap_s),
        extent_m=_extent(points),
        standing=1 - float(motion.moving.sum() / motion.known.sum()) if motion else 1.0,
        jumps=find_jumps(seconds, points, timing.gap_s),
        laps=count_laps(motion) if motion else None,
        yaw=compare_yaw(both, gyroscope) if both and gyroscope else None,
        lag=lag_between(positions, imu, both, gyroscope),
    )


def _coverage(seconds: Floats, imu_seconds: Floats, gap_s: float) -> float:
    """Return the share of IMU samples that lie between two positions with no gap between."""
    after = np.searchsorted(seconds, imu_seconds)
    inside = (after > 0) & (after < len(seconds))
    steps = np.diff(seconds)
    covered = steps[after[inside] - 1] <= gap_s
    return float(covered.sum()) / len(imu_seconds)


def _longest_hole(seconds: Floats, imu_seconds: Floats, gap_s: float) -> Stretch | None:
    """Return the longest stretch without positions from the first IMU sample to the last."""
    first, last = imu_seconds[0], imu_seconds[-1]
    edges = np.concatenate([[first], seconds[(seconds > first) & (seconds < last)], [last]])
    steps = np.diff(edges)
    longest = int(np.argmax(steps))
    if steps[longest] <= gap_s:
        return None
    return Stretch(float(edges[longest]), float(steps[longest]))


def _extent(points: Floats) -> tuple[float, float]:
    if not len(points):
        return 0.0, 0.0
    width, height = np.ptp(points, axis=0).tolist()
    return width, height
