# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A node's word about itself: numbers many times a second, diagnostics, and few lines of log."""

from __future__ import annotations

from collections import Counter
import math
from time import monotonic
from typing import Protocol, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.filtering.status import USABLE
from two_manifold_ros.nodes.notices import Notices
from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.nodes.rejections import rejection_key
from two_manifold_ros.nodes.sentences import capitalised
from two_manifold_ros.nodes.translating import to_message
from two_manifold_ros.outputs.diagnostics import diagnostics_message, Health
from two_manifold_ros.outputs.judging import suspects
from two_manifold_ros.outputs.node_causes import EXPECTED
from two_manifold_ros.outputs.status import CODES, COUNTS, OUTSIDE, status_message
from two_manifold_ros.outputs.topics import DIAGNOSTICS, STATUS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rclpy.node import Node

    from two_manifold_ros.nodes.guarding import Guard
    from two_manifold_ros.outputs.facts import Facts
    from two_manifold_ros.outputs.judging import Judgement

    Values = dict[str, float | str]


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
