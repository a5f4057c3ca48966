# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Every kernel in the spectral filter, on slot cars and on a recording.

Positions of the default do not depend on the kernel, so it has no column here. Run `python
benchmarks/bench_kernels.py [SEED ...]`, with the seeds of other slot cars than 0 to 4; the real
recording is looked for in `shared/recordings` beside the checkout and passed over where it is
absent.
"""

from __future__ import annotations

from pathlib import Path
import sys
import time

import numpy as np

from two_manifold_ros.comparison.comparing import compare
from two_manifold_ros.comparison.own_filters import ManifoldHmm
from two_manifold_ros.comparison.protocol import plan_share, plan_slot_car
from two_manifold_ros.names import KERNELS
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TrainingSettings

RECORDING = Path(__file__).resolve().parents[2] / 'shared' / 'recordings' / 'f1tenth_ipz10'
CARS = (0, 1, 2, 3, 4)
HORIZONS = (0, 100)

Row = tuple[float, ...]
"""Errors at the two horizons, then seconds of processor time."""


def rows_of(car: int | None) -> dict[str, Row]:
    """Return the row of every kernel on a slot car, or else on the recording."""
    if car is None:
        plan = plan_share(read_recording(RECORDING), TrainingSettings(rate_hz=20.0))
    else:
        settings = SlotCarSettings(seed=car, rate_hz=10.0)
        plan = plan_slot_car(run_to_recording(simulate(settings, samples=3001)))
    # Compiling is no part of what a kernel takes.
    compare(plan, [ManifoldHmm('first', 'first', {'method': 'spectral'})])
    columns = [plan.train.horizons.index(horizon) for horizon in HORIZONS]
    rows = {}
    for kernel in KERNELS:
        began = time.process_time()
        changes = {'method': 'spectral', 'kernel': kernel}
        (result,) = compare(plan, [ManifoldHmm(kernel, kernel, changes)]).results
        if result.failure:
            print(f'{kernel}: {result.failure}')
        scores = result.scores or ()
        errors = [scores[column].all.rmse_m or np.nan if scores else np.nan for column in columns]
        rows[kernel] = (*errors, time.process_time() - began)
    return rows


def show(title: str, runs: list[dict[str, Row]]) -> None:
    print(f'\n{title}')
    several = len(runs) > 1
    spread = f'{"spread":>9s}' if several else ''
    print(f'  {"kernel":28s}{"now":>9s}{spread}{"100 ahead":>11s}{spread}{"s":>6s}')
    for kernel in KERNELS:
        found = np.array([run[kernel] for run in runs])
        now, ahead, took_s = found.mean(axis=0)
        cells = [f'{now:9.3f}', f'{ahead:11.3f}', f'{took_s:6.1f}']
        if several:
            deviations = found.std(axis=0, ddof=1)
            cells[0] += f'{deviations[0]:9.3f}'
            cells[1] += f'{deviations[1]:9.3f}'
        print(f'  {kernel:28s}' + ''.join(cells), flush=True)


def main() -> None:
    cars = tuple(map(int, sys.argv[1:])) or CARS
    print('RMSE in metres, ticks ahead, and its deviation from car to car; seconds of one core')
    print('to train and to follow')
    named = ', '.join(map(str, cars))
    show(f'slot cars {named}, protocol of the paper, mean', [rows_of(car) for car in cars])
    if RECORDING.is_dir():
        show('f1tenth_ipz10, 20 Hz, last 30 % of one bag', [rows_of(None)])
    else:
        print('the real recording is not beside the checkout; only the simulator is run')


if __name__ == '__main__':
    main()
