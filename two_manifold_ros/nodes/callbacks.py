# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The base of all nodes: parameters, guarded callbacks, and the topics that they listen to."""

from __future__ import annotations

import socket
from time import monotonic
import traceback
from typing import Any, TYPE_CHECKING, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import qos_policy_name_from_kind
from rclpy.utilities import ok

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.assessment import InputHealth, Publisher
from two_manifold_ros.interface.messages import Topic
from two_manifold_ros.interface.parameters import NodeParameters, Settable, unknown_parameters
from two_manifold_ros.names import POSITION_TYPES
from two_manifold_ros.nodes.publishing import message_class, qos

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import rclpy.parameter
    from rclpy.subscription import Subscription

    from two_manifold_ros.interface.parameters import Parameter


Chosen = TypeVar('Chosen', bound=NodeParameters)


def declare(
    node: Node, parameters: type[Chosen], locked: Callable[[], str] = lambda: ''
) -> Chosen:
    """
    Declare all parameters, refuse changes that would silently do nothing, and return the values.

    What was given at the start under another name is warned of.

    Parameters
    ----------
    node
        Node on which the parameters are declared.
    parameters
        Parameters of the node.
    locked
        Returns why parameters that are not always settable cannot be changed now, or an empty
        string if they can.

    Raises
    ------
    InputError
        If a value given at start has a wrong type, is out of range or is not a known word.

    """
    table = {parameter.name: parameter for parameter in parameters.table()}
    for parameter in table.values():
        _declare_one(node, parameter)

    def check(changes: list[rclpy.parameter.Parameter]) -> SetParametersResult:
        for change in changes:
            parameter = table.get(change.name)
            if parameter is None:
                continue
            held = '' if parameter.settable is Settable.ALWAYS else locked()
            reason = held or parameter.refusal(change.value)
            if reason:
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)
    # ROS ignores parameters that no node declares. It has no public way to ask for those given.
    stray = unknown_parameters(node._parameter_overrides, table, node.get_name())  # noqa: SLF001
    if stray:
        node.get_logger().warning(stray)
    return read(node, parameters)


def _declare_one(node: Node, parameter: Parameter) -> None:
    try:
        value = node.declare_parameter(
            parameter.name, parameter.default, descriptor(parameter)
        ).value
    # rclpy raises several unrelated types for a wrong type and for a value out of range.
    except Exception as error:
        msg = (
            f'Parameter {parameter.name} cannot be used ({error}): give a {parameter.kind}'
            f'{f", {parameter.constraint}" if parameter.constraint else ""}.'
        )
        raise InputError(msg) from error
    reason = parameter.refusal(value)
    if reason:
        raise InputError(reason)


def read(node: Node, parameters: type[Chosen]) -> Chosen:
    """Return the present values, arrays as lists without empty strings."""
    found = {}
    for parameter in parameters.table():
        value = node.get_parameter(parameter.name).value
        if isinstance(parameter.default, list):
            value = [entry for entry in value if entry != '']
        found[parameter.name] = value
    return parameters(**found)


def descriptor(parameter: Parameter) -> ParameterDescriptor:
    """Return the descriptor of a parameter for ``ros2 param describe``."""
    units = f' [{parameter.units}]' if parameter.units else ''
    message = ParameterDescriptor(
        name=parameter.name,
        description=f'{parameter.description}{units}',
        read_only=parameter.settable is Settable.NEVER,
    )
    if parameter.choices:
        message.additional_constraints = f'one of {parameter.constraint}'
    low, high = parameter.low, parameter.high
    if low is not None and high is not None:
        if parameter.kind == 'double':
            message.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        else:
            limits = IntegerRange(from_value=int(low), to_value=int(high))
            message.integer_range = [limits]
    return message


