# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The healthy drive, and a row of the fault matrix: what is done to it, and what has to follow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from two_manifold_ros.filtering.estimate import Estimate
from two_manifold_ros.simulation.slot_car_run import SlotCarRun

Stretch: TypeAlias = 'list[Sample]'
Change: TypeAlias = 'Callable[[Stretch, HealthyDrive], Stretch]'

RATE_HZ = 50.0
TICK_NS = 100_000_000
FRAME = 'imu_link'

ANY, FILLING, TRACKING, UNSURE = '', 'filling the window', 'tracking', 'unsure'
LOST, REFUSED, NO_DATA = 'lost', 'input rejected', 'no data'

MOST_ERROR = 1.2
"""After a fault the error may be this many times what it would have been without."""

LEAST_ERROR_M = 0.03
"""Errors are compared as if they were at least this: below lies the noise of the IMU."""

FAR_M = 0.35
"""An error that the filter has now and then on a healthy drive; the track is 4.9 m long."""

SURE = 3.0
"""
Times the 95 % ellipse, and times the usual error, from which on a smaller error is wrong as well.
"""


class Sample(NamedTuple):
    """One message of a driver."""

    at_ns: int  # when it is sent, on the clock of the drive
    # When it was taken on the drive, which shows where the car was; None if not in our car.
    taken_ns: int | None
    stamp_ns: int  # what its header says
    values: np.ndarray  # (6,), specific force in m/s^2, angular rate in rad/s
    frame: str = FRAME
    refused: str = ''  # cause under which the node has to count it; empty if it has to use it
    raw: bytes = b''  # bytes that are sent in its place
    clock_ns: int | None = 0  # what `/clock` is ahead of its stamp; None if it stops
    source: int = 0  # which of two publishers sends it


class HealthyDrive:
    """
    The samples of a run, where the car was, and what the filter makes of them undisturbed.

    The run is on the track of the model and not in its training.
    """

    def __init__(self, run: SlotCarRun, estimates: list[Estimate]) -> None:
        self.run = run
        self.begin_ns = int(run.stamps_ns[0])
        self._tick_ends = np.array([each.stamp_ns for each in estimates])
        means = np.array([each.positions[0] for each in estimates])
        self._errors = np.linalg.norm(means - self.places(self._tick_ends), axis=1)
        self._errors[[not each.valid for each in estimates]] = np.nan

    def between(self, begin_s: float, end_s: float) -> list[Sample]:
        """Return the samples of a part of the drive, both ends in seconds from its start."""
        begin, end = (round(each * RATE_HZ) for each in (begin_s, end_s))
        assert 0 <= begin <= end <= len(self.run.stamps_ns)
        stamps = self.run.stamps_ns[begin:end].tolist()
        rows = zip(stamps, self.run.imu[begin:end], strict=True)
        return [Sample(stamp, stamp, stamp, values) for stamp, values in rows]

    def places(self, taken_ns: np.ndarray) -> np.ndarray:
        """Return the (n, 2) true positions at some times of the drive."""
        elapsed = np.asarray(taken_ns) - self.begin_ns
        known = self.run.stamps_ns - self.begin_ns
        xy = [np.interp(elapsed, known, self.run.positions[:, axis]) for axis in (0, 1)]
        return np.stack(xy, axis=1)

    @property
    def usual_error(self) -> float:
        """The undisturbed filter's root mean square error, metres."""
        return float(np.sqrt(np.nanmean(np.square(self._errors))))

    def error(self, taken_ns: np.ndarray) -> float:
        """Return the undisturbed filter's root mean square error at some times, metres."""
        errors = np.interp(
            np.asarray(taken_ns) - self.begin_ns, self._tick_ends - self.begin_ns, self._errors
        )
        return float(np.sqrt(np.mean(np.square(errors))))


class Word(NamedTuple):
    """Diagnostics of the node, after how many messages."""

    received: int
    status: str
    cause: str
    why: str
    heard_s: float


class Look(NamedTuple):
    """Numbers of the node on `status`, after how many messages."""

    received: int
    numbers: dict[str, float]


class Published(NamedTuple):
    """A published position."""

    after: int
    stamp_ns: int
    place: np.ndarray
    covariance: np.ndarray


def unchanged(stretch: Stretch, _: HealthyDrive) -> Stretch:
    """Be the `Change` of a stretch that is as it should be."""
    return stretch


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a `Change` be made of the options that a function has after the arguments of one."""

    def given(*options: Any, **named: Any) -> Callable[..., Any]:  # noqa: ANN401 - passed on
        return lambda *arguments: function(*arguments, *options, **named)

    return given


@dataclass(frozen=True)
class StreamFault:
    """A fault of the messages that a driver sends, and what the node has to do about it."""

    name: str  # what goes wrong
    says: tuple[str, str]  # status and cause that have to be reported; empty is any
    within_s: float  # in which they have to be reported; 0 where there is nothing to report
    # Ticks after the end of the fault in which the node has to track again, as well as before;
    # None where it cannot.
    recovers: int | None
    # Ticks in which a position may be published as sure and be wrong until the fault is noticed.
    blind: int = 0

    seconds: float = 4.0  # how long the fault lasts on the drive
    change: Change = unchanged  # makes the faulty stretch out of the healthy one
    after: Change = unchanged  # changes what follows, where that is not as usual
    # How often something has to be counted, by counter; rejected messages go without saying.
    counts: Mapping[str, int] = field(default_factory=dict)
    may_count: tuple[str, ...] = ()  # counters of which it does not matter
    words: str = ''  # part of the sentence that has to be reported
    counter: str = ''  # by which the fault shows, where it does no harm that would be reported
    # Parameters of the node: trials pause, which is no silence but where it is meant.
    timeout_s: float = 60.0
    reorder_s: float = 0.0
    simulated: bool = False
    batch: int = 1  # messages that are sent at once during the fault
    # Time after the faulty stretch in which nothing is sent, unless the fault is reported sooner.
    silent_s: float = 0.0

    @property
    def harmless(self) -> bool:
        """True if the node has to track as without the fault."""
        return self.says[0] == TRACKING
