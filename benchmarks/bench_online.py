# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The time of one online update of a TPSR: one sample with its four feature vectors.

Run `python benchmarks/bench_online.py`. Beside the learner, and measured in the same run on one
core: Boots & Gordon 2011, eq. 8 and 9 in NumPy, one sample at a time (naive), and a copy of U
and V, which reads and writes their bytes once. Times are those of the processor, so that other
programs count little. Features are random Fourier features of a wandering point.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.random_features import fourier_features
from two_manifold_ros.tpsr.thin_svd import PENDING

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.typing import Floats

STATES, RIDGE, MEMORY = 20, 0.3, 5_000.0
LIVE = 1_024
"""Samples that are given in turn, and so often."""

WARM, MEASURED, ONE_BY_ONE, NAIVE = 5_120, 2_048, 192, 24
SIZES = ((25_000, 400, 40), (2_000, 400, 40), (1_000, 100, 40))
FOLDS = (1, 8, 32, 64)
TO_REACH = {25_000: 'at most 2 copies, naive at least 5 x', 2_000: 'under 250 us'}


class Stream:
    """Feature vectors of a point that wanders, each as long as one."""

    def __init__(self, size: int, observations: int) -> None:
        rng = np.random.default_rng(0)
        points = np.zeros((LIVE + 2, 6))
        for tick in range(1, len(points)):
            points[tick] = 0.97 * points[tick - 1] + 0.25 * rng.normal(size=6)
        self.windows = fourier_features(6, size - 1, 2.0, seed=1).transform(points)
        self.windows = np.hstack([self.windows, np.ones((len(points), 1))])
        self.observations = fourier_features(6, observations, 2.0, seed=2).transform(points)
        self.constant = np.eye(1, size, size - 1)[0]

    def sample(self, index: int) -> tuple[Floats, Floats, Floats, Floats]:
        tick = index % LIVE + 1
        windows = self.windows
        return windows[tick], windows[tick + 1], windows[tick - 1], self.observations[tick]


class Naive:
    """Boots & Gordon 2011, eq. 8a-f and 9a, of one sample, with BLAS for every product."""

    def __init__(self, learner: OnlineLearner) -> None:
        """Start where a learner is; U and V have a column for each direction."""
        self.left, self.right = learner.svd.left.T.copy(), learner.svd.right.T.copy()
        self.values, self.mean = learner.svd.values.copy(), learner.history_sum.copy()
        tensor = learner.moments(len(self.values))[:-1].transpose(1, 0, 2) / self.values
        self.tensor = np.ascontiguousarray(tensor)
        self.inverse = learner.covariance.inverse.copy()

    def add(self, test: Floats, next_test: Floats, history: Floats, observation: Floats) -> None:
        rank = len(self.values)
        left, x = self._extended(self.left, test)
        right, y = self._extended(self.right, history)
        core = np.outer(x, y)
        core[np.arange(rank), np.arange(rank)] += self.values
        turn_left, values, turn_right = np.linalg.svd(core)
        turn_left, turn_right = turn_left[:, :rank], turn_right[:rank].T
        self.left, self.right = left @ turn_left, right @ turn_right
        scaled = turn_right[:rank].T * self.values / values[:rank, None]
        self.values = values[:rank]
        tensor = (turn_left[:rank].T @ self.tensor.reshape(rank, -1)).reshape(-1, rank) @ scaled.T
        pair = np.outer(observation, (history @ self.right) / self.values).ravel()
        self.tensor = tensor.reshape(rank, -1) + np.outer(next_test @ self.left, pair)
        product = self.inverse @ observation
        self.inverse -= np.outer(product, product) / (1.0 + observation @ product)
        self.mean += history

    @staticmethod
    def _extended(basis: Floats, vector: Floats) -> tuple[Floats, Floats]:
        inside = basis.T @ vector
        outside = vector - basis @ inside
        outside -= basis @ (basis.T @ outside)
        length = float(np.linalg.norm(outside))
        return np.column_stack([basis, outside / length]), np.append(inside, length)


def microseconds(step: Callable[[int], object], count: int) -> Floats:
    times = np.empty(count)
    for index in range(count):
        began = time.process_time()
        step(index)
        times[index] = time.process_time() - began
    return 1e6 * times


def warmed(learner: OnlineLearner, stream: Stream) -> None:
    for index in range(WARM):
        learner.add(*stream.sample(index))
    learner.fold()


def copy_us(learner: OnlineLearner) -> float:
    bases = [learner.svd.left.copy(), learner.svd.right.copy()]
    targets = [np.empty_like(basis) for basis in bases]

    def copy(_: int) -> None:
        for target, basis in zip(targets, bases, strict=True):
            np.copyto(target, basis)

    return float(np.median(microseconds(copy, 100)))


def operations(size: int, observations: int, rank: int, fold: int) -> float:
    """Return the rule of thumb: floating point operations per sample."""
    bases = size * (12 * rank + 6 * rank**2 / max(fold, PENDING) + 2 * fold)
    return bases + observations * rank**2 * (2 + rank / 32) + 5 * observations**2


def measure(size: int, observations: int, rank: int) -> None:
    stream = Stream(size, observations)
    found = []
    for fold in FOLDS:
        # Folded one by one, the first samples would take minutes; only the later ones count.
        settings = LearnerSettings(STATES, rank, RIDGE, MEMORY, fold if fold > 1 else FOLDS[-1])
        learner = OnlineLearner(settings, stream.constant, size, observations)
        warmed(learner, stream)

        def step(index: int, learner: OnlineLearner = learner, fold: int = fold) -> None:
            learner.add(*stream.sample(WARM + index))
            if fold == 1:
                learner.fold()

        times = microseconds(step, MEASURED if fold > 1 else ONE_BY_ONE)
        found.append((fold, float(times.mean()), float(times.max()), learner.svd.defect()))
    copied = copy_us(learner)
    naive = Naive(learner)
    naive_us = float(np.median(microseconds(lambda i: naive.add(*stream.sample(i)), NAIVE)))
    print(f'D = {size}, p = {observations}, r = {rank} (to reach: {TO_REACH.get(size, "-")})')
    print(f'  naive {naive_us:8.0f} us, copy of U and V {copied:6.0f} us')
    for fold, mean, longest, defect in found:
        speed = operations(size, observations, rank, fold) / mean / 1e3
        print(
            f'  {fold:3d} at a time: {mean:7.0f} us a sample = {mean / copied:5.1f} copies = '
            f'naive / {naive_us / mean:4.1f}; longest call {longest / 1e3:5.1f} ms; '
            f'{speed:4.1f} GFLOP/s; orthonormal to {defect:.0e}'
        )


def main() -> None:
    print('operations a sample are about D (12 r + 6 r^2 / c + 2 c) + p r^2 (2 + r / 32) + 5 p^2,')
    print(f'c samples at a time, but at least {PENDING} in 6 r^2 / c')
    for sizes in SIZES:
        measure(*sizes)


if __name__ == '__main__':
    main()
