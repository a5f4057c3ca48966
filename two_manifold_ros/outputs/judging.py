# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what a filter node knows of itself to one reason and one level."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.outputs.diagnostics import Level

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate

SLOWEST = 0.8
"""Share of the model's rate below which too many ticks have no sample."""


@dataclass(frozen=True)
class Facts:
    """
    What the node knows when it judges itself.

    Parameters
    ----------
    trouble
        Why it is not configured; empty if it is.
    managed
        Whether somebody else configures and activates it.
    active, enabled
        Whether the lifecycle and the service let it publish.
    sensor, msgtype
        What is listened to, in a word, and its type.
    topic
        Full name of its topic.
    silence_s
        Seconds since its last message, or since activation if none came.
    timeout_s
        How long a silence may be.
    received
        Whether any message came since activation.
    publishers
        Types with which the topic is published, one per publisher.
    incompatible
        Name of the quality-of-service policy over which a publisher and the node disagree.
    imu_rate_hz
        How many messages a second can be used; NaN while unknown.
    model_rate_hz
        How many the model needs.
    all_rejected
        Causes for which every sample of the last second was rejected; empty if one was used.
    filter_why
        The filter's own words.
    latest
        The newest estimate since the filter last started anew.

    """

    trouble: str = ''
    managed: bool = False
    active: bool = True
    enabled: bool = True
    sensor: str = 'IMU'
    msgtype: str = 'sensor_msgs/msg/Imu'
    topic: str = '/imu'
    silence_s: float = 0.0
    timeout_s: float = 1.0
    received: bool = True
    publishers: tuple[str, ...] = ()
    incompatible: str = ''
    imu_rate_hz: float = math.nan
    model_rate_hz: float = 0.0
    all_rejected: str = ''
    filter_why: str = ''
    latest: Estimate | None = None

    @property
    def present(self) -> Estimate | None:
        """The newest estimate as long as new ones may come, and ``None`` otherwise."""
        wanted = self.active and self.enabled and not self.trouble
        return self.latest if wanted and self.heard else None

    @property
    def heard(self) -> bool:
        """Whether messages come."""
        return self.received and self.silence_s <= self.timeout_s


class Judgement(NamedTuple):
    """
    The reason for the present state.

    Parameters
    ----------
    level
        Whether somebody has to act.
    cause
        The reason as one word, the same as long as the reason is.
    why
        The reason as one sentence.

    """

    level: Level
    cause: str
    why: str


def judge(facts: Facts) -> Judgement:
    """Return the reason nearest to the root of why something, or nothing, is published."""
    if facts.trouble:
        return Judgement(Level.ERROR, 'unconfigured', facts.trouble)
    if not facts.active:
        if facts.managed:
            why = 'not active: waiting for the lifecycle manager'
        else:
            why = 'not active: it was deactivated by a lifecycle transition'
        return Judgement(Level.WARN, 'inactive', why)
    if not facts.enabled:
        why = 'disabled by the service enable: call it again with data: true'
        return Judgement(Level.WARN, 'disabled', why)
    if facts.heard:
        return _judge_samples(facts) or judge_estimate(facts.latest, facts.filter_why)
    return _judge_silence(facts)


def _judge_samples(facts: Facts) -> Judgement | None:
    if facts.all_rejected:
        why = f'every {facts.sensor} sample of the last second was rejected: {facts.all_rejected}'
        return Judgement(Level.ERROR, 'rejected', why)
    if facts.imu_rate_hz < SLOWEST * facts.model_rate_hz:
        why = (
            f'usable {facts.sensor} messages come on {facts.topic} at only '
            f'{facts.imu_rate_hz:.1f} Hz, but the model needs '
            f'{facts.model_rate_hz:g} Hz: set the driver to a higher rate'
        )
        return Judgement(Level.WARN, 'too_slow', why)
    return None


def _judge_silence(facts: Facts) -> Judgement:
    mistake = _judge_publishers(facts)
    if mistake is None and facts.silence_s <= facts.timeout_s:
        why = f'waiting for the first {facts.sensor} message on {facts.topic}'
        return Judgement(Level.WARN, 'waiting', why)
    cause, reason = mistake or ('no_input', 'its publisher is there but silent')
    if mistake is None and not facts.publishers:
        name = facts.sensor.lower()
        cause = 'no_publisher'
        reason = f'nobody publishes it; remap {name} to the topic of the driver'
    silent = f'no {facts.sensor} message on {facts.topic} for {facts.silence_s:.1f} s'
    return Judgement(Level.ERROR, cause, f'{silent}: {reason}')


def _judge_publishers(facts: Facts) -> tuple[str, str] | None:
    """Return cause and reason if nothing can ever come from those who publish the topic."""
    types = sorted(set(facts.publishers))
    if types and facts.msgtype not in types:
        return 'wrong_type', f'it is published as {", ".join(types)}, not as {facts.msgtype}'
    if facts.incompatible:
        return 'incompatible', f'its publisher offers an incompatible {facts.incompatible}'
    return None


def judge_estimate(latest: Estimate | None, why: str) -> Judgement:
    """
    Return the reason that lies in the newest estimate.

    Parameters
    ----------
    latest
        The newest estimate since the last reset.
    why
        The filter's own words.

    """
    if latest is None:
        return Judgement(Level.WARN, 'filling', why)
    if latest.status in {Status.LOST, Status.REFUSED}:
        return Judgement(Level.ERROR, latest.cause, why)
    if latest.status is Status.TRACKING:
        return Judgement(Level.OK, 'tracking', why)
    return Judgement(Level.WARN, latest.cause, why)
