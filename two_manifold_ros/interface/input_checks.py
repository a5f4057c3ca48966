# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check arrival times, rate, clock and driver of live input."""

from __future__ import annotations

from collections import deque
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.status import (
    CLOCK_STANDS,
    GAP,
    NO_CLOCK,
    STEPPED_AHEAD,
    STEPPED_BACK,
)
from two_manifold_ros.interface.snapshot import Interruption

if TYPE_CHECKING:
    from sensor_msgs.msg import Imu

    from two_manifold_ros.model.head import ModelHead


_KEPT = 1000


class Durations:
    """Quantiles of the last thousand durations."""

    def __init__(self) -> None:
        self._nanoseconds: deque[int] = deque(maxlen=_KEPT)

    def add(self, nanoseconds: int) -> None:
        """Remember one duration."""
        self._nanoseconds.append(nanoseconds)

    def microseconds(self) -> dict[str, float]:
        """Return ``p50``, ``p99`` and ``max``, NaN before the first one."""
        values = np.array(self._nanoseconds or [np.nan]) / 1e3
        p50, p99, longest = np.quantile(values, [0.5, 0.99, 1.0]).tolist()
        return {'p50': p50, 'p99': p99, 'max': longest}


_LEAST_NS, _MOST_NS = 100_000_000, 1_000_000_000
"""Time over which the pace of the stamps is taken."""


class Arrivals:
    """
    What arrival times and headers of messages tell that the filter cannot know.

    Attributes
    ----------
    newest_ns
        Stamp of the newest message that could be decoded.
    good_ns
        When the newest message came that was used, by the clock of `take`; 0 before the first.
    unused
        Messages in a row that were not used.
    frame, newest_frame
        Frames of the first and of the newest message that name one.
    interruption
        Why the filter began anew or coasted the last time, if it did.

    """

    def __init__(self) -> None:
        self.newest_ns = 0
        self.good_ns = 0
        self.unused = 0
        self.begin()

    def begin(self) -> None:
        """Begin with the next message, whatever came before."""
        self.frame = self.newest_frame = ''
        self.interruption: Interruption | None = None
        self._pace = 1.0
        self._anchor: tuple[int, int] | None = None
        self._last: tuple[int, int] | None = None

    def refuse(self) -> None:
        """Take notice of a message that could not be decoded."""
        self.unused += 1

    def take(self, stamp_ns: int, frame: str, arrived_ns: int, *, used: bool, broke: bool) -> None:
        """
        Take notice of a message.

        Parameters
        ----------
        stamp_ns, frame
            Out of its header.
        arrived_ns
            When it came, by a clock that is never set.
        used
            Whether the filter took it.
        broke
            Whether the filter began anew or coasted because of its stamp.

        """
        self.newest_ns = stamp_ns
        # A message without a frame says nothing about its axes.
        self.newest_frame = frame or self.newest_frame
        self.frame = self.frame or frame
        if not used:
            self.unused += 1
            return
        self.unused = 0
        self.good_ns = arrived_ns
        here = stamp_ns, arrived_ns
        if broke and self._last is not None:
            self._take_pace(self._last, _LEAST_NS)
            self.interruption = self._judge(stamp_ns - self._last[0], arrived_ns - self._last[1])
            self._anchor = here
        self._take_pace(here, _MOST_NS)
        self._last = here

    def _judge(self, by_stamps_ns: int, by_clock_ns: int) -> Interruption:
        # A recording that is played ten times as fast has holes that pass ten times as fast.
        passed_ns = self._pace * by_clock_ns
        if 0.5 * passed_ns < by_stamps_ns < 2.0 * passed_ns:
            return Interruption(GAP, by_stamps_ns / 1e9)
        cause = STEPPED_AHEAD if by_stamps_ns > passed_ns else STEPPED_BACK
        return Interruption(cause, abs(by_stamps_ns - passed_ns) / 1e9)

    def _take_pace(self, here: tuple[int, int], least_ns: int) -> None:
        """Take the pace since the anchor if that is long enough ago, and begin anew."""
        if self._anchor is None:
            self._anchor = here
        by_clock_ns = here[1] - self._anchor[1]
        if by_clock_ns >= least_ns:
            self._pace = max((here[0] - self._anchor[0]) / by_clock_ns, 0.0)
            self._anchor = here


