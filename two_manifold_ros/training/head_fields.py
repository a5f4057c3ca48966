# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every training finds out before it learns: streams, horizons and the head of its model."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Floats


def check_streams(recordings: Sequence[Recording]) -> None:
    """
    Check that there are samples and positions, and all positions in one frame.

    Raises
    ------
    InputError
        If that is not so.

    """
    if not recordings:
        msg = 'there is no recording to train on'
        raise InputError(msg)
    frames = set()
    for recording in recordings:
        if not len(recording.imu.stamps):
            msg = f'{recording.name}: there is no IMU sample in the part asked for; check --until'
            raise InputError(msg)
        if recording.positions is None or not len(recording.positions.stamps):
            msg = (
                f'{recording.name}: training needs positions, but there are none in the part '
                'asked for; name a --position-topic or check --until'
            )
            raise InputError(msg)
        frames.add(recording.positions.frame_id)
    if len(frames) > 1:
        msg = (
            f'the positions are in different frames ({", ".join(sorted(frames))}); '
            'train on recordings of one frame'
        )
        raise InputError(msg)


def check_horizons(targets: Floats, settings: TrainingSettings) -> None:
    """Refuse a horizon at which none of the (n, H + 1, 2) targets is known."""
    for column, horizon in enumerate(settings.horizons):
        if not np.isfinite(targets[:, column]).any():
            msg = (
                f'no position is known {horizon} ticks after any training tick; shorten '
                '--horizons, or record positions for longer'
            )
            raise InputError(msg)


def head_fields(
    recordings: Sequence[Recording], dataset: Dataset, settings: TrainingSettings
) -> dict[str, Any]:
    """
    Return the fields of a `TrainedModel` that are the same whatever is learned, by name.

    Parameters
    ----------
    recordings
        With positions.
    dataset
        Of them, with positions estimated where that is wanted.
    settings
        What was chosen by the user.

    """
    first, positions = recordings[0], recordings[0].positions
    every = np.concatenate([segment.positions for segment in dataset.segments])
    return {
        'rate_hz': dataset.rate_hz,
        'period_ns': dataset.period_ns,
        'max_gap_ns': dataset.max_gap_ns,
        'window': dataset.window,
        'horizons': settings.horizons,
        'imu_topic': first.imu.topic,
        'imu_frame_id': first.imu.frame_id,
        'position_topic': positions.topic if positions else '',
        'frame_id': positions.frame_id if positions else '',
        'origin': positions.origin if positions else None,
        'channels': dataset.channels,
        'track': joined_track([segment.positions for segment in dataset.segments]),
        'mean_position': np.nanmean(every, axis=0),
        'kernel': settings.kernel,
    }


def joined_track(stretches: Sequence[Floats]) -> Floats:
    """Return the positions of stretches (T, 2), a row of NaN between two: (T, 2)."""
    seam = np.full((1, 2), np.nan)
    parts = [part for stretch in stretches for part in (stretch, seam)]
    return np.concatenate(parts[:-1])
