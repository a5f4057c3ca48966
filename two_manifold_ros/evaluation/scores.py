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


REACH_NS = 250_000_000
"""Before and after a stamp between which the direction of travel is taken: more cuts chicanes."""


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
    """

    all: ErrorSummary  # of all predictions, published or not, as those along and across
    published_share: float | None  # of the predictions with a known truth
    along_rmse_m: float | None  # along the true direction of travel, where it is known
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
    """
    Return true positions and directions (T, H, 2) at horizons in ticks of stamps (T,) in ns.

    A direction is that of the way from ``REACH_NS`` before to as much after, or as far as it is
    known: a unit vector, NaN where that is no way at all.
    """
    places, before, after = (
        np.stack(
            [positions_at(stream, stamps + each * period_ns + apart) for each in horizons], axis=1
        )
        for apart in (0, -REACH_NS, REACH_NS)
    )
    before, after = (np.where(np.isfinite(side), side, places) for side in (before, after))
    lengths = np.linalg.norm(after - before, axis=2, keepdims=True)
    return places, (after - before) / np.where(lengths > 0.0, lengths, np.nan)