class InputRate:
    """
    Rate from one look to the next, over whole intervals between messages.

    Measured both by the clock and by the stamps, of which the greater counts: a bag may be played
    slowly, and stamps may jump.
    """

    def __init__(self) -> None:
        self._arrived_s = math.nan
        self._stamp_ns = 0

    def look(self, used: int, arrived_s: float, stamp_ns: int) -> float:
        """
        Return the rate in Hz since the last look, NaN if one of the two looks found nothing.

        Parameters
        ----------
        used
            How many messages were used since the last look.
        arrived_s
            When the newest message arrived, by a clock that never goes back.
        stamp_ns
            Its stamp in nanoseconds.

        """
        known = used > 0 and not math.isnan(self._arrived_s)
        by_clock = arrived_s - self._arrived_s
        by_stamps = (stamp_ns - self._stamp_ns) / 1e9
        self._arrived_s, self._stamp_ns = (arrived_s if used else math.nan), stamp_ns
        if not known:
            return math.nan
        return max((used / each for each in (by_clock, by_stamps) if each > 0), default=math.inf)


STEP_S = 0.5
"""A clock that goes wrong by more from one look to the next was set."""


class RosClock:
    """
    Watches the ROS clock beside one that is never set.

    Attributes
    ----------
    trouble
        Cause for which it does not go, see ``CLOCK_WORDS``; empty if it goes.
    stepped_s
        By how much it was set between the last two looks, seconds; 0 if it was not.

    """

    def __init__(self) -> None:
        self.trouble = ''
        self.stepped_s = 0.0
        self._before: tuple[int, float] | None = None

    def look(self, now_ns: int, steady_s: float, *, simulated: bool) -> None:
        """
        Look at it; once a second is enough.

        Parameters
        ----------
        now_ns
            What it shows.
        steady_s
            What the other one shows.
        simulated
            Whether it follows /clock, which may have any pace.

        """
        before, self._before = self._before, (now_ns, steady_s)
        self.trouble, self.stepped_s = '', 0.0
        if simulated and not now_ns:
            self.trouble = NO_CLOCK
            return
        if before is None or not before[0]:
            return
        passed_s, steady_passed_s = (now_ns - before[0]) / 1e9, steady_s - before[1]
        if simulated:
            self.trouble = '' if passed_s else CLOCK_STANDS
            self.stepped_s = min(passed_s, 0.0)
        elif abs(passed_s - steady_passed_s) > STEP_S:
            self.stepped_s = passed_s - steady_passed_s


_NOT_MEASURED = -1.0


def imu_complaints(message: Imu, model: ModelHead, topic: str) -> dict[str, str]:
    """
    Return what does not fit the model, as sentences by cause.

    Parameters
    ----------
    message
        A ``sensor_msgs/Imu``.
    model
        The model in use.
    topic
        Where the message came from.

    """
    complaints = {}
    frame = message.header.frame_id
    if model.imu_frame_id and frame and frame != model.imu_frame_id:
        complaints['frame'] = (
            f'{topic} is in frame {frame!r} but training was in {model.imu_frame_id!r}: '
            f'estimates are wrong if the axes differ'
        )
    for part in ('linear_acceleration', 'angular_velocity'):
        used = any(channel.startswith(part) for channel in model.live_channels)
        # REP-145: -1 in the first entry says that the driver does not measure this.
        if used and getattr(message, f'{part}_covariance')[0] == _NOT_MEASURED:
            complaints[f'{part}_not_measured'] = (
                f'{topic} declares its {part} as not measured (covariance -1), but the model '
                f'needs it: check the driver'
            )
    return complaints
