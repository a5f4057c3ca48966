# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Listen to all nodes, follow filter nodes while a page is open, or tell one something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
import math
from threading import Event
from time import monotonic
from typing import Any, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.utilities import try_shutdown

from two_manifold_ros.interface.messages import Message, Topic, Topics
from two_manifold_ros.nodes.callbacks import find_publishers, qos
from two_manifold_ros.nodes.running import make_executor, start_middleware
from two_manifold_ros.recordings.ros_messages import message_class, to_message

if TYPE_CHECKING:
    from rclpy.publisher import Publisher
    from rclpy.subscription import Subscription


def _spin(
    name: str, search: Callable[[Node], object], every_s: float, over: Callable[[], bool]
) -> None:
    """Run a node that searches the graph so often, until it is over; leave nothing of it."""
    start_middleware([])
    executor = make_executor()
    try:
        node = Node(name, start_parameter_services=False, enable_rosout=False)
        executor.add_node(node)
        searched_s = -math.inf
        while not over():
            if monotonic() - searched_s >= every_s:
                searched_s = monotonic()
                search(node)
            executor.spin_once(timeout_sec=0.1)
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
    topics: set[str] = set()
    known = 0
    # When all publishers are discovered, as far as is known by now.
    from_s = math.inf

    def on_message(message: DiagnosticArray) -> None:
        for status in message.status:
            values = {each.key: each.value for each in status.values}
            count = max(nodes[status.name], 1)
            hear(status.name, ord(status.level), status.message, values, count)

    def search(node: Node) -> None:
        nonlocal nodes, known, from_s
        # On a network that needs longer, no node is heard.
        from_s = min(from_s, monotonic() + 3.0)
        for topic, kinds in node.get_topic_names_and_types():
            if Topics.DIAGNOSTICS.msgtype in kinds and topic not in topics:
                topics.add(topic)
                quality = qos(Topics.DIAGNOSTICS)
                node.create_subscription(DiagnosticArray, topic, on_message, quality)
        publishers = [each for topic in topics for each in find_publishers(node, topic)]
        nodes = Counter(each.node.lstrip('/') for each in publishers)
        if len(publishers) > known:
            # All are taken to be discovered if no other one was for a second.
            known, from_s = len(publishers), monotonic() + 1.0
        refresh()

    def over() -> bool:
        # Before all are discovered it may be the others that are awaited.
        passed_s = monotonic() - from_s
        return (passed_s >= 0.0 and done()) or (seconds is not None and passed_s >= seconds)

    _spin('two_manifold_status', search, 0.5, over)


def tell(topic: str, msgtype: str, fields: Message, seconds: float) -> bool:
    """Publish a message once a node listens; return whether one does within so many seconds."""
    told, until_s = False, monotonic() + seconds
    publishers: list[Publisher] = []

    def search(node: Node) -> None:
        nonlocal told
        if not publishers:
            publishers.append(node.create_publisher(message_class(msgtype), topic, 1))
        (publisher,) = publishers
        if publisher.get_subscription_count():
            publisher.publish(to_message(msgtype, fields))
            # What has not left yet is lost with its node.
            told = publisher.wait_for_all_acked(Duration(seconds=seconds))

    _spin('two_manifold_place', search, 0.1, lambda: told or monotonic() > until_s)
    return told


def watch(
    hear: Callable[[str, str, Any], object],
    looked_at: Callable[[], bool],
    names: Collection[str],
    over: Event,
) -> None:
    """
    Follow the named filter nodes, or all, until it is over; in a thread: no signal may break in.

    ``hear`` is called with the full name of a node, without the leading slash; the name of a topic
    in `Topics`; and a message of it: of diagnostics one status of the node. While no page is
    open, as ``looked_at`` says, nothing of ROS is left, so that nodes need not publish for it.
    """
    # Five times a second cost next to nothing.
    while not over.wait(0.2):
        if looked_at():
            search = Watcher(hear, names).search
            _spin('two_manifold_view', search, 1.0, lambda: over.is_set() or not looked_at())


