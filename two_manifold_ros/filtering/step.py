# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What one observation did to a belief."""

from __future__ import annotations

from dataclasses import dataclass
import math

REJECTED_BEFORE_RESTART = 10
"""Observations in a row that fit nothing before the belief is started anew (section 6.5)."""


@dataclass(frozen=True)
class Step:
    """
    What one observation did.

    Parameters
    ----------
    evidence
        See ``Belief.update``.
    accepted
        Whether the observation moved the belief.
    familiarity
        See ``Estimate``; NaN until the window is full.
    restarted
        Whether the belief had to be started anew.
    surprise
        Mean over the last tenths of a second, see ``Surprise``; NaN of a belief that cannot tell.
    doubted
        Whether by that the vehicle is probably elsewhere than believed.
    excused
        Whether the window is only unfamiliar because the vehicle was moved, see ``Aftermath``.

    """

    evidence: float
    accepted: bool
    familiarity: float
    restarted: bool
    surprise: float = math.nan
    doubted: bool = False
    excused: bool = False
