# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Publishes estimates."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from rclpy.lifecycle import LifecycleNode

from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.fixed_layout import FixedLayout
from two_manifold_ros.nodes.quality import quality
from two_manifold_ros.nodes.translating import filler, message_class, to_message
from two_manifold_ros.outputs.messages import BUILDERS, topics_of
from two_manifold_ros.outputs.position import position_message
from two_manifold_ros.outputs.topics import ESTIMATE_TOPICS, ODOMETRY, PARTICLES, POSITION

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node
    from rclpy.publisher import Publisher
    from rclpy.qos import QoSProfile

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.outputs.frames import Frames
    from two_manifold_ros.outputs.topics import Message, Topic

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
