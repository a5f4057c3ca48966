# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Distances as each of many points sees them, from how it moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.kernels.samples import Samples
    from two_manifold_ros.typing import Floats, Ints

BLOCK = 128
"""Points whose members' distances are computed together."""


@dataclass(frozen=True)
class LocalMetric:
    r"""
    Scaled directions :math:`\mu^{-1/2} v` of the pseudo-inverse of a covariance at each point.

    They are combinations of training points, :math:`\sum_k c_{ikm} y_{ik}` with
    :math:`\sum_k c_{ikm} = 0`, so that the coordinates of any point y in the frame of point i
    follow from its squared distances s to the training points alone:

    .. math:: p_{im}(y) = \mu_{im}^{-1/2} v_{im}^\top (y - y_i)
              = o_{im} - \tfrac12 \sum_k c_{ikm}\, s_{ik}(y),

    and its squared length is :math:`(y - y_i)^\top \Gamma_i^\dagger (y - y_i)`.

    Parameters
    ----------
    members : (n, c) int64
        Training points that the directions at each point are made of.
    coefficients : (n, c, r)
        :math:`c`; a zero where a direction or a member is missing.
    offsets : (n, r)
        :math:`o`, by which a point is at the origin of its own frame.

    """

    members: Ints
    coefficients: Floats
    offsets: Floats

    def frame(self, index: int, squared: Floats) -> Floats:
        """Return (..., r) coordinates in the frame of a point, of (n, ...) squared distances."""
        mixed = squared[self.members[index]].T @ self.coefficients[index]
        seen: Floats = self.offsets[index] - 0.5 * mixed
        return seen

    def frames(self, indices: Ints, squared: Floats) -> Floats:
        """Return (len(indices), r) coordinates of one point in the frames of some others."""
        near = squared[self.members[indices]]
        mixed = np.einsum('ik,ikm->im', near, self.coefficients[indices])
        seen: Floats = self.offsets[indices] - 0.5 * mixed
        return seen


class MetricSource(Protocol):
    """Where the local metric of a set of points comes from."""

    def measure(self, samples: Samples) -> LocalMetric:
        """
        Return the metric at every point.

        Raises
        ------
        InputError
            If the source does not fit the points, or none of them moves.

        """
        ...


def with_offsets(samples: Samples, members: Ints, coefficients: Floats) -> LocalMetric:
    """Return the metric of these directions; each point is the origin of its frame."""
    offsets = np.empty((len(members), coefficients.shape[2]))
    for begin in range(0, len(members), BLOCK):
        block = np.arange(begin, min(begin + BLOCK, len(members)))
        own = samples.rows(block)[:, None]
        others = samples.rows(members[block].ravel()).reshape(*members[block].shape, -1)
        squared = np.square(others - own).sum(axis=2)
        offsets[block] = 0.5 * np.einsum('ik,ikm->im', squared, coefficients[block])
    return LocalMetric(members, coefficients, offsets)
