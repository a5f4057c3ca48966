# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Covariances of the motion of many points, from short bursts that start at each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


def local_covariances(bursts: Floats, duration: float) -> Floats:
    r"""
    Estimate :math:`J J^\top` of Singer & Coifman, eq. (10), at the start of bursts.

    What is summed are the products of the steps along each path, its quadratic variation:

    .. math:: \frac{1}{b\,T} \sum_{a=1}^b \sum_{k=1}^s
              (y^a_k - y^a_{k-1})(y^a_k - y^a_{k-1})^\top

    With one step these are second moments about the start. More steps see less of the
    drift, of walls and of the curvature of the map, and are s times as many numbers to
    average: the covariance of the end points alone, eq. (35), is too small near a wall.

    Parameters
    ----------
    bursts : (n, b, s + 1, D)
        Positions of b paths from each of n points: the point itself first, then after each of
        s equal steps in time.
    duration
        T, of a path.

    Returns
    -------
    covariances : (n, D, D)
        Per unit of time.

    Raises
    ------
    InputError
        If there is no step, or the duration is not positive.

    """
    if bursts.ndim != 4 or bursts.shape[2] < 2 or not bursts.size:
        msg = f'bursts have the shape {bursts.shape}; give (points, paths, steps + 1, dimensions)'
        raise InputError(msg)
    if not duration > 0.0:
        msg = f'bursts last {duration}; give a positive time'
        raise InputError(msg)
    count, paths, _, width = bursts.shape
    steps = np.diff(bursts, axis=2).reshape(count, -1, width)
    covariances: Floats = steps.transpose(0, 2, 1) @ steps / (paths * duration)
    return covariances
