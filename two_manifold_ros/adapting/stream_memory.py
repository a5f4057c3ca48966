# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The newest samples and positions of a stream, as recordings that a model can be trained from."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
import itertools
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.status import TickDiagnostics
from two_manifold_ros.filtering.tracker import TickFilter
from two_manifold_ros.model.head import ModelHead
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
    from collections.abc import Iterator, Mapping, Sequence

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

    seen = 0  # no window is ever full

    def __init__(self, head: StreamHead) -> None:
        self._state = np.zeros(head.states)
        columns = len(head.horizons) + 1
        self._read = np.full((columns, 2), math.nan), np.full((columns, 2, 2), math.nan)

    @property
    def state(self) -> Floats:
        """Zeros (k,)."""
        return self._state

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
"""Arrays of a drive, in a checkpoint as well: (T,), (T, c), (P,) and (P, 2)."""


@dataclass
class _Drive:
    """Samples without a seam and positions on the way, as flat arrays that grow."""

    newest: int  # stamp of the last sample that came, also of one that is part of a mean
    stamps: array[int] = field(default_factory=lambda: array('q'))
    samples: array[float] = field(default_factory=lambda: array('d'))
    fixes: array[int] = field(default_factory=lambda: array('q'))
    places: array[float] = field(default_factory=lambda: array('d'))

    def arrays(self, width: int, since_ns: float = -math.inf) -> tuple[Ints, Floats, Ints, Floats]:
        """Return copies from a stamp on: a view would keep the arrays from growing."""
        first, fix = (bisect_left(each, since_ns) for each in (self.stamps, self.fixes))
        begins = (first, first * width, fix, 2 * fix)
        stamps, samples, fixes, places = (
            np.frombuffer(column, column.typecode)[begin:].copy()
            for column, begin in zip(self.columns(), begins, strict=True)
        )
        return stamps, samples.reshape(-1, width), fixes, places.reshape(-1, 2)

    def columns(self) -> list[array[Any]]:
        """Return the arrays that grow, in the order of ``COLUMNS``."""
        return [getattr(self, name) for name in COLUMNS]


