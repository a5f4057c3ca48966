# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Fit what cannot be read off the passes: follow each part of the drives on the map of all others.

The exponent of the likelihood is judged by the log score of the true position, which rewards being
sure where it is right and punishes being sure where it is wrong. The same runs calibrate the
covariances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.readout.calibration import calibration_factors, squared_mahalanobis
from two_manifold_ros.readout.targets import segment_targets
from two_manifold_ros.route.belief import RouteBelief
from two_manifold_ros.route.learning import learn_route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.route.passes import Passes
    from two_manifold_ros.route.route import Route
    from two_manifold_ros.typing import Bools, Floats

FOLDS = 4
"""Parts of the drives that are left out in turn; of fewer laps each is about one lap."""

MOST_TICKS = 8_000
"""Ticks that are followed, in all; longer drives are followed in stretches of each part."""

SHARPNESSES = (0.1, 0.2, 0.4)
"""
Exponents that are tried, the most careful first.

With .05 the kart of the simulator, and with .8 the car of f1tenth_ipz10, errs more.
"""

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
    sharpness
        Exponent of the likelihood of an observation.
    factors : (H + 1,)
        Of the covariances.
    scores, errors_m
        Mean log score and mean error of each exponent tried, metres; errors are cut where the
        vehicle counts as lost.
    chosen
        Index of the exponent.
    ticks
        Followed and scored.

    """

    sharpness: float
    factors: Floats
    scores: tuple[float, ...]
    errors_m: tuple[float, ...]
    chosen: int
    ticks: int

    @property
    def score_m(self) -> float:
        """Mean error with the chosen exponent, metres."""
        return self.errors_m[self.chosen]


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
    sharpnesses: Sequence[float] = SHARPNESSES,
) -> Fitted | None:
    """
    Choose the exponent of the likelihood and calibrate.

    Parameters
    ----------
    passes
        From `lay_out`.
    observations, tracks
        The same segments.
    lead
        First ticks of each stretch that are not scored: nobody can know yet where it is.
    sharpnesses
        To choose from.

    Returns
    -------
    Fitted or None
        None where the drives are too short to leave a part out.

    """
    parts = _parts(passes, observations, tracks, lead)
    if not parts:
        return None
    maps = [learn_route(passes, part.kept, sharpnesses[0]) for part in parts]
    followed = [_follow(maps, parts, lead, sharpness) for sharpness in sharpnesses]
    chosen = choose([each.scores for each in followed], lead)
    return Fitted(
        sharpnesses[chosen],
        followed[chosen].factors,
        tuple(float(np.nanmean(each.scores)) for each in followed),
        tuple(float(np.nanmean(each.errors_m)) for each in followed),
        chosen,
        len(followed[chosen].scores),
    )


def choose(scores: Sequence[Floats], block: int) -> int:
    """
    Choose the first of some series of scores that is not plainly worse than the best.

    Plainly is by more than one standard error of the difference: the rule of Breiman et al.
    (Classification and Regression Trees, 1984), with what is most careful first.

    Parameters
    ----------
    scores
        Of the same ticks, (n,) each, NaN where unknown.
    block
        Ticks whose scores are not independent.

    """
    best = int(np.argmax([np.nanmean(each) for each in scores]))
    blocks = max(len(scores[0]) // block, 1)
    for index, each in enumerate(scores[:best]):
        worse = scores[best] - each
        parts = np.array([np.nanmean(part) for part in np.array_split(worse, blocks)])
        parts = parts[np.isfinite(parts)]
        if len(parts) < 2 or parts.mean() <= parts.std(ddof=1) / np.sqrt(len(parts)):
            return index
    return best


@dataclass(frozen=True)
class _Followed:
    """Scores and errors of every tick (n,), errors cut where the vehicle is lost, and factors."""

    scores: Floats
    errors_m: Floats
    factors: Floats


def _follow(
    maps: Sequence[Route], parts: Sequence[_Part], lead: int, sharpness: float
) -> _Followed:
    errors, covariances, told_at = [], [], []
    for route, part in zip(maps, parts, strict=True):
        means, spreads, told = _run(replace(route, sharpness=sharpness), part.observations)
        errors.append((means - part.truth)[lead:])
        covariances.append(spreads[lead:])
        told_at.append(told[lead:])
    missed, spreads = np.concatenate(errors), np.concatenate(covariances)
    told = np.concatenate(told_at)
    factors, _ = calibration_factors(missed[told], spreads[told])
    away = np.sqrt(np.square(missed[:, 0]).sum(axis=1))
    places = maps[0].targets[:, 0]
    lost_m = LOST_SHARE * float(np.sqrt(places.var(axis=0).sum()))
    # What is published is calibrated, so a belief wins nothing by being wider than it need be.
    scores = _scores(missed[:, 0], spreads[:, 0] * factors[0], maps[0])
    return _Followed(scores, np.minimum(away, lost_m), factors)


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
