# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Nodes as processes, the load they are, what they are sent and what they answer; no benchmark."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
from struct import pack_into, unpack_from
import subprocess
import sys
from time import perf_counter_ns
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from nav_msgs.msg import Odometry
import numpy as np
import rclpy
from rclpy.serialization import serialize_message
from runner import cpu_s, resident_mb
from sensor_msgs.msg import Imu

from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.nodes.running import make_executor
from two_manifold_ros.processes import isolate
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from typing_extensions import Self


CHECKOUT = Path(__file__).resolve().parents[1]
PATIENCE_NS = 300 * 10**9
_NUMBERS = 8 * 37
"""Bytes of the numbers behind the header of a message."""

WARM_UP_S = 8.0
SIMULATED_HZ = 1000.0
"""Rate of the simulation at most; between its samples is interpolated, with noise."""

MONTH_NS = 30 * 86_400 * 10**9
ROW = '{:>12} {:>7} {:>6} {:>8} {:>8} {:>6} {:>7} {:>6} {:>8} {:>8}'

HEADS = 'node', 'Hz', 'sent', 'lost', 'answers', 'foreign', 'CPU %', 'MB', 'p50 us', 'p99 us'

Sent = list[tuple[int, int]]
"""Stamps and times of messages, nanoseconds."""

Drive = tuple[np.ndarray, np.ndarray]
"""Stamps (N,), nanoseconds, and samples (N, 6) of an IMU."""


def train(path: Path) -> None:
    """Train a model of the usual size: 20 Hz, windows of 60 ticks, 20 states."""
    recording = run_to_recording(simulate(SlotCarSettings(), laps=14))
    settings = TrainingSettings(rate_hz=20.0, window=60, states=20)
    save_model(train_model([recording], settings), path)


