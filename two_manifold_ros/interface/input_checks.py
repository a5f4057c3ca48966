# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check rate, clock, stamps and headers of live input once a second."""

from __future__ import annotations

from collections import Counter
import math
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING

from two_manifold_ros.filtering.status import (
    CLOCK_STANDS,
    FRAME_CHANGED,
    INTERRUPTION_WORDS,
    NO_CLOCK,
)
from two_manifold_ros.interface.log import input_causes
from two_manifold_ros.interface.snapshot import format_duration, InputHealth, rejections

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.interface.session import Arrivals
    from two_manifold_ros.interface.snapshot import Interruption
    from two_manifold_ros.model.head import ModelHead


class InputRate:
    """
    Rate of used messages, over whole intervals between messages.

    Measured both by the clock and by the stamps, of which the greater counts: a bag may be played
    slowly, and stamps may jump.
    """

    def __init__(self) -> None:
        self._arrived_s = math.nan
        self._stamp_ns = 0

    def measure(self, used: int, arrived_s: float, stamp_ns: int) -> float:
        """
        Return the rate in Hz since the last call, NaN if one of the two found nothing.

        Parameters
        ----------
        used
            Messages used since the last call.
        arrived_s, stamp_ns
            When the newest message arrived, by a clock that never goes back, and its stamp.

        """
        known = used > 0 and not math.isnan(self._arrived_s)
        by_clock = arrived_s - self._arrived_s
        by_stamps = (stamp_ns - self._stamp_ns) / 1e9
        self._arrived_s, self._stamp_ns = (arrived_s if used else math.nan), stamp_ns
        if not known:
            return math.nan
        return max((used / each for each in (by_clock, by_stamps) if each > 0), default=math.inf)


class RosClock:
    """
    Compare the ROS clock with one that is never set.

    Attributes
    ----------
    trouble
        Cause for which it does not run, see ``CLOCK_WORDS``; empty if it does.
    stepped_s
        By how much it was set between the last two readings, seconds; 0 if it was not.

    """

    def __init__(self) -> None:
        self.trouble = ''
        self.stepped_s = 0.0
        self._before: tuple[int, float] | None = None

    def read(self, now_ns: int, steady_s: float, *, simulated: bool) -> None:
        """Take what both clocks show; a ``simulated`` one follows /clock at any speed."""
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
        # A clock that drifts by more in a second was set.
        elif abs(passed_s - steady_passed_s) > 0.5:
            self.stepped_s = passed_s - steady_passed_s


def imu_complaints(
    frame: str, covariances: Mapping[str, float], model: ModelHead, topic: str
) -> dict[str, str]:
    """
    Return what of an IMU message does not fit the model, as sentences by cause.

    Parameters
    ----------
    frame
        Frame of its header.
    covariances
        First entries of ``linear_acceleration_covariance`` and ``angular_velocity_covariance``
        by the name of the quantity. -1 says that the driver does not measure it (REP-145).
    model, topic
        The model in use, and the topic of the message.

    """
    complaints = {}
    if model.imu_frame_id and frame and frame != model.imu_frame_id:
        complaints['frame'] = (
            f'{topic} is in frame {frame!r} but training was in {model.imu_frame_id!r}: '
            f'estimates are wrong if the axes differ'
        )
    for part, covariance in covariances.items():
        used = any(channel.startswith(part) for channel in model.live_channels)
        if used and covariance == -1.0:
            complaints[f'{part}_not_measured'] = (
                f'{topic} declares its {part} as not measured (covariance -1), but the model '
                f'needs it: check the driver'
            )
    return complaints


