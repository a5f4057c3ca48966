# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Measure how well the filter distinguishes the trained track from another: area under the ROC curve.

Run `python benchmarks/bench_off_route.py`. A model of `f1tenth_ipz20` run_1 to run_6 filters
run_7 of the same track and every run of `f1tenth_ipz8`, another track and other drivers. All
ticks with a full window count, those that the filter refuses included. The recordings are looked
for in `shared/recordings` beside the checkout.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import mannwhitneyu

from two_manifold_ros.evaluation.evaluate import estimates_along
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.filtering.status import StateMachine
from two_manifold_ros.recordings.reading import read_recording
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.train import train_model

if TYPE_CHECKING:
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats

RECORDINGS = Path(__file__).resolve().parents[2] / 'shared' / 'recordings'
RUNS = range(1, 8)


def off_route_along(model: ModelHead, recording: Recording) -> Floats:
    estimates = estimates_along(Filter(model), recording, lambda *_: None)
    found = np.array([estimate.off_route for estimate, _ in estimates])
    known: Floats = found[np.isfinite(found)]
    return known


def area(own: Floats, other: Floats) -> float:
    """Return how often a tick of another track looks more off the route than one of the own."""
    wins = mannwhitneyu(other, own).statistic
    return float(wins) / (len(own) * len(other))


def show_line(name: str, values: Floats, roc: float | None = None) -> None:
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    cell = '     ' if roc is None else f'{roc:.3f}'
    lost = np.mean(values > StateMachine.likely)
    print(f'  {name:14s}{cell}  {middle:6.2f} ({low:.2f} to {high:.2f})  {100 * lost:5.1f} %')


def main() -> None:
    if not RECORDINGS.is_dir():
        print('the real recordings are not beside the checkout; there is nothing to run on')
        return
    trained = [read_recording(RECORDINGS / 'f1tenth_ipz20' / f'run_{run}') for run in RUNS]
    model = train_model(trained[:6], TrainingSettings())
    own = off_route_along(model, trained[6])
    others = {
        f'ipz8 run_{run}': off_route_along(
            model, read_recording(RECORDINGS / 'f1tenth_ipz8' / f'run_{run}')
        )
        for run in RUNS
    }
    print('model of f1tenth_ipz20 run_1..6: area under ROC against run_7 (to reach: 0.95),')
    print(f'median P(off the route) (5 to 95 %), share lost (above {StateMachine.likely:.2f})')
    show_line('ipz20 run_7', own)
    for name, values in others.items():
        show_line(name, values, area(own, values))
    pooled = np.concatenate(list(others.values()))
    show_line('ipz8 pooled', pooled, area(own, pooled))


if __name__ == '__main__':
    main()
