# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publish a node's status and diagnostics."""

from __future__ import annotations

from collections import Counter
import math
from time import monotonic, perf_counter_ns
from typing import Any, Protocol, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.acceleration import LOOPS
from two_manifold_ros.filtering.status import EXPECTED, FRAME_CHANGED, INTERRUPTION_WORDS, USABLE
from two_manifold_ros.interface.assessment import REFUSED_AFTER, suspects
from two_manifold_ros.interface.input_checks import InputRate, RosClock
from two_manifold_ros.interface.log import capitalised, Notices, rejection_key
from two_manifold_ros.interface.snapshot import rejections, span
from two_manifold_ros.interface.status import (
    as_text,
    CODES,
    COUNTS,
    diagnostics_message,
    Health,
    OUTSIDE,
    status_message,
)
from two_manifold_ros.interface.topics import DIAGNOSTICS, STATUS
from two_manifold_ros.nodes.publishing import quality, to_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rclpy.node import Node

    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.interface.assessment import Judgement
    from two_manifold_ros.interface.input_checks import Arrivals
    from two_manifold_ros.interface.log import Guard
    from two_manifold_ros.interface.snapshot import Facts, Interruption
    from two_manifold_ros.nodes.subscriptions import SensorTopic

    Values = dict[str, float | str]

    from two_manifold_ros.filtering.state_machine import EllipseLimits
    from two_manifold_ros.interface.topics import Frames
    from two_manifold_ros.model.head import ModelHead


FAR_S = 10.0
"""Distance of the stamps from the node's own clock that is worth a word in the log."""


class Fed(Protocol):
    """A session: a filter and what came for it."""

    arrivals: Arrivals

    @property
    def filter(self) -> Filter:
        """What is fed."""


def word_of(session: Fed) -> object:
    """Return what is something else as soon as there is something new to tell."""
    live = session.filter
    return live.status, live.cause, session.arrivals.unused >= REFUSED_AFTER


def filter_facts(live: Filter) -> dict[str, Any]:
    """Return what ``Facts`` wants to know about a filter, by name."""
    return {
        'status': live.status,
        'cause': live.cause,
        'why': live.why,
        'finding': live.finding,
    }


