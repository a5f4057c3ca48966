# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a tick showed of how far the filter may be believed."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from two_manifold_ros.monitoring.finding import Finding


class Signs(NamedTuple):
    """
    What a tick showed.

    Parameters
    ----------
    window_full
        Whether a whole window was seen.
    recovering
        Whether the window is filling again after a gap.
    accepted
        Whether the observation fitted anything.
    restarted
        Whether the belief had to be started anew.
    familiarity
        See ``Estimate``.
    ellipse_m
        Half the long axis of the 95 % ellipse of the present position, metres; NaN if a number
        that was read out may not be used.
    finding
        The gravest that is wrong with the input.
    seen
        Ticks in the window.
    off_route, unlike, standing
        See ``Step``.

    """

    window_full: bool
    recovering: bool
    accepted: bool
    restarted: bool
    familiarity: float
    ellipse_m: float
    finding: Finding | None = None
    seen: int = 0
    off_route: float = math.nan
    unlike: float = math.nan
    standing: bool = False


@dataclass(frozen=True)
class EllipseLimits:
    """
    How far the 95 % ellipse of the present position may reach.

    Parameters
    ----------
    warn_m
        Half its long axis above which the position is unsure, metres.
    error_m
        And above which it is not told.

    """

    warn_m: float
    error_m: float
