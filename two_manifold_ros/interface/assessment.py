# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From the health snapshot of a node to one status, one cause and one level."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
import math
from typing import NamedTuple, TYPE_CHECKING

from two_manifold_ros.filtering.status import Status, USABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.filtering.status import Finding


REJECTIONS = {
    'malformed': 'the bytes are not a message of this type: compare the definitions on both sides',
    'non_finite': 'a value is NaN or infinite: look at the driver',
    'out_of_range': 'a value is far beyond the possible range: check the driver and its units',
    'zero_stamp': 'the stamp is zero: have the driver set it, or set use_receive_time',
    'duplicate_stamp': 'the stamp is that of another message: look at the clock of the driver',
    'out_of_order': 'the stamp is older than that of an earlier message: set reorder_s',
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
        'set, or another recording started'
    ),
    'stepped_back': (
        'the stamps stepped back by {span}: a clock was set, or a recording started again'
    ),
}
"""Why the filter restarted or coasted, by cause; see ``format_duration``."""

CLOCK_WORDS = {
    'no_clock': 'use_sim_time is true, but no time came on /clock yet: start its publisher',
    'clock_stands': 'use_sim_time is true, but the time on /clock stands still: resume its source',
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
        Publishers of the topic; other topics that are published as its type, where this one never
        had a publisher.
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
        """True if messages come."""
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
        Whether another node configures and activates it.
    active, enabled
        Whether the lifecycle and the service let it publish.
    shared_outputs
        Topics of the node that others publish as well, and what these nodes are called.
    configuring
        Whether the ``trouble`` is that the node is about to be configured.

    """

    topic: TopicHealth = field(default_factory=TopicHealth)
    input: InputHealth = field(default_factory=InputHealth)
    filter: FilterHealth = field(default_factory=FilterHealth)
    trouble: str = ''
    managed: bool = False
    active: bool = True
    enabled: bool = True
    shared_outputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    configuring: bool = False


class Level(IntEnum):
    """Levels of ``diagnostic_msgs/DiagnosticStatus``."""

    OK = 0
    WARN = 1
    ERROR = 2


LEVELS = {
    Status.WAITING: Level.WARN,
    Status.FILLING: Level.WARN,
    Status.LOCALISING: Level.WARN,
    Status.TRACKING: Level.OK,
    Status.UNSURE: Level.WARN,
    Status.LOST: Level.ERROR,
    Status.NO_DATA: Level.ERROR,
    Status.REFUSED: Level.ERROR,
}
"""Level of a status; of ``TRACKING`` it is ``WARN`` where something is odd all the same."""


class InputLimits:
    """
    Limits from which the input is assessed as bad; see ``docs/states.md``.

    Attributes
    ----------
    least_rate_share
        Share of the model's rate below which too many ticks have no sample.
    most_in_a_row
        Messages in a row that were not used after which the input is refused, or sooner by time.
    most_rejected_share
        Share of messages not used above which there is a warning.

    """

    least_rate_share = 0.8
    most_in_a_row = 20
    most_rejected_share = 0.05


class Assessment(NamedTuple):
    """
    Health of a node: level, status, cause and reason.

    Parameters
    ----------
    level
        Whether the operator has to act.
    status
        What the node is doing; ``None`` if it is unconfigured, inactive or disabled.
    cause
        The reason as one word, the same as long as the reason is; empty if all is well.
    why
        Status and reason as one sentence.

    """

    level: Level
    status: Status | None
    cause: str
    why: str


def assess(snapshot: Snapshot) -> Assessment:
    """Return how a node is, and the reason nearest to the root."""
    return (
        _assess_lifecycle(snapshot)
        or assess_silence(snapshot.topic, snapshot.input.clock)
        or _assess_rejections(snapshot)
        or _assess_return(snapshot)
        or _assess_finding(snapshot)
        or _assess_filter(snapshot)
    )


def oddities(snapshot: Snapshot) -> dict[str, str]:
    """Return warnings by cause that apply in any state, the gravest first."""
    found = _input_oddities(snapshot) if snapshot.topic.heard else {}
    if snapshot.shared_outputs:
        (topic, nodes), *more = snapshot.shared_outputs.items()
        names = ', '.join(name or 'an unnamed node' for name in nodes)
        others = f' and {len(more)} more topics of this node are' if more else ' is'
        found['shared_output'] = (
            f'{topic}{others} also published by {names}, and subscribers receive a mixture: stop '
            'all but one of these nodes, or start each in its own namespace (-r __ns:=/NAME)'
        )
    return found


def _input_oddities(snapshot: Snapshot) -> dict[str, str]:
    found = {}
    topic, received = snapshot.topic, snapshot.input
    senders = [each.node for each in topic.publishers if each.msgtype == topic.msgtype]
    if len(senders) > 1:
        names = ', '.join(name or 'unnamed' for name in senders)
        found['several_publishers'] = (
            f'{len(senders)} publishers are on {topic.topic} ({names}) and their messages are '
            f'mixed: stop all but one or remap {topic.sensor.lower()}'
        )
    rejected = ''
    if received.rejected_share > InputLimits.most_rejected_share:
        rejected = (
            f'{received.rejected_share:.0%} of the {topic.sensor} messages on {topic.topic} are '
            f'not used, most for {received.rejected_most}: {REJECTIONS[received.rejected_most]}'
        )
    if received.usable_rate_hz < InputLimits.least_rate_share * snapshot.filter.rate_hz:
        found['too_slow'] = (
            f'usable {topic.sensor} messages come on {topic.topic} at only '
            f'{received.usable_rate_hz:.1f} Hz, but the model needs {snapshot.filter.rate_hz:g} '
            f'Hz: {rejected or "set the driver to a higher rate"}'
        )
    found.update(received.complaints)
    if rejected:
        found[received.rejected_most] = rejected
    if received.clock:
        found[received.clock] = CLOCK_WORDS[received.clock]
    return found


def _assess_lifecycle(snapshot: Snapshot) -> Assessment | None:
    if snapshot.configuring:
        return Assessment(Level.WARN, None, 'configuring', snapshot.trouble)
    if snapshot.trouble:
        return Assessment(Level.ERROR, None, 'unconfigured', snapshot.trouble)
    if not snapshot.active:
        why = 'not active: it was deactivated by a lifecycle transition'
        if snapshot.managed:
            why = 'not active: waiting for the lifecycle manager'
        return Assessment(Level.WARN, None, 'inactive', why)
    if not snapshot.enabled:
        why = 'disabled by the service enable: call it again with data: true'
        return Assessment(Level.WARN, None, 'disabled', why)
    return None


def assess_silence(topic: TopicHealth, clock: str = '') -> Assessment | None:
    """Return why no message comes, if none does; ``clock`` is a cause of ``CLOCK_WORDS``."""
    if topic.heard:
        return None
    status = Status.NO_DATA if topic.received else Status.WAITING
    types = sorted({each.msgtype for each in topic.publishers})
    if types and topic.msgtype not in types:
        cause = 'wrong_type'
        reason = f'it is published as {", ".join(types)}, not as {topic.msgtype}'
    elif topic.incompatible:
        cause = 'incompatible'
        reason = f'its publisher offers an incompatible {topic.incompatible}'
    elif topic.silence_s <= topic.timeout_s:
        why = f'waiting for the first {topic.sensor} message on {topic.topic}'
        return Assessment(Level.WARN, Status.WAITING, 'waiting', why)
    elif not topic.publishers:
        cause = 'no_publisher'
        reason = f'it has no publisher; remap {topic.sensor.lower()} to the topic of the driver'
        if topic.elsewhere:
            reason += f', {" or ".join(topic.elsewhere)}'
    elif clock:
        cause, reason = clock, CLOCK_WORDS[clock]
    else:
        cause, reason = 'silent', 'its publisher is there but silent'
    silent = f'no {topic.sensor} message on {topic.topic} for {topic.silence_s:.1f} s'
    return Assessment(Level.ERROR, status, cause, f'{status.value}: {silent}: {reason}')


def _assess_rejections(snapshot: Snapshot) -> Assessment | None:
    """Return the reason if messages come but none of them is used any more."""
    received, finding = snapshot.input, snapshot.filter.finding
    count = sum(received.rejected.values())
    if count < InputLimits.most_in_a_row and not (count and _is_unused(received, snapshot.topic)):
        return None
    cause = max(received.rejected, key=received.rejected.__getitem__)
    words = REJECTIONS[cause]
    # Nearer to the root where that is known.
    if cause == 'out_of_range' and finding is not None:
        cause, words = finding.cause, finding.words
    elif cause in {'zero_stamp', 'duplicate_stamp'} and received.clock:
        cause, words = received.clock, CLOCK_WORDS[received.clock]
    counts = ', '.join(f'{each} {name}' for name, each in received.rejected.items())
    why = (
        f'{Status.REFUSED.value}: no {snapshot.topic.sensor} sample was used for '
        f'{received.unused_s:.1f} s ({counts}): {words}'
    )
    return Assessment(Level.ERROR, Status.REFUSED, cause, why)


def _is_unused(received: InputHealth, topic: TopicHealth) -> bool:
    return received.unused_s > topic.timeout_s


def _assess_return(snapshot: Snapshot) -> Assessment | None:
    """Return that the filter's status is old, if its input has only just come back."""
    topic, received = snapshot.topic, snapshot.input
    if not _is_unused(received, topic) or snapshot.filter.status not in USABLE:
        return None
    why = (
        f'{Status.NO_DATA.value}: no {topic.sensor} message on {topic.topic} for '
        f'{received.unused_s:.1f} s until now: it is used once the next one follows it in time'
    )
    return Assessment(LEVELS[Status.NO_DATA], Status.NO_DATA, 'silent', why)


def _assess_finding(snapshot: Snapshot) -> Assessment | None:
    """Return an assessment of rejected samples, where the filter gives no usable estimate."""
    finding = snapshot.filter.finding
    if finding is None or not finding.refuses or snapshot.filter.status in USABLE:
        return None
    # A mixture of two drivers may look like nearly any finding.
    mixed = oddities(snapshot).get('several_publishers')
    why = f'{Status.REFUSED.value}: {finding.words}{f"; {mixed}" if mixed else ""}'
    return Assessment(Level.ERROR, Status.REFUSED, finding.cause, why)


def _assess_filter(snapshot: Snapshot) -> Assessment:
    live, interruption = snapshot.filter, snapshot.input.interruption
    own = Assessment(LEVELS[live.status], live.status, live.cause, live.why)
    if interruption is not None and live.cause in {'filling', 'gap'}:
        words = INTERRUPTION_WORDS[interruption.cause].format(
            span=format_duration(interruption.seconds)
        )
        own = own._replace(cause=interruption.cause, why=f'{live.why}; {words}')
    for cause, sentence in oddities(snapshot).items():
        # These may cause anything that the filter complains of, or has yet to notice.
        is_root = cause in {'several_publishers', 'too_slow', 'frame_changed'}
        if own.level is not Level.OK:
            if is_root and live.status is not Status.REFUSED:
                status = f'{live.status.value}: '
                why = f'{status}{sentence}; {own.why.removeprefix(status)}'
                return own._replace(cause=cause, why=why)
        elif is_root:
            why = f'{Status.UNSURE.value}: {sentence}'
            return Assessment(Level.WARN, Status.UNSURE, cause, why)
        else:
            return Assessment(Level.WARN, live.status, cause, f'{live.why}, but {sentence}')
    return own
