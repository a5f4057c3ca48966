# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Calibrate the covariances: follow each part of the drives on the map of all others."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.readout import (
    calibration_factors,
    floors,
    segment_targets,
    squared_mahalanobis,
)
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.learning import learn_route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.learning import Tuning
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.route.visits import Passes
    from two_manifold_ros.typing import Bools, Floats

FOLDS = 4
"""
Parts of the drives that are left out in turn; of fewer laps each is about one lap.

Of a drive so short that a part would not be twice what a filter needs to find its way, as few as
two.
"""

MOST_TICKS = 8_000
"""Ticks that are followed, in all; longer drives are followed in stretches of each part."""

MOST_DRIVEN = 1.5
"""
Times its share of the visits that a part may have.

At 1 no parts of a drive would be of equal time, and at the number of folds one may be all of it.
"""

LEAST_DENSITY = 1e-2
"""
Share of a uniform prior over the route below which the density of a tick does not fall.

A tick that is quite wrong counts the same however wrong it is.
"""


@dataclass(frozen=True)
class Fitted:
    """
    Scores and calibration from following the drives.

    Parameters
    ----------
    factors : (H + 1,)
        Of the covariances.
    log_score, score_m
        Mean log-density of the true position, and mean error, metres.
    ticks
        Followed and scored.
    lost_m
        Error beyond which the vehicle counts as lost, metres: errors are cut there.

    """

    factors: Floats
    log_score: float
    score_m: float
    ticks: int
    lost_m: float


def fit(
    passes: Passes,
    observations: Sequence[Floats],
    tracks: Sequence[Floats],
    lead: int,
    tuning: Tuning,
) -> Fitted | None:
    """
    Calibrate the covariances, and score the followed parts.

    None where the drives are too short to leave a part out, or no position of them is known. The
    ``observations`` and ``tracks`` are those of the `passes`. The position is not known yet in
    the first ticks of each stretch, ``lead``, which are not scored.
    """
    parts = parts_to_follow(passes, observations, tracks, lead)
    if not parts:
        return None
    errors, covariances, driven = [], [], []
    for seen, truth, kept in parts:
        route = learn_route(passes, kept, tuning)
        means, spreads, driving = follow(route, seen)
        errors.append((means - truth)[lead:])
        covariances.append(spreads[lead:])
        driven.append(driving[lead:])
    missed, spreads = np.concatenate(errors), np.concatenate(covariances)
    if not np.isfinite(missed[:, 0]).any():
        return None
    driving = np.concatenate(driven)
    factors, _ = calibration_factors(missed[driving], spreads[driving])
    away = np.sqrt(np.square(missed[:, 0]).sum(axis=1))
    # Beyond a quarter of the track's spread a position is plainly wrong.
    lost_m = 0.25 * float(np.sqrt(route.readout.targets[:, 0].var(axis=0).sum()))
    # What is published is calibrated.
    scores = log_scores(missed[:, 0], spreads[:, 0] * factors[0], route)
    return Fitted(
        factors,
        float(np.nanmean(scores)),
        float(np.nanmean(np.minimum(away, lost_m))),
        len(missed),
        lost_m,
    )


def parts_to_follow(
    passes: Passes, observations: Sequence[Floats], tracks: Sequence[Floats], lead: int
) -> list[tuple[Floats, Floats, Bools]]:
    """Return observations and truth of stretches to follow, and the visits to follow them with."""
    places = passes.places
    lengths = [len(each) for each in observations]
    total = sum(lengths)
    begins = np.concatenate([[0], np.cumsum(lengths)])
    folds = min(max(total // (2 * lead + 1), 2), FOLDS)
    when = begins[places.segments] + places.times
    edges = np.linspace(0, total, folds + 1)
    if np.histogram(when, edges)[0].max() > MOST_DRIVEN / folds * len(when):
        # It stands for most of the time: parts of equal time would leave out nearly all driving.
        edges[1:-1] = np.quantile(when, np.arange(1, folds) / folds)
    most = max(MOST_TICKS // FOLDS, 3 * lead)
    parts = []
    for low, high in itertools.pairwise(edges.tolist()):
        kept = (when < low) | (when >= high)
        if not kept.any() or kept.all():
            continue
        left = most
        for index, length in enumerate(lengths):
            first = int(max(low - begins[index], 0))
            last = int(min(high - begins[index], length, first + left))
            if last - first > 2 * lead:
                if np.isnan(tracks[index]).all():
                    continue
                truth = segment_targets(tracks[index], passes.horizons, passes.period_s)
                parts.append((observations[index][first:last], truth[first:last], kept))
                left -= last - first
    return parts


def follow(route: Route, observations: Floats) -> tuple[Floats, Floats, Bools]:
    """
    Follow a stretch (T, d) on a map.

    Returns means (T, H + 1, 2) and covariances (T, H + 1, 2, 2) as read, not calibrated, and
    whether the vehicle drives on the route as in training (T,). Where it crashed its position is
    wrong by as much as it slid, which says nothing of a drive: that calibrates no ellipse.
    """
    belief = RouteBelief(route)
    count = route.readout.targets.shape[1]
    means = np.empty((len(observations), count, 2))
    covariances = np.empty((len(observations), count, 2, 2))
    driving: Bools = np.zeros(len(observations), dtype=np.bool_)
    for tick, observation in enumerate(observations):
        belief.update(observation)
        means[tick], covariances[tick] = belief.read()
        driving[tick] = belief.driving > 0.5
    return means, covariances, driving


def log_scores(errors: Floats, covariances: Floats, route: Route) -> Floats:
    """Return the logarithm of the density of each true position, NaN where it is not known."""
    scores = np.full(len(errors), np.nan)
    known = np.isfinite(errors).all(axis=1)
    squares = squared_mahalanobis(errors[known], covariances[known])
    sizes = np.linalg.det(covariances[known])
    spread = np.cov(route.readout.targets[:, 0].T)
    # Places on a line cover no area; estimates are no narrower than this either.
    least = float(floors(route.readout.targets)[0])
    whole = max(float(np.linalg.det(spread)), least * float(np.trace(spread))) ** 0.5
    density = np.exp(-0.5 * squares) / np.sqrt(sizes)
    scores[known] = np.log(density + LEAST_DENSITY / whole)
    return scores
