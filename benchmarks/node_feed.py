# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Filter nodes as processes, what they are sent and what they answer; no benchmark."""

from __future__ import annotations

import math
import os
from pathlib import Path
from struct import pack_into, unpack_from
import subprocess
import sys
from time import perf_counter_ns
from typing import TYPE_CHECKING

from bench_node import CHECKOUT, cpu_s
from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
import numpy as np
import rclpy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray

from two_manifold_ros.domains import isolate
from two_manifold_ros.nodes.running import make_executor

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.typing import Floats

PATIENCE_NS = 300 * 10**9
PAGE = os.sysconf('SC_PAGE_SIZE')
_NUMBERS = 8 * 37
"""Bytes of the numbers behind the header of a message."""


class ImuBytes:
    """Serialised ``sensor_msgs/Imu``, quicker than through the message."""

    def __init__(self) -> None:
        self._bytes = bytearray(serialize_message(Imu()))
        self._begin = len(self._bytes) - _NUMBERS

    def of(self, stamp_ns: int, sample: Floats) -> bytes:
        """Return the message of a stamp and a (6,) sample."""
        pack_into('<iI', self._bytes, 4, *divmod(stamp_ns, 10**9))
        pack_into('<3d', self._bytes, self._begin + 8 * 13, *sample[3:])
        pack_into('<3d', self._bytes, self._begin + 8 * 25, *sample[:3])
        return bytes(self._bytes)


class Robot:
    """
    A filter node in a namespace.

    Attributes
    ----------
    answers
        Stamp of each odometry message and when it was heard, nanoseconds.
    imu
        Publisher of serialised messages.
    received
        How many messages it has taken by its own last word.

    """

    def __init__(self, ground: Ground, model: Path, namespace: str, core: int | None) -> None:
        command = [
            sys.executable, '-m', 'two_manifold_ros.nodes', 'filter_node', '--ros-args',
            '-r', f'__ns:={namespace}', '-p', f'model:={model}', '-p', 'status_rate_hz:=50.0',
            '--log-level', 'error',
        ]  # fmt: skip
        if core is not None:
            command = ['taskset', '--cpu-list', str(core), *command]
        self.answers: list[tuple[int, int]] = []
        self.received = 0
        self._reports: list[dict[str, str]] = []
        self._name = f'{namespace}/filter_node'.lstrip('/')
        node = ground.node
        self.imu = node.create_publisher(Imu, f'{namespace}/imu', 1000)
        node.create_subscription(Odometry, f'{namespace}/odometry', self._hear, 1000, raw=True)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._report, 10)
        node.create_subscription(Float64MultiArray, f'{namespace}/status', self._look, 10)
        self._process = subprocess.Popen(command, cwd=CHECKOUT)
        self._ground = ground

    @property
    def cpu_s(self) -> float:
        """CPU time of all of its threads until now."""
        return cpu_s(self._process)

    @property
    def memory_mb(self) -> float:
        """Its resident memory now."""
        pages = Path(f'/proc/{self._process.pid}/statm').read_text().split()[1]
        return int(pages) * PAGE / 1e6

    def hears(self) -> bool:
        """Send a message that it has to refuse, and return whether it has had one by now."""
        self.imu.publish(ImuBytes().of(0, np.zeros(6)))
        return self.received > 0

    def settled(self) -> dict[str, str]:
        """Return its diagnostics, once all that was sent has arrived or is lost."""
        self._reports.clear()
        self._ground.until(lambda: len(self._reports) > 2)
        return self._reports[-1]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    def _hear(self, raw: bytes) -> None:
        seconds, nanoseconds = unpack_from('<iI', raw, 4)
        self.answers.append((seconds * 10**9 + nanoseconds, perf_counter_ns()))

    def _look(self, message: Float64MultiArray) -> None:
        names = message.layout.dim[0].label.split(',')
        received = message.data[names.index('received')]
        # Unknown until it is configured.
        self.received = 0 if math.isnan(received) else int(received)

    def _report(self, message: DiagnosticArray) -> None:
        (status,) = message.status
        if status.name == self._name:
            self._reports.append({each.key: each.value for each in status.values})


class Ground:
    """A ROS domain of its own with robots in it."""

    def __init__(self) -> None:
        isolate()
        rclpy.init()
        self.node = rclpy.create_node('bench')
        self._executor = make_executor()
        self._executor.add_node(self.node)
        self._robots: list[Robot] = []

    def robot(self, model: Path, name: str, core: int | None = None) -> Robot:
        """Start a filter node, on one core only if that is given."""
        # There are few domains, and another process may have taken the same one.
        self._robots.append(Robot(self, model, f'/bench_{os.getpid()}/{name}', core))
        return self._robots[-1]

    def begin(self) -> None:
        """Wait until every robot is there and hears: what is sent before that is lost."""
        self.until(lambda: all(each.imu.get_subscription_count() for each in self._robots))
        for robot in self._robots:
            self.until(robot.hears)
            robot.settled()

    def close(self) -> None:
        for robot in self._robots:
            robot.stop()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()

    def spin(self, seconds: float = 0.0) -> None:
        self._executor.spin_once(timeout_sec=seconds)

    def until(self, condition: Callable[[], object]) -> None:
        """Spin until the condition holds."""
        end = perf_counter_ns() + PATIENCE_NS
        while not condition():
            if perf_counter_ns() > end:
                sys.exit('the nodes do not answer')
            self.spin(0.05)

    def until_time(self, due_ns: int) -> None:
        """Spin until a time of ``perf_counter_ns``."""
        while (left := due_ns - perf_counter_ns()) > 0:
            self.spin(left / 1e9)
