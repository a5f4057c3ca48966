# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Signs of pace: how much faster than at a training tick the features say the vehicle drives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

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
MOST_PAIRS = 20_000
"""Evenly spread; more of them tell nothing new."""

LEAST_SPREAD = 0.03
"""Of the logarithm: less is not believed."""

AT_ONCE = 4096
"""Pairs held in memory together."""


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
    sums, counts = _summed(scaled, here, there, ratios)
    errors = [_left_out(sums, counts, penalty) for penalty in PENALTIES]
    known = [index for index, error in enumerate(errors) if np.isfinite(error)]
    if not known:
        return None
    best = min(known, key=lambda index: errors[index])
    weights = _ridge(sums.sum(axis=(0, 1)), len(ratios), PENALTIES[best])
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
    usable = np.flatnonzero(np.abs(ratios) < LARGEST_RATIO)
    usable = usable[:: max(1, len(usable) // MOST_PAIRS)]
    return here[usable], there[usable], ratios[usable]


def _summed(scaled: Floats, here: Ints, there: Ints, ratios: Floats) -> tuple[Floats, Ints]:
    """
    Sum the products of what a regression needs, over the pairs between each two quarters.

    All that a fit to some of the quarters takes is a sum of these, so that the pairs, which are
    many, have to be gone through only once and never lie in memory together.

    Returns
    -------
    sums : (FOLDS, FOLDS, c + 1, c + 1)
        Of the products of the c columns of a pair and of its ratio, the last, with each other.
    counts : (FOLDS, FOLDS) int64
        How many pairs there are.

    """
    features = scaled.shape[1]
    columns = features * (1 + features) + 1
    sums = np.zeros((FOLDS, FOLDS, columns, columns))
    counts = np.zeros((FOLDS, FOLDS), dtype=np.int64)
    fold, other = here * FOLDS // len(scaled), there * FOLDS // len(scaled)
    for cell in np.ndindex(FOLDS, FOLDS):
        pairs = np.flatnonzero((fold == cell[0]) & (other == cell[1]))
        counts[cell] = len(pairs)
        for begin in range(0, len(pairs), AT_ONCE):
            few = pairs[begin : begin + AT_ONCE]
            rows = np.column_stack([_products(scaled[here[few]], scaled[there[few]]), ratios[few]])
            sums[cell] += rows.T @ rows
    return sums, counts


def _products(here: Floats, there: Floats) -> Floats:
    """Return differences, and differences times every feature of the other tick."""
    differences = here - there
    crossed = differences[:, :, None] * there[:, None, :]
    return np.hstack([differences, crossed.reshape(len(here), -1)])


def _ridge(sums: Floats, count: int, penalty: float) -> Floats:
    """Return the (c,) weights of the regression on pairs whose products sum to (c + 1, c + 1)."""
    normal = sums[:-1, :-1] + penalty * count * np.eye(len(sums) - 1)
    return np.asarray(np.linalg.solve(normal, sums[:-1, -1]), dtype=np.float64)


def _left_out(sums: Floats, counts: Ints, penalty: float) -> float:
    """Return the mean square error on the quarters of the drives left out of the fit in turn."""
    squares, tested = 0.0, 0
    for part in range(FOLDS):
        away = np.delete(np.arange(FOLDS), part)
        seen, unseen = int(counts[np.ix_(away, away)].sum()), int(counts[part, away].sum())
        if seen >= FEWEST_PAIRS // FOLDS and unseen:
            weights = _ridge(sums[np.ix_(away, away)].sum(axis=(0, 1)), seen, penalty)
            residual = np.append(-weights, 1.0)
            squares += float(residual @ sums[part, away].sum(axis=0) @ residual)
            tested += unseen
    return max(squares, 0.0) / tested if tested else float('nan')
