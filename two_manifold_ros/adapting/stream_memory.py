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

from two_manifold_ros.filtering.tracker import UpdateResult
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
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats, Ints


LARGEST = 1e9
"""A sample beyond this is refused even before the range of the stream is known."""

LONGEST_GAP_NS = 250_000_000
"""Step between samples that is no gap, as long as nothing is known of the stream."""


@dataclass(frozen=True, kw_only=True)
class StreamHead(ModelHead):
    """The head of a model that is yet to be learned."""

    @property
    def states(self) -> int:
        """Dimension of a state that says nothing."""
        return 1


def make_head(
    horizons: tuple[int, ...] = TrainingSettings.horizons,
    *,
    names: tuple[str, ...] = IMU_CHANNELS,
    imu_topic: str = '',
) -> StreamHead:
    """
    Return the head for a stream of which nothing is known.

    Parameters
    ----------
    horizons
        Ticks ahead at which positions will be told, 0 first.
    names
        Of the channels.
    imu_topic
        What is learned from.

    Raises
    ------
    InputError
        If the horizons make no sense.

    """
    horizons = TrainingSettings(horizons=horizons).horizons
    size = len(names)
    return StreamHead(
        rate_hz=USUAL_RATE_HZ,
        period_ns=round(1e9 / USUAL_RATE_HZ),
        max_gap_ns=LONGEST_GAP_NS,
        window=LEAST_WINDOW,
        horizons=horizons,
        imu_topic=imu_topic,
        imu_frame_id='',
        position_topic='',
        frame_id='',
        origin=None,
        channels=Channels(
            mean=np.zeros(size),
            scale=np.ones(size),
            limit=np.full(size, LARGEST),
            live=np.ones(size, dtype=np.bool_),
            names=names,
        ),
        track=np.full((0, 2), np.nan),
        mean_position=np.full(2, np.nan),
    )


