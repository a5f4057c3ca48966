# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Start the real nodes as processes and talk to them over DDS."""

from __future__ import annotations

from collections import defaultdict
import os
from pathlib import Path
import signal
import subprocess
import sys
from tempfile import TemporaryFile
from time import monotonic
from typing import Any, TYPE_CHECKING

from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from nav_msgs.msg import Path as PathMessage
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import Float64MultiArray
from visualization_msgs.msg import MarkerArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rclpy.publisher import Publisher
    from rclpy.qos import QoSProfile

    Quality = QoSProfile | int

KINDS = {
    'position': PoseWithCovarianceStamped,
    'odometry': Odometry,
    'predicted_path': PathMessage,
    'latent_state': Float64MultiArray,
    'markers': MarkerArray,
    'particles': PointCloud2,
}
"""What the filter node publishes of an estimate."""

CHECKOUT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0
"""Waiting ends as soon as the condition holds; a busy machine takes long to start a process."""


MOST_LOGGED = 10_000_000


class NodeProcess:
    """One of our nodes as a process of its own."""

    environment: Mapping[str, str] | None = None
    """What a subclass gives it instead of our own environment."""

    program: tuple[str, ...] = ('-m', 'two_manifold_ros.nodes')
    """What a subclass lets Python run in place of the entry point."""

    def __init__(self, name: str, *ros_args: str, **parameters: object) -> None:
        given = [f'{key}:={value}' for key, value in parameters.items()]
        pairs = [part for each in given for part in ('-p', each)]
        # Not a pipe: one that is not read would stop a node that logs much.
        self._output = TemporaryFile()  # noqa: SIM115 - open as long as the process
        self.process = subprocess.Popen(
            [
                sys.executable,
                *self.program,
                name,
                '--ros-args',
                *pairs,
                *ros_args,
            ],
            cwd=CHECKOUT,
            env=self.environment,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def said(self) -> str:
        """Log of the process until now."""
        # Reading at a place of our own: the process writes where the file's own is.
        return os.pread(self._output.fileno(), MOST_LOGGED, 0).decode()

    def log(self) -> str:
        """Return everything it logged; only after it ended."""
        self.process.wait(timeout=PATIENCE_S)
        return self.said

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and return the exit status."""
        if self.alive:
            self.process.send_signal(how)
        try:
            self.log()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.log()
        return self.process.returncode


class Talk:
    """A node of the tests, spun only while it waits for something."""

    def __init__(self, domain: int | None = None) -> None:
        self._context = Context()
        self._context.init(domain_id=domain)
        # Without a log: several nodes of one name in a process would share it, with a warning.
        self.node = Node(
            'test', context=self._context, start_parameter_services=False, enable_rosout=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.heard: dict[str, list[Any]] = defaultdict(list)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def spin(self, seconds: float = 0.0) -> None:
        self._executor.spin_once(timeout_sec=seconds)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Spin until the condition holds."""
        end = monotonic() + PATIENCE_S
        while not condition():
            assert monotonic() < end, f'waited in vain for {what}'
            self.spin(0.02)

    def listen(self, kind: type, topic: str, quality: Quality = 100) -> list[Any]:
        """Collect the messages of a topic from now on, once its publisher is found."""
        messages = self.heard[topic]
        messages.clear()
        subscription = self.node.create_subscription(kind, topic, messages.append, quality)
        self.until(subscription.get_publisher_count, f'a publisher of {topic}')
        return messages

    def publisher(self, kind: type, topic: str, quality: Quality = 1000) -> Publisher:
        """Return a publisher that has found its subscriber."""
        publisher = self.node.create_publisher(kind, topic, quality)
        self.until(publisher.get_subscription_count, f'a subscriber of {topic}')
        return publisher

    def call(self, kind: Any, service: str, **fields: object) -> Any:  # noqa: ANN401 - generated
        """Call a service and return its response."""
        client = self.node.create_client(kind, service)
        self.until(client.service_is_ready, f'the service {service}')
        future = client.call_async(kind.Request(**fields))
        self.until(future.done, f'the answer of {service}')
        self.node.destroy_client(client)
        return future.result()


class Health:
    """The newest diagnostics of a node."""

    def __init__(self, talk: Talk) -> None:
        # Importing it above would need ROS while tests are collected.
        from diagnostic_msgs.msg import DiagnosticArray  # noqa: PLC0415

        self._talk = talk
        self._messages = talk.listen(DiagnosticArray, 'diagnostics')

    @property
    def why(self) -> str:
        return self._messages[-1].status[0].message if self._messages else ''

    @property
    def level(self) -> int:
        return ord(self._messages[-1].status[0].level)

    @property
    def values(self) -> dict[str, str]:
        if not self._messages:
            return {}
        return {each.key: each.value for each in self._messages[-1].status[0].values}

    def clear(self) -> None:
        """Forget what was heard until now."""
        self._messages.clear()

    def until(self, part: str) -> None:
        """Wait until the reason holds these words."""
        self._messages.clear()
        try:
            self._talk.until(lambda: part in self.why, f'diagnostics with {part!r}')
        except AssertionError as error:
            msg = f'{error}; the last word was {self.why!r}'
            raise AssertionError(msg) from error

    def until_value(self, key: str, value: str) -> None:
        """Wait until a key of the diagnostics has this value."""
        self._messages.clear()
        try:
            self._talk.until(lambda: self.values.get(key) == value, f'{key} to be {value}')
        except AssertionError as error:
            msg = f'{error}; the last values were {self.values}'
            raise AssertionError(msg) from error


class Board:
    """The newest diagnostics of each node, as an aggregator hears them."""

    def __init__(self, talk: Talk) -> None:
        # Importing it above would need ROS while tests are collected.
        from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: PLC0415

        self._none = DiagnosticStatus()
        self._heard: dict[str, Any] = {}
        talk.node.create_subscription(DiagnosticArray, '/diagnostics', self._hear, 100)

    def _hear(self, message: Any) -> None:  # noqa: ANN401 - a generated class
        for status in message.status:
            self._heard[status.name] = status

    def status(self, name: str) -> Any:  # noqa: ANN401 - a generated class
        return self._heard.get(name, self._none)

    def value(self, name: str, key: str) -> str:
        return {each.key: each.value for each in self.status(name).values}.get(key, '')
