# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Time and memory of trainings, and what their models cost: of the default, and of spectral ones.

Run `./run bench training`. Each training runs in a process of its own, so that its peak memory is
its own; loops are compiled before the clock starts. The default learns from 20,000 and from
140,000 samples of the same route, which costs neither its file nor its steps more. Spectral ones
learn from windows of 150 x 6 at 10 Hz.
"""

from __future__ import annotations

import os
from pathlib import Path
import resource
import subprocess
import sys
from tempfile import TemporaryDirectory
import time
from typing import TYPE_CHECKING

import numpy as np
from tables import table

from two_manifold_ros.evaluation.evaluate import run_filter
from two_manifold_ros.model.model_file import save_model
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import SpectralSettings, TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from two_manifold_ros.recordings.recording import Recording

KERNELS = ('laplacian-eigenmap', 'gaussian')
ROWS = (
    ('route', 20_000, 'the same in all but s'),
    ('route', 140_000, '120 s, 1 GB, 5 MB'),
    *((kernel, 2_000, '10 s') for kernel in KERNELS),
    *((kernel, 20_000, '30 s and 2 GB') for kernel in KERNELS),
)
"""What is learned, from how many samples, and what it is to cost at most."""

FOLLOWED = 2_000
"""Samples over which the steps of the filter are timed."""


def measure(kind: str, count: int) -> list[float]:
    """Return seconds, peak and file in MB, and microseconds of a step of the filter."""
    settings, car = TrainingSettings(), SlotCarSettings()
    if kind in KERNELS:
        settings = SpectralSettings(rate_hz=10.0, window=150, states=20, kernel=kind)
        car = SlotCarSettings(rate_hz=10.0)

    def drive(samples: int) -> Recording:
        return run_to_recording(simulate(car, samples=samples))

    train_model([drive(1_500)], settings)
    recording = drive(count)
    began = time.perf_counter()
    model = train_model([recording], settings)
    seconds = time.perf_counter() - began
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    with TemporaryDirectory() as folder:
        path = Path(folder) / 'model.npz'
        save_model(model, path)
        file_mb = path.stat().st_size / 1e6
    run = run_filter(model, drive(FOLLOWED), lambda _stage, _share: None)
    return [seconds, peak_mb, file_mb, 1e6 * float(np.median(run.seconds_per_tick))]


def measured_apart(kind: str, count: int) -> list[str]:
    """Measure in a process of its own."""
    # As the command line and the nodes do: see two_manifold_ros/threads.py.
    environment = {**os.environ, 'OPENBLAS_NUM_THREADS': '1'}
    command = [sys.executable, __file__, kind, str(count)]
    return subprocess.check_output(command, text=True, env=environment).split()


def main() -> None:
    if len(sys.argv) == 3:
        print(*(f'{each:.3g}' for each in measure(sys.argv[1], int(sys.argv[2]))))
        return
    rows = [[kind, f'{count}', *measured_apart(kind, count), most] for kind, count, most in ROWS]
    print(table('learned, samples, train s, peak MB, file MB, step us, to reach', rows))


if __name__ == '__main__':
    main()
