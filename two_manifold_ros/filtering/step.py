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
    off_route
        Probability that the vehicle is not on the trained route; NaN of who cannot tell.
    unlike
        Probability that it does what training never saw; NaN of who cannot tell.
    standing
        Whether the observation was left out because the vehicle stands; all else is then what
        the last one did that was not.

    """

    evidence: float
    accepted: bool
    familiarity: float
    restarted: bool
    off_route: float = math.nan
    unlike: float = math.nan
    standing: bool = False
