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
    from two_manifold_ros.filtering.status import Finding


OUT_OF_RANGE, ZERO_STAMP, DUPLICATE_STAMP = 'out_of_range', 'zero_stamp', 'duplicate_stamp'

REJECTIONS = {
    'malformed': 'the bytes are no message of this type: compare the definitions on both sides',
    'non_finite': 'a value is NaN or infinite: look at the driver',
    OUT_OF_RANGE: 'a value is far beyond all that is possible: look at driver and units',
    ZERO_STAMP: 'the stamp is zero: have the driver set it, or set use_receive_time',
    DUPLICATE_STAMP: 'the stamp is that of another message: look at the clock of the driver',
    'out_of_order': 'the stamp is older than others that came before: set reorder_s',
    'wild_stamp': 'a single stamp is far from all others: look at the clock of the driver',
}
"""Words by cause; the causes are names of counters."""


def rejections(counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many messages were not used, by cause."""
    return {cause: counts[cause] for cause in REJECTIONS if counts.get(cause)}


_YEAR_S = 31_556_952.0
_UNITS = ((_YEAR_S, 'years'), (86_400.0, 'days'), (3600.0, 'hours'), (60.0, 'minutes'))


def span(seconds: float) -> str:
    """Return a span in the largest unit of which it has two, for example ``'57 years'``."""
    for unit_s, name in _UNITS:
        if seconds >= 2.0 * unit_s:
            count = seconds / unit_s
            return f'{count:.2g} {name}' if count < 10.0 else f'{count:.0f} {name}'
    return f'{seconds:.3g} s'


class Publisher(NamedTuple):
    """
    Somebody who publishes a topic.

    Parameters
    ----------
    msgtype
        As what.
    node
        Full name of the node; empty if it is not known.

    """

    msgtype: str
    node: str = ''


class Interruption(NamedTuple):
    """
    Why the filter began anew or coasted.

    Parameters
    ----------
    cause
        Of ``INTERRUPTION_WORDS``.
    seconds
        How long, or by how much.

    """

    cause: str
    seconds: float


@dataclass(frozen=True)
class Facts:
    """
    What a node that filters knows of itself.

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
    barren_s
        Seconds since the last message that was used, or since activation.
    publishers
        Who publishes the topic.
    elsewhere
        Other topics that are published as its type, where nobody ever published this one.
    incompatible
        Name of the quality-of-service policy over which a publisher and the node disagree.
    usable_rate_hz
        How many messages a second can be used; NaN while unknown.
    model_rate_hz
        How many the model needs.
    rejected
        Messages by cause that were not used since the last one that was.
    share_rejected, mostly
        Share of the messages of the last second that were not used, and the cause of most.
    clock
        Cause of ``CLOCK_WORDS``; empty if the node's own clock goes.
    stamp_age_s
        How far the newest stamp is behind the node's own clock; NaN while unknown.
    oddities
        Sentences by cause about headers of the messages.
    status, cause, why
        The filter's own words.
    finding
        The gravest thing that is wrong with the samples.
    interruption
        The last one since the filter was reset.
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
    barren_s: float = 0.0
    publishers: tuple[Publisher, ...] = ()
    elsewhere: tuple[str, ...] = ()
    incompatible: str = ''
    usable_rate_hz: float = math.nan
    model_rate_hz: float = 0.0
    rejected: Mapping[str, int] = field(default_factory=dict)
    share_rejected: float = 0.0
    mostly: str = ''
    clock: str = ''
    stamp_age_s: float = math.nan
    oddities: Mapping[str, str] = field(default_factory=dict)
    status: Status = Status.WAITING
    cause: str = 'waiting'
    why: str = ''
    finding: Finding | None = None
    interruption: Interruption | None = None
    latest: Estimate | None = None

    @property
    def heard(self) -> bool:
        """Whether messages come."""
        return self.received and self.silence_s <= self.timeout_s
