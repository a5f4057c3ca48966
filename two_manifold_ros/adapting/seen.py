# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a learner shows of its window and its belief before there is one."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.filtering.step import Step

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats


@dataclass
class NoBelief:
    """
    What is believed before anything was learned.

    Parameters
    ----------
    state : (k,)
        Zeros.

    """

    state: Floats


@dataclass
class Seen:
    """
    What was seen.

    Parameters
    ----------
    count
        Ticks in a row.
    full
        Whether a whole window was seen.

    """

    count: int = 0
    full: bool = False


class NothingLearned:
    """
    A `TickFilter` that tells nothing, for a stream of which nothing was learned yet.

    Parameters
    ----------
    states
        Dimension of the state.
    horizons
        How many positions are asked for.

    """

    def __init__(self, states: int, horizons: int) -> None:
        self.belief = NoBelief(np.zeros(states))
        self.window = Seen()
        self._horizons = horizons

    def start(self) -> None:
        """There is nothing to forget."""

    def coast(self, ticks: int) -> None:
        """There is nothing to move on."""

    def update(self, values: Floats) -> Step:  # noqa: ARG002 - as every tick filter
        """Take the (c,) means of one tick."""
        return Step(0.0, accepted=True, familiarity=math.nan, restarted=False)

    def read(self) -> tuple[Floats, Floats]:
        """Return means (H + 1, 2) and covariances (H + 1, 2, 2) that are not known."""
        count = self._horizons + 1
        return np.full((count, 2), math.nan), np.full((count, 2, 2), math.nan)

    def places(self) -> None:
        """Return ``None``: there are no places."""
