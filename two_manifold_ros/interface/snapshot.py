# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Health snapshot: what a node knows when it assesses itself."""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.filtering.status import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.filtering.status import Finding


REJECTIONS = {
    'malformed': 'the bytes are no message of this type: compare the definitions on both sides',
    'non_finite': 'a value is NaN or infinite: look at the driver',
    'out_of_range': 'a value is far beyond all that is possible: look at driver and units',
    'zero_stamp': 'the stamp is zero: have the driver set it, or set use_receive_time',
    'duplicate_stamp': 'the stamp is that of another message: look at the clock of the driver',
    'out_of_order': 'the stamp is older than others that came before: set reorder_s',
    'wild_stamp': 'a single stamp is far from all others: look at the clock of the driver',
}
"""Words by cause of rejection; the causes are names of counters."""


def rejections(counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many messages were not used, by cause."""
    return {cause: counts[cause] for cause in REJECTIONS if counts.get(cause)}


def format_duration(seconds: float) -> str:
    """Return a duration in the largest unit of which it has two, such as ``'57 years'``."""
    units = {'years': 31_556_952.0, 'days': 86_400.0, 'hours': 3600.0, 'minutes': 60.0}
    for name, unit_s in units.items():
        if seconds >= 2.0 * unit_s:
            count = seconds / unit_s
            return f'{count:.2g} {name}' if count < 10.0 else f'{count:.0f} {name}'
    return f'{seconds:.3g} s'


class Publisher(NamedTuple):
    """Type that a topic is published as, and full name of the node, empty if unknown."""

    msgtype: str
    node: str = ''


class Interruption(NamedTuple):
    """Why the filter restarted or coasted (of ``INTERRUPTION_WORDS``), and how long or how far."""

    cause: str
    seconds: float


INTERRUPTION_WORDS = {
    'gap': 'no usable message came for {span}: look at the driver and its cable',
    'stepped_ahead': (
        'the stamps stepped ahead by {span} while hardly any time passed: a clock was '
        'set, or another recording began'
    ),
    'stepped_back': (
        'the stamps stepped back by {span}: a clock was set, or a recording began anew'
    ),
}
"""Why the filter restarted or coasted, by cause; see ``format_duration``."""

CLOCK_WORDS = {
    'no_clock': 'use_sim_time is true, but nothing came on /clock yet: start what publishes it',
    'clock_stands': 'use_sim_time is true, but the time on /clock stands still: let it go on',
}
"""Why the clock of the node does not go, by cause."""


@dataclass(frozen=True)
class TopicHealth:
    """
    State of a subscribed topic.

    Parameters
    ----------
    sensor, msgtype, topic
        The sensor in a word, its type and the full name of its topic.
    silence_s, timeout_s
        Seconds since its last message, or since activation if none came, and the longest allowed.
    received
        Whether any message came since activation.
    publishers, elsewhere
        Publishers of the topic; other topics that are published as its type, where nobody ever
        published this one.
    incompatible
        Name of the quality-of-service policy over which a publisher and the node disagree.

    """

    sensor: str = 'IMU'
    msgtype: str = 'sensor_msgs/msg/Imu'
    topic: str = '/imu'
    silence_s: float = 0.0
    timeout_s: float = 1.0
    received: bool = True
    publishers: tuple[Publisher, ...] = ()
    elsewhere: tuple[str, ...] = ()
    incompatible: str = ''

    @property
    def heard(self) -> bool:
        """Whether messages come."""
        return self.received and self.silence_s <= self.timeout_s


@dataclass(frozen=True)
class InputHealth:
    """
    State of the messages and of the clocks.

    Parameters
    ----------
    unused_s
        Seconds since the last message that was used, or since activation.
    usable_rate_hz
        Messages per second that can be used; NaN while unknown.
    rejected
        Messages by cause that were not used since the last one that was.
    rejected_share, rejected_most
        Share of the messages of the last second that were not used, and the cause of most.
    clock
        Cause of ``CLOCK_WORDS``; empty if the node's own clock runs.
    stamp_age_s
        How far the newest stamp is behind the node's own clock; NaN while unknown.
    complaints
        Sentences by cause about headers and content of the messages.
    interruption
        The last one since the filter was reset.

    """

    unused_s: float = 0.0
    usable_rate_hz: float = math.nan
    rejected: Mapping[str, int] = field(default_factory=dict)
    rejected_share: float = 0.0
    rejected_most: str = ''
    clock: str = ''
    stamp_age_s: float = math.nan
    complaints: Mapping[str, str] = field(default_factory=dict)
    interruption: Interruption | None = None


@dataclass(frozen=True)
class FilterHealth:
    """
    State of the filter.

    Parameters
    ----------
    status, cause, why
        As the filter gives them.
    finding
        The gravest thing that is wrong with the samples.
    rate_hz
        Messages per second that the model needs.
    latest
        The newest estimate since the filter last restarted.

    """

    status: Status = Status.WAITING
    cause: str = 'waiting'
    why: str = ''
    finding: Finding | None = None
    rate_hz: float = 0.0
    latest: Estimate | None = None


def filter_health(live: Filter, rate_hz: float, latest: Estimate | None) -> FilterHealth:
    """Return the state of a filter, with its model's rate and its newest estimate."""
    return FilterHealth(live.status, live.cause, live.why, live.finding, rate_hz, latest)


@dataclass(frozen=True)
class Snapshot:
    """
    State of a node that filters.

    Parameters
    ----------
    topic, input, filter
        States of its parts.
    trouble
        Why the node is not configured; empty if it is.
    managed
        Whether somebody else configures and activates it.
    active, enabled
        Whether the lifecycle and the service let it publish.

    """

    topic: TopicHealth = field(default_factory=TopicHealth)
    input: InputHealth = field(default_factory=InputHealth)
    filter: FilterHealth = field(default_factory=FilterHealth)
    trouble: str = ''
    managed: bool = False
    active: bool = True
    enabled: bool = True
