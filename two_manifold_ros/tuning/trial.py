# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What one choice of settings reached on the held-out time, or why it failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.special import stdtrit

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

CLEARLY = 0.98
"""A change has to lower the error to this share of it at least: less is not worth keeping."""

SURE = 0.975
"""
Of the t distribution: how surely the mean gain of a lap has to be above zero.

A dozen changes and more are tried; of those that do nothing, one in forty may be kept.
"""


@dataclass(frozen=True)
class Trial:
    """
    Errors of one choice.

    Parameters
    ----------
    score_m
        Mean error, metres, over ticks and horizons, each cut where the vehicle is plainly lost.
    blocks
        The same for each lap of each block; NaN where no position is known.

    """

    score_m: float
    blocks: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Failure:
    """
    A choice that cannot be tried.

    Parameters
    ----------
    reason
        A sentence.

    """

    reason: str


Outcome: TypeAlias = Trial | Failure


def clearly_better(trial: Trial, than: Trial) -> bool:
    """
    Return whether a trial is better than another by more than chance.

    Lower by a margin in total, better in most blocks and in most laps, and with a mean gain per
    lap that is ``SURE`` to be above zero.
    """
    gains = _gains(trial, than)
    laps = np.concatenate(gains)
    laps = laps[np.isfinite(laps)]
    blocks = [float(np.nanmean(gain)) for gain in gains if np.isfinite(gain).any()]
    if len(laps) < 2 or not trial.score_m <= CLEARLY * than.score_m:
        return False
    most = sum(gain > 0.0 for gain in blocks) > len(blocks) / 2
    won, of = laps_won(trial, than)
    noise = stdtrit(of - 1, SURE) * float(laps.std(ddof=1)) / np.sqrt(of)
    return bool(most and won > of / 2 and laps.mean() > noise)


def laps_won(trial: Trial, than: Trial) -> tuple[int, int]:
    """Return on how many laps a trial is better than another, and of how many."""
    laps = np.concatenate(_gains(trial, than))
    return int((laps > 0.0).sum()), int(np.isfinite(laps).sum())


def _gains(trial: Trial, than: Trial) -> list[Floats]:
    return [
        np.array(before) - np.array(after)
        for before, after in zip(than.blocks, trial.blocks, strict=True)
    ]
