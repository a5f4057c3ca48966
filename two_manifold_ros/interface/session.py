# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feed a filter with serialised IMU messages, and keep what their arrival times show."""

from __future__ import annotations

from collections import Counter, deque
import math
from struct import Struct
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import Finding, USABLE
from two_manifold_ros.interface.assessment import format_duration, InputLimits, WORDS
from two_manifold_ros.recordings.decoding import ImuDecoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.successor import Sample, Successor
    from two_manifold_ros.model.model import ModelHead


class Durations(deque[int]):
    """The newest durations in nanoseconds, as many as are kept, and their quantiles."""

    def __init__(self, values: Iterable[int] = (), maxlen: int | None = 1000) -> None:
        super().__init__(values, maxlen)

    def microseconds(self) -> dict[str, float]:
        """Return ``p50``, ``p99`` and ``max``, NaN before the first one."""
        values = np.array(self or [np.nan]) / 1e3
        p50, p99, longest = np.quantile(values, [0.5, 0.99, 1.0]).tolist()
        return {'p50': p50, 'p99': p99, 'max': longest}


class Arrivals:
    """Arrival times and headers of messages, which the filter does not know."""

    def __init__(self) -> None:
        # Stamp of the newest message that could be decoded.
        self.newest_ns = 0
        # When the newest message that was used came, by the clock of `take`; 0 before the first.
        self.good_ns = 0
        # Messages in a row that were not used, and whether the input counts as rejected by them.
        self.unused, self.refused = 0, False
        self.reset()

    def reset(self) -> None:
        """Start with the next message, independently of earlier ones."""
        # Of the first and of the newest message that name one.
        self.frame = self.newest_frame = ''
        # Why the filter restarted or coasted the last time, if it did.
        self.interruption: Finding | None = None
        # Stamp and arrival of the newest message that was used.
        self._last: tuple[int, int] | None = None

    def refuse(self) -> None:
        """Count a message that was not used."""
        self.unused += 1
        self.refused = self.unused >= InputLimits.most_in_a_row

    def take(self, stamp_ns: int, frame: str, arrived_ns: int, *, used: bool, broke: bool) -> None:
        """Take a message, which the filter used, or restarted or coasted because of its stamp."""
        self.newest_ns = stamp_ns
        # A message without a frame does not name its axes.
        self.newest_frame = frame or self.newest_frame
        self.frame = self.frame or frame
        if not used:
            self.refuse()
            return
        self.unused, self.refused = 0, False
        self.good_ns = arrived_ns
        if broke and self._last is not None:
            by_stamps_ns, by_clock_ns = stamp_ns - self._last[0], arrived_ns - self._last[1]
            cause, span_ns = 'gap', by_stamps_ns
            if not 0.5 * by_clock_ns < by_stamps_ns < 2.0 * by_clock_ns:
                cause = 'stepped_ahead' if by_stamps_ns > by_clock_ns else 'stepped_back'
                span_ns = abs(by_stamps_ns - by_clock_ns)
            words = WORDS[cause].format(span=format_duration(span_ns / 1e9))
            self.interruption = Finding(cause, words, refuses=False)
        self._last = stamp_ns, arrived_ns