class InputFacts:
    """
    Gathers what there is to know about messages, their publishers and the clock.

    Parameters
    ----------
    node
        That listens.
    topic
        To what.

    """

    def __init__(self, node: Node, topic: SensorTopic) -> None:
        self._node = node
        self._topic = topic
        self._rate = InputRate()
        self._clock = RosClock()
        self._usable_hz = math.nan
        self._lately: Counter[str] = Counter()
        self._good: Counter[str] = Counter()
        self._told: Interruption | None = None
        self._said_far = False

    def look(self, fresh: Counter[str], arrivals: Arrivals | None) -> None:
        """
        Take notice of the last second.

        Parameters
        ----------
        fresh
            What was counted in it.
        arrivals
            Of the session, if there is one.

        """
        self._lately = fresh
        newest_ns = arrivals.newest_ns if arrivals else 0
        self._usable_hz = self._rate.look(fresh['used'], self._topic.received_s, newest_ns)
        now_ns = self._node.get_clock().now().nanoseconds
        simulated = bool(self._node.get_parameter('use_sim_time').value)
        self._clock.look(now_ns, monotonic(), simulated=simulated)
        if fresh['used']:
            self._say_how_far(self._stamp_age_s(arrivals))

    def gather(self, counts: Counter[str], arrivals: Arrivals | None) -> dict[str, Any]:
        """Return what ``Facts`` wants to know about the input, by name."""
        topic, lately = self._topic, self._lately
        if counts['used'] != self._good['used']:
            self._good = counts
        unused = rejections(lately)
        publishers = topic.publishers()
        return {
            'sensor': topic.sensor,
            'msgtype': topic.msgtype,
            'topic': topic.name,
            'silence_s': topic.silence_s,
            'received': topic.received,
            'barren_s': self._barren_s(arrivals),
            'publishers': publishers,
            'elsewhere': () if publishers or topic.received else topic.elsewhere(),
            'incompatible': topic.incompatible,
            'usable_rate_hz': self._usable_hz,
            'rejected': rejections(counts - self._good),
            'share_rejected': sum(unused.values()) / max(lately['received'], 1),
            'mostly': max(unused, key=unused.__getitem__, default=''),
            'clock': self._clock.trouble,
            'stamp_age_s': self._stamp_age_s(arrivals),
            'oddities': self._oddities(arrivals),
            'interruption': arrivals.interruption if arrivals else None,
        }

    def events(self, arrivals: Arrivals | None) -> dict[str, str]:
        """Return sentences by cause about what happened lately to stamps and clock."""
        happened = {}
        interruption = arrivals.interruption if arrivals else None
        if interruption is not None and interruption is not self._told:
            lasted = span(interruption.seconds)
            words = INTERRUPTION_WORDS[interruption.cause].format(span=lasted)
            happened[interruption.cause] = f'On {self._topic.name}: {words}'
        self._told = interruption
        stepped_s = self._clock.stepped_s
        if stepped_s:
            way = 'ahead' if stepped_s > 0 else 'back'
            happened['own_clock'] = (
                f'The clock of this node was set {way} by {span(abs(stepped_s))}; the filter goes '
                f'by the stamps on {self._topic.name} alone'
            )
        return happened

    def _barren_s(self, arrivals: Arrivals | None) -> float:
        good_ns = arrivals.good_ns if arrivals else 0
        return min((perf_counter_ns() - good_ns) / 1e9, self._topic.waited_s)

    def _stamp_age_s(self, arrivals: Arrivals | None) -> float:
        now_ns = self._node.get_clock().now().nanoseconds
        if arrivals is None or not arrivals.newest_ns or not now_ns:
            return math.nan
        return (now_ns - arrivals.newest_ns) / 1e9

    def _oddities(self, arrivals: Arrivals | None) -> dict[str, str]:
        if arrivals is None or arrivals.frame == arrivals.newest_frame:
            return {}
        return {
            FRAME_CHANGED: (
                f'messages on {self._topic.name} began in frame {arrivals.frame!r} and are now in '
                f'{arrivals.newest_frame!r}, whose axes may be others: call reset if that is meant'
            )
        }

    def _say_how_far(self, age_s: float) -> None:
        """Say once that stamps are far from the clock: it harms nothing here, but maybe others."""
        if self._said_far or not abs(age_s) > FAR_S:
            return
        self._said_far = True
        way = 'behind' if age_s > 0 else 'ahead of'
        self._node.get_logger().info(
            f'Stamps on {self._topic.name} are {span(abs(age_s))} {way} the clock of this node, '
            f'and so are those of all that is published'
        )


class Describer(Protocol):
    """What one kind of node has to tell about itself."""

    @property
    def hardware(self) -> str:
        """On what it reports: the frame of its sensor."""

    @property
    def word(self) -> object:
        """
        Whatever is something else as soon as there is something new to tell.

        Never something that may change with every message, for each change is told at once.
        """

    def counts(self) -> Counter[str]:
        """Return all counters; they begin anew where ``received`` goes back."""

    def durations(self) -> Mapping[str, float]:
        """Return how long callbacks took, microseconds by quantile."""

    def look(self, fresh: Counter[str]) -> None:
        """Take notice of what was counted in the last second, and of what costs time to see."""

    def facts(self, counts: Counter[str]) -> Facts:
        """Return what it knows now."""

    def judge(self, facts: Facts) -> Judgement:
        """Return how it is."""

    def events(self, fresh: Counter[str]) -> dict[str, str]:
        """Return sentences by cause about what happened in the last second."""

    def head(self) -> Values:
        """Return what diagnostics show first."""

    def tail(self) -> Values:
        """Return what diagnostics show last."""


