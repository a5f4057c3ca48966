# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the lag of the positions means for the user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.inspection.finding import info, warning
from two_manifold_ros.inspection.position_lag import agreed_lags

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.inspection.finding import Finding
    from two_manifold_ros.inspection.position_lag import Lag

HALF_TICK_S = 0.025
"""Of the 20 Hz that are usual; a lag below half a tick does not show in an estimate."""


def lag_findings(lag: Lag, least_s: float) -> list[Finding]:
    """Return what is to be said about a lag, if it is more than ``least_s`` seconds."""
    if lag.seconds is None:
        return [
            info(
                'offset_unknown',
                'Whether IMU and positions are in step cannot be told, because neither gyroscope '
                'nor accelerometer follows the course: record straights and curves for more than '
                'ten seconds if you want to know.',
            ),
        ]
    if not lag.exceeds(least_s):
        return []
    return [warning('time_offset', _late(lag))]


def late_sentences(names: Sequence[str], lags: Sequence[Lag], least_s: float) -> Iterator[str]:
    """Yield what is to be said about the lags of recordings of those names, once if they agree."""
    agreed = agreed_lags(lags)
    if len(names) > 1 and len(set(agreed)) == 1:
        names, agreed = [f'{names[0]} and {len(names) - 1} more'], agreed[:1]
    for name, lag in zip(names, agreed, strict=True):
        if lag.exceeds(least_s):
            yield f'{name}: {_late(lag)}'


def _late(lag: Lag) -> str:
    return (
        f'The stamps of the positions are {lag}: estimates will be off by the distance driven in '
        f'that time; correct it with --position-lag auto (position_lag of the trainer node), or '
        f'set the clocks (NTP or PTP) and stamp camera images when they are taken.'
    )
