# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Publish estimates, and build rclpy messages.

Poses and odometry are a header, fixed names, and then nothing but numbers. Making and serialising
the message object costs more than the filter; overwriting the numbers of a serialised example
costs a fifth of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
import importlib
import re
from struct import Struct
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.estimates import position_message
from two_manifold_ros.interface.markers import BUILDERS, topics_of
from two_manifold_ros.interface.topics import ESTIMATE_TOPICS, ODOMETRY, PARTICLES, POSITION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rclpy.node import Node
    from rclpy.publisher import Publisher

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.interface.topics import Frames, Message, Topic
    from two_manifold_ros.model.head import ModelHead


# Messages are generated classes without types of their own.
Convert: TypeAlias = Callable[[Any], Any]
Fill: TypeAlias = Callable[[Any, Any], None]

_REPEATED = re.compile(r'sequence<(?P<sequence>[^,>]+)(, \d+)?>|(?P<array>.+)\[\d+\]')


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
    filler(msgtype)(message, fields)
    return message


@cache
def filler(msgtype: str) -> Fill:
    """
    Return the function that fills a message of this type in place.

    Messages that are published often are filled again and again: making all their parts anew
    would cost as much again.
    """
    kinds = message_class(msgtype).get_fields_and_field_types()
    fillers = {name: _field_filler(name, kind) for name, kind in kinds.items()}

    def fill(message: object, fields: Mapping[str, Any]) -> None:
        for name, value in fields.items():
            fillers[name](message, value)

    return fill


def _field_filler(name: str, kind: str) -> Fill:
    if '/' in kind and not _REPEATED.fullmatch(kind):
        fill_part = filler(kind)
        return lambda message, value: fill_part(getattr(message, name), value)
    convert = _value_converter(kind)
    if convert is None:
        return lambda message, value: setattr(message, name, value)
    return lambda message, value: setattr(message, name, convert(value))


def _value_converter(kind: str) -> Convert | None:
    """Return how a value is converted, or nothing where rclpy takes it as it is."""
    if kind == 'octet':
        return lambda value: bytes([value])
    repeated = _REPEATED.fullmatch(kind)
    if repeated is None:
        return (lambda value: to_message(kind, value)) if '/' in kind else None
    each = _value_converter(repeated['sequence'] or repeated['array'])
    return None if each is None else lambda values: [each(value) for value in values]


def quality(topic: Topic) -> QoSProfile:
    """Return the profile of a topic of the table."""
    reliability = ReliabilityPolicy.RELIABLE if topic.reliable else ReliabilityPolicy.BEST_EFFORT
    durability = DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE
    return QoSProfile(depth=topic.depth, reliability=reliability, durability=durability)


_STAMP = Struct('<iI')
_STAMP_OFFSET = 4
"""After the four bytes that name the encoding."""

_LITTLE_ENDIAN = b'\x00\x01'


class FixedLayout:
    """
    A serialised example whose stamp and numbers are overwritten.

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
        self._numbers = Struct(f'<{len(numbers)}d')
        self._offset = len(serialised) - self._numbers.size
        self._buffer = bytearray(serialised)
        if serialised[:2] != _LITTLE_ENDIAN or self.serialise(example) != serialised:
            msg = f'{msgtype} does not end in the numbers of its example'
            raise ValueError(msg)

    def serialise(self, fields: Message) -> bytes:
        """Return the serialised message; strings stay those of the example."""
        stamp = fields['header']['stamp']
        _STAMP.pack_into(self._buffer, _STAMP_OFFSET, stamp['sec'], stamp['nanosec'])
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


_TF_DEPTH = 100
_OF_FIXED_LAYOUT = (POSITION, ODOMETRY)
_ADVERTISED = (*ESTIMATE_TOPICS, PARTICLES)


class EstimatePublishers:
    """
    One publisher per topic; silent while a node with a lifecycle is not active.

    Parameters
    ----------
    node
        On which to advertise, with a lifecycle or without.
    model, frames
        Of the estimates that will come.
    transform
        Whether to publish the transform from the track frame to the child frame as well.
    prefix
        Before the names of the topics, such as ``adapting/``.

    Raises
    ------
    InputError
        If the transform is wanted and the package tf2_msgs is missing.

    """

    def __init__(
        self,
        node: Node,
        model: ModelHead,
        frames: Frames,
        *,
        transform: bool,
        prefix: str = '',
    ) -> None:
        self._destroy: Callable[[Any], object] = (
            node.destroy_lifecycle_publisher
            if isinstance(node, LifecycleNode)
            else node.destroy_publisher
        )
        self._model = model
        self._frames = frames
        # First what can fail, so that nothing is advertised then.
        self._tf = _tf_publisher(node) if transform else None
        self._publishers = {
            topic: _publisher(node, topic.msgtype, f'{prefix}{topic.name}', quality(topic))
            for topic in _ADVERTISED
        }
        self._layouts: dict[Topic, FixedLayout] = {}
        # Every message of a topic names the same fields, so one object serves for all of them.
        self._messages = {topic: message_class(topic.msgtype)() for topic in _ADVERTISED}

    @property
    def topics(self) -> dict[str, str]:
        """Full name of each topic after remapping, by its relative name."""
        return {topic.name: each.topic_name for topic, each in self._publishers.items()}

    def publish(self, estimate: Estimate) -> None:
        """Publish an estimate on every topic that somebody listens to."""
        for topic in topics_of(estimate):
            publisher = self._publishers[topic]
            # Building a message for nobody costs more than the filter itself.
            if publisher.get_subscription_count():
                fields = BUILDERS[topic.name](estimate, self._model, self._frames)
                publisher.publish(self._message(topic, fields))
        if self._tf is not None:
            self._tf.publish(self._transform(estimate))

    def _message(self, topic: Topic, fields: Message) -> object:
        if topic in _OF_FIXED_LAYOUT:
            if topic not in self._layouts:
                self._layouts[topic] = FixedLayout(topic.msgtype, fields)
            return self._layouts[topic].serialise(fields)
        message = self._messages[topic]
        filler(topic.msgtype)(message, fields)
        return message

    def follow(self, model: ModelHead) -> None:
        """Publish estimates of another model from now on, in the same frames."""
        self._model = model

    def destroy(self) -> None:
        """Stop advertising."""
        for publisher in [*self._publishers.values(), *([self._tf] if self._tf else [])]:
            self._destroy(publisher)

    def _transform(self, estimate: Estimate) -> object:
        position = position_message(estimate, self._frames)
        pose = position['pose']['pose']
        transform = {
            'header': position['header'],
            'child_frame_id': self._frames.child,
            'transform': {'translation': pose['position'], 'rotation': pose['orientation']},
        }
        return to_message('tf2_msgs/msg/TFMessage', {'transforms': [transform]})


def _publisher(node: Node, msgtype: str, name: str, queue: QoSProfile | int) -> Publisher:
    kind = message_class(msgtype)
    if isinstance(node, LifecycleNode):
        return node.create_lifecycle_publisher(kind, name, queue)
    return node.create_publisher(kind, name, queue)


def _tf_publisher(node: Node) -> Publisher:
    try:
        return _publisher(node, 'tf2_msgs/msg/TFMessage', '/tf', _TF_DEPTH)
    except ImportError as error:
        msg = (
            'Parameter publish_tf is true but the package tf2_msgs is not installed: install '
            'ros-<distro>-tf2-msgs or set publish_tf to false.'
        )
        raise InputError(msg) from error
