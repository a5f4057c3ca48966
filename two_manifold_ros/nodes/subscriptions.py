# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sensor and reference topics: subscription, silence and publishers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, cast, TYPE_CHECKING

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import qos_policy_name_from_kind, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.snapshot import Publisher
from two_manifold_ros.nodes.publishing import message_class, quality
from two_manifold_ros.recordings.decoding import (
    Collected,
    decode_imu_cdr,
    fix_decoder,
    GEODETIC,
    position_decoder,
    positions_of_fixes,
)
from two_manifold_ros.recordings.reading import POSITION, time_base
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node
    from rclpy.subscription import Subscription

    from two_manifold_ros.interface.log import Guard
    from two_manifold_ros.interface.topics import Topic
    from two_manifold_ros.recordings.bag import Bag
    from two_manifold_ros.recordings.bag import Topic as BagTopic
    from two_manifold_ros.typing import Ints


ASKED_S = 1.0
"""
After which the publishers are asked for anew if they are as many as before.

The middleware goes through all that it knows of the network for their names and types.
"""


class SensorTopic:
    """
    Brings messages as bytes, and knows why none come.

    Parameters
    ----------
    node
        That subscribes.
    topic
        Which.
    sensor
        What publishes it, in a word.
    take
        Called with every message; guarded.

    Attributes
    ----------
    name
        Full name of the topic.
    incompatible
        Name of the quality-of-service policy over which a publisher and the node disagree; empty
        once a message came.

    """

    def __init__(
        self, node: Node, topic: Topic, sensor: str, take: Callable[[bytes], object]
    ) -> None:
        self._node = node
        self._topic = topic
        self._take = take
        self._subscription: Subscription | None = None
        self.sensor = sensor
        self.msgtype = topic.msgtype
        self.name = node.resolve_topic_name(topic.name)
        self.incompatible = ''
        self._publishers: tuple[Publisher, ...] = ()
        self._asked_s = 0.0
        self._begun_s = self.received_s = monotonic()

    @property
    def silence_s(self) -> float:
        """Seconds since the last message, or since it is waited for."""
        return monotonic() - self.received_s

    @property
    def received(self) -> bool:
        """Whether any message came since they are waited for."""
        return self.received_s > self._begun_s

    @property
    def waited_s(self) -> float:
        """Seconds since messages are waited for."""
        return monotonic() - self._begun_s

    def wait(self) -> None:
        """Wait from now on for the first message."""
        self._begun_s = self.received_s = monotonic()

    def listen(self) -> None:
        """Subscribe; last of all, for messages pile up as long as nobody takes them."""
        self._subscription = self._node.create_subscription(
            message_class(self.msgtype),
            self._topic.name,
            self._on_message,
            quality(self._topic),
            raw=True,
            event_callbacks=SubscriptionEventCallbacks(incompatible_qos=self._on_incompatible),
        )

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def publishers(self) -> tuple[Publisher, ...]:
        """Return who publishes the topic."""
        known, now_s = self._publishers, monotonic()
        asked = now_s - self._asked_s < ASKED_S and all(each.node for each in known)
        if not asked or self._node.count_publishers(self.name) != len(known):
            found = self._node.get_publishers_info_by_topic(self.name)
            self._publishers = tuple(Publisher(i.topic_type, _node_name(i)) for i in found)
            self._asked_s = now_s
        return self._publishers

    def elsewhere(self) -> tuple[str, ...]:
        """Return the full names of other topics that are published as this type, in order."""
        node = self._node
        return tuple(
            name
            for name, kinds in node.get_topic_names_and_types()
            if self.msgtype in kinds and name != self.name and node.count_publishers(name)
        )

    def _on_message(self, raw: bytes) -> None:
        self.received_s = monotonic()
        self.incompatible = ''
        self._take(raw)

    def _on_incompatible(self, event: Any) -> None:  # noqa: ANN401 - rclpy's event is untyped
        self.incompatible = qos_policy_name_from_kind(event.last_policy_kind).lower()


def _node_name(info: Any) -> str:  # noqa: ANN401 - rclpy's class moves between its versions
    # The middleware knows a publisher before it knows whose it is.
    if 'UNKNOWN' in info.node_name:
        return ''
    return f'{info.node_namespace.rstrip("/")}/{info.node_name}'


REFERENCE = 'reference'
# Best effort matches both kinds of publisher.
_QUALITY = QoSProfile(depth=1000, reliability=ReliabilityPolicy.BEST_EFFORT)