class Report:
    """
    Publishes status and diagnostics, and logs what changed.

    Parameters
    ----------
    node
        The node reported on.
    describer
        That knows it.
    guard
        Of the node's callbacks.
    rate_hz
        How often the status is told.
    prefix
        Before the name of the status' topic.

    """

    def __init__(
        self, node: Node, describer: Describer, guard: Guard, rate_hz: float, prefix: str = ''
    ) -> None:
        self._node = node
        self._describer = describer
        self._guard = guard
        self._diagnostics = node.create_publisher(
            DiagnosticArray, DIAGNOSTICS.name, quality(DIAGNOSTICS)
        )
        self._status = node.create_publisher(
            Float64MultiArray, f'{prefix}{STATUS.name}', quality(STATUS)
        )
        logger = node.get_logger()
        self._notices = Notices(logger.warning, logger.info)
        self._log_state = logger.info
        self._told: tuple[object, str] | None = None
        self._word: object = None
        self._times: Counter[str] = Counter()
        self._events: dict[str, str] = {}
        self._rates: dict[str, float] = {}
        self._before: Counter[str] = Counter()
        self._before_s = monotonic()
        # Not the ROS clock: without /clock the reason for the silence must still be told.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(1.0 / rate_hz, guard(self.look), clock=steady)

    @property
    def topic(self) -> str:
        """Full name of the status' topic."""
        return str(self._status.topic_name)

    def logged(self, cause: str, sentence: str) -> None:
        """Do not warn of a cause that the node has just logged itself."""
        self._notices.note(cause, sentence, monotonic())

    def heed(self) -> None:
        """Look at once if there is something new; to be called after each message."""
        if self._describer.word != self._word:
            self.look()

    def look(self) -> None:
        """Publish the status; diagnostics as well if status or cause changed."""
        self._word = self._describer.word
        counts = self._describer.counts()
        facts = self._describer.facts(counts)
        judgement = self._describer.judge(facts)
        if self._status.get_subscription_count():
            numbers = self._numbers(judgement, facts, counts)
            message = status_message(self._node.get_clock().now().nanoseconds, numbers)
            self._status.publish(to_message(STATUS.msgtype, message))
        if (judgement.status, judgement.cause) != self._told:
            self._tell(judgement, facts, counts)

    def second(self) -> None:
        """Publish diagnostics and log what happened; to be called once a second."""
        now_s = monotonic()
        counts = self._describer.counts()
        # A new session counts from zero again.
        fresh = counts if counts['received'] < self._before['received'] else counts - self._before
        passed_s = now_s - self._before_s
        self._rates = {key: count / passed_s for key, count in fresh.items()}
        self._before, self._before_s = counts, now_s
        self._describer.look(fresh)
        self._events = self._describer.events(fresh)
        facts = self._describer.facts(counts)
        self._tell(self._describer.judge(facts), facts, counts)

    def _tell(self, judgement: Judgement, facts: Facts, counts: Counter[str]) -> None:
        self._log(judgement, facts)
        state = judgement.status, judgement.cause
        if judgement.cause and state != self._told:
            self._times[f'times_{judgement.cause}'] += 1
        self._told = state
        values = {
            **self._describer.head(),
            **self._values(judgement, facts, counts),
            **self._times,
            **self._describer.tail(),
            'callback_errors': self._guard.count,
        }
        message = diagnostics_message(
            self._node.get_clock().now().nanoseconds,
            self._node.get_fully_qualified_name().lstrip('/'),
            self._describer.hardware,
            Health(judgement.level, judgement.why, values),
        )
        self._diagnostics.publish(to_message(DIAGNOSTICS.msgtype, message))

    def _numbers(
        self, judgement: Judgement, facts: Facts, counts: Counter[str]
    ) -> dict[str, float]:
        """Return what is known of the ``NUMBERS`` of a status."""
        # During silence, for example, the newest estimate is no word about now.
        speaks = judgement.status in USABLE or judgement.status is facts.status
        latest = facts.latest if speaks else None
        numbers: dict[str, float] = {
            'status': OUTSIDE if judgement.status is None else CODES[judgement.status],
            'valid': latest is not None and latest.valid,
            'level': judgement.level,
            'evidence': latest.evidence if latest else math.nan,
            'familiarity': latest.familiarity if latest else math.nan,
            'off_route': latest.off_route if latest else math.nan,
            'ellipse_m': latest.ellipse_m if latest else math.nan,
        }
        if facts.trouble:
            return numbers
        numbers['ticks_since_good_sample'] = int(facts.barren_s * facts.model_rate_hz)
        numbers['input_rate_hz'] = self._rates.get('received', 0.0)
        numbers['estimate_rate_hz'] = self._rates.get('published', 0.0)
        numbers['stamp_age_s'] = facts.stamp_age_s
        for name, value in self._describer.durations().items():
            numbers[f'processing_{name}_us'] = value
        return {**numbers, **{name: counts[name] for name in COUNTS}}

    def _values(
        self, judgement: Judgement, facts: Facts, counts: Counter[str]
    ) -> dict[str, float | str]:
        """Return the same for diagnostics, and all other counts."""
        status = judgement.status.value if judgement.status else judgement.cause
        values: dict[str, float | str] = {'status': status, 'cause': judgement.cause}
        for name, number in self._numbers(judgement, facts, counts).items():
            if name not in {'status', 'level'}:
                values[name] = str(number).lower() if isinstance(number, bool) else number
        return {**values, **counts}

    def _log(self, judgement: Judgement, facts: Facts) -> None:
        odd = suspects(facts) if facts.heard else {}
        expected = judgement.cause in EXPECTED
        if judgement.cause and not expected:
            odd[judgement.cause] = capitalised(judgement.why)
        # That many messages are not used tells of the single ones too.
        told = {rejection_key(cause) for cause in odd}
        causes = {key: words for key, words in self._events.items() if key not in told} | odd
        before, now_s = self._told[1] if self._told else '', monotonic()
        unsaid = self._notices.unsaid(before, now_s)
        over = self._notices.update(causes, now_s, judgement.cause)
        changed = self._told is None or judgement.cause != before
        if changed and expected and (judgement.cause or before not in over):
            since = f' (before, {unsaid})' if unsaid else ''
            self._log_state(f'State: {judgement.why}{since}')


