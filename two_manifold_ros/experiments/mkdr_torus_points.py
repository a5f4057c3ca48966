# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A response on a torus in ten dimensions, on a grid or at random and with noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

DIMENSIONS = 10
"""Those beyond the third hold nothing but noise."""

POINT_NOISE = 0.1
"""Standard deviation, in every coordinate of the noisy points; the tube has radius 1."""

RESPONSE_NOISE = 0.05
"""Standard deviation, of noisy responses; they lie between 0 and 1."""


@dataclass(frozen=True)
class TorusPoints:
    """
    Points of a torus and their responses.

    Parameters
    ----------
    tube, axis : (n,)
        Angles about the circle within the tube and about the axis, from 0 to 2 pi.
    points : (n, DIMENSIONS)
        Where they are.
    responses : (n,)
        A disk of angles around (pi, pi) is 1, beyond it 0, with a soft edge.

    """

    tube: Floats
    axis: Floats
    points: Floats
    responses: Floats


def grid_on_torus(side: int) -> TorusPoints:
    """Return ``side ** 2`` points on a grid of angles."""
    angles = 2.0 * np.pi * np.arange(side) / side
    tube, axis = np.meshgrid(angles, angles, indexing='ij')
    return _at(tube.ravel(), axis.ravel())


def noisy_on_torus(count: int, seed: int) -> TorusPoints:
    """Return points at random angles, with noise on points and responses."""
    rng = np.random.default_rng(seed)
    clean = _at(*rng.uniform(0.0, 2.0 * np.pi, (2, count)))
    points = clean.points + POINT_NOISE * rng.standard_normal(clean.points.shape)
    responses = clean.responses + RESPONSE_NOISE * rng.standard_normal(count)
    return TorusPoints(clean.tube, clean.axis, points, responses)


def _at(tube: Floats, axis: Floats) -> TorusPoints:
    points = np.zeros((len(tube), DIMENSIONS))
    points[:, 0] = (2.0 + np.cos(tube)) * np.cos(axis)
    points[:, 1] = (2.0 + np.cos(tube)) * np.sin(axis)
    points[:, 2] = np.sin(tube)
    beyond = np.hypot(tube - np.pi, axis - np.pi) - 0.6 * np.pi
    return TorusPoints(tube, axis, points, 1.0 / (1.0 + np.exp(17.0 * beyond)))
