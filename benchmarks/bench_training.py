# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Time and memory of a training on 2,000 and on 20,000 windows of 150 x 6.

Run `python benchmarks/bench_training.py`. Each training runs in a process of its own, so that
its peak memory is its own; loops are compiled before the clock starts. `fit` is what is learned
from all windows; `train` adds the held-out fit, the comparison of settings and the calibration.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time

from two_manifold_ros.simulation.slot_car_bag import run_to_recording
from two_manifold_ros.simulation.slot_car_run import simulate
from two_manifold_ros.simulation.slot_car_settings import SlotCarSettings
from two_manifold_ros.training.assembly import USUAL_NEIGHBOURS
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.structure import learn_structure
from two_manifold_ros.training.train import train_model

WINDOW = 150
CASES = ((2_000, 'about 1 s'), (20_000, 'under 30 s and 2 GB'))
KERNELS = ('laplacian-eigenmap', 'gaussian')


def measure(count: int, kernel: str) -> None:
    settings = TrainingSettings(rate_hz=10.0, window=WINDOW, states=20, kernel=kernel)
    car = SlotCarSettings(rate_hz=10.0)
    train_model([run_to_recording(simulate(car, samples=900))], settings)
    recording = run_to_recording(simulate(car, samples=count + 2 * WINDOW + 2))
    began = time.perf_counter()
    dataset = build_dataset([recording], settings)
    observations = [dataset.channels.standardise(part.values) for part in dataset.segments]
    structure = learn_structure(observations, WINDOW, settings, USUAL_NEIGHBOURS)
    structure.tables(structure.directions(20))
    fitted = time.perf_counter()
    train_model([recording], settings)
    trained = time.perf_counter()
    print(
        json.dumps(
            {
                'windows': len(structure.training.ticks),
                'fit_s': fitted - began,
                'train_s': trained - fitted,
                'peak_mb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
            }
        )
    )


def main() -> None:
    if len(sys.argv) == 3:
        measure(int(sys.argv[1]), sys.argv[2])
        return
    for count, wanted in CASES:
        for kernel in KERNELS:
            command = [sys.executable, __file__, str(count), kernel]
            # As the command line and the nodes do: see two_manifold_ros/threads.py.
            environment = {**os.environ, 'OPENBLAS_NUM_THREADS': '1'}
            output = subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment
            ).stdout
            found = json.loads(output)
            print(
                f'{found["windows"]:6d} windows, {kernel:18s}: fit {found["fit_s"]:6.2f} s, '
                f'train {found["train_s"]:6.2f} s, peak {found["peak_mb"]:6.0f} MB '
                f'(to reach: {wanted})'
            )


if __name__ == '__main__':
    main()
