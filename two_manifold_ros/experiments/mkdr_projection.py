# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the experiments with manifold kernel dimension reduction share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.mkdr import find_predictive_directions

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.mkdr import PredictiveDirections
    from two_manifold_ros.typing import Floats


HIDDEN = 0.3
"""Share of the points whose responses are hidden for the figure on responses not seen."""


@dataclass(frozen=True)
class Projection:
    """
    Points projected onto the first direction that predicts their response.

    Parameters
    ----------
    values : (n,)
        Rising with the response.
    correlation
        With the responses, all of which the direction was found from.
    hidden_correlation
        Of a direction that was found without some responses, with those.
    found
        From all responses.

    """

    values: Floats
    correlation: float
    hidden_correlation: float
    found: PredictiveDirections


def project(eigenvectors: Floats, responses: Floats, seed: int) -> Projection:
    """
    Find the directions and project.

    Parameters
    ----------
    eigenvectors : (n, m), responses : (n,)
        Of all points.
    seed
        Draws the points whose responses are hidden.

    """
    found = find_predictive_directions(eigenvectors, responses[:, None])
    values = eigenvectors @ found.directions[:, 0]
    # Not the very numbers that the same seed draws for points.
    hidden = np.random.default_rng((seed, 1)).random(len(responses)) < HIDDEN
    seen = find_predictive_directions(eigenvectors[~hidden], responses[~hidden, None])
    guess = eigenvectors @ seen.directions[:, 0]
    correlation = correlation_of(values, responses)
    rising = np.sign(correlation_of(guess[~hidden], responses[~hidden]))
    return Projection(
        float(np.sign(correlation)) * values,
        abs(correlation),
        float(rising) * correlation_of(guess[hidden], responses[hidden]),
        found,
    )


def correlation_of(left: Floats, right: Floats) -> float:
    """Return the correlation of two (n,) lists."""
    return float(np.corrcoef(left, right)[0, 1])


def multiple_correlation_of(columns: Floats, responses: Floats) -> float:
    """Return the correlation of (n,) responses with their regression on (n, m) columns."""
    design = np.column_stack([columns, np.ones(len(columns))])
    fitted = design @ np.linalg.lstsq(design, responses, rcond=None)[0]
    return correlation_of(fitted, responses)
