# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Time and memory of trainings: of the default on a day of driving, of spectral ones on windows.

Run `python benchmarks/bench_training.py`. Each training runs in a process of its own, so that
its peak memory is its own; loops are compiled before the clock starts. The default learns from
20,000 and from 140,000 ticks of the same route at 20 Hz, which costs neither its file nor its
steps more. Spectral ones learn from windows of 150 x 6: `fit` is what is learned from all windows;
`train` adds the held-out fit, the comparison of settings and the calibration.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
import resource
import subprocess
import sys
from tempfile import TemporaryDirectory
import time
from typing import Any

import numpy as np

from two_manifold_ros.evaluation.evaluate import run_filter
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.cross_validation import Candidate
from two_manifold_ros.training.dataset import build_dataset
from two_manifold_ros.training.embeddings import embed
from two_manifold_ros.training.settings import SpectralSettings, TrainingSettings
from two_manifold_ros.training.train import train_model

WINDOW = 150
CASES = ((2_000, 'about 1 s'), (20_000, 'under 30 s and 2 GB'))
KERNELS = ('laplacian-eigenmap', 'gaussian')
TICKS = (20_000, 140_000)
FOLLOWED = 2_000
"""Ticks over which the steps of the filter are timed."""


def silent(_stage: str, _share: float) -> None:
    pass


def measure_default(count: int) -> None:
    train_model([run_to_recording(simulate(SlotCarSettings(), samples=1_500))], TrainingSettings())
    recording = run_to_recording(simulate(SlotCarSettings(), samples=count))
    began = time.perf_counter()
    model = train_model([recording], TrainingSettings())
    trained = time.perf_counter()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    with TemporaryDirectory() as folder:
        path = Path(folder) / 'model.npz'
        save_model(model, path)
        model_mb = path.stat().st_size / 1e6
    drive = run_to_recording(simulate(SlotCarSettings(seed=1), samples=FOLLOWED))
    run = run_filter(model, drive, silent)
    print(
        json.dumps(
            {
                'train_s': trained - began,
                'peak_mb': peak_mb,
                'model_mb': model_mb,
                'step_us': 1e6 * float(np.median(run.seconds_per_tick)),
            }
        )
    )


def show_default() -> None:
    rows = {count: run_alone(str(count)) for count in TICKS}
    for count, found in rows.items():
        print(
            f'{count:6d} ticks, route: train {found["train_s"]:6.2f} s, '
            f'peak {found["peak_mb"]:5.0f} MB, file {found["model_mb"]:5.2f} MB, '
            f'step {found["step_us"]:4.0f} us'
        )
    few, many = (rows[count] for count in TICKS)
    power = math.log(many['train_s'] / few['train_s']) / math.log(TICKS[1] / TICKS[0])
    print(
        f'grown to {TICKS[1] / TICKS[0]:.0f} times: train n^{power:.2f}, '
        f'file {many["model_mb"] / few["model_mb"]:.2f} times, '
        f'step {many["step_us"] / few["step_us"]:.2f} times '
        '(to reach: 120 s, 1 GB, 5 MB; n^1.2, 1.5 and 1.2 times)'
    )


def run_alone(*arguments: str) -> dict[str, Any]:
    """Run a measurement in a process of its own."""
    # As the command line and the nodes do: see two_manifold_ros/threads.py.
    environment = {**os.environ, 'OPENBLAS_NUM_THREADS': '1'}
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(count: int, kernel: str) -> None:
    settings = SpectralSettings(rate_hz=10.0, window=WINDOW, states=20, kernel=kernel)
    car = SlotCarSettings(rate_hz=10.0)
    train_model([run_to_recording(simulate(car, samples=900))], settings)
    recording = run_to_recording(simulate(car, samples=count + 2 * WINDOW + 2))
    began = time.perf_counter()
    dataset = build_dataset([recording], settings)
    observations = [dataset.channels.standardise(part.values) for part in dataset.segments]
    structure = embed(observations, WINDOW, settings, Candidate.neighbours)
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
    if len(sys.argv) == 2:
        measure_default(int(sys.argv[1]))
        return
    if len(sys.argv) == 3:
        measure(int(sys.argv[1]), sys.argv[2])
        return
    show_default()
    for count, wanted in CASES:
        for kernel in KERNELS:
            found = run_alone(str(count), kernel)
            print(
                f'{found["windows"]:6.0f} windows, {kernel:18s}: fit {found["fit_s"]:6.2f} s, '
                f'train {found["train_s"]:6.2f} s, peak {found["peak_mb"]:6.0f} MB '
                f'(to reach: {wanted})'
            )


if __name__ == '__main__':
    main()
