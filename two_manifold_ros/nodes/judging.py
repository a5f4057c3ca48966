# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what a filter node knows of itself to one reason and one level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.filtering.estimate import Status
from two_manifold_ros.outputs.diagnostics import Level

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate

UNFAMILIAR = 4.0
"""Familiarity, a squared ratio, above which the input is unlike anything in training."""


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
    topic
        Full name of the IMU topic.
    silence_s
        Seconds since the last IMU message, or since activation if none came.
    timeout_s
        How long a silence may be.
    received
        Whether any IMU message came since activation.
    publishers
        Types with which the IMU topic is published, one per publisher.
    incompatible
        Name of the quality-of-service policy over which a publisher and the node disagree.
    all_rejected
        Causes for which every sample of the last second was rejected; empty if one was used.
    filter_why
        The filter's own words.
    latest
        The newest estimate since the last reset.

    """

    trouble: str = ''
    managed: bool = False
    active: bool = True
    enabled: bool = True
    topic: str = '/imu'
    silence_s: float = 0.0
    timeout_s: float = 1.0
    received: bool = True
    publishers: tuple[str, ...] = ()
    incompatible: str = ''
    all_rejected: str = ''
    filter_why: str = ''
    latest: Estimate | None = None


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
    return _judge_input(facts) or _judge_estimate(facts)


def _judge_input(facts: Facts) -> Judgement | None:
    if facts.received and facts.silence_s <= facts.timeout_s:
        if facts.all_rejected:
            why = f'every IMU sample of the last second was rejected: {facts.all_rejected}'
            return Judgement(Level.ERROR, 'rejected', why)
        return None
    mistake = _judge_publishers(facts)
    if mistake is None and facts.silence_s <= facts.timeout_s:
        why = f'waiting for the first IMU message on {facts.topic}'
        return Judgement(Level.WARN, 'waiting', why)
    cause, reason = mistake or ('no_input', 'its publisher is there but silent')
    if mistake is None and not facts.publishers:
        cause, reason = 'no_publisher', 'nobody publishes it; remap imu to the topic of the driver'
    silent = f'no IMU message on {facts.topic} for {facts.silence_s:.1f} s'
    return Judgement(Level.ERROR, cause, f'{silent}: {reason}')


def _judge_publishers(facts: Facts) -> tuple[str, str] | None:
    """Return cause and reason if nothing can ever come from those who publish the topic."""
    types = sorted(set(facts.publishers))
    if types and 'sensor_msgs/msg/Imu' not in types:
        return 'wrong_type', f'it is published as {", ".join(types)}, not as sensor_msgs/msg/Imu'
    if facts.incompatible:
        return 'incompatible', f'its publisher offers an incompatible {facts.incompatible}'
    return None


def _judge_estimate(facts: Facts) -> Judgement:
    latest = facts.latest
    if latest is None or not latest.valid:
        return Judgement(Level.WARN, 'filling', facts.filter_why)
    if latest.status is Status.RECOVERING:
        return Judgement(Level.WARN, 'recovering', facts.filter_why)
    if latest.familiarity > UNFAMILIAR:
        why = (
            f'tracking, but the input is unlike that of training (familiarity '
            f'{latest.familiarity:.1f}): compare units, mounting and route'
        )
        return Judgement(Level.WARN, 'unfamiliar', why)
    return Judgement(Level.OK, 'tracking', facts.filter_why)