class Watcher:
    """Subscriptions of a node to the topics of filter nodes, see `watch`."""

    def __init__(
        self, hear: Callable[[str, str, Any], object], names: Collection[str] = ()
    ) -> None:
        self._hear = hear
        self._names = frozenset(name.lstrip('/') for name in names)
        self._found: set[str] = set()
        self._subscriptions: dict[tuple[str, str, str], Subscription] = {}
        self._tracks: set[str] = set()

    def search(self, node: Node) -> None:
        """Subscribe the topics of all filter nodes that are there now."""
        wanted: dict[tuple[str, str, str], Topic] = {}
        self._found = set()
        for name, space in node.get_node_names_and_namespaces():
            full = f'{space.rstrip("/")}/{name}'.lstrip('/')
            if not self._names or full in self._names:
                # A node may have ended since; of which type that error is depends on the
                # distribution.
                with suppress(RuntimeError):
                    published = node.get_publisher_names_and_types_by_node(name, space)
                    wanted |= self._topics_of(full, published)
        # A node that starts again may have another model.
        self._tracks &= self._found
        for key in self._subscriptions.keys() - wanted.keys():
            node.destroy_subscription(self._subscriptions.pop(key))
        for key in wanted.keys() - self._subscriptions.keys():
            full, kind, address = key
            topic = wanted[key]
            quality = qos(topic)
            if not topic.latched:
                # A page may miss a picture, but must never make a robot send one again.
                depth = min(topic.depth, 200)
                quality = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._subscriptions[key] = node.create_subscription(
                message_class(topic.msgtype),
                address,
                partial(self._take, full, kind),
                quality,
                raw=kind == Topics.MARKERS.name,
            )

    def _topics_of(
        self, full: str, published: list[tuple[str, list[str]]]
    ) -> dict[tuple[str, str, str], Topic]:
        """Return what to subscribe of what a node publishes; nothing of one that is no filter."""
        statuses = _of_type(published, Topics.STATUS)
        diagnostics = _of_type(published, Topics.DIAGNOSTICS)
        if not (statuses and diagnostics):
            return {}
        self._found.add(full)
        # Several nodes publish diagnostics on one topic, which is heard once.
        wanted = {
            ('', Topics.DIAGNOSTICS.name, topic): Topics.DIAGNOSTICS for topic in diagnostics
        }
        # A latent state has the same type as the status; renamed, its label gives it away.
        statuses = [each for each in statuses if each.endswith('/status')] or statuses
        wanted |= {(full, Topics.STATUS.name, topic): Topics.STATUS for topic in statuses}
        for kind in (Topics.POSITION, Topics.PREDICTED_PATH, Topics.MARKERS):
            if kind is not Topics.MARKERS or full not in self._tracks:
                wanted |= {(full, kind.name, topic): kind for topic in _of_type(published, kind)}
        return wanted

    def _take(self, name: str, kind: str, message: Any) -> None:  # noqa: ANN401 - of its type
        if kind == Topics.DIAGNOSTICS.name:
            for status in message.status:
                if status.name in self._found:
                    self._hear(status.name, kind, status)
            return
        if kind == Topics.STATUS.name:
            # Other nodes publish numbers without labels.
            dimensions = message.layout.dim
            if not dimensions or 'status' not in dimensions[0].label.split(','):
                return
        if kind == Topics.MARKERS.name:
            # The route is heard once: markers are built for a subscriber alone, and are expensive.
            # It is in them about once a second only; all others would be decoded in vain.
            if name in self._tracks or b'track\0' not in message:
                return
            # Whoever hears the bytes of what is no message counts it.
            with suppress(Exception):
                message = deserialize_message(message, message_class(Topics.MARKERS.msgtype))
                self._tracks.add(name)
        self._hear(name, kind, message)


def _of_type(topics: list[tuple[str, list[str]]], topic: Topic) -> list[str]:
    """Return the full names of those topics that have the type of one."""
    return [name for name, kinds in topics if topic.msgtype in kinds]
