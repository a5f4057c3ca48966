# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether positions are so rare that those in between are better estimated than interpolated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.ticks.usable import usable_places
from two_manifold_ros.training.dataset import USUAL_RATE_HZ

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording

FEW = 0.25
"""Share of ticks with a position below which a straight line between them cuts curves."""


def share_seen(recordings: Sequence[Recording], rate_hz: float | None = None) -> float:
    """Return the share of the ticks within which a position was measured; the IMU has them all."""
    tick_ns = round(1e9 / (rate_hz or USUAL_RATE_HZ))
    seen, count = 0, 0
    for recording in recordings:
        if recording.positions is not None:
            usable = usable_places(recording.positions.positions)
            seen += len(np.unique(recording.positions.stamps[usable] // tick_ns))
        count += len(np.unique(recording.imu.stamps // tick_ns))
    return seen / count if count else 0.0
