# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Cut a recording at gaps and jumps, and average each stretch over ticks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.ticks.averaging import average_ticks
from two_manifold_ros.ticks.jumps import JumpGate
from two_manifold_ros.ticks.stamps import JUMP_BACK_NS, StampRule, Verdict
from two_manifold_ros.ticks.usable import believable, usable_places, usable_samples

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import PositionStream, Recording
    from two_manifold_ros.typing import Floats, Ints

SAME_PLACE_M = 1e-6
"""Positions nearer than this are those of a bag that was recorded twice, not of two moments."""

_NEW_STRETCH = (Verdict.START, Verdict.GAP, Verdict.JUMP_BACK)
_KEPT = (Verdict.ACCEPT, *_NEW_STRETCH)


@dataclass(frozen=True)
class Segment:
    """
    A stretch of ticks without a gap.

    Parameters
    ----------
    stamps : (T,) int64
        Ends of the ticks, ns.
    values : (T, 6)
        Mean of each channel over each tick, in the units of the IMU.
    positions : (T, 2)
        Position at each stamp, metres; NaN where unknown.
    estimated
        Whether these are estimates, see ``PositionStream``.

    """

    stamps: Ints
    values: Floats
    positions: Floats
    estimated: bool = field(default=False, kw_only=True)

    def __len__(self) -> int:
        """Return the number of ticks."""
        return len(self.stamps)

    def part(self, start: int, stop: int) -> Segment:
        """Return the ticks from ``start`` up to ``stop``."""
        return Segment(
            self.stamps[start:stop],
            self.values[start:stop],
            self.positions[start:stop],
            estimated=self.estimated,
        )

    @property
    def truths(self) -> Floats:
        """Positions (T, 2) that estimates may be judged by, metres; NaN where unknown."""
        return np.full_like(self.positions, np.nan) if self.estimated else self.positions


def median_interval_ns(stamps: Ints) -> int:
    """Return the median positive step between stamps, ns, or 0 where there is none."""
    steps = np.diff(stamps)
    steps = steps[steps > 0]
    return int(np.median(steps)) if len(steps) else 0


def positions_at(stream: PositionStream | None, stamps: Ints) -> Floats:
    """
    Interpolate positions linearly at stamps.

    Parameters
    ----------
    stream
        Positions as received; later duplicates of a stamp and unusable ones are passed over.
    stamps : (T,) int64

    Returns
    -------
    (T, 2)
        NaN before the first, after the last, and inside holes of more than three median intervals
        (at least 0.25 s). Where the clock jumped back, a stamp stands for two moments: NaN if
        the vehicle was then at two places.

    """
    result = np.full((len(stamps), 2), np.nan)
    if stream is None or not len(stamps):
        return result
    jumps = np.flatnonzero(np.diff(stream.stamps) < -JUMP_BACK_NS) + 1
    for part in np.split(np.arange(len(stream.stamps)), jumps):
        found = _interpolated(stream.stamps[part], stream.positions[part], stamps)
        new = np.isfinite(found).all(axis=1)
        old = np.isfinite(result).all(axis=1)
        contradicted = new & old & (np.abs(found - result) > SAME_PLACE_M).any(axis=1)
        result[new & ~old] = found[new & ~old]
        result[contradicted] = np.nan
    return result


def _interpolated(known: Ints, places: Floats, stamps: Ints) -> Floats:
    result = np.full((len(stamps), 2), np.nan)
    finite = usable_places(places)
    known, first = np.unique(known[finite], return_index=True)
    places = places[finite][first]
    if len(known) < 2:
        return result
    hole = max(250_000_000, 3 * median_interval_ns(known))
    after = np.clip(np.searchsorted(known, stamps), 1, len(known) - 1)
    step = known[after] - known[after - 1]
    inside = (stamps >= known[0]) & (stamps <= known[-1]) & (step <= hole)
    share = ((stamps - known[after - 1]) / step)[:, None]
    between = places[after - 1] * (1.0 - share) + places[after] * share
    result[inside] = between[inside]
    return result


def cut_segments(
    recording: Recording, period_ns: int, max_gap_ns: int, largest: Floats | None = None
) -> tuple[list[Segment], Counter[str]]:
    """
    Average a recording over ticks.

    Parameters
    ----------
    recording
        Its stamps and samples may be in any state.
    period_ns, max_gap_ns
        Length of a tick, and longest step that is no gap.
    largest : (6,)
        From ``largest_believable``; samples far beyond it are set aside.

    Returns
    -------
    segments
        One for each stretch without a gap or jump back that holds at least one tick.
    counts
        How many samples were received, used, and set aside by cause, and how many gaps there were.

    """
    imu = recording.imu
    counts: Counter[str] = Counter(received=len(imu.stamps))
    usable, cleaned = usable_samples(imu.samples)
    counts['non_finite'] = int(np.count_nonzero(~usable))
    if largest is not None:
        absurd = usable & ~believable(cleaned, largest)
        counts['out_of_range'] = int(np.count_nonzero(absurd))
        usable &= ~absurd
    stamps, samples = imu.stamps[usable], cleaned[usable]
    kept, edges = _stretches(stamps, max_gap_ns, counts)
    estimated = recording.positions is not None and recording.positions.estimated
    stamps, samples = stamps[kept], samples[kept]
    counts['used'] = len(stamps)
    segments = []
    for start, stop in itertools.pairwise([*edges, len(stamps)]):
        ends, means = average_ticks(stamps[start:stop], samples[start:stop], period_ns)
        if len(ends):
            positions = positions_at(recording.positions, ends)
            segments.append(Segment(ends, means, positions, estimated=estimated))
    return segments, counts


def _stretches(stamps: Ints, max_gap_ns: int, counts: Counter[str]) -> tuple[list[int], list[int]]:
    """Return which samples are kept, and at which of those a new stretch begins."""
    gate, rule = JumpGate[int](max_gap_ns), StampRule(max_gap_ns)
    kept: list[int] = []
    edges: list[int] = []
    for index, stamp in enumerate(stamps.tolist()):
        for passed, place in gate.push(stamp, index, counts):
            verdict = rule.judge(passed)
            counts[verdict.value] += 1
            if verdict in _NEW_STRETCH:
                edges.append(len(kept))
            if verdict in _KEPT:
                kept.append(place)
    gate.drop(counts)
    return kept, edges
