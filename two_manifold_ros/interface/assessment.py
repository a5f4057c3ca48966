# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Assess the health of a node: one status, one cause, one level, and the messages that say so."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
import math
import re
from typing import Any, NamedTuple, TYPE_CHECKING

from two_manifold_ros.filtering.status import Finding, LOOK_FOR_LOST, Status, USABLE
from two_manifold_ros.interface.messages import header, labelled_array, Message
from two_manifold_ros.names import NO_ROUTE

if TYPE_CHECKING:
    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.model.model import ModelHead


REJECTIONS = {
    'malformed': 'the bytes are not a message of this type: compare the definitions on both sides',
    'non_finite': 'a value is NaN or infinite: look at the driver',
    'out_of_range': 'a value is far beyond the possible range: check the driver and its units',
    'zero_stamp': 'the stamp is zero: have the driver set it, or set use_receive_time',
    'duplicate_stamp': 'another message has the same stamp: look at the clock of the driver',
    'out_of_order': 'the stamp is older than the stamp of an earlier message: set reorder_s',
    'wild_stamp': 'a single stamp is far from all others: look at the clock of the driver',
}
"""Words by cause of rejection; the causes are names of counters."""

REMAP = 'remap imu to the topic of the driver'

WORDS = {
    **REJECTIONS,
    # The node is in none of the states.
    'inactive': 'not active: activate it by a lifecycle transition',
    'managed': 'not active: waiting for the lifecycle manager',
    'disabled': 'disabled by the service enable: call it again with data: true',
    # No message comes.
    'waiting': 'waiting for the first IMU message on {0.topic}',
    'wrong_type': f'it is published as {{types}}, not as {{0.msgtype}}; {REMAP}',
    'incompatible': 'its publisher offers an incompatible {0.incompatible}',
    'publisher_gone': 'its publisher has gone: start it again',
    'no_publisher': f'it has no publisher; {REMAP}',
    'silent': 'its publisher is there but silent',
    # The clock of the node does not go.
    'no_clock': 'use_sim_time is true, but no time came on /clock yet: start its publisher',
    'clock_stands': 'use_sim_time is true, but the time on /clock stands still: resume its source',
    # The filter restarted or coasted.
    'gap': 'no usable message came for {span}: look at the driver and its cable',
    'stepped_ahead': (
        'the stamps stepped ahead by {span}, but less time passed: a clock was '
        'set, or another recording started'
    ),
    'stepped_back': (
        'the stamps stepped back by {span}, or stood for as long: a clock was set, or a recording '
        'was paused or started again'
    ),
    # Odd in any state.
    'several_publishers': (
        '{count} publishers are on {0.topic} ({names}) and their messages are mixed: stop all but '
        'one or remap imu{killed}'
    ),
    'too_slow': (
        'usable IMU messages come on {0.topic} at only {0.usable_rate_hz:.1f} Hz, but the '
        'model needs {0.rate_hz:g} Hz: {reason}'
    ),
    'rejected': (
        '{0.rejected_share:.0%} of the IMU messages on {0.topic} are not used, most for '
        '{0.rejected_most}: {reason}'
    ),
    'shared_output': (
        '{topic}{others} also published by {names}, and subscribers receive a mixture: stop all '
        'but one of these nodes, or start each in its own namespace (-r __ns:=/NAME)'
    ),
    # Headers and content of the messages.
    'frame': (
        '{topic} is in frame {frame!r} but training was in {trained!r}: estimates are wrong if '
        'the axes differ'
    ),
    'frame_changed': (
        'messages on {topic} started in frame {frame!r} and are now in {newest!r}, whose axes may '
        'differ: call reset if that is intended'
    ),
    'other_topic': (
        'training was on {trained}, and {trained} is published beside {topic}: remap imu to '
        '{trained}, as one of them may be filtered or without gravity'
    ),
    'not_measured': (
        '{topic} declares its {part} as not measured (covariance -1), but the model needs it: '
        'check the driver'
    ),
    'stamps_ahead': (
        'the stamps on {topic} are {span} ahead of the clock of this node, and so are the stamps '
        'of all that it publishes; tf2 and other nodes do not find them at their own time: set '
        'the clocks of both machines alike'
    ),
    # Log alone.
    'restarts': 'The belief contradicted itself and restarted from the last window',
    'estimates_not_finite': 'Estimates that are not finite were withheld, please report it',
}
"""What happened and what to do, by cause; {0} is the `Health`, spans are by `format_duration`."""


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