def drive(seed: int, rate_hz: float, seconds: float) -> Drive:
    """Return stamps and samples of a slot car."""
    simulated_hz = min(rate_hz, SIMULATED_HZ)
    settings = SlotCarSettings(seed=seed, rate_hz=simulated_hz)
    run = simulate(settings, samples=round(simulated_hz * seconds))
    stamps = run.stamps_ns[0] + np.round(
        np.arange(round(rate_hz * seconds)) * 1e9 / rate_hz
    ).astype(np.int64)
    if rate_hz <= SIMULATED_HZ:
        return stamps, run.imu
    between = np.column_stack([np.interp(stamps, run.stamps_ns, each) for each in run.imu.T])
    noise = np.diff(run.imu, axis=0).std(axis=0) / np.sqrt(2.0)
    generator = np.random.default_rng(seed)
    return stamps, between + noise * generator.standard_normal(between.shape)


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
    A node in a namespace, the filter node or one that answers as it does.

    ``answers`` are the stamp of each odometry message and when it was heard, nanoseconds; ``imu``
    publishes serialised messages.
    """

    def __init__(self, ground: Ground, command: list[str], namespace: str) -> None:
        self.answers: list[tuple[int, int]] = []
        self.name = namespace.rpartition('/')[2]
        self._reports: list[dict[str, str]] = []
        self._path = f'{namespace}/filter_node'.lstrip('/')
        node = ground.node
        self.imu = node.create_publisher(Imu, f'{namespace}/imu', 1000)
        node.create_subscription(Odometry, f'{namespace}/odometry', self._hear, 1000, raw=True)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._report, 10)
        command = [*command, '-r', f'__ns:={namespace}', '--log-level', 'error']
        self.process = subprocess.Popen([sys.executable, *command], cwd=CHECKOUT)
        self._ground, self._reporting = ground, not command[0].endswith('relay.py')

    def hears(self) -> bool:
        """Send a message that a filter has to refuse, and return whether it has had one by now."""
        self.imu.publish(ImuBytes().of(0, np.zeros(6)))
        return self.received() > 0

    def received(self) -> int:
        """Return how many messages it has taken by its own last word, or by its answers."""
        if not self._reporting:
            return len(self.answers)
        return int(self._reports[-1].get('received', 0)) if self._reports else 0

    def settled(self) -> int:
        """Return how many messages it took, once all that was sent has arrived or is lost."""
        self._reports.clear()
        if self._reporting:
            self._ground.until(lambda: len(self._reports) > 2)
        else:
            self._ground.until_time(perf_counter_ns() + 10**9)
        return self.received()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    def _hear(self, raw: bytes) -> None:
        seconds, nanoseconds = unpack_from('<iI', raw, 4)
        self.answers.append((seconds * 10**9 + nanoseconds, perf_counter_ns()))

    def _report(self, message: DiagnosticArray) -> None:
        (status,) = message.status
        if status.name == self._path:
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

    def robot(self, model: Path, name: str) -> Robot:
        """Start a filter node."""
        command = ['-m', 'two_manifold_ros.nodes', 'filter_node', '--ros-args', '-p']
        return self.start([*command, f'model:={model}'], name)

    def start(self, command: list[str], name: str) -> Robot:
        """Start a node by what follows Python on its command line."""
        # There are few domains, and another process may have taken the same one.
        self._robots.append(Robot(self, command, f'/bench_{os.getpid()}/{name}'))
        return self._robots[-1]

    def _begin(self) -> None:
        """Wait until every robot is there and hears: what is sent before that is lost."""
        self.until(lambda: all(each.imu.get_subscription_count() for each in self._robots))
        for robot in self._robots:
            self.until(robot.hears)
            robot.settled()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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

    def measure(self, rate_hz: float, seconds: float) -> tuple[list[float], list[float], int]:
        """Drive all nodes and print a line for each; return CPU s, MB, and how much is wrong."""
        robots = self._robots
        self._begin()
        drives = [drive(100 + each, rate_hz, WARM_UP_S + seconds) for each in range(len(robots))]
        self._send(drives, rate_hz, slice(0, round(WARM_UP_S * rate_hz)))
        for robot in robots:
            robot.settled()
            robot.answers.clear()
        before = [robot.received() for robot in robots]
        cpu = [cpu_s(robot.process.pid) for robot in robots]
        sent = self._send(drives, rate_hz, slice(round(WARM_UP_S * rate_hz), None))
        cpu = [cpu_s(robot.process.pid) - begin for robot, begin in zip(robots, cpu, strict=True)]
        memory = [resident_mb(robot.process.pid) for robot in robots]
        wrong = 0
        for number, robot in enumerate(robots):
            lost = len(sent[number]) - (robot.settled() - before[number])
            first, last = sent[number][0][0], sent[number][-1][0]
            foreign = sum(not first <= stamp <= last for stamp, _ in robot.answers)
            wrong += lost + foreign
            p50, p99 = np.quantile(latencies_us(sent[number], robot.answers), [0.5, 0.99])
            print(
                ROW.format(
                    robot.name, f'{rate_hz:g}', len(sent[number]), lost, len(robot.answers),
                    foreign, f'{100 * cpu[number] / seconds:.1f}', f'{memory[number]:.0f}',
                    f'{p50:.0f}', f'{p99:.0f}',
                ),
                flush=True,
            )  # fmt: skip
        return cpu, memory, wrong

    def _send(self, drives: list[Drive], rate_hz: float, part: slice) -> list[Sent]:
        """Send a part of each drive at the rate of the IMU; return stamps and times of sending."""
        message = ImuBytes()
        sent: list[Sent] = [[] for _ in drives]
        due = perf_counter_ns()
        for row in range(len(drives[0][0]))[part]:
            self.until_time(due)
            for number, (stamps, samples) in enumerate(drives):
                # Each lives in a month of its own, so that an answer of another one would show.
                stamp = int(stamps[row]) + number * MONTH_NS
                sent[number].append((stamp, perf_counter_ns()))
                self._robots[number].imu.publish(message.of(stamp, samples[row]))
            due += round(1e9 / rate_hz)
        return sent


def latencies_us(sent: Sent, heard: Sent) -> np.ndarray:
    """Return how long after the message that brought it about each answer was heard."""
    stamps, times = np.array(sent).T
    answers, arrivals = np.array(heard).T
    # The first message at or after the end of a tick completes it.
    index = np.searchsorted(stamps, answers)
    known = index < len(times)
    latencies: np.ndarray = (arrivals[known] - times[index[known]]) / 1e3
    return latencies
