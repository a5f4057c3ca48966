# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings that differ from a given one in one thing, for tests of what is done with them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording

UPSIDE_DOWN = (1, -1, -1, 1, -1, -1)


def with_imu(recording: Recording, **changes: Any) -> Recording:  # noqa: ANN401 - passed on
    return replace(recording, imu=replace(recording.imu, **changes))


def with_positions(recording: Recording, **changes: Any) -> Recording:  # noqa: ANN401 - passed on
    return replace(recording, positions=replace(recording.positions, **changes))


def between_s(
    stream: ImuStream | PositionStream, recording: Recording, start_s: float, end_s: float
) -> np.ndarray:
    """Return which stamps of a stream are between two times after the first IMU sample."""
    elapsed = (stream.stamps - recording.imu.stamps[0]) * 1e-9
    return (start_s <= elapsed) & (elapsed <= end_s)


def without_imu(recording: Recording, start_s: float, end_s: float) -> Recording:
    imu = recording.imu
    return replace(recording, imu=imu.select(~between_s(imu, recording, start_s, end_s)))


def without_positions(recording: Recording, start_s: float, end_s: float) -> Recording:
    positions = recording.positions
    kept = ~between_s(positions, recording, start_s, end_s)
    return replace(recording, positions=positions.select(kept))


def multiplied_imu(
    recording: Recording, start_s: float, end_s: float, factors: Sequence[float] = UPSIDE_DOWN
) -> Recording:
    """Multiply the samples between two times, as those of an IMU that is turned over."""
    changed = between_s(recording.imu, recording, start_s, end_s)[:, None]
    samples = np.where(changed, recording.imu.samples * factors, recording.imu.samples)
    return with_imu(recording, samples=samples)
