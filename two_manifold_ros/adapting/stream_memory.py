# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The newest samples and positions of a stream, as recordings that a model can be trained from."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from two_manifold_ros.typing import Floats

SEAM_NS = 10_000_000_000
"""Step between samples after which another drive starts."""

STEP_NS = 4_000_000
"""Time in which samples are kept as their mean: of 1 kHz four are one. Ticks are far longer."""


@dataclass(frozen=True, kw_only=True)
class StreamHead(ModelHead):
    """Head of a model that is yet to be learned."""

    @property
    def states(self) -> int:
        """Dimension of a constant state."""
        return 1


WIDTH = len(IMU_CHANNELS)
"""Numbers of a sample."""


def make_head(
    horizons: tuple[int, ...] = TrainingSettings.horizons, *, imu_topic: str = ''
) -> StreamHead:
    """Return the head for the stream of an IMU of which nothing is known."""
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
            np.zeros(WIDTH), np.ones(WIDTH), np.full(WIDTH, 1e9), np.ones(WIDTH, dtype=np.bool_)
        ),
        track=np.full((0, 2), np.nan),
        mean_position=np.full(2, np.nan),
    )


class NothingLearned(TickFilter):
    """A `TickFilter` without estimates, for a stream of which nothing was learned yet."""

    seen, state = 0, np.zeros(1)  # no window is ever full

    def __init__(self, head: StreamHead) -> None:
        self.belief: Any = self
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
"""Arrays of a memory, in a checkpoint as well: (T,), (T, 6), (P,) and (P, 2)."""


class _Drive(NamedTuple):
    """Samples and positions of one drive, in flat arrays that grow."""

    stamps: array[int]
    samples: array[float]
    fixes: array[int]
    places: array[float]

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]] = (np.empty(0),) * 4) -> _Drive:
        """Return a drive with copies of columns, see `COLUMNS`."""
        pairs = zip('qdqd', columns, strict=True)
        stamps, samples, fixes, places = (each.astype(code).tobytes() for code, each in pairs)
        return cls(array('q', stamps), array('d', samples), array('q', fixes), array('d', places))

    def since(self, stamp_ns: float) -> list[NDArray[Any]]:
        """Return copies of what came since a stamp: a view would keep arrays from growing."""
        begin, fix = bisect_left(self.stamps, stamp_ns), bisect_left(self.fixes, stamp_ns)
        return [
            np.asarray(self.stamps[begin:]),
            np.asarray(self.samples[begin * WIDTH :]).reshape(-1, WIDTH),
            np.asarray(self.fixes[fix:]),
            np.asarray(self.places[2 * fix :]).reshape(-1, 2),
        ]


