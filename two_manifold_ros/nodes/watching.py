# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Listen to all nodes, or follow the topics of filter nodes while a page is open."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from functools import partial
import math
from time import monotonic
from typing import Any, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.utilities import try_shutdown

from two_manifold_ros.interface.messages import Topic, Topics
from two_manifold_ros.nodes.callbacks import find_publishers, qos
from two_manifold_ros.nodes.running import make_executor, start_middleware
from two_manifold_ros.recordings.ros_messages import message_class

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from threading import Event

    from rclpy.executors import Executor
    from rclpy.subscription import Subscription


_FOLLOWED = (Topics.POSITION, Topics.PREDICTED_PATH, Topics.STATUS, Topics.MARKERS)
_SEARCHED_S = 1.0
"""How often the graph is searched: half of it finds a node sooner and costs twice as much."""
_IDLE_S = 0.2
"""How often it is checked whether a page is open: five times a second cost next to nothing."""
_TRACK_MARKER = b'track\0'
"""In the markers about once a second only; all others would be decoded in vain."""
DISCOVERY_S, SETTLED_S = 3.0, 1.0
"""Time to wait for publishers at all, and for more of them after the newest."""


@contextmanager
def _spun(name: str, *, rosout: bool = True) -> Iterator[tuple[Node, Executor]]:
    """Return a node and its executor, of which nothing is left afterwards."""
    start_middleware([])
    executor = make_executor()
    try:
        node = Node(name, start_parameter_services=False, enable_rosout=rosout)
        executor.add_node(node)
        yield node, executor
        node.destroy_node()
    finally:
        executor.shutdown()
        try_shutdown()


def listen(
    hear: Callable[[str, int, str, Mapping[str, str], int], object],
    refresh: Callable[[], object],
    seconds: float | None,
    done: Callable[[], bool],
) -> None:
    """
    Listen to all diagnostics for some seconds after all publishers were discovered, or for ever.

    ``hear`` is called with name, level, message and values of every status, and the number of
    nodes of this name; ``refresh`` twice a second. ``done`` returns whether enough was heard.
    """
    nodes: Counter[str] = Counter()

    def on_message(message: DiagnosticArray) -> None:
        for status in message.status:
            values = {each.key: each.value for each in status.values}
            count = max(nodes[status.name], 1)
            hear(status.name, ord(status.level), status.message, values, count)

    topics: set[str] = set()
    known = 0
    with _spun('two_manifold_status') as (node, executor):
        refreshed_s = -math.inf
        # When all publishers are discovered, as far as is known by now.
        from_s = monotonic() + DISCOVERY_S
        # Before all are discovered it may be the others that are awaited.
        while not (monotonic() >= from_s and done()) and (
            seconds is None or monotonic() - from_s < seconds
        ):
            if monotonic() - refreshed_s >= 0.5:
                refreshed_s = monotonic()
                for topic, kinds in node.get_topic_names_and_types():
                    if Topics.DIAGNOSTICS.msgtype in kinds and topic not in topics:
                        topics.add(topic)
                        node.create_subscription(
                            DiagnosticArray, topic, on_message, qos(Topics.DIAGNOSTICS)
                        )
                publishers = [each for topic in topics for each in find_publishers(node, topic)]
                nodes = Counter(each.node.lstrip('/') for each in publishers)
                if len(publishers) > known:
                    known, from_s = len(publishers), monotonic() + SETTLED_S
                refresh()
            executor.spin_once(timeout_sec=0.1)


def watch(
    hear: Callable[[str, str, Any], object],
    looked_at: Callable[[], Collection[str]],
    names: Collection[str],
    over: Event,
) -> None:
    """
    Follow the named filter nodes, or all, until it is over; in a thread: no signal may break in.

    ``hear`` is called with the full name of a node, without the leading slash; the name of a topic
    in `Topics`; and a message of it: of diagnostics one status of the node, of the IMU the bytes.
    ``looked_at`` returns the names of nodes whose details are on open pages, an empty name for
    none yet. While no page is open nothing of ROS is left.
    """
    while not over.wait(_IDLE_S):
        if not looked_at():
            continue
        with _spun('two_manifold_view', rosout=False) as (node, executor):
            watcher = Watcher(node, hear, names)
            searched_s, seen = -math.inf, frozenset[str]()
            while not over.is_set() and (chosen := frozenset(looked_at())):
                if chosen != seen or monotonic() - searched_s >= _SEARCHED_S:
                    seen, searched_s = chosen, monotonic()
                    watcher.search(chosen)
                executor.spin_once(timeout_sec=0.1)


