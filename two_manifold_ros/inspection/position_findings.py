# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the measurements of the positions mean for the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.inspection.finding import info, warning
from two_manifold_ros.inspection.lag_findings import lag_findings
from two_manifold_ros.inspection.yaw_findings import yaw_findings

if TYPE_CHECKING:
    from two_manifold_ros.inspection.finding import Finding
    from two_manifold_ros.inspection.jumps import Jump
    from two_manifold_ros.inspection.laps import Laps
    from two_manifold_ros.inspection.position_report import PositionReport

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
