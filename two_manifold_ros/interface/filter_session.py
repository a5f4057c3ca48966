# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A filter being fed with serialised IMU messages, and its swap for another model."""

from __future__ import annotations

from collections import Counter, deque
from pathlib import Path
from struct import Struct
from time import perf_counter_ns
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import feed, Filter
from two_manifold_ros.filtering.successor import Successor
from two_manifold_ros.interface.input_checks import Arrivals, Durations
from two_manifold_ros.interface.markers import publishable
from two_manifold_ros.interface.snapshot import rejections
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.recordings.decoding import decode_imu_cdr

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.successor import Make, Sample
    from two_manifold_ros.model.head import ModelHead


class FileVersion(NamedTuple):
    """Which file it is, whatever the path by which it was found, and which of its contents."""

    device: int
    inode: int
    size: int
    changed_ns: int


def file_version(path: str) -> FileVersion | None:
    """Return the version of a file as it is now, ``None`` if it cannot be told."""
    try:
        found = Path(path).stat()
    # A path with a null byte is a ValueError.
    except (OSError, ValueError):
        return None
    return FileVersion(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def check_input(model: ModelHead, path: str) -> None:
    """
    Refuse a model that does not take an IMU.

    Raises
    ------
    InputError
        If it does not.

    """
    if not model.channels.of_imu:
        msg = (
            f'{path}: the model takes {model.channels.names[0]} and its like, but this node '
            f'listens to an IMU; name a model that was learned from one'
        )
        raise InputError(msg)


def check_successor(model: ModelHead, present: ModelHead, path: str) -> None:
    """
    Refuse a model after whose swap the same numbers would mean something else.

    Rate, window, horizons, states and method may be others: messages tell them. Frames they name
    too, but whoever listens to them has chosen them once.

    Parameters
    ----------
    model, path
        What shall run, and its file.
    present
        What runs.

    Raises
    ------
    InputError
        If it takes no IMU, or its positions or its IMU are in another frame, where both are
        known.

    """
    check_input(model, path)
    _check_frame(path, 'its positions are', model.frame_id, present.frame_id)
    _check_frame(path, 'its IMU was', model.imu_frame_id, present.imu_frame_id)
    if model.origin != present.origin:
        msg = (
            f'{path}: its positions have another geodetic origin than those that are published; '
            'configure the node with it instead'
        )
        raise InputError(msg)


def _check_frame(path: str, what: str, wanted: str, present: str) -> None:
    if wanted and present and wanted != present:
        msg = (
            f'{path}: {what} in the frame {wanted!r}, but that of the model in use is '
            f'{present!r}; configure the node with it instead'
        )
        raise InputError(msg)


MOST_WAITING = 100
"""Messages taken at once at the most, so that no single callback takes long."""

SAMPLES_KEPT = 20_000
"""Newest samples that are kept for another filter to begin with: at 1 kHz those of 20 s, 8 MB."""

_LITTLE_ENDIAN = b'\x00\x01'
_STAMP = Struct('<4xiI')
"""Seconds and nanoseconds behind the four bytes that name the encoding."""


REPORT_NS = 100_000_000
"""How long samples wait at the most: the status is told ten times a second."""


class Session:
    """
    A filter, its input and its counters; knows nothing of ROS but the bytes of a message.

    Parameters
    ----------
    model
        What the filter runs.
    clock_ns
        Gives the stamp of each message on arrival instead of its header, where that is asked
        for.
    make
        Makes the filter of a model.

    Attributes
    ----------
    latest
        The newest estimate, ``None`` if the filter started anew since.
    arrivals
        When messages came, and what their headers say.
    successor
        Another filter, if there is one, that is fed as well, see `hand_over`.

    """

    def __init__(
        self,
        model: ModelHead,
        clock_ns: Callable[[], int] | None = None,
        make: Callable[[ModelHead], Filter] = Filter,
    ) -> None:
        self.model = model
        self.filter = make(model)
        self.filter.warm_up()
        self.latest: Estimate | None = None
        self.arrivals = Arrivals()
        self.successor: Successor | None = None
        self.last_raw = b''
        self.durations = Durations()
        self.counters: Counter[str] = Counter()
        self._clock_ns = clock_ns
        self._patience_ns = min(model.period_ns, REPORT_NS)
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._samples: deque[Sample] = deque(maxlen=SAMPLES_KEPT)
        self._newest = self._tick_ends = 0
        self._publish: Callable[[Estimate], object] = lambda _: None

    @property
    def tracks(self) -> bool:
        """Whether the newest estimate may be published."""
        return self.latest is not None and self.latest.valid

    def take(self, raw: bytes, publish: Callable[[Estimate], object]) -> bool:
        """
        Feed one serialised ``sensor_msgs/Imu`` and publish what may be published.

        Samples that cannot end a tick wait for the one that does: between two of them the caches
        go cold, and taking them all at once costs half as much.

        Returns
        -------
        bool
            Whether the filter was fed; if not, nothing is new.

        """
        begin = perf_counter_ns()
        self.last_raw = raw
        self._publish = publish
        self._waiting.append((raw, begin))
        waits = self._may_wait(raw)
        if not waits:
            self._settle()
        self.durations.add(perf_counter_ns() - begin)
        return not waits

    def _may_wait(self, raw: bytes) -> bool:
        if self._clock_ns is not None or raw[:2] != _LITTLE_ENDIAN or len(raw) < _STAMP.size:
            return False
        seconds, nanoseconds = _STAMP.unpack_from(raw)
        stamp, newest = seconds * 10**9 + nanoseconds, self._newest
        self._newest = stamp
        return newest < stamp < self._tick_ends and len(self._waiting) < MOST_WAITING

    def _overdue(self) -> bool:
        """Whether what waits has waited for longer than a tick, or than a report takes to come."""
        waiting = self._waiting
        return bool(waiting) and perf_counter_ns() - waiting[0][1] > self._patience_ns

    def _settle(self) -> None:
        """Feed the filter with all that waits, each message once even if publishing fails."""
        while self._waiting:
            self._feed(*self._waiting.popleft())
        self._tick_ends = self.filter.tick_ends

    def _feed(self, raw: bytes, arrived_ns: int) -> None:
        self.counters['received'] += 1
        try:
            stamp_ns, frame_id, sample = decode_imu_cdr(raw)
        # Bytes that are no Imu message make a decoder raise almost anything.
        except Exception:  # noqa: BLE001 - counted, and told in the diagnostics
            self.counters['malformed'] += 1
            self.arrivals.refuse()
            return
        if self._clock_ns is not None:
            stamp_ns = self._clock_ns()
        self._samples.append((stamp_ns, sample))
        if self.successor is not None:
            self.successor.take(stamp_ns, sample)
        fed = feed(self.filter, self.filter.push, stamp_ns, sample, self.latest)
        self.latest = fed.latest
        self.arrivals.take(stamp_ns, frame_id, arrived_ns, used=fed.used, broke=fed.broke)
        for estimate in fed.estimates:
            self._offer(estimate)

    def _offer(self, estimate: Estimate) -> None:
        if publishable(estimate):
            self.counters['published'] += 1
            self._publish(estimate)
        elif estimate.valid:
            self.counters['estimates_not_finite'] += 1

    def reset(self, cause: str) -> None:
        """Forget everything that was seen and start anew."""
        self._settle()
        self._samples.clear()
        if self.successor is not None:
            self.successor.reset(cause)
        self.filter.reset(cause)
        self.arrivals.begin()
        self._tick_ends = 0
        self.latest = None

    def newest_samples(self) -> list[Sample]:
        """Return what was fed last, the oldest first."""
        self._settle()
        return list(self._samples)

    def hand_over(self) -> None:
        """Go on with the successor, which has been prepared; counters go on as well."""
        self._settle()
        new, self.successor = self.successor, None
        if new is not None:
            counters = new.filter.counters = self.filter.counters.copy()
            # What only one of the two has used by now, the other has yet to count or has counted.
            counters['used'] += self.filter.waiting - new.filter.waiting
            self.model, self.filter, self.latest = new.model, new.filter, new.latest
            self._tick_ends = self.filter.tick_ends

    def counts(self, *, at_once: bool = True) -> Counter[str]:
        """
        Return all counters, and how many samples are ``waiting``.

        What was ``received`` was used, or is waiting, or was rejected by a cause.

        Parameters
        ----------
        at_once
            Whether to count what still waits for the message that ends its tick, even if that is
            not overdue.

        """
        if at_once or self._overdue():
            self._settle()
        waiting = {'waiting': self.filter.waiting}
        return Counter({**self.filter.counters, **self.counters, **waiting})


PATIENCE = 2
"""Windows of a model: one in which it may fill, and another one in which to find its way."""


class _Kept(NamedTuple):
    """A model that ran before, ready to run again."""

    path: str
    version: FileVersion | None
    model: ModelHead
    filter: Filter


class ModelSwap:
    """
    Exchange the model of a session between two messages; knows nothing of ROS.

    The other model is loaded, compiled and fed with the newest samples in a thread. It takes over
    once it tracks, or at once where the one in use does not. If the one in use goes on tracking
    for ``PATIENCE`` windows of the other, and that still does not, it is refused, whatever keeps
    it from it.

    Parameters
    ----------
    session
        Whose model is exchanged.
    path
        File of its model.
    version
        Of that file, from before it was read.
    make
        Makes the filter of a model.
    follow
        Called with file and model that run from now on.
    info, warn
        Log one line.

    Attributes
    ----------
    path
        File of the model in use.
    swaps
        How often the model was exchanged.
    trouble
        Why the last attempt failed; empty if it did not.

    """

    def __init__(
        self,
        session: Session,
        path: str,
        version: FileVersion | None,
        make: Callable[[ModelHead], Filter],
        follow: Callable[[str, ModelHead], object],
        info: Callable[[str], object],
        warn: Callable[[str], object],
    ) -> None:
        self._session = session
        self._make = make
        self._follow = follow
        self._info = info
        self._warn = warn
        self._wanted = ''
        self._version = self._wanted_version = version
        self._before: _Kept | None = None
        self._ready_at: int | None = None
        self._takes_back = False
        self.path = path
        self.swaps = 0
        self.trouble = ''

    @property
    def state(self) -> str:
        """What it is doing, as one word for the diagnostics."""
        successor = self._session.successor
        if successor is None:
            return 'failed' if self.trouble else 'none'
        return 'waiting' if successor.prepared else 'loading'

    def begin(self, path: str) -> str:
        """Begin to exchange the model for that of a file; return why not, or an empty string."""
        refusal = self._busy()
        version = file_version(path)
        if not path:
            refusal = 'No next model is given: set the parameter next_model to the path of one.'
        elif version is not None and version == self._version:
            # Swapped for itself, it would be its own model before, and the way back be lost.
            refusal = refusal or (
                f'{path}: this model runs already, unchanged since it was read: set the parameter '
                'next_model to another.'
            )
        if refusal:
            return refusal
        present = self._session.model

        def make() -> tuple[ModelHead, Filter]:
            model = load_model(path)
            check_successor(model, present, path)
            live = self._make(model)
            live.warm_up()
            return model, live

        self._prepare(path, version, make, takes_back=False)
        return ''

    def take_back(self) -> str:
        """Begin to exchange it for the one before; return why not, or an empty string."""
        refusal, before = self._busy(), self._before
        if refusal or before is None:
            return refusal or 'There is no earlier model to take back.'

        def make() -> tuple[ModelHead, Filter]:
            before.filter.reset('taken back')
            return before.model, before.filter

        self._prepare(before.path, before.version, make, takes_back=True)
        return ''

    def look(self, *, idle: bool = False) -> None:
        """
        Finish what can be finished; to be called between messages.

        Parameters
        ----------
        idle
            Whether no messages are used at present, so that there is nothing to wait for.

        """
        new = self._session.successor
        if new is None or not new.prepared:
            return
        # A sample may have come in the moment in which the thread ended.
        new.catch_up()
        if new.failure:
            self._give_up(new, new.failure)
        elif idle or new.tracks or not self._session.tracks:
            self._take_over(new)
        elif self._outwaited(new):
            self._give_up(
                new,
                f'{self._wanted}: the model is not taken, because where the one in use is '
                f'tracking it says: {_words(new)}',
            )

    def _outwaited(self, new: Successor) -> bool:
        """Return whether it had its time, counted in ticks of the one in use."""
        ticks = self._session.filter.counters['ticks']
        if self._ready_at is None:
            self._ready_at = ticks
        waited_ns = (ticks - self._ready_at) * self._session.model.period_ns
        return waited_ns > PATIENCE * new.model.window * new.model.period_ns

    def _busy(self) -> str:
        if self._session.successor is None:
            return ''
        return f'{self._wanted} is being made ready: call again when that is over.'

    def _prepare(
        self, path: str, version: FileVersion | None, make: Make, *, takes_back: bool
    ) -> None:
        self.trouble = ''
        self._ready_at = None
        self._wanted, self._wanted_version, self._takes_back = path, version, takes_back
        self._session.successor = Successor(make, self._session.newest_samples())

    def _take_over(self, new: Successor) -> None:
        before = _Kept(self.path, self._version, self._session.model, self._session.filter)
        self._session.hand_over()
        # Taken back twice by a caller that did not hear the answer, it stays where it is.
        self._before = None if self._takes_back else before
        self.path, self._version = self._wanted, self._wanted_version
        self.swaps += 1
        again = 'again ' if self._takes_back else ''
        self._info(f'Model {self.path} runs {again}in place of {before.path}')
        self._follow(self.path, new.model)

    def _give_up(self, new: Successor, why: str) -> None:
        self._session.successor = None
        self.trouble = why
        self._warn(f'{why}\n{new.details}' if new.details else why)


def _words(new: Successor) -> str:
    """Return why it has no estimate to publish."""
    rejected = rejections(new.filter.counters)
    if new.latest is None and rejected:
        counts = ', '.join(f'{cause} ({count})' for cause, count in rejected.items())
        return f'samples rejected: {counts}'
    return new.filter.why
