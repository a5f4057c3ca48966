# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Hold out blocks of the training segments for closed-loop validation and calibration."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.ticks.segments import Segment

SHARE = 0.25
MOST_BLOCKS = 4
LEAST_WINDOWS = 2.5
"""A block needs a window to fill, and as much again and more to be scored."""


def hold_out(segments: Sequence[Segment], window: int) -> tuple[list[Segment], list[Segment]]:
    """
    Split segments into a part to fit and blocks to validate on.

    One block at the end of the longest segment of a short recording; up to four, evenly spread,
    where each is still long enough. What is left on either side of a block is kept where it is
    longer than two windows.

    Returns
    -------
    fit, held
        ``held`` is empty if no segment is long enough to spare a block.

    """
    total = sum(len(segment) for segment in segments)
    least = round(LEAST_WINDOWS * window)
    blocks = min(MOST_BLOCKS, int(SHARE * total) // (2 * least) or 1)
    length = int(SHARE * total / blocks)
    if length < least:
        return list(segments), []
    begins = _begins(segments)
    ends = _block_ends(segments, begins, blocks, length)
    fit: list[Segment] = []
    held: list[Segment] = []
    for segment, begin in zip(segments, begins, strict=True):
        position = 0
        for end in ends:
            start, stop = max(end - length - begin, position), min(end - begin, len(segment))
            if stop - start >= least:
                fit.append(segment.part(position, start))
                held.append(segment.part(start, stop))
                position = stop
        fit.append(segment.part(position, len(segment)))
    return [part for part in fit if len(part) > 2 * window], held


def hold_out_in_turn(
    segments: Sequence[Segment], window: int
) -> list[tuple[list[Segment], list[Segment]]]:
    """
    Split segments again and again, each time with another quarter held out.

    Of a recording that can spare no more than a block at a time, all of it is seen as unseen.

    Returns
    -------
    list of (fit, held)
        As of `hold_out`; fewer than ``MOST_BLOCKS`` where some quarter holds no block that is long
        enough, or leaves nothing to fit.

    """
    total = sum(len(segment) for segment in segments)
    least = round(LEAST_WINDOWS * window)
    edges = [total * block // MOST_BLOCKS for block in range(MOST_BLOCKS + 1)]
    turns = []
    for first, last in itertools.pairwise(edges):
        fit: list[Segment] = []
        held: list[Segment] = []
        for segment, begin in zip(segments, _begins(segments), strict=True):
            start = min(max(first - begin, 0), len(segment))
            stop = min(max(last - begin, 0), len(segment))
            if stop - start < least:
                fit.append(segment)
                continue
            held.append(segment.part(start, stop))
            fit += [segment.part(0, start), segment.part(stop, len(segment))]
        fit = [part for part in fit if len(part) > 2 * window]
        if fit and held:
            turns.append((fit, held))
    return turns


def _block_ends(
    segments: Sequence[Segment], begins: Sequence[int], blocks: int, length: int
) -> list[int]:
    if blocks == 1:
        # Anywhere else a seam could cut the only block in two that are both too short.
        longest = max(range(len(segments)), key=lambda index: len(segments[index]))
        return [begins[longest] + len(segments[longest])]
    total = begins[-1] + len(segments[-1])
    return [int((block + 0.5) * total / blocks + length / 2) for block in range(blocks)]


def any_position(segments: Sequence[Segment]) -> bool:
    """Return whether the position is known at some tick."""
    return any(bool(np.isfinite(segment.positions).any()) for segment in segments)


def _begins(segments: Sequence[Segment]) -> list[int]:
    begins = [0]
    for segment in segments[:-1]:
        begins.append(begins[-1] + len(segment))
    return begins
