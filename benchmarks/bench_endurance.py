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
from collections.abc import Iterator
import itertools
import time
from typing import TYPE_CHECKING

import numpy as np
from runner import resident_mb
from tables import table

from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.assessment import REJECTIONS
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
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


def endless(samples: Floats, begin_ns: int, sent: Counter[str]) -> Iterator[Sample]:
    """
    Yield stamp, sample and place for ever: laps over and over, the stamps going on.

    Each fault comes after the sample that it imitates. ``sent`` counts the samples that are given
    out, and the faults by the counter that has to show them.
    """
    random, period = np.random.default_rng(1), round(SECOND / RATE_HZ)
    stamp, driven, every = begin_ns, 0, round(FAULT_EVERY_S * RATE_HZ)
    for given in itertools.count(1):
        place = driven % len(samples)
        sent.update(('received', 'used'))
        yield stamp, samples[place], place
        kind = given // every % (len(ODD) + len(STEPS_S))
        if given % every == 0 and kind < len(ODD):
            sent.update(('received', ODD[kind]))
            yield odd(ODD[kind], stamp, samples[place].copy(), random)
        elif given % every == 0:
            step = round(STEPS_S[kind - len(ODD)] * SECOND) // period
            sent['gaps' if step > 0 else 'jumps_back'] += 1
            stamp += step * period
            # The car goes on where only the samples are missing.
            driven += max(step, 0)
        stamp += period
        driven += 1


def odd(cause: str, stamp: int, sample: Floats, random: np.random.Generator) -> Sample:
    """Return a sample that must not be used."""
    values = {'non_finite': np.nan, 'out_of_range': 1e30}
    channel = int(random.integers(6))
    sample[channel] = values.get(cause, sample[channel])
    away = {
        'zero_stamp': -stamp,
        'duplicate_stamp': 0,
        'out_of_order': -int(random.integers(1, SECOND // 4)),
        'wild_stamp': int(random.choice([-1, 1])) * 86_400 * SECOND,
    }
    return stamp + away.get(cause, 1), sample, NOWHERE


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
    # Another car than the one that was trained on, from its second lap on.
    run = simulate(SlotCarSettings(seed=1, rate_hz=RATE_HZ), laps=LAPS)
    driven = run.distances - run.distances[0]
    moving = driven >= driven[-1] / LAPS
    sent = Counter[str]()
    stream = endless(run.imu[moving], int(run.stamps_ns[0]), sent)
    rows = []
    for number in range(1, options.hours + 1):
        rows.append(run_hour(live, stream, run.positions[moving, :2]))
        print(f'hour {number} of {options.hours}', flush=True)
    cells = [[str(n), *(f'{each:.4g}' for each in row)] for n, row in enumerate(rows, 1)]
    print(table('hour, us/tick, p50 us, p99 us, x work, MB, valid, error m', cells))
    # The first hour may still fill buffers.
    costs, memory = ([row[at] for row in rows[1:] or rows] for at in (3, 4))
    print(f'memory grew by {100 * (memory[-1] / memory[0] - 1):.2f} % (to reach: below 1 %)')
    print(f'cost: within {100 * (max(costs) / min(costs) - 1):.1f} % (to reach: no drift)')
    return show_counters(live, sent)


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
