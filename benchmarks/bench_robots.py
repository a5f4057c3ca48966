# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Eight robots on one machine: a filter node each, in namespaces of one ROS domain.

Run `./run bench robots` where ROS 2 is; it takes three minutes. One robot with a fast IMU comes
after them. One process sends an IMU to each, all at the same moments, and hears what they answer.
Each robot has a drive of its own and lives in a month of its own, so that an answer of another one
would show.
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
from two_manifold_ros.simulation.slot_car_run import simulate

WARM_UP_S = 8.0
SIMULATED_HZ = 1000.0
"""Rate of the simulation at most; between its samples is interpolated, with noise."""

MONTH_NS = 30 * 86_400 * 10**9
ROW = '{:>9} {:>7} {:>6} {:>8} {:>8} {:>6} {:>6} {:>8} {:>8}'

Sent = list[tuple[int, int]]
Drive = tuple[np.ndarray, np.ndarray]
"""Stamps (N,), nanoseconds, and samples (N, 6) of an IMU."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--robots', type=int, help='in place of eight, and of one with a fast IMU')
    parser.add_argument('--rate', type=float, default=100.0, help='of each of their IMUs, Hz')
    parser.add_argument('--seconds', type=float, default=60.0)
    options = parser.parse_args()
    if options.rate != parser.get_default('rate') and not options.robots:
        parser.error('--rate is that of --robots')
    setups = [(options.robots, options.rate)] if options.robots else [(8, 100.0), (1, 8000.0)]
    with TemporaryDirectory() as folder:
        model = Path(folder) / 'model.npz'
        train(model)
        return max(run(model, each, hz, options.seconds) for each, hz in setups)


def run(model: Path, robots: int, rate_hz: float, seconds: float) -> int:
    """Start the nodes, measure and stop them."""
    drives = [drive(100 + number, rate_hz, WARM_UP_S + seconds) for number in range(robots)]
    ground = Ground()
    try:
        started = [ground.robot(model, f'robot_{each}') for each in range(robots)]
        ground.begin()
        return measure(ground, started, drives, rate_hz, seconds)
    finally:
        ground.close()


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


def measure(
    ground: Ground, robots: list[Robot], drives: list[Drive], rate_hz: float, seconds: float
) -> int:
    """Drive all robots, print a line for each; return 1 unless nothing was lost or mixed up."""
    warm_up = round(WARM_UP_S * rate_hz)
    send(ground, robots, drives, rate_hz, slice(0, warm_up))
    before = [robot.settled() for robot in robots]
    cpu = [robot.cpu_s for robot in robots]
    for robot in robots:
        robot.answers.clear()
    sent = send(ground, robots, drives, rate_hz, slice(warm_up, None))
    cpu = [robot.cpu_s - begin for robot, begin in zip(robots, cpu, strict=True)]
    after = [robot.settled() for robot in robots]
    heads = 'robot', 'sent', 'lost', 'answers', 'foreign', 'CPU %', 'MB', 'p50 us', 'p99 us'
    print(f'filter nodes: {len(robots)}, each with an IMU of {rate_hz:g} Hz')
    print(ROW.format(*heads))
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
                f'{100 * cpu[number] / seconds:.1f}', f'{robot.memory_mb:.0f}',
                f'{p50:.0f}', f'{p99:.0f}',
            )
        )  # fmt: skip
    p50, p99 = np.quantile(np.concatenate(delays), [0.5, 0.99])
    memory_mb = sum(robot.memory_mb for robot in robots)
    print(f'all: CPU {100 * sum(cpu) / seconds:.0f} % of a core, {memory_mb:.0f} MB')
    print(f'latency p50 {p50:.0f} us, p99 {p99:.0f} us (to reach: p99 below a tick, 50000 us)')
    print(f'lost {lost_all} (to reach: 0), answers of others {foreign_all} (to reach: 0)')
    return 1 if lost_all or foreign_all else 0


def received(report: dict[str, str]) -> int:
    return int(report.get('received', 0))


def send(
    ground: Ground, robots: list[Robot], drives: list[Drive], rate_hz: float, part: slice
) -> list[Sent]:
    """Send a part of each drive at the rate of the IMU; return stamps and times of sending."""
    message = ImuBytes()
    sent: list[Sent] = [[] for _ in robots]
    due = perf_counter_ns()
    for row in range(len(drives[0][0]))[part]:
        ground.until_time(due)
        for number, (robot, (stamps, samples)) in enumerate(zip(robots, drives, strict=True)):
            stamp = int(stamps[row]) + number * MONTH_NS
            sent[number].append((stamp, perf_counter_ns()))
            robot.imu.publish(message.of(stamp, samples[row]))
        due += round(1e9 / rate_hz)
    return sent


if __name__ == '__main__':
    sys.exit(main())
