# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The newest samples and positions of a stream, as recordings that a model can be trained from."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field, replace
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.recordings.recording import (
    IMU_CHANNELS,
    ImuStream,
    PositionStream,
    Recording,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Floats, Ints

MOST_NUMBERS = 3_000_000
"""
Numbers of samples that are kept: of an IMU 83 minutes at 100 Hz, in 28 MB.

On the recordings and worlds of the gauntlet a map errs as little after eight to twelve laps as it
does after all; the longest of these laps take four minutes.
"""

STEP_NS = 4_000_000
"""
Time in which samples are kept as their mean: those of a stream at up to 250 Hz are kept as they
are, and of one at 1 kHz four are one. No tick of a model is shorter than many of these.
"""

SEAM_NS = 10_000_000_000
"""Step between samples over which nothing is one drive any more, see `StreamMemory`."""

NAMES = ('stamps', 'samples', 'fixes', 'places')
"""Of the arrays in which the stream is saved."""

POSE = 'geometry_msgs/msg/PoseStamped'


@dataclass
class _Stretch:
    """
    Samples without a seam, and the positions on the way, as flat arrays that grow.

    Parameters
    ----------
    newest
        Stamp of the last sample that came, also of one that is part of a mean.
    stamps, samples, fixes, places
        Stamps and values of the samples, six each, and of the positions, two each.

    """

    newest: int
    stamps: array[int] = field(default_factory=lambda: array('q'))
    samples: array[float] = field(default_factory=lambda: array('d'))
    fixes: array[int] = field(default_factory=lambda: array('q'))
    places: array[float] = field(default_factory=lambda: array('d'))

    def trim(self, count: int) -> None:
        """Forget the oldest samples, and the positions of their time."""
        width = len(self.samples) // len(self.stamps)
        del self.samples[: width * count]
        del self.stamps[:count]
        gone = bisect_left(self.fixes, self.stamps[0])
        del self.fixes[:gone], self.places[: 2 * gone]


class StreamMemory:
    """
    Keep what came last of a stream, at most so many numbers.

    The stream falls into drives where stamps go back or nothing came for `SEAM_NS`: each is a
    recording of its own, as bags are.

    Parameters
    ----------
    width
        Numbers in a sample.
    most
        Numbers that are kept; what is older is forgotten an eighth at a time.

    """

    def __init__(self, width: int = len(IMU_CHANNELS), most: int = MOST_NUMBERS) -> None:
        self._width, self._most = width, max(most // width, 1)
        self._together = 0
        self._stretches: deque[_Stretch] = deque()
        self._count = 0

    @property
    def seconds(self) -> float:
        """How long the drives that are kept lasted, together."""
        return sum(each.newest - each.stamps[0] for each in self._stretches) * 1e-9

    @property
    def newest_ns(self) -> int:
        """Stamp of the sample that came last; 0 before the first."""
        return self._stretches[-1].newest if self._stretches else 0

    def __len__(self) -> int:
        """Return the number of samples that are kept."""
        return self._count

    def add(self, stamp_ns: int, sample: Sequence[float] | Floats) -> None:
        """
        Keep a sample, or make it part of the mean of those that came just before.

        One that is not finite, or no newer than the last one and not far older, is left out.
        """
        # A sum is not finite if anything in it is not, or if it is beyond all that can be used.
        if not math.isfinite(sum(sample)):
            return
        stretches = self._stretches
        if stretches:
            stretch = stretches[-1]
            step = stamp_ns - stretch.newest
            if -SEAM_NS < step <= 0:
                return
            if 0 < step <= SEAM_NS:
                stretch.newest = stamp_ns
                if stamp_ns - stretch.stamps[-1] < STEP_NS:
                    self._join(stretch.samples, sample)
                    return
            else:
                stretches.append(_Stretch(stamp_ns))
        else:
            stretches.append(_Stretch(stamp_ns))
        stretches[-1].stamps.append(stamp_ns)
        stretches[-1].samples.extend(sample)
        self._together = 1
        self._count += 1
        if self._count > self._most:
            self._forget(self._most // 8)

    def add_position(self, stamp_ns: int, x: float, y: float) -> bool:
        """
        Keep a position of the drive that goes on; return whether it is of use.

        One before the first sample, far from the newest one, or not well after the position before
        is not: no training could use it.
        """
        if not self._stretches:
            return False
        stretch = self._stretches[-1]
        if abs(stamp_ns - stretch.newest) > SEAM_NS:
            return False
        if not stretch.fixes or stamp_ns - stretch.fixes[-1] >= STEP_NS:
            stretch.fixes.append(stamp_ns)
            stretch.places.extend((x, y))
            return True
        # Close together they are one; back, they are of another clock.
        return stamp_ns > stretch.fixes[-1]

    def recordings(self, head: ModelHead) -> list[Recording]:
        """
        Return copies of all drives that have positions, oldest first.

        Parameters
        ----------
        head
            Topics, frames and origin of the stream.

        """
        return [
            Recording(
                'live',
                ImuStream(
                    head.imu_topic,
                    head.imu_frame_id,
                    stamps,
                    samples,
                    stamps,
                    head.channels.names,
                ),
                PositionStream(
                    head.position_topic, head.frame_id, POSE, fixes, places, head.origin
                ),
            )
            for stamps, samples, fixes, places in (
                _arrays(each, self._width) for each in self._stretches
            )
            if len(fixes) > 1
        ]

    def saved(self) -> tuple[list[list[int]], dict[str, NDArray[Any]]]:
        """Return how many samples and positions each drive has, and all of them as arrays."""
        parts = [_arrays(each, self._width) for each in self._stretches]
        lengths = [[len(stamps), len(fixes)] for stamps, _, fixes, _ in parts]
        parts = parts or [_arrays(_Stretch(0), self._width)]
        columns = zip(*parts, strict=True)
        joined = [np.concatenate(each) for each in columns]
        return lengths, dict(zip(NAMES, joined, strict=True))

    def restore(
        self, lengths: Sequence[Sequence[int]], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        """
        Go on with what ``saved`` gave, as if the stream had never stopped.

        Raises
        ------
        ValueError
            If it does not fit together.

        """
        columns = [arrays[name] for name in NAMES]
        shapes = [(len(lengths) and sum(each[kind] for each in lengths)) for kind in (0, 1)]
        wanted = [(shapes[0],), (shapes[0], self._width), (shapes[1],), (shapes[1], 2)]
        if [each.shape for each in columns] != wanted:
            msg = f'a stream of {shapes} samples and positions does not fit its arrays'
            raise ValueError(msg)
        self._stretches.clear()
        sample = fix = 0
        for samples, fixes in lengths:
            stamps, values, times, places = (
                each[start : start + count]
                for each, start, count in zip(
                    columns, (sample, sample, fix, fix), (samples, samples, fixes, fixes),
                    strict=True,
                )
            )  # fmt: skip
            stretch = _Stretch(int(stamps[-1]))
            stretch.stamps.frombytes(stamps.astype(np.int64).tobytes())
            stretch.samples.frombytes(values.astype(np.float64).tobytes())
            stretch.fixes.frombytes(times.astype(np.int64).tobytes())
            stretch.places.frombytes(places.astype(np.float64).tobytes())
            self._stretches.append(stretch)
            sample, fix = sample + samples, fix + fixes
        self._count = sample

    def _join(self, samples: array[float], sample: Sequence[float] | Floats) -> None:
        """Make a sample part of the mean that is kept last."""
        self._together += 1
        begin = len(samples) - self._width
        for index, value in enumerate(sample):
            samples[begin + index] += (value - samples[begin + index]) / self._together

    def _forget(self, count: int) -> None:
        while count > 0:
            oldest = self._stretches[0]
            if len(oldest.stamps) > count:
                oldest.trim(count)
                self._count -= count
                return
            count -= len(oldest.stamps)
            self._count -= len(oldest.stamps)
            self._stretches.popleft()


def since(recordings: Sequence[Recording], stamp_ns: int) -> list[Recording]:
    """Return what came from a time on, of recordings that have positions."""
    parts = [
        replace(
            each,
            imu=each.imu.select(each.imu.stamps >= stamp_ns),
            positions=each.positions.select(each.positions.stamps >= stamp_ns),
        )
        for each in recordings
        if each.positions is not None
    ]
    return [each for each in parts if each.positions is not None and len(each.positions.stamps)]


def newest_part(
    recordings: Sequence[Recording], most_s: float, longest_step_ns: int
) -> list[Recording]:
    """
    Return the newest parts of recordings, oldest first, with so many seconds of positions.

    Parameters
    ----------
    recordings
        With positions.
    most_s
        Time without positions does not count: it teaches nothing.
    longest_step_ns
        Between two positions, above which there are none.

    """
    newest: list[Recording] = []
    for each in reversed(recordings):
        if each.positions is None:
            continue
        stamps = each.positions.stamps
        steps = np.diff(stamps)
        back = np.cumsum(np.where(steps <= longest_step_ns, steps, 0)[::-1]) * 1e-9
        if not len(back) or back[-1] < most_s:
            newest.insert(0, each)
            most_s -= float(back[-1]) if len(back) else 0.0
            continue
        first = len(stamps) - 2 - int(np.searchsorted(back, most_s))
        return since([each], int(stamps[first])) + newest
    return newest


def _arrays(stretch: _Stretch, width: int) -> tuple[Ints, Floats, Ints, Floats]:
    return (
        _copy(stretch.stamps),
        _copy(stretch.samples).reshape(-1, width),
        _copy(stretch.fixes),
        _copy(stretch.places).reshape(-1, 2),
    )


def _copy(numbers: array[Any]) -> Any:  # noqa: ANN401 - of the kind of the numbers
    # A view would keep the array from growing.
    return np.frombuffer(numbers, dtype=numbers.typecode).copy()
