# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Put positions in step with the IMU."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.position_lag import agreed_lags, estimate_lag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.inspection.position_lag import Lag
    from two_manifold_ros.recordings.recording import Recording

AUTO = 'auto'


def parse_position_lag(text: str) -> float | None:
    """
    Return the seconds that are asked for, or ``None`` for ``auto``.

    Raises
    ------
    InputError
        If it is neither.

    """
    if text == AUTO:
        return None
    try:
        lag_s = float(text)
    except ValueError:
        lag_s = math.nan
    if not math.isfinite(lag_s):
        msg = f'a position lag of {text!r} is neither {AUTO} nor a number of seconds'
        raise InputError(msg)
    return lag_s


def put_in_step(recordings: Sequence[Recording], wanted: str) -> list[Recording]:
    """
    Make positions earlier by their lag; the last note of each recording says what was done.

    Parameters
    ----------
    recordings
        Made with one setup: where the lags that are found agree, all get the same.
    wanted
        ``auto`` for the lag that is found, or seconds; empty to leave everything as it is.

    Raises
    ------
    InputError
        If ``wanted`` is something else.

    """
    if not wanted:
        return list(recordings)
    lag_s = parse_position_lag(wanted)
    if lag_s is not None:
        asked = _moving(lag_s, 'as asked for')
        return _moved(recordings, [(lag_s, asked)] * len(recordings))
    lags = agreed_lags([estimate_lag(recording) for recording in recordings])
    return _moved(recordings, list(map(_correction, lags)))


def _correction(lag: Lag) -> tuple[float, str]:
    """Return by how much positions are to be made earlier, and the reason in words."""
    if lag.seconds is None:
        return 0.0, 'no lag of the positions can be told: left as they are'
    if not lag.exceeds(0.0):
        return 0.0, f'the stamps of the positions are {lag}, which may be none: left as they are'
    return lag.seconds, _moving(lag.seconds, f'as found (+- {lag.uncertainty_s:.3f} s)')


def _moving(lag_s: float, why: str) -> str:
    side = 'earlier' if lag_s >= 0 else 'later'
    return f'positions made {abs(lag_s):.3f} s {side}, {why}'


def _moved(
    recordings: Sequence[Recording], corrections: Sequence[tuple[float, str]]
) -> list[Recording]:
    """Make positions earlier and note it, by name where it is not the same for all."""
    alike = len(set(corrections)) == 1
    moved = []
    for recording, (lag_s, words) in zip(recordings, corrections, strict=True):
        note = words if alike else f'{recording.name}: {words}'
        earlier = recording.with_positions_earlier(lag_s)
        moved.append(replace(earlier, notes=(*recording.notes, note)))
    return moved
