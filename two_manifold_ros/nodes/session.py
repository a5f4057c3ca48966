# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A filter being fed with serialised IMU messages, and what there is to tell about it."""

from __future__ import annotations

from collections import Counter, deque
from struct import Struct
from time import perf_counter_ns
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.feeding import feed
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.nodes.arrivals import Arrivals
from two_manifold_ros.nodes.durations import Durations
from two_manifold_ros.outputs.messages import publishable
from two_manifold_ros.recordings.decoding import decode_imu_cdr

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.successor import Sample, Successor
    from two_manifold_ros.model.head import ModelHead

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
