# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Eight robots on one machine: a filter node each, in namespaces of one ROS domain.

Run `python benchmarks/bench_robots.py` where ROS 2 is; it takes two minutes. One process sends an
IMU to each, all at the same moments, and hears what they answer. Each robot has a drive of its own
and lives in a month of its own, so that an answer of another one would show.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
from tempfile import TemporaryDirectory
from time import perf_counter_ns

from bench_node import latencies_us, train
from node_feed import Ground, ImuBytes, Robot
import numpy as np

from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import simulate, SlotCarRun

RATE_HZ, WARM_UP_S = 100.0, 8.0
MONTH_NS = 30 * 86_400 * 10**9
ROW = '{:>9} {:>6} {:>6} {:>8} {:>8} {:>6} {:>8} {:>8}'

Sent = list[tuple[int, int]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--robots', type=int, default=8)
    parser.add_argument('--seconds', type=float, default=60.0)
    options = parser.parse_args()
    samples = round(RATE_HZ * (WARM_UP_S + options.seconds))
    with TemporaryDirectory() as folder:
        model = Path(folder) / 'model.npz'
        train(model)
        drives = [
            simulate(SlotCarSettings(seed=100 + number, rate_hz=RATE_HZ), samples=samples)
            for number in range(options.robots)
        ]
        ground = Ground()
        try:
            robots = [ground.robot(model, f'robot_{each}') for each in range(options.robots)]
            ground.begin()
            return measure(ground, robots, drives, options.seconds)
        finally:
            ground.close()


def measure(ground: Ground, robots: list[Robot], drives: list[SlotCarRun], seconds: float) -> int:
    """Drive all robots, print a line for each; return 1 unless nothing was lost or mixed up."""
    warm_up = round(WARM_UP_S * RATE_HZ)
    send(ground, robots, drives, slice(0, warm_up))
    before = [robot.settled() for robot in robots]
    cpu = [robot.cpu_s for robot in robots]
    for robot in robots:
        robot.answers.clear()
    sent = send(ground, robots, drives, slice(warm_up, None))
    cpu = [robot.cpu_s - begin for robot, begin in zip(robots, cpu, strict=True)]
    after = [robot.settled() for robot in robots]
    print(ROW.format('robot', 'sent', 'lost', 'answers', 'foreign', 'CPU %', 'p50 us', 'p99 us'))
    lost_all = foreign_all = 0
    delays: list[np.ndarray] = []
    for number, robot in enumerate(robots):
        lost = len(sent[number]) - (received(after[number]) - received(before[number]))
        first, last = sent[number][0][0], sent[number][-1][0]
        foreign = sum(not first <= stamp <= last for stamp, _ in robot.answers)
        delays.append(latencies_us(sent[number], robot.answers))
        p50, p99 = np.quantile(delays[-1], [0.5, 0.99])
        lost_all, foreign_all = lost_all + lost, foreign_all + foreign
        print(
            ROW.format(
                f'robot_{number}', len(sent[number]), lost, len(robot.answers), foreign,
                f'{100 * cpu[number] / seconds:.1f}', f'{p50:.0f}', f'{p99:.0f}',
            )
        )  # fmt: skip
    p50, p99 = np.quantile(np.concatenate(delays), [0.5, 0.99])
    print(f'CPU of all: {100 * sum(cpu) / seconds:.0f} % of a core')
    print(f'latency p50 {p50:.0f} us, p99 {p99:.0f} us (to reach: p99 below a tick, 50000 us)')
    print(f'lost {lost_all} (to reach: 0), answers of others {foreign_all} (to reach: 0)')
    return 1 if lost_all or foreign_all else 0


def received(report: dict[str, str]) -> int:
    return int(report.get('received', 0))


def send(ground: Ground, robots: list[Robot], drives: list[SlotCarRun], part: slice) -> list[Sent]:
    """Send a part of each drive at the rate of the IMU; return stamps and times of sending."""
    message = ImuBytes()
    sent: list[Sent] = [[] for _ in robots]
    due = perf_counter_ns()
    for rows in zip(*(range(len(drive.stamps_ns))[part] for drive in drives), strict=True):
        ground.until_time(due)
        for number, (robot, drive, row) in enumerate(zip(robots, drives, rows, strict=True)):
            stamp = int(drive.stamps_ns[row]) + number * MONTH_NS
            sent[number].append((stamp, perf_counter_ns()))
            robot.imu.publish(message.of(stamp, drive.imu[row]))
        due += round(1e9 / RATE_HZ)
    return sent


if __name__ == '__main__':
    sys.exit(main())
