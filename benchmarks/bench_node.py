# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The filter node beside an empty relay node, both fed with the same IMU over DDS.

Run `python benchmarks/bench_node.py` where ROS 2 is. The relay answers every IMU message with an
odometry message and does nothing else, in the same executor; the filter answers every tick.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from struct import unpack_from
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import perf_counter_ns
from typing import Any, TYPE_CHECKING

import numpy as np

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

if TYPE_CHECKING:
    from collections.abc import Callable

TRAINING_LAPS = 14
WARM_UP_S = 4.0
PATIENCE_NS = 60 * 10**9
TO_REACH = 1.4
"""CPU of the filter to that of the relay at 100 Hz, at most."""

ROW = '{:>12} {:>6} {:>7} {:>5} {:>6} {:>9} {:>9} {:>9}'

Sent = list[tuple[int, int]]


def relay() -> int:
    """Run the empty node."""
    from nav_msgs.msg import Odometry  # noqa: PLC0415 - only this process is the relay
    from rclpy.node import Node  # noqa: PLC0415 - as above
    from rclpy.serialization import serialize_message  # noqa: PLC0415 - as above
    from sensor_msgs.msg import Imu  # noqa: PLC0415 - as above

    from two_manifold_ros.interface.messages import Topics  # noqa: PLC0415 - as above
    from two_manifold_ros.nodes.callbacks import qos  # noqa: PLC0415 - as above
    from two_manifold_ros.nodes.running import run  # noqa: PLC0415 - as above
    from two_manifold_ros.stopping import Stopping  # noqa: PLC0415 - as above

    class Relay(Node):
        def __init__(self) -> None:
            super().__init__('relay')
            self.exit_status = None
            self.answers = self.create_publisher(Odometry, 'relayed', qos(Topics.ODOMETRY))
            self.answer = serialize_message(Odometry())
            self.create_subscription(Imu, 'imu', self.take, qos(Topics.IMU), raw=True)

        def take(self, raw: bytes) -> None:
            # Both messages start with a stamp: that of the IMU shows to what this is the answer.
            self.answers.publish(self.answer[:4] + raw[4:12] + self.answer[12:])

    with Stopping() as stop:
        return run(Relay, stop)
    return 0


class Bench:
    """Sends IMU messages at a steady rate and subscribes to the estimates of the nodes."""

    def __init__(self) -> None:
        from diagnostic_msgs.msg import DiagnosticArray  # noqa: PLC0415 - not for the relay
        from nav_msgs.msg import Odometry  # noqa: PLC0415 - as above
        import rclpy  # noqa: PLC0415 - as above
        from sensor_msgs.msg import Imu  # noqa: PLC0415 - as above

        from two_manifold_ros.nodes.running import make_executor  # noqa: PLC0415 - as above

        if not rclpy.ok():
            rclpy.init()
        self.node = rclpy.create_node('bench')
        self.executor = make_executor()
        self.executor.add_node(self.node)
        self.imu = self.node.create_publisher(Imu, 'imu', 1000)
        self.heard: dict[str, Sent] = {'odometry': [], 'relayed': []}
        for topic in self.heard:
            self.node.create_subscription(
                Odometry, topic, partial(self.hear, topic), 1000, raw=True
            )
        self.reports: list[dict[str, str]] = []
        self.node.create_subscription(DiagnosticArray, 'diagnostics', self.diagnose, 10)

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()

    def hear(self, topic: str, raw: bytes) -> None:
        # Decoding the answer of one node would delay that of the other.
        seconds, nanoseconds = unpack_from('<iI', raw, 4)
        self.heard[topic].append((seconds * 10**9 + nanoseconds, perf_counter_ns()))

    def diagnose(self, message: Any) -> None:  # noqa: ANN401 - a generated class
        self.reports.append({each.key: each.value for each in message.status[0].values})

    def until(self, condition: Callable[[], object]) -> None:
        end = perf_counter_ns() + PATIENCE_NS
        while not condition():
            if perf_counter_ns() > end:
                sys.exit('the nodes do not answer')
            self.executor.spin_once(timeout_sec=0.05)

    def received(self) -> int:
        """Return how many messages the filter took, once it has nothing left to take."""
        self.reports.clear()
        self.until(lambda: len(self.reports) > 2)
        return int(self.reports[-1]['received'])

    def send(self, messages: list[Any], period_ns: int) -> Sent:
        """Send at a steady rate; return the stamp of each message and when it was sent."""
        sent = []
        due = perf_counter_ns()
        for message in messages:
            while (left := due - perf_counter_ns()) > 0:
                self.executor.spin_once(timeout_sec=left / 1e9)
            sent.append((stamp_of(message), perf_counter_ns()))
            self.imu.publish(message)
            due += period_ns
        return sent


def stamp_of(message: Any) -> int:  # noqa: ANN401 - a generated class
    stamp = message.header.stamp
    return int(stamp.sec * 10**9 + stamp.nanosec)


