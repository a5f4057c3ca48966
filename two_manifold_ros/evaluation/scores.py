# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of predicted positions in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import CHI_SQUARE, squared_mahalanobis
from two_manifold_ros.ticks.segments import positions_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.recordings.recording import PositionStream
    from two_manifold_ros.typing import Bools, Floats, Ints


@dataclass(frozen=True)
class ErrorSummary:
    """Summary of the errors of ``n`` predictions; all else is ``None`` if there are none."""

    rmse_m: float | None  # of the distances, as the next three
    median_m: float | None
    p95_m: float | None
    p99_m: float | None
    coverage68: float | None  # share of true positions in the ellipse, if one is sound
    coverage95: float | None
    n: int  # whose truth is known


@dataclass(frozen=True)
class Score(ErrorSummary):
    """
    Summary of errors; the fields of the base class summarise published predictions only.

    If a method withholds nothing, these fields summarise no prediction, and its share is ``None``.

    Parameters
    ----------
    all
        Over all predictions, published or not.
    published_share
        Share of the predictions with a known truth that are published.
    along_rmse_m, cross_rmse_m
        Of all, published or not: root mean square error along and across the true direction of
        travel, metres; ``None`` where no direction is known.

    """

    all: ErrorSummary
    published_share: float | None
    along_rmse_m: float | None
    cross_rmse_m: float | None


@dataclass(frozen=True)
class HorizonScore:
    """
    The model and two baselines at one horizon, in ticks, all on the same ticks.

    ``mean`` always answers the mean training position. ``previous`` answers the true position at
    the tick, which no other is given: at horizon 0 it has no error.
    """

    horizon: int
    model: Score
    mean: Score
    previous: Score


def score(
    errors: Floats, covariances: Floats, published: Bools | None, directions: Floats
) -> Score:
    """Score (T, 2) errors, predicted minus true, m; ``published`` is ``None`` if all is."""
    known: Bools = np.asarray(np.isfinite(errors).all(axis=1))
    every = summarise(errors[known], covariances[known])
    chosen = known & published if published is not None else np.zeros_like(known)
    along = (errors * directions).sum(axis=1)
    cross = directions[:, 0] * errors[:, 1] - directions[:, 1] * errors[:, 0]
    share = float(np.mean(published[known])) if published is not None and every.n else None
    return Score(
        **vars(summarise(errors[chosen], covariances[chosen])),
        all=every,
        published_share=share,
        along_rmse_m=_root_mean_square(along),
        cross_rmse_m=_root_mean_square(cross),
    )


def summarise(errors: Floats, covariances: Floats) -> ErrorSummary:
    """Summarise finite (n, 2) errors in metres and their (n, 2, 2) covariances in m^2."""
    if not len(errors):
        return ErrorSummary(None, None, None, None, None, None, 0)
    distances = np.linalg.norm(errors, axis=1)
    median, p95, p99 = np.quantile(distances, (0.5, 0.95, 0.99)).tolist()
    a, b, c = covariances[:, 0, 0], covariances[:, 0, 1], covariances[:, 1, 1]
    sound = (a > 0.0) & (a * c > b * b) & np.isfinite(covariances).all(axis=(1, 2))
    inside68 = inside95 = None
    if sound.any():
        squared = squared_mahalanobis(errors[sound], covariances[sound])
        inside68, inside95 = (
            float(np.count_nonzero(squared <= most) / len(errors)) for most in CHI_SQUARE
        )
    return ErrorSummary(
        _root_mean_square(distances), median, p95, p99, inside68, inside95, len(errors)
    )


def _root_mean_square(values: Floats) -> float | None:
    """Return the root of the mean square of the finite among (n,) values."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(np.square(finite)))) if len(finite) else None


def truth_ahead(
    stream: PositionStream | None, stamps: Ints, horizons: Sequence[int], period_ns: int
) -> tuple[Floats, Floats]:
    """Return true positions and directions (T, H, 2) at horizons in ticks of stamps in ns."""
    ahead = [stamps + horizon * period_ns for horizon in horizons]
    places, directions = (
        np.stack([find(stream, each) for each in ahead], axis=1)
        for find in (positions_at, travel_directions)
    )
    return places, directions


def travel_directions(stream: PositionStream | None, stamps: Ints) -> Floats:
    """
    Return the true direction of travel (T, 2) at stamps (T,) in any order, ns: unit vectors.

    It is that of a straight line fitted to the true positions up to 0.25 s before and after, as
    far as they are known. Where the vehicle stands still, or nothing is known, it is the last
    direction known before, or the first of all; NaN if it never moves.
    """
    nowhere = np.full((len(stamps), 2), np.nan)
    if stream is None or not len(stream.stamps):
        return nowhere
    # On the stamps of the recording, so that what stands still does not depend on those asked for.
    given = np.unique(stream.stamps)
    moves = _moves(stream, given)
    lengths = np.linalg.norm(moves, axis=1)
    if not np.isfinite(lengths).any():
        return nowhere
    # Slower than 5 % of the speed that is exceeded in 5 % of the time is standing still; relative,
    # so that it suits slot cars and lorries. There the displacement is mostly noise and its
    # direction arbitrary; a larger share would keep an old direction through slow bends.
    least = 0.05 * np.nanquantile(lengths, 0.95)
    moving = np.flatnonzero(lengths > least)
    if not len(moving):
        return nowhere
    last = np.searchsorted(given[moving], stamps, side='right') - 1
    moved = moves[moving[np.maximum(last, 0)]]
    asked = _moves(stream, stamps)
    own = np.linalg.norm(asked, axis=1) > least
    moved[own] = asked[own]
    directions: Floats = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return directions


def _moves(stream: PositionStream, stamps: Ints) -> Floats:
    """Return the slopes (T, 2) of lines fitted around stamps, in one unit; NaN where unknown."""
    # At walking speed the vehicle moves 0.5 m in both sides together, far beyond the noise of a
    # camera, and on a bend of constant radius the direction of a chord is exact at its middle.
    # Shorter makes noise turn the direction, longer cuts through chicanes. Three ends on either
    # side average noise.
    reach_ns, ends = 250_000_000, 3
    here = positions_at(stream, stamps)
    moves, known = np.zeros((len(stamps), 2)), np.zeros(len(stamps), dtype=np.bool_)
    for part in range(1, ends + 1):
        reach = part * reach_ns // ends
        sides = [positions_at(stream, stamps + sign * reach) for sign in (-1, 1)]
        before, after = (np.where(np.isfinite(side), side, here) for side in sides)
        found = np.isfinite(after - before).all(axis=1)
        moves[found] += part * (after - before)[found]
        known |= found
    moves[~known] = np.nan
    return moves
