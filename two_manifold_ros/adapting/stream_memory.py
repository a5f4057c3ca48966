# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The newest samples and positions of a stream, as recordings that a model can be trained from."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.status import TickDiagnostics
from two_manifold_ros.filtering.tracker import TickFilter
from two_manifold_ros.model.model import ModelHead
from two_manifold_ros.recordings.recording import (
    IMU_CHANNELS,
    ImuStream,
    PositionStream,
    Recording,
)
from two_manifold_ros.ticks.segments import Channels
from two_manifold_ros.training.dataset import LEAST_WINDOW, USUAL_RATE_HZ
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats, Ints

SEAM_NS = 10_000_000_000
"""Step between samples after which another drive starts."""

STEP_NS = 4_000_000
"""
Time in which samples are kept as their mean: up to 250 Hz they are kept as they are, and of 1 kHz
four are one. No tick of a model is shorter than many of these.
"""


@dataclass(frozen=True, kw_only=True)
class StreamHead(ModelHead):
    """Head of a model that is yet to be learned."""

    @property
    def states(self) -> int:
        """Dimension of a constant state."""
        return 1


def make_head(
    horizons: tuple[int, ...] = TrainingSettings.horizons,
    *,
    names: tuple[str, ...] = IMU_CHANNELS,
    imu_topic: str = '',
) -> StreamHead:
    """Return the head for a stream with named channels, of which nothing is known."""
    size, largest = len(names), 1e9
    return StreamHead(
        rate_hz=USUAL_RATE_HZ,
        period_ns=round(1e9 / USUAL_RATE_HZ),
        max_gap_ns=250_000_000,
        window=LEAST_WINDOW,
        horizons=TrainingSettings(horizons=horizons).horizons,
        imu_topic=imu_topic,
        imu_frame_id='',
        position_topic='',
        frame_id='',
        origin=None,
        channels=Channels(
            mean=np.zeros(size),
            scale=np.ones(size),
            limit=np.full(size, largest),
            live=np.ones(size, dtype=np.bool_),
            names=names,
        ),
        track=np.full((0, 2), np.nan),
        mean_position=np.full(2, np.nan),
    )


class NothingLearned(TickFilter):
    """A `TickFilter` without estimates, for a stream of which nothing was learned yet."""

    seen, state = 0, np.zeros(1)  # no window is ever full

    def __init__(self, head: StreamHead) -> None:
        columns = len(head.horizons) + 1
        self._read = np.full((columns, 2), math.nan), np.full((columns, 2, 2), math.nan)

    def start(self) -> None:
        """There is nothing to forget."""

    def coast(self, ticks: int) -> None:
        """There is nothing to predict."""

    def update(self, values: Floats) -> TickDiagnostics:  # noqa: ARG002 - as every tick filter
        """Take the (c,) means of one tick."""
        return TickDiagnostics(0.0, accepted=True, novelty=math.nan, restarted=False)

    def read(self) -> tuple[Floats, Floats]:
        """Return means and covariances, all NaN."""
        return self._read


COLUMNS = ('stamps', 'samples', 'fixes', 'places')
"""Arrays of a memory, in a checkpoint as well: (T,), (T, c), (P,) and (P, 2)."""


