# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The time that is held out of every trial of a tuning, whatever its rate and its window."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.training.drive_summary import measure_drives
from two_manifold_ros.training.holdout import hold_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.typing import Ints

FEWEST_LAPS = 3.0
FEWEST_BLOCKS = 2

_APART_NS = 10**15
"""Between the beginnings of two recordings, days more than one can be long."""


@dataclass(frozen=True)
class HeldTime:
    """
    Spans of time, so that trials at different rates and windows are scored on the same drive.

    Parameters
    ----------
    spans
        Beginning and end of each block, ns, in order.
    settle_ns
        From the beginning of a block, in which errors do not count.
    lap_ns
        Median time of a lap.
    laps
        Held-out laps.

    """

    spans: tuple[tuple[int, int], ...]
    settle_ns: int
    lap_ns: int
    laps: float

    def split(
        self, segments: Sequence[Segment], period_ns: int, window: int
    ) -> tuple[list[Segment], list[Segment]]:
        """
        Split segments into a part to fit and the blocks; a tick across an edge is in neither.

        Parameters
        ----------
        segments
            Of any rate.
        period_ns
            Length of their ticks.
        window
            Ticks; parts to fit that do not exceed two windows are dropped.

        """
        fit: list[Segment] = []
        held: list[Segment] = []
        for segment in segments:
            position = 0
            for start, stop in self.spans:
                edges = [start, stop]
                before, last = np.searchsorted(segment.stamps, edges, 'right').tolist()
                shifted = [start + period_ns, stop + period_ns]
                first, after = np.searchsorted(segment.stamps, shifted, 'left').tolist()
                if (last - first) * period_ns > self.settle_ns:
                    held.append(segment.part(first, last))
                fit.append(segment.part(position, max(before, position)))
                position = max(after, position)
            fit.append(segment.part(position, len(segment)))
        return [part for part in fit if len(part) > 2 * window], held


def set_apart(recordings: Sequence[Recording]) -> list[Recording]:
    """Return recordings with stamps of which no two overlap, as those of simulated drives may."""
    return [_begun_at(_APART_NS * (1 + index), each) for index, each in enumerate(recordings)]


def _begun_at(begin_ns: int, recording: Recording) -> Recording:
    imu, positions = recording.imu, recording.positions
    shift = begin_ns - imu.first_stamp

    def shifted(stamps: Ints) -> Ints:
        # A stamp of zero says that there is none.
        return np.where(stamps == 0, 0, stamps + shift)

    if positions is not None:
        positions = replace(positions, stamps=shifted(positions.stamps))
    return replace(recording, imu=replace(imu, stamps=shifted(imu.stamps)), positions=positions)


def hold_time(recordings: Sequence[Recording], dataset: Dataset) -> HeldTime | str:
    """
    Choose the blocks as a training does, or say in one sentence why nothing can be chosen on them.

    Parameters
    ----------
    recordings
        To train on, set apart.
    dataset
        Of them, at the usual rate and window.

    """
    times = [drive.laps.time_s for drive in measure_drives(recordings) if drive.laps is not None]
    if not times:
        return 'the positions never close a lap, so there are no laps to choose settings on'
    period_ns = dataset.period_ns
    _, held = hold_out(dataset.segments, dataset.window)
    spans = tuple((int(each.stamps[0]) - period_ns, int(each.stamps[-1])) for each in held)
    lap_ns = round(1e9 * float(np.median(times)))
    laps = sum(map(len, held)) * period_ns / lap_ns
    if len(held) < FEWEST_BLOCKS or laps < FEWEST_LAPS:
        blocks = 'block' if len(held) == 1 else 'blocks'
        return (
            f'the recording is too short to choose settings: {laps:.1f} laps in {len(held)} '
            f'{blocks} can be held out, but {FEWEST_LAPS:g} laps in {FEWEST_BLOCKS} blocks are '
            'needed; record longer'
        )
    return HeldTime(spans, dataset.window * period_ns, lap_ns, laps)