@dataclass
class Health:
    """State of a node with an input, of its messages, of the clocks and of its filter."""

    msgtype: str = 'sensor_msgs/msg/Imu'
    topic: str = '/imu'
    # Since the last message, or since activation if none came; and the longest allowed.
    silence_s: float = 0.0
    timeout_s: float = 1.0
    # Whether any message came since activation.
    received: bool = True
    publishers: tuple[Publisher, ...] = ()
    # Quality-of-service policy over which a publisher and the node disagree.
    incompatible: str = ''
    # Since the last message that was used, or since activation.
    unused_s: float = 0.0
    usable_rate_hz: float = math.nan
    # Messages by cause that were not used since the last one that was.
    rejected: Mapping[str, int] = field(default_factory=dict)
    # Share of the messages of the last second that were not used, and the cause of most.
    rejected_share: float = 0.0
    rejected_most: str = ''
    # Cause of ``WORDS``; empty if the own clock of the node runs.
    clock: str = ''
    # How far the newest stamp is behind the own clock of the node.
    stamp_age_s: float = math.nan
    # Sentences by cause about headers and content of the messages.
    complaints: Mapping[str, str] = field(default_factory=dict)
    # Why the filter restarted or coasted the last time since it was reset.
    interruption: Finding | None = None
    # Of the filter; the finding is the gravest thing that is wrong with the samples.
    status: Status = Status.WAITING
    cause: str = 'waiting'
    why: str = ''
    finding: Finding | None = None
    # Messages per second that the model needs, and the newest estimate since a restart.
    rate_hz: float = 0.0
    latest: Estimate | None = None
    # Why the node is not configured; empty if it is.
    trouble: str = ''
    # Whether another node configures it: not to be configured is no error then, unless it failed.
    managed: bool = False
    failed: bool = False
    configuring: bool = False
    # Whether the lifecycle and the service let it publish.
    active: bool = True
    enabled: bool = True
    # Topics of the node that other nodes publish too, and the names of these nodes.
    shared_outputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    # Durations of callbacks, microseconds by quantile.
    durations: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_live(self) -> bool:
        """True if messages come."""
        return self.received and self.silence_s <= self.timeout_s

    def with_filter(self, live: Filter, rate_hz: float) -> Health:
        """Return this with the state of a filter, and its model's rate."""
        state = {**live.said._asdict(), 'latest': live.latest}
        return replace(self, finding=live.finding, rate_hz=rate_hz, **state)


class Level(IntEnum):
    """Levels of ``diagnostic_msgs/DiagnosticStatus``."""

    OK, WARN, ERROR = range(3)


LEVELS = {
    **dict.fromkeys(Status, Level.WARN),
    Status.TRACKING: Level.OK,
    **dict.fromkeys((Status.LOST, Status.NO_DATA, Status.REFUSED), Level.ERROR),
}
"""Level of a status; of ``TRACKING`` it is ``WARN`` where something is odd all the same."""


class InputLimits:
    """Limits from which the input is assessed as bad; see ``docs/states.md``."""

    # Share of the model's rate below which too many ticks have no sample.
    least_rate_share = 0.8
    # Messages in a row that were not used after which the input is refused, or sooner by time.
    most_in_a_row = 20
    # Share of messages not used above which there is a warning.
    most_rejected_share = 0.05
    # Seconds by which stamps may be ahead of the own clock: Nav2 waits for a transform as long.
    most_ahead_s = 1.0
    # Seconds in which publishers are found and their first message comes: usually one to three.
    discovery_s = 5.0


class Assessment(NamedTuple):
    """
    Whether the operator has to act, the status, its cause, and both as a sentence.

    The status is ``None`` outside the states; the cause is empty if all is well.
    """

    level: Level
    status: Status | None
    cause: str
    why: str


def assess(health: Health) -> Assessment:
    """Return how a node is, and the reason nearest to the root."""
    unconfigured = Level.WARN if health.managed and not health.failed else Level.ERROR
    idle = WORDS['managed' if health.managed else 'inactive']
    for applies, level, cause, why in (
        (health.configuring, Level.WARN, 'configuring', health.trouble),
        (health.trouble, unconfigured, 'unconfigured', health.trouble),
        (not health.active, Level.WARN, 'inactive', idle),
        (not health.enabled, Level.WARN, 'disabled', WORDS['disabled']),
    ):
        if applies:
            return Assessment(level, None, cause, why)
    return assess_silence(health) or _assess_unused(health) or _assess_filter(health)


