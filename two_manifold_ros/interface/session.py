# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A filter fed with serialised messages, and the exchange of its model for another one."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import replace
import math
from pathlib import Path
from struct import Struct
from time import perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.fixes import Fix, NEWEST
from two_manifold_ros.filtering.status import Finding, USABLE
from two_manifold_ros.filtering.successor import Sample, Successor
from two_manifold_ros.inspection.lag import AUTO, trained_lag
from two_manifold_ros.interface.assessment import format_duration, InputLimits, rejections, WORDS
from two_manifold_ros.laps.timing import LapTimer
from two_manifold_ros.model.model_file import load_model
from two_manifold_ros.model.vehicle import check_vehicle, load_vehicle
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.decoding import ImuDecoder, SensorTopic

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.parameters import FilterParameters
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
        # How far the newest stamped position fix is behind the IMU.
        self.fix_behind_s = 0.0
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

    def fix(self, fix: Fix, *, clicked: bool = False) -> None:
        """
        Hand a position fix to the filter, and to the successor; an `InputError` says why not.

        One that a person ``clicked`` is of now if its stamp is not within a window of the IMU;
        others are late by what the positions of the training were.
        """
        stamp_ns = fix.stamp_ns if self._clock_ns is None else self._clock_ns()
        behind_ns = self.arrivals.newest_ns - stamp_ns
        lag_s = trained_lag(self.filter.running)
        if clicked and (stamp_ns == 0 or abs(behind_ns) > self.model.window_ns):
            stamp_ns = NEWEST
        elif stamp_ns == 0:
            raise InputError(WORDS['zero_stamp'])
        else:
            self.fix_behind_s = behind_ns / 1e9
            stamp_ns -= 0 if clicked or lag_s in {'', AUTO} else round(1e9 * float(lag_s))
        fix = replace(fix, stamp_ns=stamp_ns)
        self.filter.fix(fix)
        if self.successor is not None:
            self.successor.fix(fix)

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


def file_version(path: str) -> tuple[int, ...]:
    """Return which file a path is, and with which content; nothing if it cannot be read."""
    try:
        found = Path(path).stat()
    # A path with a null byte is a ValueError.
    except (OSError, ValueError):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def sensor_topics(model: ModelHead, chosen: FilterParameters) -> tuple[SensorTopic, ...]:
    """Return the topics of the sensors that a model takes, see `SensorTopic.of_model`."""
    given = [each for each in chosen.sensor_topics if each]
    return SensorTopic.of_model(given, SensorTopic.of_names(model.further_names), 'sensor_topics')


def check_input(model: ModelHead, path: str) -> None:
    """Raise `InputError` if a model takes no IMU."""
    if not model.channels.of_imu:
        raise InputError(
            f'{path}: the model takes {model.channels.names[0]} and similar channels, but this '
            f'node subscribes to an IMU; name a model that was trained on one'
        )


def check_successor(model: ModelHead, present: ModelHead, path: str) -> None:
    """
    Raise `InputError` if the numbers of a model from ``path`` mean something else than present.

    Rate, window, horizons, states and method may be others: messages name them. They name frames
    too, but subscribers have chosen theirs once. Of an atlas one route has to fit.
    """
    check_input(model, path)
    troubles = [
        _trouble_of(each, other)
        for each in model.routes.values()
        for other in present.routes.values()
    ]
    if '' not in troubles:
        raise InputError(f'{path}: {troubles[0]}; configure the node with it instead')


def _trouble_of(model: ModelHead, present: ModelHead) -> str:
    """Return what would mean something else after a swap; empty if nothing."""
    for what, wanted, current in (
        ('its positions are', model.frame_id, present.frame_id),
        ('its IMU was', model.imu_frame_id, present.imu_frame_id),
    ):
        if wanted and current and wanted != current:
            return f'{what} in the frame {wanted!r}, but the model in use has {current!r}'
    if (model.frame_id == LAP_FRAME) != (present.frame_id == LAP_FRAME):
        return 'only one of it and the model in use knows positions, the other laps alone'
    if model.further_names != present.further_names:
        return 'it takes other sensors than the model in use'
    if model.origin != present.origin:
        return 'its positions have another geodetic origin than those that are published'
    return ''


