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


DISCOVERY_S = 3.0
"""Time to wait for publishers; on a network that needs longer, no node is heard."""
SETTLED_S = 1.0
"""All publishers are taken to be discovered if no other one was for so long."""


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
    none yet. While no page is open nothing of ROS is left, so that nodes need not publish for it.
    """
    while not over.wait(_IDLE_S):
        if looked_at():
            _follow(hear, looked_at, names, over)


def _follow(
    hear: Callable[[str, str, Any], object],
    looked_at: Callable[[], Collection[str]],
    names: Collection[str],
    over: Event,
) -> None:
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
        self._subscriptions: dict[tuple[str, str, str], Subscription] = {}
        self._tracks: set[str] = set()

    def search(self, chosen: Collection[str]) -> None:
        """Subscribe the topics of all filter nodes that are there now, of the chosen the IMU."""
        wanted: dict[tuple[str, str, str], Topic] = {}
        self._found = set()
        for name, space in self._node.get_node_names_and_namespaces():
            full = f'{space.rstrip("/")}/{name}'.lstrip('/')
            if not self._names or full in self._names:
                wanted |= self._topics_of(name, space, full, with_imu=full in chosen)
        # A node that starts again may have another model.
        self._tracks &= self._found
        for key in self._subscriptions.keys() - wanted.keys():
            self._node.destroy_subscription(self._subscriptions.pop(key))
        for key in wanted.keys() - self._subscriptions.keys():
            self._subscriptions[key] = self._subscribe(*key, wanted[key])

    def _topics_of(
        self, name: str, space: str, full: str, *, with_imu: bool
    ) -> dict[tuple[str, str, str], Topic]:
        """Return what to subscribe of a node; nothing of one that is no filter."""
        published = self._ask(self._node.get_publisher_names_and_types_by_node, name, space)
        statuses = _of_type(published, Topics.STATUS)
        diagnostics = _of_type(published, Topics.DIAGNOSTICS)
        if not (statuses and diagnostics):
            return {}
        self._found.add(full)
        # Several nodes publish diagnostics on one topic, which is heard once.
        wanted = {
            ('', Topics.DIAGNOSTICS.name, topic): Topics.DIAGNOSTICS for topic in diagnostics
        }
        for kind in _FOLLOWED:
            topics = _of_type(published, kind)
            if kind is Topics.STATUS:
                # A latent state has the same type; renamed, its label gives it away.
                topics = [each for each in topics if each.endswith('/status')] or topics
            if kind is not Topics.MARKERS or full not in self._tracks:
                wanted |= {(full, kind.name, topic): kind for topic in topics}
        if with_imu:
            asked = self._node.get_subscriber_names_and_types_by_node
            imus = _of_type(self._ask(asked, name, space), Topics.IMU)
            wanted |= {(full, Topics.IMU.name, topic): Topics.IMU for topic in imus}
        return wanted

    @staticmethod
    def _ask(
        question: Callable[[str, str], list[tuple[str, list[str]]]], name: str, space: str
    ) -> list[tuple[str, list[str]]]:
        try:
            return question(name, space)
        # It has ended since; of which type the error is depends on the distribution.
        except RuntimeError:
            return []

    def _subscribe(self, name: str, kind: str, address: str, topic: Topic) -> Subscription:
        quality = qos(topic)
        if not topic.latched:
            # A page may miss a picture, but must never make a robot send one again.
            depth = min(topic.depth, 200)
            quality = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        return self._node.create_subscription(
            message_class(topic.msgtype),
            address,
            partial(getattr(self, f'_on_{kind}', partial(self._on_other, kind)), name),
            quality,
            raw=kind in {Topics.IMU.name, Topics.MARKERS.name},
        )

    def _on_other(self, kind: str, name: str, message: Any) -> None:  # noqa: ANN401 - of its type
        self._hear(name, kind, message)

    def _on_diagnostics(self, _: str, message: Any) -> None:  # noqa: ANN401
        for status in message.status:
            if status.name in self._found:
                self._hear(status.name, Topics.DIAGNOSTICS.name, status)

    def _on_status(self, name: str, message: Any) -> None:  # noqa: ANN401
        # Other nodes publish numbers without labels.
        if message.layout.dim and 'status' in message.layout.dim[0].label.split(','):
            self._hear(name, Topics.STATUS.name, message)

    def _on_markers(self, name: str, raw: bytes) -> None:
        # The route is heard once: markers are built for a subscriber alone, and are expensive.
        if name not in self._tracks and _TRACK_MARKER in raw:
            message: Any = raw
            # Whoever hears the bytes of what is no message counts it.
            with suppress(Exception):
                message = deserialize_message(raw, message_class(Topics.MARKERS.msgtype))
                self._tracks.add(name)
            self._hear(name, Topics.MARKERS.name, message)


def _of_type(topics: list[tuple[str, list[str]]], topic: Topic) -> list[str]:
    """Return the full names of those topics that have the type of one."""
    return [name for name, kinds in topics if topic.msgtype in kinds]
