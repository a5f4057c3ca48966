# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Every kernel in the spectral filter and in the route belief, on slot cars and on a recording.

Run `python benchmarks/bench_kernels.py [SEED ...]`, with the seeds of other slot cars than 0 to
4; the real recording is looked for in `shared/recordings` beside the checkout and passed over
where it is absent.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
import multiprocessing
from pathlib import Path
import sys
import time

import numpy as np

from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.own_filters import ManifoldHmm
from two_manifold_ros.comparison.protocol import plan_share, plan_slot_car
from two_manifold_ros.names import KERNELS, METHODS
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings

RECORDING = Path(__file__).resolve().parents[2] / 'shared' / 'recordings' / 'f1tenth_ipz10'
CARS = (0, 1, 2, 3, 4)
HORIZONS = (0, 100)
PROCESSES = 2

Row = tuple[float, ...]
"""Errors at the two horizons, then seconds of processor time."""


def rows_of(car: int | None) -> dict[tuple[str, str], Row]:
    """Return the row of every kernel and method on a slot car, or else on the recording."""
    if car is None:
        plan = plan_share(read_recording(RECORDING), TrainingSettings(rate_hz=20.0))
    else:
        settings = SlotCarSettings(seed=car, rate_hz=10.0)
        plan = plan_slot_car(run_to_recording(simulate(settings, samples=3001)))
    # Compiling is no part of what a kernel takes.
    compare(plan, [ManifoldHmm(name, name, {'method': name}) for name in METHODS])
    columns = [plan.train.horizons.index(horizon) for horizon in HORIZONS]
    rows = {}
    for kernel in KERNELS:
        for method in METHODS:
            began = time.process_time()
            changes = {'method': method, 'kernel': kernel}
            (result,) = compare(plan, [ManifoldHmm(kernel, kernel, changes)]).results
            if result.failure:
                print(f'{kernel}, {method}: {result.failure}')
            scores = result.scores or ()
            errors = [
                scores[column].all.rmse_m or np.nan if scores else np.nan for column in columns
            ]
            rows[kernel, method] = (*errors, time.process_time() - began)
    return rows


def show(title: str, runs: list[dict[tuple[str, str], Row]]) -> None:
    print(f'\n{title}')
    print(f'  {"":28s}{"spectral":>25s}{"route":>25s}')
    heads = f'{"now":>9s}{"100 ahead":>11s}{"s":>5s}'
    print(f'  {"kernel":28s}{heads}{heads}')
    for kernel in KERNELS:
        line = f'  {kernel:28s}'
        for method in ('spectral', 'route'):
            now, ahead, took_s = np.mean([run[kernel, method] for run in runs], axis=0)
            line += f'{now:9.3f}{ahead:11.3f}{took_s:5.1f}'
        print(line)


def main() -> None:
    cars = tuple(map(int, sys.argv[1:])) or CARS
    tasks: list[int | None] = [*cars]
    if RECORDING.is_dir():
        tasks.append(None)
    else:
        print('the real recording is not beside the checkout; only the simulator is run')
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(PROCESSES, context) as pool:
        found = list(pool.map(rows_of, tasks))
    print('RMSE in metres, ticks ahead; seconds of one core to train and to follow')
    named = ', '.join(map(str, cars))
    show(f'slot cars {named}, protocol of the paper, mean', found[: len(cars)])
    if RECORDING.is_dir():
        show('f1tenth_ipz10, 20 Hz, last 30 % of one bag', found[-1:])


if __name__ == '__main__':
    main()
