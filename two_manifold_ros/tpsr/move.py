# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the coordinates of the state move when the bases do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Move:
    r"""
    From coordinates in the old bases to coordinates in the new ones.

    Parameters
    ----------
    left : (r', r)
        :math:`\hat U_{new}^\top\hat U`: of what lives in the space of tests, the state above all.
    right : (r', r)
        :math:`\hat V_{new}^\top\hat V`: of what lives in the space of histories.

    """

    left: Floats
    right: Floats

    @staticmethod
    def none(rank: int) -> Move:
        """Return the move that leaves everything where it is."""
        return Move(np.eye(rank), np.eye(rank))

    def after(self, earlier: Move) -> Move:
        """Return the move that does the earlier one first and then this one."""
        return Move(self.left @ earlier.left, self.right @ earlier.right)

    def angle(self, states: int) -> float:
        """Return the largest angle, in radians, by which the leading directions of tests moved."""
        kept = self.left[:, :states]
        if not kept.size:
            return 0.0
        smallest = np.linalg.svd(kept[:states], compute_uv=False)[-1]
        return float(np.arccos(np.clip(smallest, -1.0, 1.0)))