def wiring(
    model: ModelHead,
    path: str,
    limits: EllipseLimits,
    imu_topic: str,
    topics: Mapping[str, str],
    frames: Frames,
    timeout_s: float,
) -> list[str]:
    """
    Return the wiring that is in force, one line each.

    Parameters
    ----------
    model, path
        The model and its file.
    limits
        Of the ellipse.
    imu_topic
        Full name of the topic that is subscribed.
    topics
        Full names of the topics that are published, by relative name.
    frames
        Frames of what is published.
    timeout_s
        How long a silence may be.

    """
    seconds = ', '.join(f'{horizon * model.period_ns / 1e9:g}' for horizon in model.horizons)
    window_s = model.window * model.period_ns / 1e9
    summary = ', '.join(
        f'{key} {as_text(value)}'
        for key, value in model.summary.items()
        if isinstance(value, str | int | float)
    )
    learned = (
        f'Model {path}: {model.rate_hz:g} Hz, windows of {model.window} ticks ({window_s:g} s), '
        f'{model.states} states, horizons {seconds} s, filter {LOOPS}'
    )
    subscribed = (
        f'Subscribes {imu_topic} (sensor_msgs/msg/Imu, best effort), which has to bring at least '
        f'{model.rate_hz:g} Hz; uses {", ".join(model.live_channels)}'
    )
    framed = (
        f'Frames: positions in {frames.track}, velocities in {frames.child}; training used an '
        f'IMU in {model.imu_frame_id or "an unnamed frame"}'
    )
    lines = [
        learned,
        f'Trained: {summary}',
        subscribed,
        published(topics),
        framed,
        limited(limits, timeout_s),
    ]
    if model.frame_id and model.frame_id != frames.track:
        lines.append(
            f'Positions were trained in {model.frame_id!r} and are published in {frames.track!r} '
            f'(parameter track_frame; empty means the frame of training)'
        )
    return lines


def published(topics: Mapping[str, str]) -> str:
    """Return a line about topics: full names by relative names."""
    names = (name if full == f'/{name}' else f'{name} -> {full}' for name, full in topics.items())
    return f'Publishes {", ".join(names)}'


def limited(limits: EllipseLimits, timeout_s: float) -> str:
    """Return a line about when the status becomes worse."""
    if not math.isfinite(limits.error_m):
        words = 'Limits: those of the model, once there is one; no data after '
        return f'{words}{timeout_s:g} s of silence'
    return (
        f'Limits: unsure above {limits.warn_m:.3g} m of half the 95 % ellipse, lost above '
        f'{limits.error_m:.3g} m; no data after {timeout_s:g} s of silence'
    )
