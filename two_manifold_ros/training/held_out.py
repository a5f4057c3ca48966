# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What was seen where the filter ran over drives that it had not learned from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HeldOut:
    """
    Errors on what was left out of the training.

    Parameters
    ----------
    table
        Choices that were compared, each with its score, metres.
    ticks
        Left out and scored.
    score_m, lost_m
        Score of the best choices, and the error that counts as lost.

    """

    table: tuple[dict[str, float | None], ...]
    ticks: int
    score_m: float
    lost_m: float
