# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Observation operators: how an observation reweights the training ticks (section 5).

Each operator gives a factor per training tick; the update multiplies the weights by it and
normalises (6.2). Factors need only be right up to one common positive scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import pdist

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

LANDMARKS = 500
FEATURES = 40
"""At least 20 are needed and 40 suffice (section 4.4 of the note)."""


@dataclass(frozen=True)
class RawKernel:
    r"""
    The kernel itself as a likelihood: :math:`\gamma_i(o) = k(o_{t_i}, o)`, in (0, 1].

    Parameters
    ----------
    observations : (n, d)
        Standardised observations of the training ticks.
    bandwidth
        Of the Gaussian kernel.

    """

    observations: Floats
    bandwidth: float

    @property
    def kernel_points(self) -> Floats:
        """Observations that a new one is compared with: (l, d)."""
        return self.observations

    def factors(self, observation: Floats) -> Floats:
        """Return the (n,) factors of a (d,) observation."""
        factors: Floats = gaussian_kernel(observation[None], self.observations, self.bandwidth)[0]
        return factors


@dataclass(frozen=True)
class RidgeKernel:
    r"""
    Kernel ridge regression on the observation, in features (5.1).

    .. math:: n\gamma_i(o) = z_O(o_{t_i})^\top (\Sigma_{OO} + \lambda I)^{-1} z_O(o)

    Parameters
    ----------
    landmarks : (l, d)
        Observations that span the features.
    bandwidth
        Of the Gaussian kernel.
    responses : (l, p)
        :math:`V\Lambda^{-1/2}(\Sigma_{OO} + \lambda I)^{-1}`.
    features : (n, p)
        :math:`z_O` of the training ticks.

    """

    landmarks: Floats
    bandwidth: float
    responses: Floats
    features: Floats

    @property
    def kernel_points(self) -> Floats:
        """Observations that a new one is compared with: (l, d)."""
        return self.landmarks

    def factors(self, observation: Floats) -> Floats:
        """Return the (n,) factors of a (d,) observation; they can be negative."""
        kernel = gaussian_kernel(observation[None], self.landmarks, self.bandwidth)[0]
        factors: Floats = self.features @ (kernel @ self.responses)
        return factors


ObservationOperator = RawKernel | RidgeKernel


def gaussian_kernel(left: Floats, right: Floats, bandwidth: float) -> Floats:
    """Return the kernel (2.1) between rows of (a, d) and (b, d): (a, b)."""
    squared = np.zeros((len(left), len(right)))
    for channel in range(left.shape[1]):
        squared += np.square(left[:, channel, None] - right[:, channel])
    kernel: Floats = np.exp(squared / (-2.0 * bandwidth**2))
    return kernel


def median_observation_distance(observations: Floats) -> float:
    """
    Return the median distance between observations, over some 1,000 evenly spread ones.

    Raises
    ------
    InputError
        If at least half of them are identical, so that there is no scale.

    """
    step = max(1, len(observations) // 1000)
    median = float(np.median(pdist(observations[::step])))
    if not median > 0.0:
        msg = 'most IMU samples are identical; record while the vehicle drives'
        raise InputError(msg)
    return median


def make_ridge_kernel(observations: Floats, bandwidth: float, ridge: float) -> RidgeKernel:
    r"""
    Fit the ridge form.

    Parameters
    ----------
    observations : (n, d)
        Of the training ticks.
    bandwidth
        Of the Gaussian kernel.
    ridge
        :math:`\lambda` on :math:`\Sigma_{OO} = Z_O^\top Z_O / n` (unit-diagonal kernel).

    """
    step = max(1, len(observations) // LANDMARKS)
    landmarks = observations[::step]
    values, vectors = np.linalg.eigh(gaussian_kernel(landmarks, landmarks, bandwidth))
    keep = values > 1e-10 * values[-1]
    projection = (vectors[:, keep] / np.sqrt(values[keep]))[:, ::-1][:, :FEATURES]
    features = gaussian_kernel(observations, landmarks, bandwidth) @ projection
    second_moment = features.T @ features / len(observations)
    inverse = np.linalg.inv(second_moment + ridge * np.eye(len(second_moment)))
    return RidgeKernel(landmarks, bandwidth, projection @ inverse, features)
