# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What every node here has: callbacks that never end it, topics with health, managed states."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from ctypes import CDLL
from dataclasses import replace
from threading import Thread
from time import monotonic
import traceback
from typing import Any, TYPE_CHECKING

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy._rclpy_pybind11 import RCLError
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    qos_policy_name_from_kind,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.utilities import ok

from two_manifold_ros.errors import in_words, InputError
from two_manifold_ros.interface.assessment import Health, Publisher, routes_message
from two_manifold_ros.interface.messages import (
    BUILDERS,
    builders_of,
    labelled_array,
    PLACED,
    ROUTED,
    Scene,
    Topic,
    Topics,
)
from two_manifold_ros.interface.transforms import OdometryFrame, transform_message
from two_manifold_ros.names import LAP_FRAME
from two_manifold_ros.recordings.ros_messages import fill, message_class, to_message

if TYPE_CHECKING:
    from rclpy.subscription import Subscription

    from two_manifold_ros.filtering.estimate import Estimate
    from two_manifold_ros.laps.live import LiveLaps


def qos(topic: Topic) -> QoSProfile:
    """Return the quality of service of a topic."""
    reliability = ReliabilityPolicy.RELIABLE if topic.reliable else ReliabilityPolicy.BEST_EFFORT
    durability = DurabilityPolicy.TRANSIENT_LOCAL if topic.latched else DurabilityPolicy.VOLATILE
    return QoSProfile(depth=topic.depth, reliability=reliability, durability=durability)