class Session:
    """
    A filter, its input and its counters; knows nothing of ROS but the bytes of a message.

    Samples that cannot end a tick wait for the one that does, at most ``most_waiting``: taking
    all at once costs half as much. ``make`` makes the filter of a model; ``clock_ns`` gives the
    stamp on arrival; the newest samples are ``kept`` for another filter: 20 s at 1 kHz, 8 MB.
    """

    def __init__(
        self,
        model: ModelHead,
        clock_ns: Callable[[], int] | None = None,
        make: Callable[[ModelHead], Filter] = Filter,
        kept: int = 20_000,
        most_waiting: int = 100,
    ) -> None:
        self.model = model
        self.filter = make(model)
        self.filter.warm_up()
        self.arrivals = Arrivals()
        # Of the callbacks of the node.
        self.durations = Durations()
        # Another filter, if there is one, that is fed too, see `hand_over`.
        self.successor: Successor | None = None
        self.last_raw = b''
        # Newest readings of sensors, NaN before the first: channels of the samples that follow.
        self.further = (math.nan,) * len(model.further_names)
        self.counters: Counter[str] = Counter()
        self._clock_ns = clock_ns
        # The status is published ten times a second, and samples wait no longer.
        self._patience_ns = min(model.period_ns, 100_000_000)
        self._most_waiting = most_waiting
        self._waiting: deque[tuple[bytes, int, tuple[float, ...]]] = deque()
        self._decode = ImuDecoder()
        self._samples: deque[Sample] = deque(maxlen=kept)
        self._ready: list[Estimate] = []
        self._newest = self._tick_ends = 0
        # Seconds and nanoseconds behind the four bytes that name the encoding.
        self._stamp = Struct('<4xiI')

    @property
    def latest(self) -> Estimate | None:
        """The newest estimate since the filter was last reset, if there is one."""
        return self.filter.latest

    @property
    def tracks(self) -> bool:
        """True if the newest estimate may be published."""
        return self.latest is not None and self.latest.valid

    def hold(self, first: int, values: tuple[float, ...]) -> None:
        """Hold values of further channels, from the ``first`` of them on."""
        self.further = self.further[:first] + values + self.further[first + len(values) :]

    def take(self, raw: bytes) -> list[Estimate] | None:
        """Take one message; return the estimates to publish, ``None`` if the message waits."""
        self.last_raw = raw
        self._waiting.append((raw, perf_counter_ns(), self.further))
        is_little_endian = raw[:2] == b'\x00\x01'
        if self._clock_ns is None and is_little_endian and len(raw) >= self._stamp.size:
            seconds, nanoseconds = self._stamp.unpack_from(raw)
            newest, self._newest = self._newest, seconds * 10**9 + nanoseconds
            is_early = newest < self._newest < self._tick_ends
            if is_early and len(self._waiting) < self._most_waiting:
                return None
        self._settle()
        ready, self._ready = self._ready, []
        return ready

    def _settle(self) -> None:
        """Feed the filter with all that waits."""
        live, counters = self.filter, self.counters
        while self._waiting:
            raw, arrived_ns, further = self._waiting.popleft()
            counters['received'] += 1
            try:
                stamp_ns, frame_id, sample = self._decode(raw)
            # Bytes that are no Imu message make a decoder raise almost anything.
            except Exception:  # noqa: BLE001 - counted, and reported in the diagnostics
                counters['malformed'] += 1
                self.arrivals.refuse()
                continue
            sample += further
            if self._clock_ns is not None:
                stamp_ns = self._clock_ns()
            self._samples.append((stamp_ns, sample))
            if self.successor is not None:
                self.successor.take(stamp_ns, sample)
            estimates = live.push(stamp_ns, sample)
            self.arrivals.take(stamp_ns, frame_id, arrived_ns, used=live.used, broke=live.broke)
            for estimate in estimates:
                if estimate.status in USABLE:
                    counters['published'] += 1
                    self._ready.append(estimate)
                elif estimate.cause == 'numerics':
                    counters['estimates_not_finite'] += 1
        self._tick_ends = live.tick_ends

    def reset(self, cause: str) -> None:
        """Forget everything that was seen and restart."""
        self._settle()
        self._samples.clear()
        if self.successor is not None:
            self.successor.reset(cause)
        self.filter.reset(cause)
        self.arrivals.reset()
        self._tick_ends = 0

    def newest_samples(self) -> list[Sample]:
        """Return the samples that were fed last, the oldest first."""
        self._settle()
        return list(self._samples)

    def hand_over(self) -> None:
        """Continue with the prepared successor, counters included."""
        self._settle()
        new, self.successor = self.successor, None
        if new is not None:
            new.filter.take_over(self.filter)
            self.model, self.filter = new.filter.model, new.filter
            self._tick_ends = self.filter.tick_ends

    def counts(self, *, at_once: bool = True) -> Counter[str]:
        """
        Return all counters: what was ``received`` was used, is ``waiting`` or was rejected.

        Messages that wait for the one that ends their tick count at once or, with ``at_once``
        false, when they have waited for longer than a tick, or than a status takes to come.
        """
        waiting = self._waiting
        if at_once or (waiting and perf_counter_ns() - waiting[0][1] > self._patience_ns):
            self._settle()
        counted = {'waiting': self.filter.waiting}
        return Counter({**self.filter.counters, **self.counters, **counted})
