# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One row of the fault matrix: what is done to the node, and what it has to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from healthy_drive import HealthyDrive, Sample
    import numpy as np

    Stretch: TypeAlias = list[Sample]
    Change: TypeAlias = Callable[[Stretch, HealthyDrive], Stretch]

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
class Fault:
    """
    A fault, and what the page says of it.

    Parameters
    ----------
    name
        What goes wrong, as the page calls it.
    seen
        Threads in which it was reported; may be empty.
    rule
        What our nodes do about it, in words.
    says
        Status and cause that have to be reported; either may be empty, which is any.
    within_s
        Time in which they have to be reported, seconds; 0 where there is nothing to report.
    recovers
        Ticks after the end of the fault in which the node has to track again, as well as before;
        ``None`` where it cannot.
    blind
        Ticks in which a position may be published as sure and be wrong until the fault is noticed.

    """

    name: str
    seen: str
    rule: str
    says: tuple[str, str]
    within_s: float
    recovers: int | None
    blind: int = 0


@dataclass(frozen=True)
class StreamFault(Fault):
    """
    A fault of the messages that a driver sends.

    Parameters
    ----------
    seconds
        How long the fault lasts on the drive.
    change
        Makes the faulty stretch out of the healthy one.
    after
        Changes what follows, where that is not as usual.
    counts
        How often something has to be counted, by counter; rejected messages go without saying.
    may_count
        Counters of which it does not matter.
    words
        Part of the sentence that has to be reported.
    counter
        Counter by which the fault shows, where it does no harm that would be reported.
    lane
        Which kind of node serves it over DDS, see `LANES`; empty for one in this process.
    reorder_s
        Parameter of the one in this process.
    pace_hz
        Over DDS, messages a second of real time during the fault; 0 for as quickly as they are
        taken. What follows is then paced as well, at three times the rate of the drive.
    batch
        Messages that are sent at once, where they are paced.
    silent_s
        Real time after the faulty stretch in which nothing is sent, unless the fault is reported
        sooner.

    """

    seconds: float = 4.0
    change: Change = unchanged
    after: Change = unchanged
    counts: Mapping[str, int] = field(default_factory=dict)
    may_count: tuple[str, ...] = ()
    words: str = ''
    counter: str = ''
    lane: str = ''
    reorder_s: float = 0.0
    pace_hz: float = 0.0
    batch: int = 1
    silent_s: float = 0.0

    @property
    def harmless(self) -> bool:
        """True if the node has to track as without the fault."""
        return self.says[0] == TRACKING


@dataclass(frozen=True)
class Outcome:
    """
    Outcome of a fault.

    A test that tries a row appends its outcome to the fixture ``outcomes``; the page shows it. The
    row itself, a `Fault`, stands in ``rows.py``, against which the page is held.

    Parameters
    ----------
    fault
        Which row.
    detected_s
        Time until it was named, seconds; ``None`` if it was not.
    unnoticed
        Positions that were published as sure and were wrong.
    recovered
        Ticks until it tracked again; ``None`` if it did not.
    error_ratio
        Error after the recovery over that of the same stretch without the fault; ``None`` where
        there is none.
    complaints
        What does not hold.

    """

    fault: Fault
    detected_s: float | None = None
    unnoticed: int = 0
    recovered: int | None = None
    error_ratio: float | None = None
    complaints: tuple[str, ...] = ()