class StreamMemory:
    """
    Keep the newest part of a stream of samples of ``width`` numbers.

    Another drive starts where stamps go back or nothing came for `SEAM_NS`; each is a recording of
    its own, as bags are. Of all numbers ``most`` are kept, the oldest forgotten an eighth at a
    time: by default of an IMU 83 minutes at 100 Hz, in 28 MB.
    """

    def __init__(self, width: int = len(IMU_CHANNELS), most: int = 3_000_000) -> None:
        self._width, self._most = width, max(most // width, 1)
        # Samples in the mean that is kept last, and in all drives.
        self._joined = self._count = 0
        self._drives: deque[_Drive] = deque()
        # Axes of which any sample was finite.
        self._measured = np.zeros(width, dtype=np.bool_)

    @property
    def seconds(self) -> float:
        """Duration of all drives that are kept, s."""
        return sum(each.newest - each.stamps[0] for each in self._drives) * 1e-9

    @property
    def newest_ns(self) -> int:
        """Stamp of the sample that came last; 0 before the first."""
        return self._drives[-1].newest if self._drives else 0

    @property
    def oldest_ns(self) -> int:
        """Stamp of the oldest sample that is kept; 0 before the first."""
        return self._drives[0].stamps[0] if self._drives else 0

    def __len__(self) -> int:
        """Return the number of samples that are kept."""
        return self._count

    def add(self, stamp_ns: int, sample: Sequence[float] | Floats) -> None:
        """
        Keep a sample, or make it part of the mean of those that came just before.

        One that is not finite, or no newer than the last one and not far older, is left out. An
        axis that was never finite is not measured, and kept as it is: training leaves it out.
        """
        if not self._is_usable(np.asarray(sample)):
            return
        drives, step = self._drives, stamp_ns - self.newest_ns
        if drives and -SEAM_NS < step <= 0:
            return
        if drives and 0 < step <= SEAM_NS:
            drives[-1].newest = stamp_ns
            if stamp_ns - drives[-1].stamps[-1] < STEP_NS:
                self._join(drives[-1].samples, sample)
                return
        else:
            drives.append(_Drive(stamp_ns))
        drives[-1].stamps.append(stamp_ns)
        drives[-1].samples.extend(sample)
        self._joined = 1
        self._count += 1
        if self._count > self._most:
            self._forget(self._most // 8)

    def filled(self, sample: Floats) -> Floats:
        """Return a sample (c,) with zeros for the axes that are not measured, if any is."""
        finite = np.isfinite(sample)
        return np.where(finite | self._measured | ~finite.any(), sample, 0.0)

    def is_near(self, stamp_ns: int) -> bool:
        """Return whether a stamp is less than a seam from that of the sample that came last."""
        return bool(self._drives) and abs(stamp_ns - self.newest_ns) <= SEAM_NS

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

    def fixes_ns(self) -> Iterator[int]:
        """Return the stamps of all reference positions that are kept."""
        return itertools.chain.from_iterable(each.fixes for each in self._drives)

    def forget_before(self, stamp_ns: int) -> None:
        """Forget samples before the newest one that is older than a stamp."""
        for drive in reversed(self._drives):
            if drive.stamps[0] < stamp_ns:
                break
        else:
            return
        while self._drives[0] is not drive:
            self._forget(len(self._drives[0].stamps))
        gone = bisect_left(drive.stamps, stamp_ns)
        self._forget(gone)

    def recordings(self, head: ModelHead, since_ns: float = -math.inf) -> list[Recording]:
        """
        Return copies of all drives from a stamp on that have reference positions, oldest first.

        With a stamp drives from before the clock was last set back are left out. The head gives
        topics, frames and origin.
        """
        names, pose = head.channels.names, 'geometry_msgs/msg/PoseStamped'
        topic, frame, origin = head.position_topic, head.frame_id, head.origin
        found = []
        drives = list(self._drives)
        if since_ns > -math.inf:
            steps = enumerate(itertools.pairwise(drives), 1)
            began = [index for index, (old, new) in steps if new.stamps[0] <= old.newest]
            drives = drives[began[-1] :] if began else drives
        for drive in drives:
            stamps, samples, fixes, places = drive.arrays(self._width, since_ns)
            if len(stamps) and len(fixes) > 1:
                imu = ImuStream(head.imu_topic, head.imu_frame_id, stamps, samples, stamps, names)
                positions = PositionStream(topic, frame, pose, fixes, places, origin)
                found.append(Recording('live', imu, positions))
        return found

    def saved(self) -> tuple[list[list[int]], dict[str, NDArray[Any]]]:
        """Return how many samples and positions each drive has, and all of them as arrays."""
        lengths = [[len(each.stamps), len(each.fixes)] for each in self._drives]
        parts = [each.arrays(self._width) for each in self._drives or [_Drive(0)]]
        joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
        return lengths, dict(zip(COLUMNS, joined, strict=True))

    def restore(
        self, lengths: Sequence[Sequence[int]], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        """Restore what ``saved`` returned; raises `ValueError` if its parts do not match."""
        columns = [arrays[name] for name in COLUMNS]
        sums = np.array(lengths, dtype=np.int64).reshape(-1, 2).sum(axis=0)
        samples, fixes = sums.tolist()
        wanted = [(samples,), (samples, self._width), (fixes,), (fixes, 2)]
        if [each.shape for each in columns] != wanted:
            msg = f'a stream of {sums} samples and positions does not fit its arrays'
            raise ValueError(msg)
        self._drives.clear()
        begins = np.zeros(2, dtype=np.int64)
        for row in lengths:
            ends = begins + row
            parts = [
                each[begins[index // 2] : ends[index // 2]] for index, each in enumerate(columns)
            ]
            drive = _Drive(int(parts[0][-1]))
            for column, part in zip(drive.columns(), parts, strict=True):
                column.frombytes(part.astype(column.typecode).tobytes())
            self._drives.append(drive)
            begins = ends
        self._count = int(begins[0])
        # How many samples the last mean is of is not kept.
        self._joined = min(self._count, 1)
        self._measured = np.isfinite(arrays['samples']).any(axis=0)

    def _is_usable(self, sample: Floats) -> bool:
        """Return whether a sample (c,) is finite but for axes that are not measured."""
        finite = np.isfinite(sample)
        usable = finite.any() and (finite | ~self._measured).all()
        # One of numbers too large for a sum is too large for a mean.
        if not usable or not math.isfinite(sum(sample[finite].tolist())):
            return False
        self._measured |= finite
        return True

    def _join(self, samples: array[float], sample: Sequence[float] | Floats) -> None:
        """Make a sample part of the mean that is kept last."""
        self._joined += 1
        begin = len(samples) - self._width
        for index, value in enumerate(sample):
            samples[begin + index] += (value - samples[begin + index]) / self._joined

    def _forget(self, count: int) -> None:
        """Forget the oldest samples, and the positions of their time."""
        while count > 0:
            oldest = self._drives[0]
            if len(oldest.stamps) > count:
                del oldest.samples[: self._width * count], oldest.stamps[:count]
                gone = bisect_left(oldest.fixes, oldest.stamps[0])
                del oldest.fixes[:gone], oldest.places[: 2 * gone]
                self._count -= count
                return
            count -= len(oldest.stamps)
            self._count -= len(oldest.stamps)
            self._drives.popleft()