class LiveReference:
    """
    Subscribes ``reference`` as soon as its type is known.

    Parameters
    ----------
    node
        That subscribes.
    guard
        Guards the callback.
    msgtype
        Type of the topic; empty means the one it is published with.
    begin
        Called once with the type, before the first message.
    take
        Called with every message as bytes.

    Attributes
    ----------
    topic
        Its full name.
    msgtype
        Its type; empty while it is not known.
    problem
        Why it cannot be subscribed; empty if it is, or if nobody publishes it.

    """

    def __init__(
        self,
        node: Node,
        guard: Guard,
        msgtype: str,
        begin: Callable[[str], object],
        take: Callable[[bytes], object],
    ) -> None:
        self._node = node
        self._begin = begin
        self._take = guard(take)
        self._subscription: Subscription | None = None
        self.topic = node.resolve_topic_name(REFERENCE)
        self.msgtype = ''
        self.problem = ''
        if msgtype:
            self._subscribe(msgtype)

    def look(self) -> None:
        """Subscribe it if its type can be told by now, or say why it cannot."""
        if self.msgtype:
            return
        found = self._node.get_publishers_info_by_topic(self.topic)
        types = sorted({info.topic_type for info in found})
        usable = [kind for kind in types if kind in POSITION.msgtypes]
        self.problem = ''
        if len(usable) == 1:
            self._subscribe(usable[0])
        elif types:
            self.problem = (
                f'{self.topic} is published as {", ".join(types)}: set reference_type '
                f'to one of {", ".join(POSITION.msgtypes)} or remap reference'
            )

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def _subscribe(self, msgtype: str) -> None:
        self.msgtype = msgtype
        self._begin(msgtype)
        self._subscription = self._node.create_subscription(
            message_class(msgtype), REFERENCE, self._take, _QUALITY, raw=True
        )
        self._node.get_logger().info(f'References: {self.topic} ({msgtype})')


@dataclass(frozen=True)
class LiveTopic:
    """What the decoders of bags ask of a topic, which a live one has too."""

    name: str
    msgtype: str


class LiveTypes:
    """What the decoders of bags ask of a bag: general decoding."""

    @staticmethod
    def decode(raw: bytes, msgtype: str) -> object:
        """Return the message with the fields that any decoder gives it."""
        return deserialize_message(raw, message_class(msgtype))


class LiveRecording:
    """
    Messages of an IMU and of a reference, decoded as they come.

    Parameters
    ----------
    imu_topic, reference_topic
        Full names.

    """

    def __init__(self, imu_topic: str, reference_topic: str) -> None:
        self._imu = _collected(imu_topic, 'sensor_msgs/msg/Imu')
        self._reference_topic = reference_topic
        self._reference: Collected | None = None
        self.imu_count = self.reference_count = self.malformed = 0

    def begin_reference(self, msgtype: str) -> None:
        """Accept references of a type from now on."""
        self._reference = _collected(self._reference_topic, msgtype)

    def add_imu(self, received_ns: int, raw: bytes) -> None:
        """Add one serialised ``sensor_msgs/Imu``."""
        self.imu_count += self._add(self._imu, received_ns, raw)

    def add_reference(self, received_ns: int, raw: bytes) -> None:
        """Add one serialised reference."""
        if self._reference is not None:
            self.reference_count += self._add(self._reference, received_ns, raw)

    def _add(self, collected: Collected, received_ns: int, raw: bytes) -> int:
        try:
            collected.add(received_ns, raw)
        except InputError:
            self.malformed += 1
            return 0
        return 1

    def recording(self, *, use_receive_time: bool) -> Recording:
        """
        Return what was recorded until now.

        Raises
        ------
        InputError
            If no IMU message or no reference came yet, or no satellite fix is valid.

        """
        if not self.imu_count:
            msg = f'No IMU message came on {self._imu.topic.name} yet: remap imu to the driver.'
            raise InputError(msg)
        if self._reference is None or not self.reference_count:
            msg = f'No position came on {self._reference_topic} yet: remap reference to its topic.'
            raise InputError(msg)
        times, notes = time_base([self._imu, self._reference], use_receive_time)
        for each in (self._imu, self._reference):
            notes += each.notes
        imu = ImuStream(
            topic=self._imu.topic.name,
            frame_id=self._imu.frames[0],
            stamps=times[0],
            samples=self._imu.numbers,
            receive_stamps=self._imu.received,
        )
        positions, more = _positions(self._reference, times[1])
        return Recording('live topics', imu, positions, tuple(notes + more))


def _positions(reference: Collected, stamps: Ints) -> tuple[PositionStream, list[str]]:
    if reference.topic.msgtype == GEODETIC:
        return positions_of_fixes(reference, stamps, None)
    stream = PositionStream(
        topic=reference.topic.name,
        frame_id=reference.frames[0],
        msgtype=reference.topic.msgtype,
        stamps=stamps,
        positions=reference.numbers,
    )
    return stream, []


def _collected(name: str, msgtype: str) -> Collected:
    # Importing the classes of bags needs rosbags, which a robot does not have.
    topic = cast('BagTopic', LiveTopic(name, msgtype))
    if msgtype == 'sensor_msgs/msg/Imu':
        return Collected(Path('live'), topic, decode_imu_cdr)
    decoder = fix_decoder if msgtype == GEODETIC else position_decoder
    return Collected(Path('live'), topic, decoder(cast('Bag', LiveTypes()), topic))
