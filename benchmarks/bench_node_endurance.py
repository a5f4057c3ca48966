# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The filter node for long: memory, latency and counters at the end as at the start.

Run where ROS 2 is, both or one of the two:

    python benchmarks/bench_node_endurance.py fastest    # an hour at 100 Hz, as fast as it goes
    python benchmarks/bench_node_endurance.py kilohertz  # ten minutes at 1 kHz on one core

Faults are strewn in, and the node has to count each under its own cause. *fastest* never sends
more than fits into the queue of the node, which reports on `status` what it has taken; its answers
come as late as that queue is long.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
from time import perf_counter_ns
from typing import TYPE_CHECKING

from bench_node import train
from endless_drive import EndlessDrive, ODD
from node_feed import Ground, ImuBytes, Robot
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

WAYS = ('fastest', 'kilohertz')
PARTS = 10
MOST_AHEAD = 300
"""Messages on their way at the most: the queue holds 4000."""

COUNTED = ('received', 'used', *ODD, 'gaps')
ROW = '{:>8} {:>6} {:>6} {:>7} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9}'
HEADS = (
    'samples', 'lost', 'Hz', 'CPU %', 'MB', 'p50 us', 'p99 us', 'took p50', 'took p99', 'took max',
)  # fmt: skip


class Sender:
    """
    Sends an endless drive to a node.

    Attributes
    ----------
    drive
        What is sent.
    sent
        Stamp and time of what was sent since the last look, nanoseconds.

    """

    def __init__(self, ground: Ground, robot: Robot, rate_hz: float) -> None:
        self.drive = EndlessDrive(rate_hz)
        self.sent: list[tuple[int, int]] = []
        self._stream = iter(self.drive)
        self._message = ImuBytes()
        self._ground, self._robot = ground, robot
        self._period_ns = round(1e9 / rate_hz)

    def at_rate(self, samples: int) -> None:
        """Send as the sensor would."""
        due = perf_counter_ns()
        for _ in range(samples):
            self._ground.until_time(due)
            self._send()
            due += self._period_ns

    def as_fast_as_taken(self, samples: int) -> None:
        """Send as soon as there is room."""
        robot, ground = self._robot, self._ground
        missing = robot.received - self.drive.sent['received']
        for _ in range(samples):
            ground.spin()
            ground.until(
                lambda: self.drive.sent['received'] + missing < robot.received + MOST_AHEAD
            )
            self._send()

    def _send(self) -> None:
        stamp, sample, _ = next(self._stream)
        self.sent.append((stamp, perf_counter_ns()))
        self._robot.imu.publish(self._message.of(stamp, sample))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('way', nargs='?', choices=WAYS, help='by default both')
    parser.add_argument('--minutes', type=float, help='of the stream: 60, or 10')
    options = parser.parse_args()
    ways = [options.way] if options.way else WAYS
    return max(run(way, options.minutes) for way in ways)


def run(way: str, minutes: float | None) -> int:
    """Train, start a node, feed it, and return 1 unless all was counted as it should be."""
    fastest = way == 'fastest'
    rate_hz, usual = (100.0, 60.0) if fastest else (1000.0, 10.0)
    samples = round(60 * rate_hz * (minutes or usual))
    with TemporaryDirectory() as folder:
        model = Path(folder) / 'model.npz'
        train(model)
        ground = Ground()
        try:
            robot = ground.robot(model, 'robot', core=None if fastest else 0)
            ground.begin()
            sender = Sender(ground, robot, rate_hz)
            send = sender.as_fast_as_taken if fastest else sender.at_rate
            return measure(robot, sender, send, samples)
        finally:
            ground.close()


def measure(robot: Robot, sender: Sender, send: Callable[[int], None], samples: int) -> int:
    """Print a line for each part; return 1 unless every message was counted as it should be."""
    print(ROW.format(*HEADS))
    memory, before = [], counted(robot.settled())
    for _ in range(PARTS):
        sender.sent.clear()
        robot.answers.clear()
        cpu, began = robot.cpu_s, perf_counter_ns()
        send(samples // PARTS)
        seconds = (perf_counter_ns() - began) / 1e9
        cpu = robot.cpu_s - cpu
        report = robot.settled()
        memory.append(robot.memory_mb)
        delays = delays_us(sender.sent, robot.answers) or [np.nan]
        p50, p99 = np.quantile(delays, [0.5, 0.99])
        lost = sender.drive.sent['received'] - (counted(report) - before)['received']
        took = [float(report[f'processing_{name}_us']) for name in ('p50', 'p99', 'max')]
        print(
            ROW.format(
                len(sender.sent), lost, f'{len(sender.sent) / seconds:.0f}',
                f'{100 * cpu / seconds:.1f}', f'{memory[-1]:.2f}', f'{p50:.0f}', f'{p99:.0f}',
                *(f'{each:.0f}' for each in took),
            ),
            flush=True,
        )  # fmt: skip
    growth = 100 * (memory[-1] / memory[min(1, PARTS - 1)] - 1)
    print(f'memory grew by {growth:.2f} % after the first part (to reach: below 1 %)')
    return show_counters(counted(report) - before, sender.drive.sent)


def counted(report: dict[str, str]) -> Counter[str]:
    return Counter({key: int(report.get(key, 0)) for key in COUNTED})


def delays_us(sent: list[tuple[int, int]], answers: list[tuple[int, int]]) -> list[float]:
    """Return how long after the sample with its stamp each answer was heard; clocks may jump."""
    delays, row = [], 0
    for stamp, heard in answers:
        found = next((at for at in range(row, len(sent)) if sent[at][0] == stamp), None)
        if found is not None:
            delays.append((heard - sent[found][1]) / 1e3)
            row = found + 1
    return delays


def show_counters(counters: Counter[str], sent: Counter[str]) -> int:
    """Compare the counters with what was strewn in; return 1 if they differ."""
    pairs = {key: (counters[key], sent[key]) for key in COUNTED}
    print('counted / sent:', ', '.join(f'{key} {a} / {b}' for key, (a, b) in pairs.items()))
    agree = all(counted == sent for counted, sent in pairs.values())
    print(f'nothing lost, each fault under its own cause: {agree} (to reach: True)')
    return 0 if agree else 1


if __name__ == '__main__':
    sys.exit(main())
