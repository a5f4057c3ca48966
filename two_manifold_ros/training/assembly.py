# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""One complete HMM from the embeddings and a few choices, and its run over observations."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.readout import fit_ridge
from two_manifold_ros.hse_hmm.sharpened import SharpenedReadout
from two_manifold_ros.hse_hmm.tables import (
    make_ridge_kernel,
    median_observation_distance,
    RawKernel,
)

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.belief import Recollection
    from two_manifold_ros.hse_hmm.readout import Readout
    from two_manifold_ros.hse_hmm.tables import ObservationOperator, Tables
    from two_manifold_ros.hse_hmm.two_manifold import SharedDirections
    from two_manifold_ros.training.structure import AnyStructure
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


USUAL_NEIGHBOURS = 30
USUAL_BANDWIDTH = 1.4


@dataclass(frozen=True)
class Candidate:
    """
    Choices that closed-loop validation compares.

    Parameters
    ----------
    states
        Dimension of the state.
    bandwidth_factor
        Bandwidth of the observation kernel, in median distances between observations.
    ridge
        Ridge of the observation operator, or ``None`` for the raw kernel.
    neighbours
        Of a window in a graph; kernels without one pass over it.

    """

    states: int
    bandwidth_factor: float
    ridge: float | None = None
    neighbours: int = USUAL_NEIGHBOURS

    def as_json(self) -> dict[str, float | None]:
        """Return the choices by name."""
        return asdict(self)


@dataclass(frozen=True)
class Assembly:
    """
    An HMM with its read-out.

    Parameters
    ----------
    directions, tables, operator
        The spectral HMM.
    readout
        Of the belief.

    """

    directions: SharedDirections
    tables: Tables
    operator: ObservationOperator
    readout: Readout

    def belief(self) -> Belief:
        """Return a fresh belief at the prior."""
        return Belief(self.tables, self.operator)


def assemble(
    structure: AnyStructure, targets: Floats, candidate: Candidate, readout: str
) -> Assembly:
    """
    Build the HMM of a candidate.

    Parameters
    ----------
    structure
        From ``learn_states``.
    targets : (n, c, 2)
        Of the training ticks, from ``training_targets``.
    candidate
        The choices.
    readout
        One of ``READOUTS``. ``mkdr`` is ``sharpened`` over targets whose gaps were filled before,
        see ``completion``.

    """
    directions = structure.directions(candidate.states)
    tables = structure.tables(directions)
    operator = make_operator(structure.observations, candidate)
    if readout == 'ridge':
        states = training_states(structure, Belief(tables, operator))[structure.training.ticks]
        return Assembly(directions, tables, operator, fit_ridge(states, targets))
    sharpened = SharpenedReadout(targets, np.ones(targets.shape[1]))
    return Assembly(directions, tables, operator, sharpened)


def make_operator(observations: Floats, candidate: Candidate) -> ObservationOperator:
    """Return the observation operator of a candidate over (n, d) training observations."""
    bandwidth = candidate.bandwidth_factor * median_observation_distance(observations)
    if candidate.ridge is None:
        return RawKernel(observations, bandwidth)
    return make_ridge_kernel(observations, bandwidth, candidate.ridge)


def training_states(structure: AnyStructure, belief: Belief, most: int | None = None) -> Floats:
    """
    Return the states of a closed-loop run over the training segments, each from a cold start.

    Parameters
    ----------
    structure
        Gives the segments.
    belief
        Is run over them.
    most
        Ticks of the series to run over, by default all.

    Returns
    -------
    (N, k)
        State after the observation of each tick of the series.

    """
    ends = np.minimum(structure.begins, most) if most else structure.begins
    runs = [
        filtered_states(belief, structure.series[:, begin:end].T)
        for begin, end in itertools.pairwise(ends.tolist())
    ]
    return np.concatenate(runs)
