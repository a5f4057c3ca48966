# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Which ticks of the training segments can be training ticks.

With past windows of w ticks and future windows of v, tick t of a segment of T ticks needs its
past window t-w..t-1, its future window t..t+v-1 and the shifted one t+1..t+v all inside the
segment: w <= t <= T - v - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.windows.window_set import WindowSet

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class TrainingTicks:
    """
    Training ticks and their windows.

    Parameters
    ----------
    ticks : (n,) int64
        Training ticks as positions in the series.
    pasts
        Past window of each training tick (n windows).
    futures
        Future windows of the training ticks and of the last tick's successor in each segment.
    own, shifted : (n,) int64
        Index in ``futures`` of each training tick's future window and of the shifted one.

    """

    ticks: Ints
    pasts: WindowSet
    futures: WindowSet
    own: Ints
    shifted: Ints


def find_training_ticks(series: Floats, begins: Ints, width: int) -> TrainingTicks:
    """
    Collect the training ticks of all segments.

    Parameters
    ----------
    series : (d, N), begins : (s + 1,)
        From ``lay_end_to_end``.
    width
        Ticks in a past window and in a future window.

    """
    ranges = [
        np.arange(begin + width, end - width, dtype=np.int64)
        for begin, end in itertools.pairwise(begins.tolist())
    ]
    ranges = [ticks for ticks in ranges if len(ticks)]
    if not ranges:
        none = np.empty(0, dtype=np.int64)
        empty = WindowSet(series, none, width)
        return TrainingTicks(none, empty, empty, none, none)
    ticks = np.concatenate(ranges)
    futures = np.concatenate([np.append(part, part[-1] + 1) for part in ranges])
    own = np.searchsorted(futures, ticks)
    return TrainingTicks(
        ticks,
        WindowSet(series, ticks - width, width),
        WindowSet(series, futures, width),
        own,
        own + 1,
    )