class StreamMemory:
    """
    Keep the newest part of a stream of an IMU, and positions on the way.

    Another drive starts where stamps go back or nothing came for `SEAM_NS`. The newest ``most``
    samples are kept, the oldest forgotten an eighth at a time: 83 minutes at 100 Hz, in 28 MB.
    """

    def __init__(self, most: int = 500_000) -> None:
        self._most = most
        self._drives: list[_Drive] = []
        self._count = 0
        # Stamp of the sample that came last, also of one that is part of a mean, and how many
        # samples are in the mean that is kept last.
        self._newest_ns = self._joined = 0
        # How often the clock was set back.
        self.clock = 0

    @property
    def seconds(self) -> float:
        """Duration of all drives that are kept, s."""
        return sum(each.stamps[-1] - each.stamps[0] for each in self._drives) * 1e-9

    def __len__(self) -> int:
        """Return the number of samples that are kept."""
        return self._count

    def add(self, stamp_ns: int, sample: Sequence[float] | Floats) -> None:
        """Keep a sample, or make it part of the mean of those that came just before."""
        # Left out: not finite, too large for a sum, or no newer than the last and not far older.
        step, drives = stamp_ns - self._newest_ns, self._drives
        if (drives and -SEAM_NS < step <= 0) or not math.isfinite(sum(sample)):
            return
        self._newest_ns = stamp_ns
        if not (drives and 0 < step <= SEAM_NS):
            self.clock += bool(drives) and step < 0
            drives.append(_Drive.of())
        stamps, samples = drives[-1].stamps, drives[-1].samples
        if stamps and stamp_ns - stamps[-1] < STEP_NS:
            self._joined += 1
            for index, value in enumerate(sample, len(samples) - WIDTH):
                samples[index] += (value - samples[index]) / self._joined
            return
        stamps.append(stamp_ns)
        samples.extend(sample)
        self._joined = 1
        self._count += 1
        if self._count > self._most:
            self._forget(self._most // 8)

    def is_near(self, stamp_ns: int) -> bool:
        """Return whether a stamp is less than a seam from that of the sample that came last."""
        return bool(self._drives) and abs(stamp_ns - self._newest_ns) <= SEAM_NS

    def add_position(self, stamp_ns: int, x: float, y: float) -> bool:
        """Keep a reference position of the newest drive; return whether a training can use it."""
        if not self.is_near(stamp_ns):
            return False
        drive = self._drives[-1]
        if not drive.fixes or stamp_ns - drive.fixes[-1] >= STEP_NS:
            drive.fixes.append(stamp_ns)
            drive.places.extend((x, y))
            return True
        # Close together they are one; back, they are of another clock.
        return stamp_ns > drive.fixes[-1]

    def forget_before(self, stamp_ns: int) -> None:
        """Forget samples before the newest one that is older than a stamp."""
        later = 0
        for drive in reversed(self._drives):
            later += len(drive.stamps)
            if drive.stamps[0] < stamp_ns:
                self._forget(self._count - later + bisect_left(drive.stamps, stamp_ns))
                return

    def recordings(self, head: ModelHead, since_ns: float = -math.inf) -> list[Recording]:
        """Return copies of drives with positions, since a stamp those of the present clock."""
        pose = 'geometry_msgs/msg/PoseStamped'
        topic, frame, origin = head.position_topic, head.frame_id, head.origin
        found: list[Recording] = []
        newer_ns = math.inf
        for drive in reversed(self._drives):
            if since_ns > -math.inf and drive.stamps[-1] >= newer_ns:
                break
            newer_ns = drive.stamps[0]
            stamps, samples, fixes, places = drive.since(since_ns)
            if len(stamps) and len(fixes) > 1:
                imu = ImuStream(head.imu_topic, head.imu_frame_id, stamps, samples, stamps)
                positions = PositionStream(topic, frame, pose, fixes, places, origin)
                found.append(Recording('live', imu, positions))
        return found[::-1]

    def saved(self) -> tuple[list[list[int]], dict[str, NDArray[Any]]]:
        """Return how many samples and positions each drive has, and all of them as arrays."""
        lengths = [[len(each.stamps), len(each.fixes)] for each in self._drives]
        parts = [each.since(-math.inf) for each in (_Drive.of(), *self._drives)]
        whole = map(np.concatenate, zip(*parts, strict=True))
        return lengths, dict(zip(COLUMNS, whole, strict=True))

    def restore(
        self, lengths: Sequence[Sequence[int]], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        """Restore what ``saved`` returned; raises `ValueError` if its parts do not match."""
        given = [arrays[name] for name in COLUMNS]
        counts = np.array(lengths, dtype=np.int64).reshape(-1, 2)
        samples, fixes = counts.sum(axis=0).tolist()
        wanted = [(samples,), (samples, WIDTH), (fixes,), (fixes, 2)]
        if [each.shape for each in given] != wanted or (counts < [1, 0]).any():
            msg = f'a stream of {samples} samples and {fixes} positions does not fit its arrays'
            raise ValueError(msg)
        ends = counts.cumsum(axis=0)[:-1].T
        split = [np.split(each, ends[index // 2]) for index, each in enumerate(given)]
        self._drives = [
            _Drive.of(columns) for columns in zip(*split, strict=True) if len(columns[0])
        ]
        self._count = samples
        self._newest_ns = self._drives[-1].stamps[-1] if samples else 0
        # How many samples the last mean is of is not kept.
        self._joined = 1

    def _forget(self, count: int) -> None:
        """Forget the oldest samples, and the positions of their time."""
        self._count -= count
        while count and count >= len(self._drives[0].stamps):
            count -= len(self._drives.pop(0).stamps)
        if count:
            drive = self._drives[0]
            gone = bisect_left(drive.fixes, drive.stamps[count])
            del drive.stamps[:count], drive.samples[: WIDTH * count]
            del drive.fixes[:gone], drive.places[: 2 * gone]