def as_the_node(live: Filter, estimate: Estimate) -> Estimate:
    """Return an estimate of ``live`` with the state, cause and sentence that a node would show."""
    if live.finding is None:
        return estimate
    state = {name: getattr(estimate, name) for name in ('status', 'cause', 'why')}
    shown = assess(Health(finding=live.finding, **state))
    return replace(
        estimate, status=shown.status or estimate.status, cause=shown.cause, why=shown.why
    )


def assess_offline(
    live: Filter, topic: str, span_ns: int, before: Mapping[str, int] | None = None
) -> Assessment:
    """Return how a node would be after a part of a recording, from its counters ``before``."""
    counts, seconds = live.counters - Counter(before or {}), span_ns * 1e-9
    aside, used = rejections(counts), counts['used']
    heard = Health(
        topic=topic,
        unused_s=0.0 if used else seconds,
        usable_rate_hz=used / seconds if seconds > 0.0 else math.nan,
        rejected={} if used else aside,
        rejected_share=sum(aside.values()) / max(counts['received'], 1),
        rejected_most=max(aside, key=aside.__getitem__, default=''),
    )
    return assess(heard.with_filter(live, live.running.rate_hz))


def oddities(health: Health) -> dict[str, str]:
    """Return warnings by cause that apply in any state, the gravest first."""
    found = {}
    senders = [each.node for each in health.publishers if each.msgtype == health.msgtype]
    if health.is_live and len(senders) > 1:
        found['several_publishers'] = WORDS['several_publishers'].format(
            health,
            count=len(senders),
            names=', '.join(name or 'unnamed' for name in senders),
            # One that was killed is there until its lease ends: ten to twenty seconds.
            killed=', or wait if one was killed just now' if len({*senders}) == 1 else '',
        )
    if health.is_live:
        rejected = ''
        if health.rejected_share > InputLimits.most_rejected_share:
            reason = _reason(health, health.rejected_most)[1]
            rejected = WORDS['rejected'].format(health, reason=reason)
        if health.usable_rate_hz < InputLimits.least_rate_share * health.rate_hz:
            reason = rejected or 'set the driver to a higher rate'
            found['too_slow'] = WORDS['too_slow'].format(health, reason=reason)
        found.update(health.complaints)
        if rejected:
            found[health.rejected_most] = rejected
        # Whose publisher has gone is about to be missed: then one sentence is enough.
        if health.clock and health.publishers:
            found[health.clock] = WORDS[health.clock]
    if health.shared_outputs:
        (topic, nodes), *more = health.shared_outputs.items()
        names = ', '.join(name or 'an unnamed node' for name in nodes)
        others = f' and {len(more)} more topics of this node are' if more else ' is'
        words = WORDS['shared_output'].format(topic=topic, others=others, names=names)
        found['shared_output'] = words
    return found


def _reason(health: Health, cause: str) -> tuple[str, str]:
    """Return cause and words of a rejection, nearer to the root where that is known."""
    if cause == 'out_of_range' and health.finding is not None:
        return health.finding.cause, health.finding.words
    return cause, WORDS[cause]


def assess_silence(health: Health) -> Assessment | None:
    """Return why no message comes, if none does."""
    if health.is_live:
        return None
    types = sorted({each.msgtype for each in health.publishers})
    patience_s = max(health.timeout_s, 0.0 if health.received else InputLimits.discovery_s)
    causes = {
        'wrong_type': types and health.msgtype not in types,
        'incompatible': health.incompatible,
        'waiting': health.silence_s <= patience_s,
        # What played a bag played its clock as well: that this stands is no other trouble.
        'publisher_gone': health.received and not types,
        'no_publisher': not types,
        health.clock: health.clock,
        'silent': True,
    }
    cause = next(cause for cause, applies in causes.items() if applies)
    words = WORDS[cause].format(health, types=', '.join(types))
    if cause == 'waiting':
        return Assessment(Level.WARN, Status.WAITING, cause, words)
    status = Status.NO_DATA if health.received else Status.WAITING
    silent = f'no IMU message on {health.topic} for {health.silence_s:.1f} s'
    return Assessment(Level.ERROR, status, cause, f'{status.value}: {silent}: {words}')