class Watcher:
    """Subscriptions of a node to the topics of filter nodes, see `watch`."""

    def __init__(
        self, node: Node, hear: Callable[[str, str, Any], object], names: Collection[str] = ()
    ) -> None:
        self._node, self._hear = node, hear
        self._names = frozenset(name.lstrip('/') for name in names)
        self._found: set[str] = set()
        # By name of the node, topic and its full name.
        self._subscriptions: dict[tuple[str, Topic, str], Subscription] = {}
        self._tracks: set[str] = set()

    def search(self, chosen: Collection[str]) -> None:
        """Subscribe the topics of all filter nodes that are there now, of the chosen the IMU."""
        node, wanted = self._node, set[tuple[str, Topic, str]]()
        self._found = set()
        for name, space in node.get_node_names_and_namespaces():
            full = f'{space.rstrip("/")}/{name}'.lstrip('/')
            if not self._names or full in self._names:
                # It may have ended since; of which type the error is depends on the distribution.
                with suppress(RuntimeError):
                    wanted |= self._topics_of(name, space, full)
                    if full in self._found.intersection(chosen):
                        heard = node.get_subscriber_names_and_types_by_node(name, space)
                        wanted |= {
                            (full, Topics.IMU, each) for each in _of_type(heard, Topics.IMU)
                        }
        # A node that starts again may have another model.
        self._tracks &= self._found
        for key in self._subscriptions.keys() - wanted:
            node.destroy_subscription(self._subscriptions.pop(key))
        for key in wanted - self._subscriptions.keys():
            name, topic, address = key
            quality = qos(topic)
            if not topic.latched:
                # A page may miss a picture, but must never make a robot send one again.
                depth = min(topic.depth, 200)
                quality = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._subscriptions[key] = node.create_subscription(
                message_class(topic.msgtype),
                address,
                partial(self._take, name, topic),
                quality,
                raw=topic in {Topics.IMU, Topics.MARKERS},
            )

    def _topics_of(self, name: str, space: str, full: str) -> set[tuple[str, Topic, str]]:
        """Return which of its outputs to subscribe; nothing of a node that is no filter."""
        published = self._node.get_publisher_names_and_types_by_node(name, space)
        diagnostics = _of_type(published, Topics.DIAGNOSTICS)
        if not (diagnostics and _of_type(published, Topics.STATUS)):
            return set()
        self._found.add(full)
        # Several nodes publish diagnostics on one topic, which is heard once.
        wanted = {('', Topics.DIAGNOSTICS, each) for each in diagnostics}
        for topic in _FOLLOWED:
            names = _of_type(published, topic)
            if topic is Topics.STATUS:
                # A latent state has the same type; renamed, its label gives it away.
                names = [each for each in names if each.endswith('/status')] or names
            if topic is not Topics.MARKERS or full not in self._tracks:
                wanted |= {(full, topic, each) for each in names}
        return wanted

    def _take(self, name: str, topic: Topic, message: Any) -> None:  # noqa: ANN401 - of its type
        if topic is Topics.DIAGNOSTICS:
            for status in message.status:
                if status.name in self._found:
                    self._hear(status.name, topic.name, status)
            return
        if topic is Topics.STATUS:
            # Other nodes publish numbers without labels.
            layout = message.layout.dim
            if not (layout and 'status' in layout[0].label.split(',')):
                return
        if topic is Topics.MARKERS:
            # The route is heard once: markers are built for a subscriber alone, and expensive.
            if name in self._tracks or _TRACK_MARKER not in message:
                return
            # Whoever hears the bytes of what is no message counts it.
            with suppress(Exception):
                message = deserialize_message(message, message_class(topic.msgtype))
                self._tracks.add(name)
        self._hear(name, topic.name, message)


def _of_type(topics: list[tuple[str, list[str]]], topic: Topic) -> list[str]:
    """Return the full names of those topics that have the type of one."""
    return [name for name, kinds in topics if topic.msgtype in kinds]
