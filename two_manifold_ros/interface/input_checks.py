# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check rate, clock, stamps and headers of live input once a second."""

from __future__ import annotations

from collections import Counter
import math
from time import perf_counter_ns
from typing import TYPE_CHECKING

from two_manifold_ros.interface.assessment import (
    format_duration,
    Health,
    InputLimits,
    Interruption,
    REJECTIONS,
    rejections,
    WORDS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.interface.session import Arrivals
    from two_manifold_ros.model.model import ModelHead


def imu_complaints(
    frame: str,
    covariances: Mapping[str, float],
    model: ModelHead,
    topic: str,
    trained: str = '',
) -> dict[str, str]:
    """
    Return sentences by cause about an IMU message that does not fit the model.

    Of ``covariances`` a first entry of -1 says that the driver does not measure it (REP-145).
    ``trained`` is the topic of the training, if that is another one and published too.
    """
    found = {}
    if trained:
        found['other_topic'] = WORDS['other_topic'].format(trained=trained, topic=topic)
    if model.imu_frame_id and frame and frame != model.imu_frame_id:
        found['frame'] = WORDS['frame'].format(
            topic=topic, frame=frame, trained=model.imu_frame_id
        )
    for part, covariance in covariances.items():
        used = any(channel.startswith(part) for channel in model.live_channels)
        if used and covariance == -1.0:
            words = WORDS['not_measured'].format(topic=topic, part=part)
            found[f'{part}_not_measured'] = words
    return found


def trained_beside(trained: str, topic: str) -> str:
    """
    Return the name that the topic of a training has beside a subscribed one; empty if the same.

    Both are full names. The training may have been in the namespace of another robot, or in none:
    what counts is the last name, such as ``data_raw`` beside ``/car1/imu/data``.
    """
    if not trained.startswith('/'):
        return ''
    beside = topic.rpartition('/')[0] + '/' + trained.rpartition('/')[2]
    return '' if beside == topic else beside


class InputMonitor:
    """Gather the health of the messages of a ``sensor`` and of the clock of the node."""

    def __init__(self, sensor: str, topic: str) -> None:
        self._sensor, self._topic = sensor, topic
        self._fresh: Counter[str] = Counter()
        self._good: Counter[str] = Counter()
        self._interruption: Interruption | None = None
        self._newest = math.nan, 0
        self._usable_hz = math.nan
        self._shown: int | None = None
        self._clock = ''
        # What the ROS clock showed last, and since when, nanoseconds.
        self._shown_ns, self._shown_since_ns = 0, perf_counter_ns()
        self._simulated = False

    def update(
        self,
        fresh: Counter[str],
        counts: Counter[str],
        arrivals: Arrivals,
        received_s: float,
        now_ns: int,
        *,
        simulated: bool,
    ) -> dict[str, str]:
        """
        Take the last second; return sentences by cause about what happened in it.

        ``fresh`` was counted in it, ``counts`` in all. ``received_s`` is when the newest message
        came, ``now_ns`` the ROS clock, which follows /clock at any speed if ``simulated``.
        """
        self._fresh = fresh
        self._measure_rate(fresh['used'], received_s, arrivals.newest_ns)
        happened = {
            f'rejected {cause}': (
                f'{self._sensor} samples rejected on {self._topic}: {cause} ({counts[cause]}): '
                f'{REJECTIONS[cause]}'
            )
            for cause in rejections(fresh)
        }
        happened |= {
            cause: WORDS[cause] for cause in ('restarts', 'estimates_not_finite') if fresh[cause]
        }
        interruption = arrivals.interruption
        if interruption is not None and interruption is not self._interruption:
            happened[interruption.cause] = f'On {self._topic}: {interruption.words}'
        self._interruption = interruption
        self._clock = ''
        if simulated:
            self._clock = 'clock_stands' if self._shown == now_ns else ''
            self._clock = self._clock if now_ns else 'no_clock'
        self._shown, self._simulated = now_ns, simulated
        return happened

    def _measure_rate(self, used: int, arrived_s: float, stamp_ns: int) -> None:
        """
        Measure the rate over whole intervals between messages; NaN after a silence.

        The greater one by clock and stamps counts: a bag may be played slowly, stamps may jump.
        """
        by_clock = arrived_s - self._newest[0]
        by_stamps = (stamp_ns - self._newest[1]) / 1e9
        self._newest = (arrived_s if used else math.nan), stamp_ns
        self._usable_hz = math.nan
        if used and not math.isnan(by_clock):
            rates = (used / each for each in (by_clock, by_stamps) if each > 0)
            self._usable_hz = max(rates, default=math.inf)

    def health(
        self,
        heard: Health,
        counts: Counter[str],
        arrivals: Arrivals,
        now_ns: int,
        complaints: Mapping[str, str],
    ) -> Health:
        """Add the health of the messages to what the subscription shows and was ``heard``."""
        known = arrivals.newest_ns and now_ns
        age_s = (now_ns - arrivals.newest_ns) / 1e9 if known else math.nan
        if now_ns != self._shown_ns:
            self._shown_ns, self._shown_since_ns = now_ns, perf_counter_ns()
        # By nine tenths of the silence that counts, so that this has its cause at once.
        stood_ns = perf_counter_ns() - self._shown_since_ns
        stands = (
            self._simulated and now_ns and not heard.is_live and stood_ns > 9e8 * heard.timeout_s
        )
        if counts['used'] != self._good['used']:
            self._good = counts
        unused = rejections(self._fresh)
        found = dict(complaints)
        if arrivals.frame != arrivals.newest_frame:
            words = WORDS['frame_changed'].format(
                topic=self._topic, frame=arrivals.frame, newest=arrivals.newest_frame
            )
            found = {'frame_changed': words, **found}
        # A lone wild stamp is not used, and a bag that is played has a clock of its own.
        if not (self._simulated or arrivals.unused) and age_s < -InputLimits.most_ahead_s:
            span = format_duration(-age_s)
            found['stamps_ahead'] = WORDS['stamps_ahead'].format(topic=self._topic, span=span)
        heard.unused_s = min((perf_counter_ns() - arrivals.good_ns) / 1e9, heard.unused_s)
        heard.usable_rate_hz = self._usable_hz
        heard.rejected = rejections(counts - self._good)
        heard.rejected_share = sum(unused.values()) / max(self._fresh['received'], 1)
        heard.rejected_most = max(unused, key=unused.__getitem__, default='')
        heard.clock = self._clock or ('clock_stands' if stands else '')
        heard.stamp_age_s = age_s
        heard.complaints = found
        heard.interruption = arrivals.interruption
        return heard
