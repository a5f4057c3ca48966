# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A sheet rolled up in two ways, and noise around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

TURNS = 1.5 * np.pi, 4.5 * np.pi
"""Angles from which and to which a sheet is rolled; its radius is the angle."""


@dataclass(frozen=True)
class Pairs:
    """
    Noisy points on two rolls of one sheet.

    Parameters
    ----------
    latent : (n, 2)
        Where on the sheet, from 0 to 1 along both sides.
    first : (n, 3), second : (n, 3)
        The same points of the sheet rolled up along its first side, and along its second.

    """

    latent: Floats
    first: Floats
    second: Floats

    @property
    def views(self) -> tuple[Floats, Floats]:
        """The points on both rolls."""
        return self.first, self.second


def spiral(along: Floats) -> Floats:
    """Return the points (n, 2) of the cross-section of a roll for (n,) numbers from 0 to 1."""
    angle = TURNS[0] + (TURNS[1] - TURNS[0]) * along
    points: Floats = angle[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return points


def roll(latent: Floats, side: int, width: float) -> Floats:
    """Roll the sheet (n, 2) up along one of its sides; the axis of the roll is the last column."""
    return np.column_stack([spiral(latent[:, side]), width * latent[:, 1 - side]])


def draw_pairs(count: int, width: float, noise: float, seed: int) -> Pairs:
    """
    Draw points on the sheet, evenly, and see them on both rolls.

    Parameters
    ----------
    count
        Points, n.
    width
        Of either roll along its axis.
    noise
        Standard deviation of what is added to each coordinate of each view.

    """
    rng = np.random.default_rng(seed)
    latent = rng.random((count, 2))
    views = [roll(latent, side, width) + noise * rng.normal(size=(count, 3)) for side in (0, 1)]
    return Pairs(latent, *views)
