# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What the number of random features of a TPSR costs and brings, and how much their draw matters.

Run `python benchmarks/bench_features.py`. Each number of features is measured in a process of its
own, so that its peak memory is its own. A TPSR learns from 200 s of the simulated slot car at
20 Hz, with features of each seed, and is followed on the next 100 s. Times are those of the
processor.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

import numpy as np

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.simulation.slot_car import SlotCarSettings
from two_manifold_ros.simulation.slot_car_run import run_to_recording, simulate
from two_manifold_ros.training.settings import TpsrSettings
from two_manifold_ros.training.train import train_model

FEATURES, SEEDS = (150, 250, 1_000, 4_000), (0, 1, 2)
HORIZONS = {0: 'now', 50: '50 ahead'}


def measure(size: int) -> None:
    """Print the line of one number of features."""
    whole = run_to_recording(simulate(SlotCarSettings(rate_hz=20.0), samples=6_000))
    training, test = whole.between(None, 200.0), whole.between(200.0, None)
    train_model([training], TpsrSettings(features=size))
    took_s, errors_m = [], []
    for seed in SEEDS:
        settings = TpsrSettings(features=size, feature_seed=seed, horizons=tuple(HORIZONS))
        began = time.process_time()
        model = train_model([training], settings)
        took_s.append(time.process_time() - began)
        scores = evaluate(model, [test]).scores
        errors_m.append([each.model.all.rmse_m or np.nan for each in scores])
    found = np.array(errors_m)
    errors = ', '.join(
        f'{title} {column.mean():.3f} m ({column.min():.3f} to {column.max():.3f})'
        for title, column in zip(HORIZONS.values(), found.T, strict=True)
    )
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    print(f'{size:5d} features: {errors}; train {np.mean(took_s):.2f} s, peak {peak_mb:.0f} MB')


def main() -> None:
    if len(sys.argv) == 2:
        measure(int(sys.argv[1]))
        return
    print(f'RMSE, mean of {len(SEEDS)} seeds of the features (least to most)', flush=True)
    # As the command line and the nodes do: see two_manifold_ros/threads.py.
    environment = {**os.environ, 'OPENBLAS_NUM_THREADS': '1'}
    for size in FEATURES:
        subprocess.run([sys.executable, __file__, str(size)], check=True, env=environment)


if __name__ == '__main__':
    main()