class NothingLearned:
    """
    A `TickFilter` that tells nothing, for a stream of which nothing was learned yet.

    Parameters
    ----------
    head
        Of the stream.

    """

    def __init__(self, head: StreamHead) -> None:
        self.state = np.zeros(head.states)
        # No window is ever full.
        self.seen = 0
        self._columns = len(head.horizons) + 1

    def start(self) -> None:
        """There is nothing to forget."""

    def coast(self, ticks: int) -> None:
        """There is nothing to move on."""

    def update(self, values: Floats) -> UpdateResult:  # noqa: ARG002 - as every tick filter
        """Take the (c,) means of one tick."""
        return UpdateResult(0.0, accepted=True, familiarity=math.nan, restarted=False)

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) that are not known."""
        return np.full((self._columns, 2), math.nan), np.full((self._columns, 2, 2), math.nan)

    def places(self) -> None:
        """Return ``None``: there are no places."""


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

NAMES = ('stamps', 'samples', 'fixes', 'places', 'followed', 'told')
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
    followed, told
        The same of positions that the filter told by itself, see `FollowedLaps`.

    """

    newest: int
    stamps: array[int] = field(default_factory=lambda: array('q'))
    samples: array[float] = field(default_factory=lambda: array('d'))
    fixes: array[int] = field(default_factory=lambda: array('q'))
    places: array[float] = field(default_factory=lambda: array('d'))
    followed: array[int] = field(default_factory=lambda: array('q'))
    told: array[float] = field(default_factory=lambda: array('d'))

    def trim(self, count: int) -> None:
        """Forget the oldest samples, and the positions of their time."""
        width = len(self.samples) // len(self.stamps)
        del self.samples[: width * count]
        del self.stamps[:count]
        for times, places in ((self.fixes, self.places), (self.followed, self.told)):
            gone = bisect_left(times, self.stamps[0])
            del times[:gone], places[: 2 * gone]


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

    def add_followed(self, stamp_ns: int, x: float, y: float) -> None:
        """Keep a position that the filter told; none that is not of the drive that goes on."""
        if not self._stretches:
            return
        stretch = self._stretches[-1]
        newest = stretch.followed[-1] if stretch.followed else stretch.stamps[0] - 1
        if newest < stamp_ns <= stretch.newest + SEAM_NS:
            stretch.followed.append(stamp_ns)
            stretch.told.extend((x, y))

    def forget_followed(self) -> None:
        """Forget all positions that the filter told."""
        for each in self._stretches:
            del each.followed[:], each.told[:]

    def recordings(self, head: ModelHead) -> list[Recording]:
        """
        Return copies of all drives that have positions, oldest first.

        Each ends where positions that the filter told begin, if there are such.

        Parameters
        ----------
        head
            Topics, frames and origin of the stream.

        """
        drives = []
        for stretch in self._stretches:
            stamps, samples, fixes, places, followed, _ = _arrays(stretch, self._width)
            count = len(stamps)
            if len(followed):
                count = int(np.searchsorted(stamps, followed[0]))
            if len(fixes) > 1 and count:
                drives.append(_recording(head, stamps[:count], samples[:count], fixes, places))
        return drives

    def followed(self, head: ModelHead) -> list[Recording]:
        """Return copies of the drives with positions that the filter told, and of these."""
        drives = []
        for stretch in self._stretches:
            stamps, samples, _, _, followed, told = _arrays(stretch, self._width)
            if len(followed) > 1:
                here = (stamps >= followed[0]) & (stamps <= followed[-1])
                imu = stamps[here], samples[here]
                drives.append(_recording(head, *imu, followed, told, estimated=True))
        return drives

    def saved(self) -> tuple[list[list[int]], dict[str, NDArray[Any]]]:
        """Return how many samples and positions each drive has, and all of them as arrays."""
        parts = [_arrays(each, self._width) for each in self._stretches]
        lengths = [[len(each[kind]) for kind in (0, 2, 4)] for each in parts]
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
        sums = np.array(lengths, dtype=np.int64).reshape(-1, len(NAMES) // 2).sum(axis=0)
        widths = (self._width, 2, 2)
        wanted = [
            shape
            for count, width in zip(sums.tolist(), widths, strict=True)
            for shape in ((count,), (count, width))
        ]
        if [each.shape for each in columns] != wanted:
            msg = f'a stream of {sums} samples and positions does not fit its arrays'
            raise ValueError(msg)
        self._stretches.clear()
        begins = np.zeros(len(widths), dtype=np.int64)
        for row in lengths:
            ends = begins + row
            parts = [
                each[begins[index // 2] : ends[index // 2]] for index, each in enumerate(columns)
            ]
            stretch = _Stretch(int(parts[0][-1]))
            for name, part in zip(NAMES, parts, strict=True):
                kind = np.int64 if part.ndim == 1 else np.float64
                getattr(stretch, name).frombytes(part.astype(kind).tobytes())
            self._stretches.append(stretch)
            begins = ends
        self._count = int(begins[0])

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
    return [
        each
        for each in parts
        if each.positions is not None and len(each.positions.stamps) and len(each.imu.stamps)
    ]


def known_seconds(recording: Recording, longest_step_ns: int) -> float:
    """Return for how long positions were known, without steps that are longer, s."""
    if recording.positions is None:
        return 0.0
    steps = np.diff(recording.positions.stamps)
    return float(steps[steps <= longest_step_ns].sum()) * 1e-9


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


def _recording(
    head: ModelHead,
    stamps: Ints,
    samples: Floats,
    fixes: Ints,
    places: Floats,
    *,
    estimated: bool = False,
) -> Recording:
    names, frame = head.channels.names, head.frame_id
    return Recording(
        'live',
        ImuStream(head.imu_topic, head.imu_frame_id, stamps, samples, stamps, names),
        PositionStream(
            head.position_topic, frame, POSE, fixes, places, head.origin, estimated=estimated
        ),
    )


def _arrays(stretch: _Stretch, width: int) -> tuple[Ints, Floats, Ints, Floats, Ints, Floats]:
    return (
        _copy(stretch.stamps),
        _copy(stretch.samples).reshape(-1, width),
        _copy(stretch.fixes),
        _copy(stretch.places).reshape(-1, 2),
        _copy(stretch.followed),
        _copy(stretch.told).reshape(-1, 2),
    )


def _copy(numbers: array[Any]) -> Any:  # noqa: ANN401 - of the kind of the numbers
    # A view would keep the array from growing.
    return np.frombuffer(numbers, dtype=numbers.typecode).copy()
