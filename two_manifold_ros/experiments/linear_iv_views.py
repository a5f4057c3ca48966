# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Two linear views of one hidden signal, whose noise is anisotropic and independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import subspace_angles

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

HIDDEN = 2
COLUMNS = (10, 8)
"""Of the first view and of the second."""

NOISE = (3.0, 0.1)
"""Standard deviation of the noise in its loudest direction and in its quietest, about."""


@dataclass(frozen=True)
class LinearView:
    """
    A view x = M z + e with cov(z) = I and cov(e) = R R'.

    Parameters
    ----------
    mixing : (D, 2)
        M.
    noise_root : (D, D)
        R.

    """

    mixing: Floats
    noise_root: Floats

    @classmethod
    def draw(cls, columns: int, rng: np.random.Generator) -> LinearView:
        """Draw a view of so many columns."""
        mixing = rng.normal(size=(columns, HIDDEN))
        directions = rng.normal(size=(columns, columns)) / np.sqrt(columns)
        return cls(mixing, directions * np.geomspace(*NOISE, columns))

    def sample(self, hidden: Floats, rng: np.random.Generator) -> Floats:
        """Return rows (n, D) for hidden rows (n, 2)."""
        noise = rng.normal(size=(len(hidden), len(self.noise_root)))
        rows: Floats = hidden @ self.mixing.T + noise @ self.noise_root.T
        return rows

    def angle(self, directions: Floats) -> float:
        """Return the largest angle, in degrees, between the range of M and (D, 2) columns."""
        return float(np.degrees(subspace_angles(directions, self.mixing)[0]))

    def bias(self) -> float:
        """Return the angle of the principal components of infinitely many samples, in degrees."""
        covariance = self.mixing @ self.mixing.T + self.noise_root @ self.noise_root.T
        return self.angle(np.linalg.eigh(covariance)[1][:, -HIDDEN:])


def draw_views(seed: int) -> tuple[LinearView, LinearView]:
    """Draw the two views."""
    rng = np.random.default_rng(seed)
    first, second = (LinearView.draw(columns, rng) for columns in COLUMNS)
    return first, second