def drive(rate_hz: float, seconds: float) -> list[Any]:
    """Return the IMU messages of a slot car."""
    from two_manifold_ros.recordings.ros_messages import to_message  # noqa: PLC0415 - needs ROS
    from two_manifold_ros.simulation.slot_car import SlotCarSettings  # noqa: PLC0415
    from two_manifold_ros.simulation.slot_car_run import (  # noqa: PLC0415
        imu_message,
        simulate,
    )

    run = simulate(SlotCarSettings(rate_hz=rate_hz), samples=round(rate_hz * seconds))
    pairs = zip(run.stamps_ns.tolist(), run.imu, strict=True)
    unknown = np.zeros(6)
    return [
        to_message('sensor_msgs/msg/Imu', imu_message(stamp, sample, unknown))
        for stamp, sample in pairs
    ]


def train(path: Path) -> None:
    """Train a model of the usual size: 20 Hz, windows of 60 ticks, 20 states."""
    from two_manifold_ros.model.model_file import save_model  # noqa: PLC0415 - not for the relay
    from two_manifold_ros.simulation.slot_car import SlotCarSettings  # noqa: PLC0415
    from two_manifold_ros.simulation.slot_car_run import (  # noqa: PLC0415
        run_to_recording,
        simulate,
    )
    from two_manifold_ros.training.settings import TrainingSettings  # noqa: PLC0415
    from two_manifold_ros.training.train import train_model  # noqa: PLC0415

    recording = run_to_recording(simulate(SlotCarSettings(), laps=TRAINING_LAPS))
    settings = TrainingSettings(rate_hz=20.0, window=60, states=20)
    save_model(train_model([recording], settings), path)


def cpu_s(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU time of all threads of a process until now."""
    threads = Path(f'/proc/{process.pid}/task').glob('*/schedstat')
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def latencies_us(sent: Sent, heard: Sent) -> np.ndarray:
    """Return how long after the message that brought it about each answer was heard."""
    stamps, times = np.array(sent).T
    answers, arrivals = np.array(heard).T
    # The first message at or after the end of a tick completes it.
    index = np.searchsorted(stamps, answers)
    known = index < len(times)
    latencies: np.ndarray = (arrivals[known] - times[index[known]]) / 1e3
    return latencies


def measure(bench: Bench, nodes: dict[str, Any], rate_hz: float, seconds: float) -> None:
    """Print one line per node."""
    bench.until(lambda: bench.imu.get_subscription_count() == len(nodes))
    messages = drive(rate_hz, WARM_UP_S + seconds)
    warm_up, period_ns = round(WARM_UP_S * rate_hz), round(1e9 / rate_hz)
    bench.send(messages[:warm_up], period_ns)
    bench.until(lambda: all(bench.heard.values()))
    before = bench.received()
    for heard in bench.heard.values():
        heard.clear()
    begin = {name: cpu_s(process) for name, process in nodes.items()}
    sent = bench.send(messages[warm_up:], period_ns)
    cpu = {name: cpu_s(process) - begin[name] for name, process in nodes.items()}
    after = bench.received()
    taken = {'relay': len(bench.heard['relayed']), 'filter_node': after - before}
    for name, topic in (('relay', 'relayed'), ('filter_node', 'odometry')):
        p50, p99 = np.quantile(latencies_us(sent, bench.heard[topic]), [0.5, 0.99])
        print(
            ROW.format(
                name,
                f'{rate_hz:g}',
                len(sent),
                len(sent) - taken[name],
                f'{100 * cpu[name] / seconds:.1f}',
                f'{1e6 * cpu[name] / len(sent):.0f}',
                f'{p50:.0f}',
                f'{p99:.0f}',
            )
        )
    print(
        f'{"CPU of the filter to that of the relay:":>60} {cpu["filter_node"] / cpu["relay"]:.2f}'
        f' (to reach at 100 Hz: {TO_REACH:g})'
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=20.0, help='seconds per rate')
    parser.add_argument('--rates', default='100,1000', help='IMU rates in Hz')
    parser.add_argument('--relay', action='store_true', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.relay:
        return relay()
    # Before the package is found it cannot be imported.
    from two_manifold_ros.domains import isolate  # noqa: PLC0415

    isolate()
    print(ROW.format('node', 'Hz', 'sent', 'lost', 'CPU %', 'CPU us', 'p50 us', 'p99 us'))
    with TemporaryDirectory() as folder:
        model = Path(folder) / 'model.npz'
        train(model)
        for rate in map(float, options.rates.split(',')):
            run_once(model, rate, options.seconds)
    return 0


def run_once(model: Path, rate_hz: float, seconds: float) -> None:
    """Start both nodes, measure them, stop them."""
    commands = {
        'relay': [str(Path(__file__).resolve()), '--relay'],
        'filter_node': [
            '-m', 'two_manifold_ros.nodes', 'filter_node', '--ros-args', '-p', f'model:={model}',
            '--log-level', 'warn',
        ],
    }  # fmt: skip
    nodes = {
        name: subprocess.Popen([sys.executable, *command], cwd=CHECKOUT)
        for name, command in commands.items()
    }
    bench = Bench()
    try:
        measure(bench, nodes, rate_hz, seconds)
    finally:
        bench.close()
        for process in nodes.values():
            process.terminate()
            process.wait()


if __name__ == '__main__':
    raise SystemExit(main())
