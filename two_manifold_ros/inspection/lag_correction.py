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
        return [_moved(recording, lag_s, 'as asked for') for recording in recordings]
    lags = agreed_lags([estimate_lag(recording) for recording in recordings])
    return [_corrected(recording, lag) for recording, lag in zip(recordings, lags, strict=True)]


def _corrected(recording: Recording, lag: Lag) -> Recording:
    if lag.seconds is None:
        return _noted(recording, 'no lag of the positions can be told: left as they are')
    if not lag.exceeds(0.0):
        return _noted(recording, f'the positions are {lag}, which may be none: left as they are')
    return _moved(recording, lag.seconds, f'as found (+- {lag.uncertainty_s:.3f} s)')


def _moved(recording: Recording, lag_s: float, why: str) -> Recording:
    moved = recording.with_positions_earlier(lag_s)
    side = 'earlier' if lag_s >= 0 else 'later'
    return _noted(moved, f'positions made {abs(lag_s):.3f} s {side}, {why}')


def _noted(recording: Recording, words: str) -> Recording:
    return replace(recording, notes=(*recording.notes, f'{recording.name}: {words}'))
