# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Fit what cannot be read off the passes: follow each part of the drives on the map of all others.

The exponent of the likelihood and the weight of slow means are those with the best log score of
the true position, which rewards being sure where it is right and punishes being sure where it is
wrong. The same runs then calibrate the covariances.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.readout.calibration import calibration_factors, squared_mahalanobis
from two_manifold_ros.readout.targets import segment_targets
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.learning import learn_route, Tuning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.learning import Passes
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.typing import Bools, Floats

FOLDS = 4
"""Parts of the drives that are left out in turn; of fewer laps each is about one lap."""

MOST_TICKS = 8_000
"""Ticks that are followed, in all; longer drives are followed in stretches of each part."""

SHARPNESSES = (0.1, 0.2, 0.4)
PERSISTENCES = (0.1, 0.5, 1.0)

LEAST_DENSITY = 1e-2
"""Share of the density of one who knows nothing but the route, below which a score does not fall.

A tick that is quite wrong counts the same however wrong it is.
"""


TOLD = 0.5
"""
Probability of driving on the route, as in training, above which an error calibrates ellipses.

Where a vehicle crashed its position is wrong by as much as it slid, which says nothing of a drive.
"""

LOST_SHARE = 0.25
"""Of the track's spread: beyond it a position is plainly wrong, and how wrong says nothing."""


@dataclass(frozen=True)
class Fitted:
    """
    What following the drives gave.

    Parameters
    ----------
    tuning
        With the best score.
    factors : (H + 1,)
        Of the covariances.
    tried
        Sharpness and persistence of each tuning tried, by name.
    scores, errors_m
        Mean log score and mean error of each, metres.
    ticks
        Followed and scored.
    lost_m
        Error beyond which the vehicle counts as lost, metres: errors are cut there.

    """

    tuning: Tuning
    factors: Floats
    tried: tuple[dict[str, float], ...]
    scores: tuple[float, ...]
    errors_m: tuple[float, ...]
    ticks: int
    lost_m: float

    @property
    def score_m(self) -> float:
        """Mean error of the best, metres."""
        return self.errors_m[int(np.argmax(self.scores))]


@dataclass(frozen=True)
class _Part:
    """A stretch to follow, and the visits that it has to be followed without."""

    observations: Floats
    truth: Floats
    kept: Bools


def fit(
    passes: Passes,
    observations: Sequence[Floats],
    tracks: Sequence[Floats],
    lead: int,
    given: tuple[float | None, float | None] = (None, None),
) -> Fitted | None:
    """
    Choose a tuning and calibrate.

    Parameters
    ----------
    passes
        From `lay_out`.
    observations, tracks
        The same segments.
    lead
        First ticks of each stretch that are not scored: nobody can know yet where it is.
    given
        Sharpness and persistence, where they are not to be chosen.

    Returns
    -------
    Fitted or None
        None where the drives are too short to leave a part out.

    """
    parts = _parts(passes, observations, tracks, lead)
    if not parts:
        return None
    maps: dict[int, Route] = {}
    tried: list[dict[str, float]] = []
    log_scores: list[float] = []
    errors_m: list[float] = []
    every = np.concatenate(tracks)
    lost_m = LOST_SHARE * float(np.sqrt(np.nanvar(every, axis=0).sum()))

    def follow(tuning: Tuning) -> tuple[float, Floats, Floats, Bools]:
        errors, covariances, scores, told_at = [], [], [], []
        for index, part in enumerate(parts):
            if index not in maps:
                maps[index] = learn_route(passes, part.kept, tuning)
            route = replace(
                maps[index], sharpness=tuning.sharpness, persistence=tuning.persistence
            )
            means, spreads, told = _run(route, part.observations)
            missed = (means - part.truth)[lead:]
            errors.append(missed)
            covariances.append(spreads[lead:])
            told_at.append(told[lead:])
            scores.append(_scores(missed[:, 0], spreads[lead:, 0], route))
        score = float(np.nanmean(np.concatenate(scores)))
        missed = np.concatenate(errors)
        away = np.sqrt(np.square(missed[:, 0]).sum(axis=1))
        tried.append(asdict(tuning))
        log_scores.append(score)
        errors_m.append(float(np.nanmean(np.minimum(away, lost_m))))
        return score, missed, np.concatenate(covariances), np.concatenate(told_at)

    usual = Tuning()
    best = Tuning(given[0] or usual.sharpness, given[1] or usual.persistence)
    found = follow(best)
    for name, values, settled in (
        ('sharpness', SHARPNESSES, given[0]),
        ('persistence', PERSISTENCES, given[1]),
    ):
        if settled is not None:
            continue
        for tuning in [replace(best, **{name: value}) for value in values]:
            if tuning != best:
                other = follow(tuning)
                if other[0] > found[0]:
                    best, found = tuning, other
    _, missed, spreads, told = found
    factors, _ = calibration_factors(missed[told], spreads[told])
    return Fitted(
        best,
        factors,
        tuple(tried),
        tuple(log_scores),
        tuple(errors_m),
        len(missed),
        lost_m,
    )


def _parts(
    passes: Passes, observations: Sequence[Floats], tracks: Sequence[Floats], lead: int
) -> list[_Part]:
    places = passes.places
    lengths = [len(each) for each in observations]
    total = sum(lengths)
    begins = np.concatenate([[0], np.cumsum(lengths)])
    edges = np.linspace(0, total, FOLDS + 1)
    when = begins[places.segments] + places.times
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
                truth = segment_targets(tracks[index], passes.horizons, passes.period_s)
                parts.append(_Part(observations[index][first:last], truth[first:last], kept))
                left -= last - first
    return parts


def _run(route: Route, observations: Floats) -> tuple[Floats, Floats, Bools]:
    belief = RouteBelief(route)
    count = route.targets.shape[1]
    means = np.empty((len(observations), count, 2))
    covariances = np.empty((len(observations), count, 2, 2))
    told: Bools = np.zeros(len(observations), dtype=np.bool_)
    for tick, observation in enumerate(observations):
        belief.update(observation)
        means[tick], covariances[tick] = belief.read()
        told[tick] = belief.driving > TOLD
    return means, covariances, told


def _scores(errors: Floats, covariances: Floats, route: Route) -> Floats:
    """Return the logarithm of the density of each true position, NaN where it is not known."""
    scores = np.full(len(errors), np.nan)
    known = np.isfinite(errors).all(axis=1)
    squares = squared_mahalanobis(errors[known], covariances[known])
    sizes = np.linalg.det(covariances[known])
    whole = float(np.linalg.det(np.cov(route.targets[:, 0].T))) ** 0.5
    density = np.exp(-0.5 * squares) / np.sqrt(sizes)
    scores[known] = np.log(density + LEAST_DENSITY / whole)
    return scores
