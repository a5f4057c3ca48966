# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a model remembers of how its recordings were driven: laps, and lag of the positions."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.inspection.position_report import measure_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.inspection.position_report import PositionReport
    from two_manifold_ros.recordings.recording import Recording

FEWEST_LAPS = 3


def measure_drives(recordings: Sequence[Recording]) -> list[PositionReport]:
    """Measure the positions of each recording that has some."""
    return [
        measure_positions(recording.positions, recording.imu)
        for recording in recordings
        if recording.positions is not None
    ]


def lag_summary(
    recordings: Sequence[Recording], drives: Sequence[PositionReport]
) -> list[dict[str, Any]]:
    """Return for each recording the lag found in the bag, and how much of it was undone."""
    rows = []
    for recording, drive in zip(recordings, drives, strict=True):
        undone_s = recording.positions.earlier_s if recording.positions is not None else 0.0
        left_s = drive.lag.seconds
        rows.append(
            {
                'recording': recording.name,
                'found_s': None if left_s is None else round(left_s + undone_s, 4),
                'uncertainty_s': None if left_s is None else round(drive.lag.uncertainty_s, 4),
                'corrected_s': round(undone_s, 4),
            }
        )
    return rows


def count_all_laps(drives: Sequence[PositionReport]) -> float:
    """Return the laps of all recordings together; one in which no lap closes counts nothing."""
    return sum(drive.laps.count for drive in drives if drive.laps is not None)


def median_lap_s(drives: Sequence[PositionReport]) -> float | None:
    """Return how long a lap takes, s; ``None`` where none closes."""
    times = [drive.laps.time_s for drive in drives if drive.laps is not None]
    return round(float(np.median(times)), 3) if times else None


def lap_notes(drives: Sequence[PositionReport], held_s: float) -> list[str]:
    """
    Return what is to be said if there are too few laps to choose and to calibrate.

    Parameters
    ----------
    drives
        From `measure_drives`.
    held_s
        Seconds of the held-out blocks that were scored; 0 if nothing was validated.

    """
    times = [drive.laps.time_s for drive in drives if drive.laps is not None]
    wanted = f'record at least {FEWEST_LAPS} laps, better 10, of one route'
    there = 'the positions never close a lap'
    if times:
        laps, held = count_all_laps(drives), held_s / float(np.median(times))
        if laps >= FEWEST_LAPS and (held >= 1 or not held_s):
            return []
        there = f'there are {laps:.1f} laps'
        if held_s:
            there += f', and {held:.1f} of one in the held-out blocks'
    if not held_s:
        # That nothing was validated is said already, with the reason.
        return [f'{there}: {wanted}']
    return [
        f'{there}: settings are hardly chosen and the ellipses not to be trusted; {wanted}',
    ]