def load_session(chosen: FilterParameters, clock_ns: Callable[[], int] | None = None) -> ModelSwap:
    """
    Load the model that parameters name, compile its filter, and return it in exchangeable form.

    ``clock_ns`` stamps messages on arrival, see `Session`.
    """
    version = file_version(chosen.model)
    model = load_model(chosen.model)
    check_input(model, chosen.model)

    def make(model: ModelHead) -> Filter:
        ellipse_m = chosen.ellipse_warn_m, chosen.ellipse_error_m
        reorder_ns = round(1e9 * chosen.reorder_s)
        live = Filter(model, chosen.particles_rate_hz, ellipse_m, reorder_ns)
        if chosen.vehicle:
            check_vehicle(model)
            live.correction = load_vehicle(chosen.vehicle)
        circuits = [each.circuit for each in model.routes.values() if each.circuit is not None]
        for circuit in circuits[:1]:
            LapTimer(circuit).warm_up()
        return live

    return ModelSwap(Session(model, clock_ns, make), chosen.model, version, make)


PATIENCE = 2
"""Windows that a new model has: one in which it may fill, one in which to find its way."""


class ModelSwap:
    """
    Exchange the model of a session, of the file ``path``, between two messages.

    The other model is loaded, compiled and fed with the newest samples in a thread. It takes over
    once it tracks, or at once where the one in use does not. If the one in use goes on tracking
    for `PATIENCE` windows of the other, and that still does not, it is refused. ``version`` is of
    before the file was read, ``make`` makes the filter of a model, ``swaps`` counts the exchanges,
    ``trouble`` is why the last attempt failed.
    """

    def __init__(
        self,
        session: Session,
        path: str,
        version: tuple[int, ...],
        make: Callable[[ModelHead], Filter],
    ) -> None:
        self.session, self.path = session, path
        self._make = make
        self._wanted = ''
        self._version = self._wanted_version = version
        # Ticks of the model in use when the other one was prepared.
        self._begun: int | None = None
        self.swaps = 0
        self.trouble = ''

    @property
    def state(self) -> str:
        """State of the swap, as one word for the diagnostics."""
        successor = self.session.successor
        if successor is None:
            return 'failed' if self.trouble else 'none'
        return 'waiting' if successor.prepared else 'loading'

    def start(self, path: str) -> str:
        """Start to run the model of a file instead; return why not, or an empty string."""
        if self.session.successor is not None:
            return f'{self._wanted}: swap in progress; retry when it has finished.'
        if not path:
            return 'No next model is given: set the parameter next_model to the path of one.'
        version = file_version(path)
        if version and version == self._version:
            return (
                f'{path}: this model runs already, unchanged since it was read: set the parameter '
                'next_model to another.'
            )
        present = self.session.model

        def make() -> Filter:
            model = load_model(path)
            check_successor(model, present, path)
            live = self._make(model)
            live.warm_up()
            return live

        self._wanted, self._wanted_version = path, version
        self.trouble, self._begun = '', None
        self.session.successor = Successor(make, self.session.newest_samples())
        return ''

    def advance(self, *, idle: bool = False) -> str:
        """
        Complete a prepared swap, between messages; return what to log, if anything.

        ``idle`` is whether no messages are used at present, so that there is nothing to wait for.
        """
        new, live = self.session.successor, self.session.filter
        if new is None or not new.prepared:
            return ''
        # A sample may have come in the moment in which the thread ended.
        new.catch_up()
        why = new.failure
        if not why:
            if idle or new.tracks or not self.session.tracks:
                before, self.path, self._version = self.path, self._wanted, self._wanted_version
                self.session.hand_over()
                self.swaps += 1
                return f'Model {self.path} runs in place of {before}'
            ticks = live.counters['ticks']
            self._begun = ticks if self._begun is None else self._begun
            waited_ns = (ticks - self._begun) * live.running.period_ns
            if waited_ns <= PATIENCE * new.filter.model.window_ns:
                return ''
            state, rejected = new.filter.said.why, rejections(new.filter.counters)
            if new.latest is None and rejected:
                counts = ', '.join(f'{cause} ({count})' for cause, count in rejected.items())
                state = f'samples rejected: {counts}'
            why = (
                f'{self._wanted}: the model is rejected, because while the one in use is tracking '
                f'its state is: {state}'
            )
        self.session.successor, self.trouble = None, why
        return f'{why}\n{new.details}' if new.details else why
