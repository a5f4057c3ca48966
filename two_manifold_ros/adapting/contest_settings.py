# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""When one filter is better than another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ContestSettings:
    """
    When one filter is better than another.

    Parameters
    ----------
    block_s
        Seconds that count as one observation, 2 at least; errors so far apart should be unlike.
    fewest, most
        Blocks before a decision, and blocks that are remembered.
    margin
        Share of the other's error that has to be undercut.
    useful
        Share of the error of the mean position that has to be undercut to be handed over: a
        filter that rightly says nothing is better than one that knows next to nothing.
    sure
        Of the t distribution: how surely the mean gain of a block has to be above zero. As it is
        asked block after block for days, near one.

    """

    block_s: float = 5.0
    fewest: int = 8
    most: int = 48
    margin: float = 0.9
    useful: float = 0.5
    sure: float = 0.9999
