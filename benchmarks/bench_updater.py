# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The updater node, fed over DDS by the simulated slot car with positions: processor and memory.

Run `python benchmarks/bench_updater.py` where ROS 2 is. A node subscribes to its estimates, and a
checkpoint is written every ten seconds. What it does while it starts to learn is left out.
"""

from __future__ import annotations

import argparse
from itertools import product
import os
from pathlib import Path
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, TYPE_CHECKING

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 180.0
ROW = '{:>6} {:>8} {:>7} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8}'
HEAD = ('IMU', 'learner', 'CPU %', 'p50 us', 'p99 us', 'max us', 'learned', 'models')


class Listener:
    """Subscribes to the estimates and the status of the updater."""

    def __init__(self) -> None:
        from diagnostic_msgs.msg import DiagnosticArray  # noqa: PLC0415 - after the domain is set
        from nav_msgs.msg import Odometry  # noqa: PLC0415 - as above
        import rclpy  # noqa: PLC0415 - as above

        if not rclpy.ok():
            rclpy.init()
        self._spin = rclpy.spin_once
        self.node = rclpy.create_node('bench')
        self.node.create_subscription(Odometry, 'adapting/odometry', lambda _: None, 10)
        self.node.create_subscription(DiagnosticArray, 'diagnostics', self._hear, 10)
        self.why = ''
        self.values: dict[str, str] = {}

    def _hear(self, message: Any) -> None:  # noqa: ANN401 - a generated class
        (status,) = message.status
        self.why = status.message
        self.values = {each.key: each.value for each in status.values}

    def until(self, condition: Callable[[], object]) -> None:
        end = monotonic() + PATIENCE_S
        while not condition():
            if monotonic() > end:
                sys.exit(f'the updater does not get on; its last word was: {self.why}')
            self._spin(self.node, timeout_sec=0.2)


def cpu_s(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU time of a process and of the one that trains for it until now."""
    tasks = Path(f'/proc/{process.pid}/task')
    beside = [each for file in tasks.glob('*/children') for each in file.read_text().split()]
    threads = [
        thread for pid in (process.pid, *beside) for thread in Path(f'/proc/{pid}/task').iterdir()
    ]
    return sum(int((each / 'schedstat').read_text().split()[0]) for each in threads) / 1e9


def resident_mb(process: subprocess.Popen[bytes]) -> int:
    pages = int(Path(f'/proc/{process.pid}/statm').read_text().split()[1])
    return round(pages * os.sysconf('SC_PAGE_SIZE') / 1e6)


def start(name: str, **parameters: object) -> subprocess.Popen[bytes]:
    chosen = [part for key, each in parameters.items() for part in ('-p', f'{key}:={each}')]
    command = ['-m', 'two_manifold_ros.nodes', name, '--ros-args', '--log-level', 'error']
    return subprocess.Popen([sys.executable, *command, *chosen], cwd=CHECKOUT)


def measure(imu_hz: float, learner: str, seconds: float) -> None:
    """Print one line."""
    with TemporaryDirectory() as folder:
        car = start('slot_car_node', imu_rate_hz=imu_hz)
        updater = start(
            'updater_node',
            learner=learner,
            checkpoint_folder=folder,
            checkpoint_s=10.0,
        )
        listener = Listener()
        try:
            listener.until(lambda: listener.why == 'tracking')
            before, begin, memory = dict(listener.values), cpu_s(updater), resident_mb(updater)
            end = monotonic() + seconds
            listener.until(lambda: monotonic() > end)
            after, took = listener.values, cpu_s(updater) - begin
            grown = resident_mb(updater)
        finally:
            listener.node.destroy_node()
            for process in (updater, car):
                process.terminate()
                process.wait()
    fresh = [int(after[key]) - int(before[key]) for key in ('samples_learned', 'models_learned')]
    shown = [after[f'processing_{name}_us'] for name in ('p50', 'p99', 'max')]
    numbers = [f'{float(each):.0f}' for each in shown]
    print(
        ROW.format(
            f'{imu_hz:g}', learner, f'{100 * took / seconds:.1f}', *numbers, *fresh,
            f'{memory}-{grown}',
        )
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, default=30.0, help='seconds per row')
    options = parser.parse_args()
    # Before the package is found it cannot be imported.
    from two_manifold_ros.domains import isolate  # noqa: PLC0415

    isolate()
    print(ROW.format(*HEAD, 'MB'))
    for imu_hz, learner in product((100.0, 1000.0), ('map', 'tpsr')):
        measure(imu_hz, learner, options.seconds)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
