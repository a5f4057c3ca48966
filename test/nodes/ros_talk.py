# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start the real nodes as processes and talk to them over DDS."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
import os
from pathlib import Path
import signal
import subprocess
import sys
from tempfile import TemporaryFile
from time import monotonic
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from two_manifold_ros.interface.messages import PUBLISHED
from two_manifold_ros.nodes.running import make_executor
from two_manifold_ros.recordings.ros_messages import message_class

ESTIMATED = 'position', 'odometry', 'predicted_path', 'latent_state', 'markers', 'particles'
KINDS = {name: message_class(PUBLISHED[name].msgtype) for name in (*ESTIMATED, 'laps')}
"""What the filter node publishes of an estimate."""

CHECKOUT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0
"""Waiting ends as soon as the condition holds; a busy machine takes long to start a process."""


class Process:
    """A process whose output is kept."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None) -> None:
        # Not a pipe: one that is not read would stop a node that logs much.
        self._output = TemporaryFile()  # noqa: SIM115 - open as long as the process
        self.process = subprocess.Popen(
            command, cwd=CHECKOUT, env=environment, stdout=self._output, stderr=subprocess.STDOUT
        )

    @property
    def said(self) -> str:
        # Reading at a place of our own: the process writes where the file's own is.
        return os.pread(self._output.fileno(), 10_000_000, 0).decode()

    def ended(self) -> int:
        return self.process.wait(PATIENCE_S)

    def log(self) -> str:
        """Return everything it logged; only after it ended."""
        self.ended()
        return self.said

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.ended()
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.ended()


class NodeProcess(Process):
    """One of our nodes as a process of its own, in our domain or in another one."""

    program = '-m', 'two_manifold_ros.nodes'

    def __init__(
        self, name: str, *ros_args: str, domain: int | None = None, **parameters: object
    ) -> None:
        begin = [sys.executable, *self.program, name, '--ros-args', *given(parameters)]
        super().__init__([*begin, *ros_args], None if domain is None else environment_of(domain))


def given(parameters: Mapping[str, object]) -> list[str]:
    return [part for key, value in parameters.items() for part in ('-p', f'{key}:={value}')]


@contextmanager
def ros(domain: str, namespace: str = '/', **parameters: object) -> Iterator[None]:
    """Let nodes be made in this process, in a namespace and with parameters."""
    named = ['-r', f'__ns:={namespace}']
    rclpy.init(args=['--ros-args', *named, *given(parameters)], domain_id=int(domain))
    try:
        yield
    finally:
        rclpy.shutdown()


@contextmanager
def configured(
    kind: Callable[[], Any], domain: str, namespace: str = '/', **parameters: object
) -> Iterator[Any]:
    """Give a node in this process, once it has configured itself if it does."""
    with ros(domain, namespace, **parameters):
        executor, node = make_executor(), kind()
        executor.add_node(node)
        try:
            while getattr(node, 'is_configuring', False):
                executor.spin_once(timeout_sec=0.1)
            yield node
        finally:
            executor.shutdown()
            node.destroy_node()


def environment_of(domain: int) -> dict[str, str]:
    """Return the environment of a process in a domain, which no other computer hears."""
    ours = {'ROS_DOMAIN_ID': str(domain), 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    return {**os.environ, **ours}


def numbers_of(message: Float64MultiArray) -> dict[str, float]:
    return dict(zip(message.layout.dim[0].label.split(','), message.data, strict=True))


def stamp_of(message: Any) -> int:  # noqa: ANN401 - anything with a header
    return int(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)


def quiet_node(name: str, context: Context) -> Node:
    """Return a node without a log, which nodes of one name in a process would share."""
    return Node(name, context=context, start_parameter_services=False, enable_rosout=False)


class Talk:
    """A node of the tests, spun only while it waits for something, and does ``meanwhile``."""

    def __init__(self, domain: int | None = None) -> None:
        self._context = Context()
        self._context.init(domain_id=domain)
        self.node = quiet_node('test', self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.meanwhile: Callable[[], object] = partial(self.spin, 0.02)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def spin(self, seconds: float = 0.0) -> None:
        self._executor.spin_once(timeout_sec=seconds)

    def rest(self, seconds: float) -> None:
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0.0:
            self.spin(left)

    def until(self, condition: Callable[[], object], what: str) -> None:
        end = monotonic() + PATIENCE_S
        while not condition():
            assert monotonic() < end, f'waited in vain for {what}'
            self.meanwhile()

    def listen(self, kind: type, topic: str, depth: int = 100) -> list[Any]:
        """Collect the messages of a topic from now on, once its publisher is found."""
        messages: list[Any] = []
        subscription = self.node.create_subscription(kind, topic, messages.append, depth)
        self.until(subscription.get_publisher_count, f'a publisher of {topic}')
        return messages

    def publisher(self, kind: type, topic: str, depth: int = 1000) -> Publisher:
        """Return a publisher that has found its subscriber."""
        publisher = self.node.create_publisher(kind, topic, depth)
        self.until(publisher.get_subscription_count, f'a subscriber of {topic}')
        return publisher

    def call(self, kind: Any, service: str, **fields: object) -> Any:  # noqa: ANN401 - generated
        client = self.node.create_client(kind, service)
        self.until(client.service_is_ready, f'the service {service}')
        future = client.call_async(kind.Request(**fields))
        self.until(future.done, f'the answer of {service}')
        self.node.destroy_client(client)
        return future.result()

    def change(self, node: str, name: str, value: object) -> SetParametersResult:
        chosen = [Parameter(name, value=value).to_parameter_msg()]
        return self.call(SetParameters, f'{node}/set_parameters', parameters=chosen).results[0]

    def swap(self, model: Path) -> bool:
        """Give the filter node another model, and return whether it begins to load it."""
        assert self.change('filter_node', 'next_model', str(model)).successful
        return bool(self.call(Trigger, 'filter_node/swap_model').success)

    def ask(self, number: int = 0, label: str = '') -> Future:
        """Ask the filter node for a transition, and return what will be its answer."""
        client = self.node.create_client(ChangeState, 'filter_node/change_state')
        self.until(client.service_is_ready, 'the service')
        request = ChangeState.Request()
        request.transition.id, request.transition.label = number, label
        return client.call_async(request)

    def transition(self, number: int = 0, label: str = '') -> bool:
        answer = self.ask(number, label)
        self.until(answer.done, f'the answer to {number} {label}')
        return bool(answer.result().success)

    @property
    def state(self) -> str:
        return str(self.call(GetState, 'filter_node/get_state').current_state.label)


class Board:
    """The newest diagnostics of each node, as an aggregator hears them."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._heard: dict[str, DiagnosticStatus] = {}
        self._newest = DiagnosticStatus()
        talk.node.create_subscription(DiagnosticArray, '/diagnostics', self._hear, 100)

    def _hear(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._heard[status.name] = self._newest = status

    def status(self, name: str) -> DiagnosticStatus:
        return self._heard.get(name, DiagnosticStatus())

    def value(self, name: str, key: str) -> str:
        return {each.key: each.value for each in self.status(name).values}.get(key, '')


class Health(Board):
    """The newest diagnostics of the only node."""

    def __init__(self, talk: Talk) -> None:
        super().__init__(talk)
        talk.until(lambda: talk.node.count_publishers('/diagnostics'), 'a publisher')

    @property
    def why(self) -> str:
        return str(self._newest.message)

    @property
    def level(self) -> int:
        return ord(self._newest.level)

    @property
    def values(self) -> dict[str, str]:
        return {each.key: each.value for each in self._newest.values}

    def clear(self) -> None:
        self._newest = DiagnosticStatus()

    def until(self, part: str) -> None:
        self._until(lambda: part in self.why, f'diagnostics with {part!r}')

    def until_value(self, key: str, value: str) -> None:
        self._until(lambda: self.values.get(key) == value, f'{key} to be {value}')

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        self.clear()
        try:
            self._talk.until(condition, what)
        except AssertionError as error:
            msg = f'{error}; the last word was {self.why!r}, with {self.values}'
            raise AssertionError(msg) from error