class InputMonitor:
    """
    Gather the health of a session's messages and of the node's clock.

    Parameters
    ----------
    sensor, topic
        The sensor in a word, and the full name of its topic.

    """

    def __init__(self, sensor: str, topic: str) -> None:
        self._sensor = sensor
        self._topic = topic
        self._rate = InputRate()
        self._clock = RosClock()
        self._usable_hz = math.nan
        self._fresh: Counter[str] = Counter()
        self._good: Counter[str] = Counter()
        self._interruption: Interruption | None = None
        self._is_far = False

    def update(
        self,
        fresh: Counter[str],
        arrivals: Arrivals | None,
        received_s: float,
        now_ns: int,
        *,
        simulated: bool,
    ) -> dict[str, str]:
        """
        Take the last second; return sentences by cause about what happened in it.

        Parameters
        ----------
        fresh
            What was counted in it.
        arrivals
            Arrivals of the session, if there is one.
        received_s
            When the newest message came, by a clock that never goes back.
        now_ns, simulated
            What the ROS clock shows, and whether it follows /clock.

        """
        self._fresh = fresh
        newest_ns = arrivals.newest_ns if arrivals else 0
        self._usable_hz = self._rate.measure(fresh['used'], received_s, newest_ns)
        self._clock.read(now_ns, monotonic(), simulated=simulated)
        happened = input_causes(fresh, self._sensor, self._topic)
        interruption = arrivals.interruption if arrivals else None
        if interruption is not None and interruption is not self._interruption:
            words = INTERRUPTION_WORDS[interruption.cause].format(
                span=format_duration(interruption.seconds)
            )
            happened[interruption.cause] = f'On {self._topic}: {words}'
        self._interruption = interruption
        if self._clock.stepped_s:
            way = 'ahead' if self._clock.stepped_s > 0 else 'back'
            happened['own_clock'] = (
                f'The clock of this node was set {way} by '
                f'{format_duration(abs(self._clock.stepped_s))}; the filter goes by the stamps on '
                f'{self._topic} alone'
            )
        return happened

    def health(
        self,
        counts: Counter[str],
        arrivals: Arrivals | None,
        waited_s: float,
        now_ns: int,
        complaints: Mapping[str, str],
    ) -> InputHealth:
        """
        Return what is known now.

        Parameters
        ----------
        counts
            All counters of the session.
        arrivals
            See `update`.
        waited_s
            Seconds since messages are waited for.
        now_ns
            What the ROS clock shows.
        complaints
            Sentences by cause about the content of the messages.

        """
        if counts['used'] != self._good['used']:
            self._good = counts
        unused = rejections(self._fresh)
        good_ns = arrivals.good_ns if arrivals else 0
        found = dict(complaints)
        if arrivals is not None and arrivals.frame != arrivals.newest_frame:
            words = (
                f'messages on {self._topic} began in frame {arrivals.frame!r} and are now in '
                f'{arrivals.newest_frame!r}, whose axes may be others: call reset if that is meant'
            )
            found = {FRAME_CHANGED: words, **found}
        return InputHealth(
            unused_s=min((perf_counter_ns() - good_ns) / 1e9, waited_s),
            usable_rate_hz=self._usable_hz,
            rejected=rejections(counts - self._good),
            rejected_share=sum(unused.values()) / max(self._fresh['received'], 1),
            rejected_most=max(unused, key=unused.__getitem__, default=''),
            clock=self._clock.trouble,
            stamp_age_s=_stamp_age_s(arrivals, now_ns),
            complaints=found,
            interruption=arrivals.interruption if arrivals else None,
        )

    def distance(self, arrivals: Arrivals | None, now_ns: int) -> str:
        """Return once that stamps are far from the clock, which may matter to other nodes."""
        age_s = _stamp_age_s(arrivals, now_ns)
        if self._is_far or not self._fresh['used'] or not abs(age_s) > 10.0:
            return ''
        self._is_far = True
        way = 'behind' if age_s > 0 else 'ahead of'
        return (
            f'Stamps on {self._topic} are {format_duration(abs(age_s))} {way} the clock of this '
            f'node, and so are those of all that is published'
        )


def _stamp_age_s(arrivals: Arrivals | None, now_ns: int) -> float:
    if arrivals is None or not arrivals.newest_ns or not now_ns:
        return math.nan
    return (now_ns - arrivals.newest_ns) / 1e9