class StreamMemory:
    """
    Keep the newest part of a stream of samples of ``width`` numbers, and positions on the way.

    Another drive starts where stamps go back or nothing came for `SEAM_NS`; each is a recording of
    its own, as bags are. Of all numbers ``most`` are kept, the oldest forgotten an eighth at a
    time: by default of an IMU 83 minutes at 100 Hz, in 28 MB.
    """

    def __init__(self, width: int = len(IMU_CHANNELS), most: int = 3_000_000) -> None:
        self._width, self._most = width, max(most // width, 1)
        # Stamp of the sample that came last, also of one that is part of a mean, and how many
        # samples are in the mean that is kept last.
        self._newest_ns = self._joined = 0
        # Flat arrays that grow, and where each drive begins in stamps and in fixes.
        self._stamps, self._samples = array('q'), array('d')
        self._fixes, self._places = array('q'), array('d')
        self._begins: list[tuple[int, int]] = []
        # Axes of which any sample was finite.
        self._measured = np.zeros(width, dtype=np.bool_)

    @property
    def seconds(self) -> float:
        """Duration of all drives that are kept, s."""
        stamps = self._stamps
        return sum(stamps[end - 1] - stamps[begin] for begin, end, *_ in self._drives()) * 1e-9

    @property
    def newest_ns(self) -> int:
        """Stamp of the sample that came last; 0 before the first."""
        return self._newest_ns if self._begins else 0

    @property
    def oldest_ns(self) -> int:
        """Stamp of the oldest sample that is kept; 0 before the first."""
        return self._stamps[0] if self._begins else 0

    @property
    def drive_ns(self) -> int:
        """Stamp of the first sample of the newest drive; 0 before the first."""
        return self._stamps[self._begins[-1][0]] if self._begins else 0

    @property
    def fixes_ns(self) -> list[int]:
        """Stamps of all reference positions that are kept."""
        return self._fixes.tolist()

    def __len__(self) -> int:
        """Return the number of samples that are kept."""
        return len(self._stamps)

    def add(self, stamp_ns: int, sample: Sequence[float] | Floats) -> None:
        """
        Keep a sample, or make it part of the mean of those that came just before.

        One that is not finite, or no newer than the last one and not far older, is left out. An
        axis that was never finite is not measured, and kept as it is: training leaves it out.
        """
        step = stamp_ns - self._newest_ns
        if not self._is_usable(np.asarray(sample)) or (self._begins and -SEAM_NS < step <= 0):
            return
        stamps, samples = self._stamps, self._samples
        self._newest_ns = stamp_ns
        if not (self._begins and 0 < step <= SEAM_NS):
            self._begins.append((len(stamps), len(self._fixes)))
        elif stamp_ns - stamps[-1] < STEP_NS:
            self._joined += 1
            for index, value in enumerate(sample, len(samples) - self._width):
                samples[index] += (value - samples[index]) / self._joined
            return
        stamps.append(stamp_ns)
        samples.extend(sample)
        self._joined = 1
        if len(stamps) > self._most:
            self._forget(self._most // 8)

    def filled(self, sample: Floats) -> Floats:
        """Return a sample (c,) with zeros for the axes that are not measured, if any is."""
        finite = np.isfinite(sample)
        return np.where(finite | self._measured | ~finite.any(), sample, 0.0)

    def is_near(self, stamp_ns: int) -> bool:
        """Return whether a stamp is less than a seam from that of the sample that came last."""
        return bool(self._begins) and abs(stamp_ns - self._newest_ns) <= SEAM_NS

    def add_position(self, stamp_ns: int, x: float, y: float) -> bool:
        """Keep a reference position of the newest drive; return whether a training can use it."""
        if not self.is_near(stamp_ns):
            return False
        fixes = self._fixes
        if len(fixes) == self._begins[-1][1] or stamp_ns - fixes[-1] >= STEP_NS:
            fixes.append(stamp_ns)
            self._places.extend((x, y))
            return True
        # Close together they are one; back, they are of another clock.
        return stamp_ns > fixes[-1]

    def forget_before(self, stamp_ns: int) -> None:
        """Forget samples before the newest one that is older than a stamp."""
        for begin, end, *_ in reversed(self._drives()):
            if self._stamps[begin] < stamp_ns:
                self._forget(bisect_left(self._stamps, stamp_ns, begin, end))
                return

    def recordings(self, head: ModelHead, since_ns: float = -math.inf) -> list[Recording]:
        """
        Return copies of all drives from a stamp on that have reference positions, oldest first.

        With a stamp drives from before the clock was last set back are left out. The head gives
        topics, frames and origin.
        """
        names, pose = head.channels.names, 'geometry_msgs/msg/PoseStamped'
        topic, frame, origin = head.position_topic, head.frame_id, head.origin
        drives, found = self._drives(), []
        if since_ns > -math.inf:
            first = max(
                (
                    index
                    for index, (old, new) in enumerate(pairwise(drives), 1)
                    if self._stamps[new[0]] <= self._stamps[old[1] - 1]
                ),
                default=0,
            )
            drives = drives[first:]
        for begin, end, fix, last in drives:
            stamps, samples, fixes, places = self._copied(
                bisect_left(self._stamps, since_ns, begin, end),
                end,
                bisect_left(self._fixes, since_ns, fix, last),
                last,
            )
            if len(stamps) and len(fixes) > 1:
                imu = ImuStream(head.imu_topic, head.imu_frame_id, stamps, samples, stamps, names)
                positions = PositionStream(topic, frame, pose, fixes, places, origin)
                found.append(Recording('live', imu, positions))
        return found

    def saved(self) -> tuple[list[list[int]], dict[str, NDArray[Any]]]:
        """Return how many samples and positions each drive has, and all of them as arrays."""
        lengths = [[end - begin, last - fix] for begin, end, fix, last in self._drives()]
        whole = self._copied(0, len(self._stamps), 0, len(self._fixes))
        return lengths, dict(zip(COLUMNS, whole, strict=True))

    def restore(
        self, lengths: Sequence[Sequence[int]], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        """Restore what ``saved`` returned; raises `ValueError` if its parts do not match."""
        given = [arrays[name] for name in COLUMNS]
        counts = np.array(lengths, dtype=np.int64).reshape(-1, 2)
        samples, fixes = counts.sum(axis=0).tolist()
        wanted = [(samples,), (samples, self._width), (fixes,), (fixes, 2)]
        if [each.shape for each in given] != wanted or (counts < [1, 0]).any():
            msg = f'a stream of {samples} samples and {fixes} positions does not fit its arrays'
            raise ValueError(msg)
        columns: list[array[Any]] = [
            array(code, each.astype(code).tobytes())
            for code, each in zip('qdqd', given, strict=True)
        ]
        self._stamps, self._samples, self._fixes, self._places = columns
        self._begins = list(map(tuple, (counts.cumsum(axis=0) - counts).tolist()))
        self._newest_ns = self._stamps[-1] if samples else 0
        # How many samples the last mean is of is not kept.
        self._joined = 1
        self._measured = np.isfinite(arrays['samples']).any(axis=0)

    def _drives(self) -> list[tuple[int, int, int, int]]:
        """Return where the samples of each drive begin and end, and where its positions do."""
        ends = [*self._begins[1:], (len(self._stamps), len(self._fixes))]
        return [
            (begin, end, fix, last)
            for (begin, fix), (end, last) in zip(self._begins, ends, strict=False)
        ]

    def _copied(
        self, begin: int, end: int, fix: int, last: int
    ) -> tuple[Ints, Floats, Ints, Floats]:
        """Return copies of some samples and positions: a view would keep arrays from growing."""
        samples = self._samples[begin * self._width : end * self._width]
        return (
            np.asarray(self._stamps[begin:end]),
            np.asarray(samples).reshape(-1, self._width),
            np.asarray(self._fixes[fix:last]),
            np.asarray(self._places[2 * fix : 2 * last]).reshape(-1, 2),
        )

    def _is_usable(self, sample: Floats) -> bool:
        """Return whether a sample (c,) is finite but for axes that are not measured."""
        finite = np.isfinite(sample)
        usable = finite.any() and (finite | ~self._measured).all()
        # One of numbers too large for a sum is too large for a mean.
        if not usable or not math.isfinite(sum(sample[finite].tolist())):
            return False
        self._measured |= finite
        return True

    def _forget(self, count: int) -> None:
        """Forget the oldest samples, and the positions of their time."""
        left = [drive for drive in self._drives() if drive[1] > count]
        begin, _, gone, last = left[0] if left else (0, 0, len(self._fixes), 0)
        if left and begin < count:
            gone = bisect_left(self._fixes, self._stamps[count], gone, last)
        self._begins = [(max(each[0] - count, 0), max(each[2] - gone, 0)) for each in left]
        del self._stamps[:count], self._samples[: self._width * count]
        del self._fixes[:gone], self._places[: 2 * gone]