class GuardedNode(Node):
    """A node that counts and logs exceptions in callbacks, and continues."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        # None as long as the node wants to go on.
        self.exit_status: int | None = None
        # Exceptions in callbacks.
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
                        said = 'Bug, please report it; the node continues.\n'
                        self.get_logger().error(said + traceback.format_exc())
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

    def subscribe(
        self,
        topic: Topic,
        take: Callable[[bytes], object],
        events: SubscriptionEventCallbacks | None = None,
    ) -> Subscription:
        """Subscribe a topic as bytes; a parameter of ROS may ask for reliable messages."""
        kind, options = message_class(topic.msgtype), (QoSPolicyKind.RELIABILITY,)
        return self.create_subscription(
            kind, topic.name, self.guard(take), qos(topic), raw=True, event_callbacks=events,
            qos_overriding_options=QoSOverridingOptions(options),
        )  # fmt: skip

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
    """Return which topics of a node, by full names, other nodes publish too, and these nodes."""
    shared, own = {}, node.get_fully_qualified_name()
    # Counting is cheap, asking is not.
    for topic in (each for each in topics if node.count_publishers(each) > 1):
        names = [each.node for each in find_publishers(node, topic)]
        # One of them is our own; another one of the same name is another node.
        if own in names:
            names.remove(own)
        other = f'another node of the same name ({own})'
        shared[topic] = tuple(sorted(other if name == own else name for name in names))
    return shared


class ImuTopic:
    """Subscribe ``imu`` as bytes, and know why no messages come."""

    def __init__(self, node: GuardedNode) -> None:
        self._node, self.msgtype = node, Topics.IMU.msgtype
        self.name = str(node.resolve_topic_name(Topics.IMU.name))
        self._subscription: Subscription | None = None
        self._incompatible, self._asked_s = '', 0.0
        self._publishers: tuple[Publisher, ...] = ()
        self.wait()

    def wait(self) -> None:
        """Wait from now on for the first message."""
        self._begun_s = self.received_s = monotonic()

    def listen(self, take: Callable[[bytes], object]) -> None:
        """Subscribe; last of all, because messages queue up until they are taken."""

        def on_message(raw: bytes) -> None:
            self.received_s = monotonic()
            self._incompatible = ''
            take(raw)

        def on_incompatible(event: Any) -> None:  # noqa: ANN401 - rclpy's event is untyped
            self._incompatible = qos_policy_name_from_kind(event.last_policy_kind).lower()

        events = SubscriptionEventCallbacks(incompatible_qos=on_incompatible)
        self._subscription = self._node.subscribe(Topics.IMU, on_message, events)

    def close(self) -> None:
        """Stop listening."""
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None

    def is_published(self, name: str) -> bool:
        """Return whether another topic, by its full name, is published as the type of this one."""
        # Of a name that a rule of this node remaps rclpy would find the publishers of another.
        return (
            self._node.resolve_topic_name(name) == name != self.name
            # Counting is cheap, asking is not.
            and self._node.count_publishers(name) > 0
            and any(each.msgtype == self.msgtype for each in find_publishers(self._node, name))
        )

    def health(self, timeout_s: float) -> Health:
        """Return the state of the topic, with the longest silence allowed."""
        node, known, now_s = self._node, self._publishers, monotonic()
        # Once a second if their number is unchanged: asking is expensive.
        asked = now_s - self._asked_s < 1.0 and all(each.node for each in known)
        if not asked or node.count_publishers(self.name) != len(known):
            known = self._publishers = find_publishers(node, self.name)
            self._asked_s = now_s
        silence_s, received = now_s - self.received_s, self.received_s > self._begun_s
        return Health(
            self.msgtype, self.name, silence_s, timeout_s, received, known,
            self._incompatible, unused_s=now_s - self._begun_s,
        )  # fmt: skip


TRANSFORM_TYPE = 'tf2_msgs/msg/TFMessage'


def check_transform() -> None:
    """Raise `InputError` if transforms cannot be published, which a start should say first."""
    try:
        message_class(TRANSFORM_TYPE)
    except ImportError as error:
        raise InputError(
            'Parameter publish_tf is true but the package tf2_msgs is not installed: '
            'install ros-<distro>-tf2-msgs or set publish_tf to false.'
        ) from error


class EstimatePublishers:
    """
    One publisher per topic, with a prefix; silent while a node with a lifecycle is not active.

    A ``transform`` from the track frame, after `check_transform`, goes to the child frame or to
    the frame of the odometry. ``laps`` time the laps of each route, by name, which is empty if the
    model knows one route; of a model without positions they are ``placed`` where fixes come.
    """

    def __init__(
        self,
        node: Any,  # noqa: ANN401 - with a lifecycle or without
        scene: Scene,
        *,
        transform: bool,
        prefix: str = '',
        odometry: OdometryFrame | None = None,
        laps: Mapping[str, LiveLaps] | None = None,
        placed: bool = False,
    ) -> None:
        if transform and Topics.POSITION not in builders_of(scene.model):
            raise InputError(
                'publish_tf is true, but the model knows laps and no positions: set publish_tf to '
                'false, or train with positions'
            )
        create, self._destroy = node.create_publisher, node.destroy_publisher
        if isinstance(node, LifecycleNode):
            create = node.create_lifecycle_publisher
            self._destroy = node.destroy_lifecycle_publisher
        self.scene, self.laps_by_route = scene, dict(laps or {})
        self._route = ''
        # Of the models that ran before, by route.
        self._counted: dict[str, LiveLaps] = {}
        self._weighed: Estimate | None = None
        self._placed, self._odometry = placed, odometry
        self._tf = create(message_class(TRANSFORM_TYPE), '/tf', 100) if transform else None
        self._create, self._prefix = create, prefix
        self._publishers: dict[Topic, Any] = {}
        self._messages: dict[Topic, Any] = {}
        self._advertise(
            *(each for each in builders_of(scene.model) if each not in ROUTED),
            *(PLACED if placed else ()),
            *([Topics.LAPS] if laps else ()),
            *(ROUTED if scene.model.route_names else ()),
        )

    def _advertise(self, *topics: Topic) -> None:
        # One that comes later is as active as the others.
        active = any(getattr(each, 'is_activated', False) for each in self._publishers.values())
        for topic in (each for each in topics if each not in self._publishers):
            kind, name = message_class(topic.msgtype), f'{self._prefix}{topic.name}'
            made = self._publishers[topic] = self._create(kind, name, qos(topic))
            # Every message of a topic names the same fields, so one object serves for all.
            self._messages[topic] = kind()
            if active:
                made.on_activate(None)

    @property
    def topics(self) -> dict[str, str]:
        """Full name of each topic after remapping, by its relative name."""
        return {topic.name: each.topic_name for topic, each in self._publishers.items()}

    @property
    def laps(self) -> LiveLaps | None:
        """What times the laps of the route that the newest estimate is of."""
        return self.laps_by_route.get(self._route)

    def publish(self, estimate: Estimate) -> None:
        """Publish an estimate on every topic that has subscribers."""
        self._route = estimate.route
        laps = self.laps_by_route.get(self._route)
        lap = None if laps is None else laps.push(estimate)
        # Building a message without a subscriber costs more than the filter itself.
        # The chances of routes come with each status, whether a position may be used or not.
        heard = {
            topic: own
            for topic, own in self._publishers.items()
            if topic is not Topics.ROUTES and own.get_subscription_count()
        }
        if not heard and self._tf is None:
            return
        usual = estimate, self.scene.of(estimate)
        on_line = usual if heard.keys().isdisjoint(PLACED) else self._on_line(*usual)
        for topic, own in heard.items():
            shown, scene = on_line if topic in PLACED else usual
            if topic is Topics.LAPS:
                fields = None if lap is None else labelled_array(lap.stamp_ns, lap.numbers())
            else:
                fields = None if shown is None else BUILDERS[topic](shown, scene)
            if fields is not None:
                fill(self._messages[topic], topic.msgtype, fields)
                own.publish(self._messages[topic])
        if self._tf is not None:
            transform = transform_message(*usual, self._odometry)
            if transform is not None:
                self._tf.publish(to_message(TRANSFORM_TYPE, transform))

    def _on_line(self, estimate: Estimate, scene: Scene) -> tuple[Estimate | None, Scene]:
        """Return an estimate on the line through fixes, in their frame, if that is asked for."""
        laps = self.laps
        if not self._placed:
            return estimate, scene
        if laps is None:
            return None, scene
        track = laps.frame if scene.track == LAP_FRAME else scene.track
        return laps.line.placed(estimate), replace(scene, track=track)

    def publish_chances(self, estimate: Estimate | None) -> None:
        """Publish how likely each known route is by the newest estimate, once for each."""
        own = self._publishers.get(Topics.ROUTES)
        # During silence the newest estimate is not about the present.
        if own is not None and estimate is not None and estimate is not self._weighed:
            self._weighed = estimate
            fill(self._messages[Topics.ROUTES], Topics.ROUTES.msgtype, routes_message(estimate))
            own.publish(self._messages[Topics.ROUTES])

    def go_on_with(self, scene: Scene, laps: Mapping[str, LiveLaps]) -> None:
        """Publish for another model from now on, and go on counting laps."""
        self.scene = scene
        if scene.model.route_names:
            self._advertise(*ROUTED)
        # A model between them may have known no laps.
        self._counted |= self.laps_by_route
        driven = self._counted.get(self._route)
        for name, each in laps.items():
            # Of two models of which one has no names, the route may be any.
            unnamed = driven if '' in {name, self._route} else None
            before = self._counted.get(name, unnamed)
            if before is not None:
                each.go_on(before)
        # Without the topic there is nothing to time for.
        self.laps_by_route = dict(laps) if Topics.LAPS in self._publishers else {}

    def destroy(self) -> None:
        """Stop advertising."""
        for own in (*self._publishers.values(), self._tf):
            if own is not None:
                self._destroy(own)


SHUTDOWNS = {
    Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
    Transition.TRANSITION_INACTIVE_SHUTDOWN,
    Transition.TRANSITION_ACTIVE_SHUTDOWN,
}
LOOK_S = 0.02
"""How often to look whether a thread has ended: a transition ends half of it late."""


class BackgroundNode(GuardedNode, LifecycleNode):
    """
    A node with a lifecycle whose transition *configure* works in a thread.

    Within the callback of rclpy a node neither answers nor publishes. Here the callback starts the
    transition, another one ends it and answers; between them only a shutdown is not refused.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._work: Thread | None = None
        self._made: Any = None
        self._error: BaseException | None = None
        self._activates = False
        self._owed: ChangeState.Response | None = None
        self._send_owed: Callable[[], object] = lambda: None
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._looking = self.create_timer(LOOK_S, self.guard(self._look), clock=steady)
        self._looking.cancel()
        for service in self.services:
            if service.srv_type is ChangeState:
                self._take_over(service)

    @abstractmethod
    def prepare(self) -> Callable[[], Any]:
        """Return what works in a thread, without the node; an `InputError` fails it."""

    @abstractmethod
    def complete(self, made: Any) -> None:  # noqa: ANN401 - whatever a node makes
        """Use the result of the thread, between two callbacks."""

    @abstractmethod
    def give_up(self, reason: str) -> None:
        """Take note that the node could not be configured."""

    @property
    def is_configuring(self) -> bool:
        """True while the transition *configure* goes on."""
        return self._work is not None

    def configure(self, *, activate: bool = False) -> None:
        """Start the transition *configure*, and activate the node afterwards if asked to."""
        self._state_machine.trigger_transition_by_id(Transition.TRANSITION_CONFIGURE, True)
        self._activates = activate
        try:
            make = self.prepare()
        except InputError as error:
            self._end(None, error)
        else:
            # A daemon, so that a signal ends the node while it loads.
            work = Thread(target=lambda: self._run(work, make), daemon=True, name='configuring')
            self._work, self._made, self._error = work, None, None
            work.start()
            self._looking.reset()

    def _run(self, work: Thread, make: Callable[[], Any]) -> None:
        """Do the slow work; of a transition that was given up nothing is kept."""
        made, caught = None, None
        try:
            made = make()
        # The error is reported nowhere else.
        except BaseException as error:  # noqa: BLE001 - reported where the transition ends
            caught = error
        if self._work is work:
            self._made, self._error = made, caught
        # What loading took beside what it made: some megabytes, and a node runs for days.
        with suppress(AttributeError):  # of another C library than that of GNU
            CDLL(None).malloc_trim(0)

    def _look(self) -> None:
        if self._work is not None and not self._work.is_alive():
            made, self._made = self._made, None
            self._end(made, self._error)

    def _end(self, made: Any, error: BaseException | None) -> None:  # noqa: ANN401 - as above
        """End the transition with what was made, or with why it could not be."""
        if error is None:
            try:
                self.complete(made)
            # Otherwise the error is lost and the transition never ends.
            except Exception as raised:  # noqa: BLE001 - reported below
                error = raised
        if error is None:
            self._leave(TransitionCallbackReturn.SUCCESS)
            if self._activates:
                self.trigger_activate()
            return
        error = in_words(error)
        if not isinstance(error, InputError):
            self.get_logger().error(''.join(traceback.format_exception(error)))
            error = InputError(
                f'{type(error).__name__} while configuring, please report it: {error}'
            )
        self.give_up(str(error))
        self._leave(TransitionCallbackReturn.FAILURE)

    def _leave(self, outcome: TransitionCallbackReturn) -> None:
        """Leave the state *configuring*, and answer the request."""
        self._looking.cancel()
        self._work = None
        self._state_machine.trigger_transition_by_label(outcome.to_label(), True)
        if self._owed is not None:
            self._owed.success = outcome is TransitionCallbackReturn.SUCCESS
            self._owed = None
            self._send_owed()

    def _take_over(self, service: Any) -> None:  # noqa: ANN401 - its methods are replaced
        """Answer requests for transitions, some of them later."""
        change, send = service.callback, service.send_response

        def answer(request: ChangeState.Request, response: ChangeState.Response) -> object:
            try:
                return self._change(request, response, change)
            # A lifecycle manager that is late asks for it; rclpy would end the node of it.
            except RCLError:
                asked = request.transition.label or f'number {request.transition.id}'
                self.get_logger().warning(
                    f'The transition {asked} was asked for, but this state does not allow it'
                )
                response.success = False
                return response

        def send_now_or_later(response: ChangeState.Response, header: object) -> None:
            if response is self._owed:
                self._send_owed = lambda: send(response, header)
            else:
                send(response, header)

        service.callback, service.send_response = answer, send_now_or_later

    def _change(
        self,
        request: ChangeState.Request,
        response: ChangeState.Response,
        change: Callable[[Any, Any], object],
    ) -> object:
        wanted = request.transition
        if self._work is not None and (wanted.label == 'shutdown' or wanted.id in SHUTDOWNS):
            self._leave(TransitionCallbackReturn.FAILURE)
            wanted.id, wanted.label = Transition.TRANSITION_UNCONFIGURED_SHUTDOWN, ''
        label = wanted.label
        number = self._state_machine.get_transition_by_label(label) if label else wanted.id
        if number != Transition.TRANSITION_CONFIGURE:
            return change(request, response)
        self.configure()
        if self._work is not None:
            self._owed = response
        return response
