# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A small HMM learned by the package's own parts from a noisy lap."""

from dataclasses import dataclass

import naive
import numpy as np

from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.readout import training_targets
from two_manifold_ros.hse_hmm.tables import (
    build_tables,
    make_ridge_kernel,
    ObservationOperator,
    RawKernel,
    shared_directions,
)
from two_manifold_ros.manifold.selection import make_learner
from two_manifold_ros.ticks.windows import find_training_ticks, lay_end_to_end

WIDTH = 12
BANDWIDTH = 0.7


def drive(ticks: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return observations (T, 3) and positions (T, 2) of laps at an unsteady speed."""
    rng = np.random.default_rng(seed)
    angle = np.cumsum(0.2 + 0.03 * rng.normal(size=ticks))
    clean = np.stack([np.cos(angle), np.sin(2.0 * angle), np.sin(angle + 1.0)], axis=1)
    positions = np.stack([3.0 * np.cos(angle), 2.0 * np.sin(angle)], axis=1)
    return clean + 0.2 * rng.normal(size=clean.shape), positions


def kernel_of(
    observations: np.ndarray, bandwidth: float, ridge: float | None
) -> ObservationOperator:
    """Return the operator with a ridge, or with none."""
    if ridge is None:
        return RawKernel(observations, bandwidth)
    return make_ridge_kernel(observations, bandwidth, ridge)


def factors_of(operator: ObservationOperator, observation: np.ndarray) -> np.ndarray:
    """Return the factor of each training tick for an observation, in plain NumPy."""
    kernel = naive.gaussian(observation[None], operator.kernel_points, operator.bandwidth)[0]
    if isinstance(operator, RawKernel):
        return kernel
    return operator.features @ (kernel @ operator.responses)


@dataclass(frozen=True)
class Small:
    """Arrays of an HMM."""

    past: np.ndarray
    own: np.ndarray
    shifted: np.ndarray
    observations: np.ndarray
    targets: np.ndarray

    def belief(self, ridge: float | None = None) -> Belief:
        """Return a belief at the prior."""
        directions = shared_directions(self.own, self.past, 7)
        tables = build_tables(self.past, self.shifted, directions)
        return Belief(tables, kernel_of(self.observations, BANDWIDTH, ridge))


def learn(kernel: str = 'laplacian-eigenmap') -> Small:
    """Learn from two segments."""
    segments, positions = zip(drive(150, 0), drive(120, 1), strict=True)
    series, begins = lay_end_to_end(segments)
    training = find_training_ticks(series, begins, WIDTH)
    learner = make_learner(kernel, 15, 20)
    past, future = learner.fit(training.pasts), learner.fit(training.futures)
    own = future.coordinates[training.own]
    return Small(
        past.coordinates,
        own - own.mean(axis=0),
        future.coordinates[training.shifted] - own.mean(axis=0),
        np.ascontiguousarray(series[:, training.ticks].T),
        training_targets(positions, training.ticks, (0, 5, 20), 0.1),
    )