def _assess_unused(health: Health) -> Assessment | None:
    """Return why what comes is not used any more, or not yet again, or gives no estimate."""
    count, is_late = sum(health.rejected.values()), health.unused_s > health.timeout_s
    if count >= InputLimits.most_in_a_row or (count and is_late):
        cause, words = _reason(health, max(health.rejected, key=health.rejected.__getitem__))
        if cause in {'zero_stamp', 'duplicate_stamp'} and health.clock:
            cause, words = health.clock, WORDS[health.clock]
        counts = ', '.join(f'{each} {name}' for name, each in health.rejected.items())
        words = f'no IMU sample was used for {health.unused_s:.1f} s ({counts}): {words}'
    elif is_late and health.status in USABLE:
        # The status of the filter is old, for its input has only just come back.
        why = (
            f'{Status.NO_DATA.value}: no IMU message on {health.topic} for '
            f'{health.unused_s:.1f} s until now: it is used once the next one follows it in time'
        )
        return Assessment(LEVELS[Status.NO_DATA], Status.NO_DATA, 'silent', why)
    elif health.finding is not None and health.finding.refuses and health.status not in USABLE:
        cause, words, _ = health.finding
        # A mixture of two drivers may look like nearly any finding.
        mixed = oddities(health).get('several_publishers')
        words += f'; {mixed}' if mixed else ''
    else:
        return None
    return Assessment(Level.ERROR, Status.REFUSED, cause, f'{Status.REFUSED.value}: {words}')


def imu_complaints(
    message: Any,  # noqa: ANN401 - a sensor_msgs/Imu
    model: ModelHead,
    trained: str,
    topic: str,
    is_published: Callable[[str], bool],
) -> dict[str, str]:
    """
    Return sentences by cause about a message that does not fit the model, and about its topic.

    A covariance of -1 says that the driver does not measure something (REP-145). ``trained`` is
    the topic of the training, maybe in the namespace of another robot: it is missed if another
    topic with its last name is published beside this one, such as ``data_raw`` beside ``data``.
    """
    found, frame = {}, message.header.frame_id
    beside = topic.rpartition('/')[0] + '/' + trained.rpartition('/')[2]
    if trained.startswith('/') and beside != topic and is_published(beside):
        found['other_topic'] = WORDS['other_topic'].format(trained=beside, topic=topic)
    if frame and model.imu_frame_id not in {'', frame}:
        words = WORDS['frame']
        found['frame'] = words.format(topic=topic, frame=frame, trained=model.imu_frame_id)
    for part in ('linear_acceleration', 'angular_velocity'):
        used = any(channel.startswith(part) for channel in model.live_channels)
        if used and getattr(message, f'{part}_covariance')[0] == -1.0:
            found[f'{part}_not_measured'] = WORDS['not_measured'].format(topic=topic, part=part)
    return found


def _assess_filter(health: Health) -> Assessment:
    interruption = health.interruption
    own = Assessment(LEVELS[health.status], health.status, health.cause, health.why)
    if interruption is not None and health.cause in {'filling', 'gap'}:
        # What interrupted it is known, so that nothing has to be looked for.
        known = health.why.removesuffix(LOOK_FOR_LOST)
        own = own._replace(cause=interruption.cause, why=f'{known}; {interruption.words}')
    for cause, sentence in oddities(health).items():
        # These may cause anything that the filter complains of, or has yet to notice.
        is_root = cause in {'several_publishers', 'too_slow', 'frame_changed'}
        if own.level is not Level.OK:
            if is_root and health.status is not Status.REFUSED:
                status = f'{health.status.value}: '
                why = f'{status}{sentence}; {own.why.removeprefix(status)}'
                return own._replace(cause=cause, why=why)
        elif is_root:
            why = f'{Status.UNSURE.value}: {sentence}'
            return Assessment(Level.WARN, Status.UNSURE, cause, why)
        else:
            return Assessment(Level.WARN, health.status, cause, f'{health.why}, but {sentence}')
    return own


OUTSIDE = -1
"""Code of a node that is unconfigured, inactive or disabled: it is in none of the states."""

CODES = {status: code for code, status in enumerate(Status)}
"""Codes of the states, in the order of the way from the first sample to tracking."""

COUNTS = ('received', 'used', 'waiting', 'published', 'gaps', 'resets', 'restarts', *REJECTIONS)
"""``received`` is the sum of ``used``, ``waiting`` and the rejections."""

