# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Brownian motion in the unit square, seen through the maps of Singer & Coifman."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.typing import Floats

    Map = Callable[[Floats], Floats]
    """From the variables to observations."""

    Estimate = Callable[[Floats, float], Floats]
    """From (n, paths, steps + 1, D) observations and the duration to (n, D, D) covariances."""

BLOCK = 250
"""Points whose bursts are held together."""


def mushroom(x: Floats) -> Floats:
    """Map (..., 2) variables to the (..., 2) plane by eq. (31)."""
    first, second = x[..., 0], x[..., 1]
    return np.stack([first + second**3, second - first**3], axis=-1)


def mushroom_on_sphere(x: Floats) -> Floats:
    """Map (..., 2) variables to the unit sphere in (..., 3) by eq. (52)."""
    flat = mushroom(x)
    raised = np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], axis=-1)
    on_sphere: Floats = raised / np.linalg.norm(raised, axis=-1, keepdims=True)
    return on_sphere


@dataclass(frozen=True)
class Bursts:
    """
    Short paths from every point.

    Parameters
    ----------
    paths
        From a point.
    steps
        At which a path is looked at.
    duration
        Of a path.

    """

    paths: int
    steps: int
    duration: float


def reflect(x: Floats) -> Floats:
    """Return positions on a line folded into [0, 1], which are those of reflected motion."""
    folded: Floats = 1.0 - np.abs(np.mod(x, 2.0) - 1.0)
    return folded


def covariances_of_bursts(
    x: Floats,
    bursts: Bursts,
    observe: Map,
    estimate: Estimate,
    rng: np.random.Generator,
) -> Floats:
    """
    Return the (n, D, D) covariances of motion in what is observed of it.

    Parameters
    ----------
    x : (n, 2)
        Where the bursts start.
    bursts
        How many, and how long.
    observe, estimate
        What is seen of a path, and what is made of it.
    rng
        What moves them.

    """
    found = []
    step = np.sqrt(bursts.duration / bursts.steps)
    for begin in range(0, len(x), BLOCK):
        starts = x[begin : begin + BLOCK, None, None]
        moves = rng.normal(scale=step, size=(len(starts), bursts.paths, bursts.steps, 2))
        walks = np.concatenate([np.zeros_like(moves[:, :, :1]), moves.cumsum(axis=2)], axis=2)
        found.append(estimate(observe(reflect(starts + walks)), bursts.duration))
    return np.concatenate(found)


def covariances_of_ends(bursts: Floats, duration: float) -> Floats:
    """Estimate as in the paper, eq. (35): the sample covariance of where the paths end."""
    ends = bursts[:, :, -1] - bursts[:, :, -1].mean(axis=1, keepdims=True)
    covariances: Floats = ends.transpose(0, 2, 1) @ ends / ((ends.shape[1] - 1) * duration)
    return covariances
