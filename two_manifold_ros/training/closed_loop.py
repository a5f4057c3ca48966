# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Run the HMM over observations as the live filter does, and keep everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.belief import Belief
    from two_manifold_ros.hse_hmm.recollection import Recollection
    from two_manifold_ros.readout.reading import Readout
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Run:
    """
    A closed-loop run over T ticks.

    Parameters
    ----------
    means : (T, c, 2), covariances : (T, c, 2, 2)
        What was read out after each observation.
    states : (T, k)
        State after each observation.

    """

    means: Floats
    covariances: Floats
    states: Floats


def run_closed_loop(
    belief: Belief,
    readout: Readout,
    observations: Floats,
    recollection: Recollection | None = None,
) -> Run:
    """
    Start at the prior and filter the (T, d) observations of one segment.

    Parameters
    ----------
    belief, readout
        What filters.
    observations
        From a cold start.
    recollection
        With an empty window, of a filter whose read-out goes by weights.

    """
    belief.start()
    means, covariances, states = [], [], []
    for observation in observations:
        if recollection is not None:
            recollection.remind(belief)
            recollection.push(observation)
        belief.update(observation)
        mean, covariance = readout.read(belief.weights, belief.state)
        means.append(mean)
        covariances.append(covariance)
        states.append(belief.state.copy())
    return Run(np.array(means), np.array(covariances), np.array(states))


def filtered_states(belief: Belief, observations: Floats) -> Floats:
    """Return the (T, k) states after each observation of one segment."""
    belief.start()
    states = np.empty((len(observations), len(belief.state)))
    for tick, observation in enumerate(observations):
        belief.update(observation)
        states[tick] = belief.state
    return states