NUMBERS = (
    'status', 'valid', 'level', 'evidence', 'novelty', 'off_route', 'ellipse_m',
    'ticks_since_good_sample', 'input_rate_hz', 'estimate_rate_hz', 'stamp_age_s',
    'processing_p50_us', 'processing_p99_us', 'processing_max_us', *COUNTS,
    'route_number', 'route_chance',
)  # fmt: skip
"""Numbers on the topic ``status``, in this order, after the stamp."""


def status_message(stamp_ns: int, numbers: Mapping[str, float]) -> Message:
    """
    Return ``std_msgs/Float64MultiArray``, see `labelled_array`, of always the same layout.

    Numbers are by names of ``NUMBERS``; those that are not given are NaN, which means unknown.
    """
    return labelled_array(stamp_ns, {name: numbers.get(name, math.nan) for name in NUMBERS})


def estimate_numbers(estimate: Estimate | None) -> dict[str, float]:
    """Return what a status states of the newest estimate; NaN where there is none."""
    names = 'evidence', 'novelty', 'off_route', 'ellipse_m'
    numbers = {
        'valid': estimate is not None and estimate.valid,
        **{name: getattr(estimate, name) if estimate else math.nan for name in names},
    }
    if estimate is not None and estimate.name:
        # As numbers can say it: counted from 0 in the order of the topic ``routes``.
        numbers['route_number'] = list(estimate.chances).index(estimate.name)
        numbers['route_chance'] = estimate.chances[estimate.name]
    return numbers


LEAST_CHANCE = 0.01
"""Of a route to be in the diagnostics, where fifty would not be read."""


def routes_message(estimate: Estimate) -> Message:
    """Return ``std_msgs/Float64MultiArray``: the chance of each known route, and of none."""
    none = max(1.0 - sum(estimate.chances.values()), 0.0)
    return labelled_array(estimate.stamp_ns, {**estimate.chances, NO_ROUTE: none})


def diagnostics_message(
    stamp_ns: int,
    name: str,
    level: Level,
    why: str,
    values: Mapping[str, float | str],
    hardware: str = '',
) -> Message:
    """Return ``diagnostic_msgs/DiagnosticArray`` with one status of the node of a name."""
    shown = {key: str(value) for key, value in values.items()}
    for key, value in values.items():
        if isinstance(value, float):
            shown[key] = f'{value:.6g}' if math.isfinite(value) else 'unknown'
    status = {
        'level': int(level),
        'name': name,
        'message': why,
        'hardware_id': hardware,
        'values': [{'key': key, 'value': text} for key, text in shown.items()],
    }
    return {'header': header(stamp_ns, ''), 'status': [status]}


def capitalised(sentence: str) -> str:
    """Return a sentence with a capital, unless it starts with a name, which stays as it is."""
    # A file, a topic or a parameter; or a file with blanks in its name, which a colon follows.
    if re.match(r'\S*[/\\_]|[^\s.]*\.[.,:;]*[^\s.,:;]|[^:]*\.[A-Za-z]\w*:', sentence):
        return sentence
    return f'{sentence[:1].upper()}{sentence[1:]}'


class ThrottledLog:
    """
    Turn the causes that are present now into few log lines.

    A cause that lasts is warned of at most once in ``repeat_s`` seconds, and one that keeps coming
    back ``most`` times: with one, a second outage in half a minute would be missing in the log.
    """

    repeat_s, most = 30.0, 3

    def __init__(self, warn: Callable[[str], object], info: Callable[[str], object]) -> None:
        self._warn, self._info = warn, info
        # When each cause was warned of lately.
        self._said_s: dict[str, deque[float]] = {}
        # Of the causes that are present, since when, the newest sentence, and whether it was said.
        self._present: dict[str, tuple[float, str, bool]] = {}

    def update(self, present: Mapping[str, str], now_s: float) -> None:
        """Warn of causes that are new, by their sentences, and log which are over."""
        for cause, sentence in present.items():
            begun_s, _, said = self._present.get(cause, (now_s, '', False))
            times = self._said_s.setdefault(cause, deque(maxlen=self.most))
            lately = sum(now_s - each < self.repeat_s for each in times)
            if lately < (1 if cause in self._present else self.most):
                times.append(now_s)
                said = True
                self._warn(sentence)
            # Its numbers are the newest, as in the diagnostics: at the first moment they are 1.
            self._present[cause] = begun_s, sentence, said
        for cause in [each for each in self._present if each not in present]:
            begun_s, sentence, said = self._present.pop(cause)
            if said:
                self._info(f'Over after {now_s - begun_s:.1f} s: {sentence}')
