# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a node knows about the input of its filter."""

from __future__ import annotations

from collections import Counter
import math
from time import monotonic, perf_counter_ns
from typing import Any, Protocol, TYPE_CHECKING

from two_manifold_ros.nodes.input_rate import InputRate
from two_manifold_ros.nodes.ros_clock import RosClock
from two_manifold_ros.outputs.judging import REFUSED_AFTER
from two_manifold_ros.outputs.node_causes import FRAME_CHANGED, INTERRUPTION_WORDS
from two_manifold_ros.outputs.rejections import rejections
from two_manifold_ros.outputs.spans import span

if TYPE_CHECKING:
    from rclpy.node import Node

    from two_manifold_ros.filtering.filter import Filter
    from two_manifold_ros.nodes.arrivals import Arrivals
    from two_manifold_ros.nodes.sensor_topic import SensorTopic
    from two_manifold_ros.outputs.facts import Interruption

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