class GuardedNode(Node):
    """
    A node that counts and logs exceptions in callbacks, and continues.

    Attributes
    ----------
    exit_status
        ``None`` as long as the node wants to go on.
    errors
        Exceptions in callbacks.

    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.exit_status: int | None = None
        self.errors = 0
        self._kinds: set[str] = set()

    def guard(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        """Return the callback guarded; it returns its last argument if it fails."""

        def guarded(*arguments: object) -> object:
            try:
                return callback(*arguments)
            # Every exception here is a bug, but no bug may stop the robot.
            except Exception as error:  # noqa: BLE001 - see above
                # A signal shuts the middleware down in the middle of a callback: no bug.
                if ok():
                    self.errors += 1
                    kind = f'{type(error).__name__}: {error}'
                    if kind not in self._kinds and len(self._kinds) < 100:
                        self._kinds.add(kind)
                        text = (
                            f'Bug, please report it; the node continues.\n{traceback.format_exc()}'
                        )
                        self.get_logger().error(text)
                # To a service the last argument is the response, which is then unsuccessful.
                return arguments[-1] if arguments else None

        return guarded

    def every(self, period_s: float, callback: Callable[[], object]) -> None:
        """Call back at a steady rate, even without /clock: silence needs a reason as well."""
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(period_s, self.guard(callback), clock=steady)

    def serve(self, kind: Any, name: str, answer: Callable[[Any, Any], object]) -> None:  # noqa: ANN401 - a generated class
        """Offer a service under the name of the node, which no other node answers then."""
        self.create_service(kind, f'~/{name}', self.guard(answer))

    @property
    def hardware_id(self) -> str:
        """Name of the computer and the namespace, which distinguish one robot from another."""
        return f'{socket.gethostname()}{self.get_namespace().rstrip("/")}'

    @property
    def now_ns(self) -> int:
        """Time of the ROS clock."""
        return int(self.get_clock().now().nanoseconds)


def find_publishers(node: Node, topic: str) -> tuple[Publisher, ...]:
    """Return the publishers of a topic, given by its full name."""
    return tuple(
        # The middleware knows a publisher before it knows whose it is.
        Publisher(i.topic_type, '')
        if 'UNKNOWN' in i.node_name
        else Publisher(i.topic_type, f'{i.node_namespace.rstrip("/")}/{i.node_name}')
        for i in node.get_publishers_info_by_topic(topic)
    )


def find_shared(node: Node, topics: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """
    Return those of its own topics that other nodes publish as well, and the names of these nodes.

    Parameters
    ----------
    node, topics
        Node, and the full names of topics of which it has one publisher each.

    """
    shared = {}
    for topic in topics:
        # Counting is cheap, asking is not.
        if node.count_publishers(topic) > 1:
            names = [each.node for each in find_publishers(node, topic)]
            own = node.get_fully_qualified_name()
            # One of them is our own; another one of the same name is another node.
            if own in names:
                names.remove(own)
            other = f'another node of the same name ({own})'
            shared[topic] = tuple(sorted(other if name == own else name for name in names))
    return shared


class SensorTopic:
    """
    Subscribe a topic as bytes, and know why no messages come.

    Parameters
    ----------
    node, topic
        Node that subscribes, and what.
    sensor
        What publishes it, in a word.

    Attributes
    ----------
    name, msgtype
        Full name of the topic, and its type.
    received_s
        When the newest message came, by ``monotonic``.

    """

    def __init__(self, node: GuardedNode, topic: Topic, sensor: str) -> None:
        self._node = node
        self._topic = topic
        self.msgtype = topic.msgtype
        self._subscription: Subscription | None = None
        self._incompatible = ''
        self._publishers: tuple[Publisher, ...] = ()
        self._asked_s = 0.0
        self.sensor = sensor
        self.name: str = node.resolve_topic_name(topic.name)
        self.wait()

    def wait(self) -> None:
        """Wait from now on for the first message."""
        self._begun_s = self.received_s = monotonic()

    @property
    def silence_s(self) -> float:
        """Seconds since the last message, or since it is waited for."""
        return monotonic() - self.received_s

    def listen(self, take: Callable[[bytes], object]) -> None:
        """Subscribe; last of all, because messages queue up until they are taken."""

        def on_message(raw: bytes) -> None:
            self.received_s = monotonic()
            self._incompatible = ''
            take(raw)

        self._subscription = self._node.create_subscription(
            message_class(self.msgtype),
            self._topic.name,
            self._node.guard(on_message),
            qos(self._topic),
            raw=True,
            event_callbacks=SubscriptionEventCallbacks(incompatible_qos=self._on_incompatible),
        )

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def health(self, timeout_s: float) -> InputHealth:
        """Return the state of the topic, with the longest silence allowed."""
        publishers, received = self._ask_publishers(), self.received_s > self._begun_s
        return InputHealth(
            self.sensor,
            self.msgtype,
            self.name,
            self.silence_s,
            timeout_s,
            received,
            publishers,
            () if publishers or received else self._find_elsewhere(),
            self._incompatible,
            unused_s=monotonic() - self._begun_s,
        )

    def _ask_publishers(self) -> tuple[Publisher, ...]:
        """Query the publishers, once a second if their number is unchanged: it is expensive."""
        known, now_s = self._publishers, monotonic()
        asked = now_s - self._asked_s < 1.0 and all(each.node for each in known)
        if not asked or self._node.count_publishers(self.name) != len(known):
            self._publishers = find_publishers(self._node, self.name)
            self._asked_s = now_s
        return self._publishers

    def _find_elsewhere(self) -> tuple[str, ...]:
        """Return the full names of other topics that are published as this type, in order."""
        node = self._node
        return tuple(
            name
            for name, kinds in node.get_topic_names_and_types()
            if self.msgtype in kinds and name != self.name and node.count_publishers(name)
        )

    def _on_incompatible(self, event: Any) -> None:  # noqa: ANN401 - rclpy's event is untyped
        self._incompatible = qos_policy_name_from_kind(event.last_policy_kind).lower()


class LiveReference:
    """
    Subscribe ``reference`` as soon as its type is known.

    Parameters
    ----------
    node
        Node that subscribes.
    msgtype
        Type of the topic; empty means the one it is published with.

    Attributes
    ----------
    topic
        Its full name.
    msgtype
        Its type; empty while it is not known.
    problem
        Why it cannot be subscribed; empty if it is, or if it has no publisher.

    """

    def __init__(self, node: GuardedNode, msgtype: str) -> None:
        self._node = node
        self._wanted = msgtype
        self._subscription: Subscription | None = None
        self.topic: str = node.resolve_topic_name('reference')
        self.msgtype = ''
        self.problem = ''

    def find(self, start: Callable[[str], object], take: Callable[[bytes], object]) -> None:
        """
        Subscribe it if its type is known by now, or note the problem.

        Parameters
        ----------
        start
            Called once with the type, before the first message.
        take
            Called with every message; guarded.

        """
        if self.msgtype:
            return
        found = self._node.get_publishers_info_by_topic(self.topic)
        types = [self._wanted] if self._wanted else sorted({info.topic_type for info in found})
        usable = [kind for kind in types if kind in POSITION_TYPES]
        self.problem = ''
        if len(usable) == 1:
            (self.msgtype,) = usable
            start(self.msgtype)
            # Best effort matches both kinds of publisher.
            topic = Topic('reference', self.msgtype, depth=1000, reliable=False)
            self._subscription = self._node.create_subscription(
                message_class(self.msgtype),
                topic.name,
                self._node.guard(take),
                qos(topic),
                raw=True,
            )
            self._node.get_logger().info(f'References: {self.topic} ({self.msgtype})')
        elif types:
            self.problem = (
                f'{self.topic} is published as {", ".join(types)}: set reference_type '
                f'to one of {", ".join(POSITION_TYPES)} or remap reference'
            )

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
