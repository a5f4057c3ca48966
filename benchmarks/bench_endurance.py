# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A day through the filter: memory, latency and counters must be at its end as at its start.

Run `python benchmarks/bench_endurance.py`; a day of samples at 100 Hz with faults strewn in takes
about five minutes. A line for every hour of samples. Times are those of the processor, and beside
them stands what a fixed piece of work took in between, because a busy machine slows both; latency
does not drift when their ratio is flat.
"""

from __future__ import annotations

import argparse
from collections import Counter
import itertools
import os
from pathlib import Path
import time
from typing import TYPE_CHECKING

import numpy as np
from tables import table

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.assessment import REJECTIONS
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.typing import Floats

    Sample = tuple[int, Floats, int]

RATE_HZ, HOURS, PORTION = 100.0, 24, 1000

SECOND = 10**9
LAPS = 20
FAULT_EVERY_S = 20.0
"""Seconds of samples from one fault to the next."""

ODD = tuple(cause for cause in REJECTIONS if cause != 'malformed')
"""Samples that must not be used."""

COUNTED = ('received', 'used', *ODD, 'gaps')

STEPS_S = (0.3, 1.0, 10.0, -10.0)
"""Seconds without samples, and a clock that is set back."""

NOWHERE = -1
"""Place of a sample that was not driven."""


class EndlessDrive:
    """
    Laps of the slot car from the second on, over and over, the stamps going on.

    The ``seed`` is that of the car, not the one that models are trained with, and of the faults.
    ``positions`` (N, 2) are true positions by place; ``sent`` counts samples given out, and faults
    strewn in, by the counter that has to show them.
    """

    def __init__(self, rate_hz: float = 100.0, seed: int = 1) -> None:
        run = simulate(SlotCarSettings(seed=seed, rate_hz=rate_hz), laps=LAPS)
        moving = run.distances >= run.distances[0] + (run.distances[-1] - run.distances[0]) / LAPS
        self._samples = run.imu[moving]
        self._period = round(SECOND / rate_hz)
        self._begin = int(run.stamps_ns[0])
        self._every = round(FAULT_EVERY_S * rate_hz)
        self._random = np.random.default_rng(seed)
        self.positions = run.positions[moving, :2]
        self.sent: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Sample]:
        """Yield stamp, sample and place for ever: faults come after the sample that they mock."""
        stamp, driven = self._begin, 0
        for given in itertools.count(1):
            place = driven % len(self._samples)
            sample = self._samples[place]
            self.sent.update(('received', 'used'))
            yield stamp, sample, place
            if given % self._every == 0:
                kind = (given // self._every) % (len(ODD) + len(STEPS_S))
                if kind < len(ODD):
                    yield self._odd(ODD[kind], stamp, sample)
                else:
                    step = round(STEPS_S[kind - len(ODD)] * SECOND) // self._period
                    self.sent['gaps' if step > 0 else 'jumps_back'] += 1
                    stamp += step * self._period
                    # The car goes on where only the samples are missing.
                    driven += max(step, 0)
            stamp += self._period
            driven += 1

    def _odd(self, cause: str, stamp: int, sample: Floats) -> Sample:
        self.sent['received'] += 1
        self.sent[cause] += 1
        channel = int(self._random.integers(6))
        changed = sample.copy()
        if cause == 'non_finite':
            changed[channel] = np.nan
        elif cause == 'out_of_range':
            changed[channel] = 1e30
        away = {
            'zero_stamp': -stamp,
            'duplicate_stamp': 0,
            'out_of_order': -int(self._random.integers(1, SECOND // 4)),
            'wild_stamp': int(self._random.choice([-1, 1])) * 86_400 * SECOND,
        }
        return stamp + away.get(cause, 1), changed, NOWHERE


def resident_mb() -> float:
    """Resident memory as of now, of which the largest would only ever grow."""
    return int(Path('/proc/self/statm').read_text().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 1e6


def yardstick_s(matrix: Floats) -> float:
    """Return the seconds that a fixed piece of work takes now: small products."""
    began = time.process_time()
    for _ in range(8):
        matrix @ matrix
        np.linalg.eigh(matrix)
    return time.process_time() - began


def run_hour(live: Filter, stream: Iterator[Sample], positions: Floats) -> list[float]:
    """Filter an hour of samples, faults included; return a row of the table."""
    matrix = np.cov(np.random.default_rng(1).normal(size=(32, 64)))
    seconds = yardstick = 0.0
    microseconds: list[float] = []
    errors: list[float] = []
    before = live.counters['ticks']
    for _ in range(round(3600 * RATE_HZ) // PORTION):
        began = time.process_time()
        for stamp, sample, place in itertools.islice(stream, PORTION):
            pushed = time.perf_counter_ns()
            estimates = live.push(stamp, sample)
            if estimates:
                microseconds.append((time.perf_counter_ns() - pushed) / 1e3)
            errors += [
                float(np.linalg.norm(each.positions[0] - positions[place]))
                for each in estimates
                if each.valid and place != NOWHERE
            ]
        seconds += time.process_time() - began
        yardstick += yardstick_s(matrix)
    ticks = live.counters['ticks'] - before
    p50, p99 = np.quantile(microseconds, [0.5, 0.99]).tolist()
    shares = len(errors) / ticks, float(np.mean(errors))
    return [1e6 * seconds / ticks, p50, p99, seconds / yardstick, resident_mb(), *shares]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--hours', type=int, default=HOURS, help='hours of samples')
    options = parser.parse_args()
    recording = run_to_recording(simulate(SlotCarSettings(), laps=14))
    settings = TrainingSettings(rate_hz=20.0, window=60, states=20)
    live = Filter(train_model([recording], settings))
    live.warm_up()
    drive = EndlessDrive(RATE_HZ)
    stream = iter(drive)
    rows = []
    for number in range(1, options.hours + 1):
        rows.append(run_hour(live, stream, drive.positions))
        print(f'hour {number} of {options.hours}', flush=True)
    cells = [[str(n), *(f'{each:.4g}' for each in row)] for n, row in enumerate(rows, 1)]
    print(table('hour, us/tick, p50 us, p99 us, x work, MB, valid, error m', cells))
    # The first hour may still fill buffers.
    costs, memory = ([row[at] for row in rows[1:] or rows] for at in (3, 4))
    print(f'memory grew by {100 * (memory[-1] / memory[0] - 1):.2f} % (to reach: below 1 %)')
    print(f'cost: within {100 * (max(costs) / min(costs) - 1):.1f} % (to reach: no drift)')
    return show_counters(live, drive.sent)


def show_counters(live: Filter, sent: Counter[str]) -> int:
    """Compare the counters with what was strewn in; return 1 if they differ."""
    counters = live.counters
    print('counted / sent:', ', '.join(f'{key} {counters[key]} / {sent[key]}' for key in COUNTED))
    aside = sum(counters[cause] for cause in ODD)
    consistent = counters['received'] == counters['used'] + aside + live.waiting
    agree = all(counters[key] == sent[key] for key in COUNTED)
    print(f'received = used + refused + waiting: {consistent} (to reach: True)')
    print(f'each fault under its own cause: {agree} (to reach: True)')
    return 0 if consistent and agree else 1


if __name__ == '__main__':
    raise SystemExit(main())
