# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Measure the positions of a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.inspection.findings import info, Stretch, warning
from two_manifold_ros.inspection.lag import hear_gyroscope, lag_between, lag_findings
from two_manifold_ros.inspection.motion import (
    count_laps,
    find_jumps,
    put_together,
    usable_positions,
)
from two_manifold_ros.inspection.timing import advancing, measure_timing
from two_manifold_ros.inspection.yaw import compare_yaw, yaw_findings
from two_manifold_ros.ticks.segments import usable_places

if TYPE_CHECKING:
    from two_manifold_ros.inspection.findings import Finding
    from two_manifold_ros.inspection.lag import Lag
    from two_manifold_ros.inspection.motion import Jump, Laps
    from two_manifold_ros.inspection.timing import Timing
    from two_manifold_ros.inspection.yaw import YawAgreement
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


_ENOUGH_COVERAGE = 0.95
_MUCH_STANDING = 0.2
_FEW_LAPS = 3
_MOST_LISTED = 5


def position_findings(positions: PositionReport, half_tick_s: float) -> list[Finding]:
    """Return what is to be said about the positions; a lag counts from half a tick on."""
    if not positions.coverage:
        return [
            warning(
                'clocks_differ',
                f'No position lies within the time of the IMU, the first comes '
                f'{positions.timing.start_s:.1f} s after the first sample: set the clocks of '
                f'both machines (NTP or PTP), or try --use-receive-time.',
            ),
        ]
    findings = []
    if positions.coverage < _ENOUGH_COVERAGE:
        findings.append(
            warning(
                'positions_missing',
                f'Positions cover {positions.coverage:.0%} of the time of the IMU'
                f'{_hole(positions)}: training learns no place in the rest; check what the '
                f'camera or receiver did there.',
            ),
        )
    if positions.not_finite:
        findings.append(
            warning(
                'positions_not_finite',
                f'{positions.not_finite} positions are NaN or infinite: they are left out; check '
                f'what publishes {positions.topic}.',
            ),
        )
    if positions.absurd:
        findings.append(
            warning(
                'positions_absurd',
                f'{positions.absurd} positions are further from the origin than anything on '
                f'earth: they are left out; check what publishes {positions.topic}, or copy the '
                f'recording again.',
            ),
        )
    if positions.jumps:
        findings.append(_jumps(positions.jumps))
    findings += _lap_findings(positions.laps)
    if positions.standing > _MUCH_STANDING:
        findings.append(
            info(
                'standing',
                f'The vehicle stands for {positions.standing:.0%} of the time, which teaches '
                f'little about the route: leave long stops out of the recording.',
            ),
        )
    findings += lag_findings(positions.lag, half_tick_s)
    return findings + yaw_findings(positions.yaw)


def _hole(positions: PositionReport) -> str:
    hole = positions.longest_hole
    return f', the longest hole is {hole}' if hole else ''


def _jumps(jumps: tuple[Jump, ...]) -> Finding:
    listed = ', '.join(
        f'{jump.distance_m:.2f} m at {jump.at_s:.1f} s' for jump in jumps[:_MOST_LISTED]
    )
    more = f' and {len(jumps) - _MOST_LISTED} more' if len(jumps) > _MOST_LISTED else ''
    return warning(
        'position_jumps',
        f'Positions jump {len(jumps)} time(s), {listed}{more}: check the camera or the '
        f'localisation there, a model learns them as they are.',
    )


def _lap_findings(laps: Laps | None) -> list[Finding]:
    if laps is None:
        return [
            warning(
                'no_laps',
                'The positions never close a lap: record several laps of one route.',
            ),
        ]
    if laps.count < _FEW_LAPS:
        return [
            warning(
                'few_laps',
                f'There are only {laps.count:.1f} laps: record at least {_FEW_LAPS}, better 10, '
                f'so that some can be held out.',
            ),
        ]
    return []
