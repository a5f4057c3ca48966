# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Steps of the map between the ticks of the training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.localisation.pace import FINENESS

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


def refined(rows: Floats) -> Floats:
    """
    Interpolate between the rows of one segment.

    Parameters
    ----------
    rows : (T, c)
        NaN where unknown.

    Returns
    -------
    (1 + (T - 1) FINENESS, c)
        Every FINENESS-th is a tick as it was; a step between two is unknown where either is.

    """
    shares = np.arange(FINENESS) / FINENESS
    between = rows[:-1, None] + shares[:, None] * np.diff(rows, axis=0)[:, None]
    # A known tick stays known before an unknown one.
    between[:, 0] = rows[:-1]
    return np.concatenate([between.reshape(-1, rows.shape[1]), rows[-1:]])
