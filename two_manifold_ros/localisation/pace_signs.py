# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Signs of pace: how much faster than at a training tick the features say the vehicle drives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Bools, Floats, Ints

PENALTIES = (1e-2, 1e-1, 1.0, 10.0, 100.0)
"""
Compared on quarters of the drives that were left out.

The last says that nothing is known of the pace but how much it varied in training. The belief is
then drawn to 1: on a short recording of even laps that errs less than a pace left to itself.
"""

FOLDS = 4

LARGEST_RATIO = 0.7
"""Logarithm of the ratio of two speeds beyond which one of the two vehicles hardly moved."""

FEWEST_PAIRS = 200

LEAST_SPREAD = 0.03
"""Of the logarithm: less is not believed."""


@dataclass(frozen=True)
class PaceSigns:
    r"""
    Regression of the pace on the features of a live tick and of a training tick.

    With the difference :math:`\delta` of the live features to those of tick i, the logarithm of
    the pace is :math:`\delta^\top (b + M f_i)`: a quick vehicle turns faster at the same place,
    which makes a feature larger or smaller as the bend there has it. Stored multiplied out, as a
    slope and an offset for each training tick.

    Parameters
    ----------
    slopes : (f, N), offsets : (N,)
        The logarithm of the pace is live features times slope plus offset.
    spread
        Of the logarithm around it, on drives that were left out.

    """

    slopes: Floats
    offsets: Floats
    spread: float


def learn_pace_signs(features: Floats, passes: Ints, speeds: Floats) -> PaceSigns | None:
    """
    Learn from the passes of one place at different speeds.

    Parameters
    ----------
    features : (N, f)
        Of the training ticks, as they come.
    passes : (N, p) int64
        From ``find_passes``.
    speeds : (N,)
        NaN where unknown.

    Returns
    -------
    PaceSigns or None
        None where too few places were passed twice.

    """
    here, there, ratios = _pairs(passes, speeds)
    if len(ratios) < FEWEST_PAIRS:
        return None
    scale = np.maximum(features.std(axis=0), 1e-9)
    scaled = features / scale
    rows = _products(scaled[here], scaled[there])
    errors = [_left_out(rows, ratios, here, there, len(features), each) for each in PENALTIES]
    known = [index for index, error in enumerate(errors) if np.isfinite(error)]
    if not known:
        return None
    best = min(known, key=lambda index: errors[index])
    weights = _ridge(rows, ratios, PENALTIES[best])
    count = features.shape[1]
    slopes = weights[:count] + scaled @ weights[count:].reshape(count, count).T
    offsets = -(slopes * scaled).sum(axis=1)
    spread = max(float(np.sqrt(errors[best])), LEAST_SPREAD)
    return PaceSigns(np.ascontiguousarray((slopes / scale).T), offsets, spread)


def _pairs(passes: Ints, speeds: Floats) -> tuple[Ints, Ints, Floats]:
    here, column = np.nonzero(passes >= 0)
    there = passes[here, column]
    with np.errstate(divide='ignore', invalid='ignore'):
        ratios = np.log(speeds[here] / speeds[there])
    usable: Bools = np.asarray(np.abs(ratios) < LARGEST_RATIO)
    return here[usable], there[usable], ratios[usable]


def _products(here: Floats, there: Floats) -> Floats:
    """Return differences, and differences times every feature of the other tick."""
    differences = here - there
    crossed = differences[:, :, None] * there[:, None, :]
    return np.hstack([differences, crossed.reshape(len(here), -1)])


def _ridge(rows: Floats, wanted: Floats, penalty: float) -> Floats:
    normal = rows.T @ rows + penalty * len(rows) * np.eye(rows.shape[1])
    weights: Floats = np.linalg.solve(normal, rows.T @ wanted)
    return weights


def _left_out(
    rows: Floats, ratios: Floats, here: Ints, there: Ints, ticks: int, penalty: float
) -> float:
    """Return the mean square error on the quarters of the drives left out of the fit in turn."""
    squares = []
    fold, other = here * FOLDS // ticks, there * FOLDS // ticks
    for part in range(FOLDS):
        seen = (fold != part) & (other != part)
        unseen = (fold == part) & (other != part)
        if np.count_nonzero(seen) >= FEWEST_PAIRS // FOLDS and unseen.any():
            weights = _ridge(rows[seen], ratios[seen], penalty)
            squares.append(np.square(ratios[unseen] - rows[unseen] @ weights))
    return float(np.concatenate(squares).mean()) if squares else float('nan')
