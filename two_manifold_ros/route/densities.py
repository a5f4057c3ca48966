# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn densities of observations at no known place: standing, at a low speed, on any road."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.route.route import Density, LIMITS, RouteLikelihood
from two_manifold_ros.route.visits import LARGEST_LOG_RATIO, Passes

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats

TAIL = 5.0
"""Degrees of freedom of the density of an observation."""

OTHER_TAIL = 2.0
"""Degrees of freedom of the densities of what was never seen."""


def learn_densities(passes: Passes, whitening: Floats) -> dict[str, Density]:
    """Return the densities of a `RouteLikelihood` with this ``whitening``, by their names."""
    hidden = whitening.shape[0] - passes.channels
    # Of the slow means, and of the observation given them.
    lasting, own = whitening[:hidden, :hidden], whitening[hidden:, hidden:]
    return _at_rest(passes, own, lasting) | _on_any_road(passes, own, lasting)


def _at_rest(passes: Passes, own: Floats, lasting: Floats) -> dict[str, Density]:
    # Expected, in standard deviations of the channels: the offset of a standing vehicle from no
    # motion, the same in an observation and its slow means. The noise of its observations is half
    # of that at a place while driving, and that of the slow means a tenth of it.
    offset_spread, calm, means_calm = 0.3, 0.5, 0.1
    seen, channels, hidden = passes.rest, passes.channels, len(lasting)
    variances = np.linalg.inv(own.T @ own) * calm**2
    times = hidden // channels
    centre = np.tile(passes.at_rest, times + 1)
    noise = np.diag([*[means_calm] * times, 1.0])
    spread = shared(np.full(channels, offset_spread), times + 1) + np.kron(noise, variances)
    if len(seen):
        share = _share(seen)
        median = np.median(seen, axis=0)
        apart = seen - median
        centre = centre + share * (median - centre)
        spread = (1 - share) * spread + share * (apart.T @ apart / len(apart))
    spread += shared(passes.shifts, times + 1) + LIMITS.least_spread * np.eye(len(spread))
    means, given = spread[:hidden, :hidden], spread[hidden:, :hidden]
    slopes = np.linalg.solve(means, given.T).T
    alone = spread[hidden:, hidden:]
    none, offset = np.zeros((channels, 0)), centre[hidden:]
    return {
        'rest': density(
            slopes, offset - slopes @ centre[:hidden], alone - slopes @ given.T, own, TAIL
        ),
        'rest_alone': density(none, offset, alone, own, TAIL),
        'rest_means': density(np.zeros((hidden, 0)), centre[:hidden], means, lasting, TAIL),
    }


def _share(seen: Floats) -> float:
    """Return the weight of ticks seen at rest or at a low speed: 20 of them weigh half."""
    return len(seen) / (len(seen) + 20.0)


def _on_any_road(passes: Passes, own: Floats, lasting: Floats) -> dict[str, Density]:
    # What was never seen has twice the variance of training.
    width = 2.0
    seen, channels, hidden = passes.series, passes.channels, len(lasting)
    design = np.column_stack([seen[:, :hidden], np.ones(len(seen))])
    wanted = seen[:, hidden:]
    normal = design.T @ design + 1e-3 * len(design) * np.eye(hidden + 1)
    line = np.linalg.solve(normal, design.T @ wanted)
    apart = wanted - design @ line
    covariance = width * apart.T @ apart / len(apart) + LIMITS.least_spread * np.eye(channels)
    centre = np.median(seen[:, :hidden], axis=0)
    apart = seen[:, :hidden] - centre
    spread = width * apart.T @ apart / len(apart) + LIMITS.least_spread * np.eye(hidden)
    spread += shared(passes.shifts, hidden // channels)
    return {
        'other': density(line[:-1].T, line[-1], covariance, own, OTHER_TAIL),
        'other_means': density(np.zeros((hidden, 0)), centre, spread, lasting, OTHER_TAIL),
        'slow': _at_a_low_speed(passes, line, covariance, own),
    }


def _at_a_low_speed(passes: Passes, line: Floats, covariance: Floats, own: Floats) -> Density:
    """Return the density of any road, drawn to visits below about half the usual speed."""
    seen = passes.features[passes.kept & (passes.log_ratios < -LARGEST_LOG_RATIO)]
    seen = seen[:, -passes.channels :]
    share = _share(seen)
    if len(seen):
        middle = np.median(seen, axis=0)
        apart = seen - middle
        line = (1.0 - share) * line
        line[-1] += share * middle
        covariance = (1.0 - share) * covariance + share * (apart.T @ apart / len(apart))
    covariance = covariance + np.diag(np.square(passes.shifts))
    return density(line[:-1].T, line[-1], covariance, own, TAIL if len(seen) else OTHER_TAIL)


def mistakable(likelihood: RouteLikelihood, series: Floats, share: float) -> float:
    """
    Return the log-likelihood ratio of standing over driving that driving rarely exceeds.

    Straights look like standing, to a density that knows no place: without an allowance a vehicle
    that accelerates on one is taken for standing. A ``share`` of the driving ``series`` (n, f) is
    below.
    """
    # Some 5,000 ticks of the training are enough.
    seen = series[:: max(len(series) // 5000, 1)]
    means, newest = seen[:, : -likelihood.channels], seen[:, -likelihood.channels :]
    nothing = means[:, :0]
    lasting = likelihood.persistence * _logs(likelihood.other_means, means, nothing)
    stands = np.maximum(
        _logs(likelihood.rest_alone, newest, nothing) + lasting,
        _logs(likelihood.rest, newest, means)
        + likelihood.persistence * _logs(likelihood.rest_means, means, nothing),
    )
    moves = np.maximum(
        _logs(likelihood.slow, newest, means), _logs(likelihood.other, newest, means)
    )
    return max(float(np.quantile(stands - moves - lasting, share)), 0.0)


def _logs(density: Density, observations: Floats, features: Floats) -> Floats:
    """Return the logarithms of a density at observations (n, d) after slow means (n, m)."""
    apart = observations - density.offset - features @ density.slopes.T
    squares = np.square(apart @ density.root.T).sum(axis=1)
    freedom = density.tail + len(density.offset)
    logs: Floats = density.level - 0.5 * freedom * np.log1p(squares / density.tail)
    return logs


def shared(shifts: Floats, times: int) -> Floats:
    """Return the covariance of features that a shift of each channel moves together."""
    return np.kron(np.ones((times, times)), np.diag(np.square(shifts)))


def density(
    slopes: Floats, offset: Floats, covariance: Floats, own: Floats, tail: float
) -> Density:
    """Return a density whose level is relative to that of the places, of inverse root ``own``."""
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    count = len(offset)
    level = float(np.log(np.diag(root)).sum() - np.log(np.diag(own)).sum())

    def constant(freedom: float) -> float:
        return (
            math.lgamma(0.5 * (freedom + count))
            - math.lgamma(0.5 * freedom)
            - 0.5 * count * math.log(freedom)
        )

    level += constant(tail) - constant(TAIL)
    return Density(np.ascontiguousarray(slopes), offset, root, level, tail)
