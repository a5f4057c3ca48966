# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A million samples through one learner: time, memory and orthogonality must stay as they are.

Run `python benchmarks/bench_soak.py`; it takes some minutes. Features are random Fourier features
of a point that wanders by rules that change now and then, and old samples are forgotten. A line
for every 100,000 samples. Times are those of the processor, and beside them stands what a fixed
piece of work took in between, because a busy machine slows both; cost is flat when their ratio is.
"""

from __future__ import annotations

import os
from pathlib import Path
import time
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.parameters import TpsrBelief
from two_manifold_ros.tpsr.random_features import fourier_features

if TYPE_CHECKING:
    from collections.abc import Iterator

    from two_manifold_ros.typing import Floats

SIZE, OBSERVATIONS, STATES, RANK, RIDGE, MEMORY = 300, 40, 12, 24, 0.3, 3_000.0
SAMPLES, SHOWN = 1_000_000, 100_000
CHUNK, REGIME = 100, 20_000
"""Samples whose features are made together, and those after which the rules change."""

PAGE = os.sysconf('SC_PAGE_SIZE')


def points() -> Iterator[Floats]:
    """Chunks of a wandering point, with the last two points of the chunk before."""
    rng = np.random.default_rng(0)
    chunk = np.zeros((CHUNK + 2, 4))
    for made in range(0, SAMPLES, CHUNK):
        if made % REGIME == 0:
            turn = np.linalg.qr(rng.normal(size=(4, 4)))[0] * rng.uniform(0.9, 0.99)
            spread = rng.uniform(0.05, 0.5)
        chunk[:2] = chunk[-2:]
        for row in range(2, len(chunk)):
            chunk[row] = turn @ chunk[row - 1] + spread * rng.normal(size=4)
        yield chunk


def resident_mb() -> float:
    """Resident memory as of now, of which the largest would only ever grow."""
    return int(Path('/proc/self/statm').read_text().split()[1]) * PAGE / 1e6


def yardstick_s(matrix: Floats) -> float:
    """Return the seconds that a fixed piece of work takes now: small products, as in a fold."""
    began = time.process_time()
    for _ in range(8):
        matrix @ matrix
        np.linalg.eigh(matrix)
    return time.process_time() - began


def learn(learner: OnlineLearner, belief: TpsrBelief | None, rows: tuple[Floats, Floats]) -> float:
    """Learn and filter a chunk, and return the seconds that it took."""
    windows, observations = rows
    began = time.process_time()
    for tick in range(1, CHUNK + 1):
        move = learner.add(windows[tick], windows[tick + 1], windows[tick - 1], observations[tick])
        if belief is not None:
            belief.update(observations[tick])
            if move is not None:
                belief.adopt(learner.parameters(), move)
    return time.process_time() - began


def main() -> None:
    window_map = fourier_features(4, SIZE - 1, 2.0, seed=1)
    observation_map = fourier_features(4, OBSERVATIONS, 2.0, seed=2)
    settings = LearnerSettings(STATES, RANK, RIDGE, MEMORY)
    learner = OnlineLearner(settings, np.eye(SIZE)[-1], SIZE, OBSERVATIONS)
    matrix = np.cov(np.random.default_rng(1).normal(size=(32, 64)))
    belief, seconds, yardstick, worst, lines = None, 0.0, 0.0, 0.0, []
    for chunk in points():
        windows = np.hstack([window_map.transform(chunk), np.ones((len(chunk), 1))])
        seconds += learn(learner, belief, (windows, observation_map.transform(chunk)))
        yardstick += yardstick_s(matrix)
        worst = max(worst, learner.svd.defect())
        belief = belief or TpsrBelief(learner.parameters())
        if learner.samples % SHOWN == 0:
            lines.append((seconds / yardstick, resident_mb(), worst))
            cost, memory, defect = lines[-1]
            print(
                f'{learner.samples:8d} samples: {1e6 * seconds / SHOWN:5.1f} us a sample, '
                f'{cost:5.2f} x the fixed work; {memory:6.2f} MB; orthonormal to {defect:.0e}',
                flush=True,
            )
            seconds = yardstick = worst = 0.0
    show_spread(lines)


def show_spread(lines: list[tuple[float, float, float]]) -> None:
    """Compare all but the first line, which may still fill buffers."""
    costs, memories, defects = np.array(lines[1:]).T
    print(f'cost within {100 * (costs.max() / costs.min() - 1):.1f} % (to reach: flat)')
    print(f'memory within {100 * (memories.max() / memories.min() - 1):.2f} % (to reach: 1 %)')
    print(f'orthonormal to {defects.max():.0e} throughout (to reach: 1e-8)')


if __name__ == '__main__':
    main()
