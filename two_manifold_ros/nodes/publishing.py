# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Turn dictionaries into rclpy messages, and publish those of an estimate."""

from __future__ import annotations

from functools import cache
import importlib
import re
from struct import Struct
from typing import Any, TYPE_CHECKING

import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.messages import (
    BUILDERS,
    ESTIMATE_TOPICS,
    position_message,
    Topic,
    Topics,
    topics_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rclpy.node import Node
    from rclpy.publisher import Publisher

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.messages import Message, Scene


def qos(topic: Topic) -> QoSProfile:
    """Return the quality of service of a topic."""
    reliability = ReliabilityPolicy.RELIABLE if topic.reliable else ReliabilityPolicy.BEST_EFFORT
    durability = DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE
    return QoSProfile(depth=topic.depth, reliability=reliability, durability=durability)


@cache
def message_class(msgtype: str) -> Any:  # noqa: ANN401 - a generated class
    """Return the class of a type such as ``nav_msgs/msg/Path`` or ``nav_msgs/Path``."""
    package, _, name = msgtype.partition('/')
    return getattr(importlib.import_module(f'{package}.msg'), name.rpartition('/')[2])


def to_message(msgtype: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
    """
    Return the rclpy message with these fields; those that are not named keep their defaults.

    Raises
    ------
    KeyError
        If the type has no such field.

    """
    message = message_class(msgtype)()
    fill(message, msgtype, fields)
    return message


def fill(message: object, msgtype: str, fields: Mapping[str, Any]) -> None:
    """
    Fill a message in place.

    Messages that are published often are filled again and again: making their parts each time
    costs as much again.

    Raises
    ------
    ValueError
        If an array is not flat: rclpy counts its entries only, and would send memory behind it.

    """
    kinds = _field_types(msgtype)
    for name, value in fields.items():
        kind = kinds[name]
        if isinstance(value, np.ndarray) and value.ndim != 1:
            msg = f'{msgtype}.{name} is flat, but was given an array of shape {value.shape}'
            raise ValueError(msg)
        if isinstance(value, dict):
            fill(getattr(message, name), kind, value)
        elif '/' in kind:
            setattr(message, name, [to_message(kind, each) for each in value])
        else:
            setattr(message, name, bytes([value]) if kind == 'octet' else value)


@cache
def _field_types(msgtype: str) -> dict[str, str]:
    """Return the type of each field, of its entries where it is an array."""
    kinds = message_class(msgtype).get_fields_and_field_types()
    entry = re.compile(r'sequence<([^,>]+).*|(.+)\[\d+\]')
    return {name: entry.sub(r'\1\2', kind) for name, kind in kinds.items()}


class FixedLayout:
    """
    A serialised example whose stamp and numbers are overwritten.

    Poses and odometry are a header, fixed names, and then nothing but numbers. Making and
    serialising the message object costs more than the filter, overwriting a fifth of that.

    Parameters
    ----------
    msgtype
        A type of which every field is the header, a string before all numbers, or a double.
    example
        A message with all fields, in the order of the type's definition; later messages have the
        same names in the same order.

    Raises
    ------
    ValueError
        If the example's numbers are not the end of its serialised form.

    """

    def __init__(self, msgtype: str, example: Message) -> None:
        serialised = serialize_message(to_message(msgtype, example))
        numbers = list(_numbers(example))
        self._stamp = Struct('<iI')
        self._numbers = Struct(f'<{len(numbers)}d')
        self._offset = len(serialised) - self._numbers.size
        self._buffer = bytearray(serialised)
        # The example is little-endian.
        if serialised[:2] != b'\x00\x01' or self.serialise(example) != serialised:
            msg = f'{msgtype} does not end in the numbers of its example'
            raise ValueError(msg)

    def serialise(self, fields: Message) -> bytes:
        """Return the serialised message; strings stay those of the example."""
        stamp = fields['header']['stamp']
        # Behind the four bytes that name the encoding.
        self._stamp.pack_into(self._buffer, 4, stamp['sec'], stamp['nanosec'])
        self._numbers.pack_into(self._buffer, self._offset, *_numbers(fields))
        return bytes(self._buffer)


def _numbers(fields: Message) -> Iterator[float]:
    for name, value in fields.items():
        if isinstance(value, dict):
            if name != 'header':
                yield from _numbers(value)
        elif isinstance(value, np.ndarray):
            yield from value.tolist()
        elif not isinstance(value, str):
            yield value


TRANSFORM_TYPE = 'tf2_msgs/msg/TFMessage'


def check_transform() -> None:
    """Raise `InputError` if transforms cannot be published, which a start should say first."""
    try:
        message_class(TRANSFORM_TYPE)
    except ImportError as error:
        msg = (
            'Parameter publish_tf is true but the package tf2_msgs is not installed: '
            'install ros-<distro>-tf2-msgs or set publish_tf to false.'
        )
        raise InputError(msg) from error


class EstimatePublishers:
    """
    One publisher per topic; silent while a node with a lifecycle is not active.

    Parameters
    ----------
    node
        Node with a lifecycle or without.
    scene
        Model and frames of the estimates to come; another one when a model takes over.
    transform
        Whether to publish the transform from the track frame to the child frame as well.
    prefix
        Prefix of the names of the topics, such as ``adapting/``.

    Raises
    ------
    InputError
        If the transform is wanted and the package tf2_msgs is missing.

    """

    def __init__(self, node: Node, scene: Scene, *, transform: bool, prefix: str = '') -> None:
        create: Callable[..., Publisher] = node.create_publisher
        self._destroy: Callable[[Any], object] = node.destroy_publisher
        if isinstance(node, LifecycleNode):
            create = node.create_lifecycle_publisher
            self._destroy = node.destroy_lifecycle_publisher
        self.scene = scene
        self._tf: Publisher | None = None
        # First what can fail, so that nothing is advertised then.
        if transform:
            check_transform()
            self._tf = create(message_class(TRANSFORM_TYPE), '/tf', 100)
        self._publishers: dict[Topic, Publisher] = {
            topic: create(message_class(topic.msgtype), f'{prefix}{topic.name}', qos(topic))
            for topic in (*ESTIMATE_TOPICS, Topics.PARTICLES)
        }
        self._layouts: dict[Topic, FixedLayout] = {}
        # Every message of a topic names the same fields, so one object serves for all of them.
        self._messages = {topic: message_class(topic.msgtype)() for topic in self._publishers}

    @property
    def topics(self) -> dict[str, str]:
        """Full name of each topic after remapping, by its relative name."""
        return {topic.name: each.topic_name for topic, each in self._publishers.items()}

    def publish(self, estimate: Estimate) -> None:
        """Publish an estimate on every topic that has subscribers."""
        for topic in topics_of(estimate):
            publisher = self._publishers[topic]
            # Building a message without a subscriber costs more than the filter itself.
            if not publisher.get_subscription_count():
                continue
            fields = BUILDERS[topic.name](estimate, self.scene)
            if topic in {Topics.POSITION, Topics.ODOMETRY}:
                if topic not in self._layouts:
                    self._layouts[topic] = FixedLayout(topic.msgtype, fields)
                publisher.publish(self._layouts[topic].serialise(fields))
            else:
                fill(self._messages[topic], topic.msgtype, fields)
                publisher.publish(self._messages[topic])
        if self._tf is not None:
            self._tf.publish(self._transform(estimate))

    def destroy(self) -> None:
        """Stop advertising."""
        for publisher in [*self._publishers.values(), *([self._tf] if self._tf else [])]:
            self._destroy(publisher)

    def _transform(self, estimate: Estimate) -> object:
        position = position_message(estimate, self.scene)
        pose = position['pose']['pose']
        transform = {
            'header': position['header'],
            'child_frame_id': self.scene.child,
            'transform': {'translation': pose['position'], 'rotation': pose['orientation']},
        }
        return to_message(TRANSFORM_TYPE, {'transforms': [transform]})
