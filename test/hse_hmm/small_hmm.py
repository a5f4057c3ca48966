# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Observation operators, and their factors in plain NumPy."""

import naive
import numpy as np

from two_manifold_ros.hse_hmm.tables import (
    make_ridge_kernel,
    ObservationOperator,
    RawKernel,
)


def kernel_of(
    observations: np.ndarray, bandwidth: float, ridge: float | None
) -> ObservationOperator:
    if ridge is None:
        return RawKernel(observations, bandwidth)
    return make_ridge_kernel(observations, bandwidth, ridge)


def factors_of(operator: ObservationOperator, observation: np.ndarray) -> np.ndarray:
    """Return the factor of each training tick for an observation, in plain NumPy."""
    kernel = naive.gaussian(observation[None], operator.kernel_points, operator.bandwidth)[0]
    if isinstance(operator, RawKernel):
        return kernel
    return operator.features @ (kernel @ operator.responses)
