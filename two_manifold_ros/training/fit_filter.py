# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fit a filter of a few choices to the embeddings, and run it over observations."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.readout import fit_ridge, SharpenedReadout
from two_manifold_ros.hse_hmm.tables import (
    make_ridge_kernel,
    median_observation_distance,
    RawKernel,
)
from two_manifold_ros.ticks.novelty import contrast, FamiliarAnchors
from two_manifold_ros.ticks.rest import longest_stuck

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.belief import Recollection
    from two_manifold_ros.hse_hmm.readout import Readout
    from two_manifold_ros.hse_hmm.tables import ObservationOperator, Tables
    from two_manifold_ros.hse_hmm.two_manifold import SharedDirections
    from two_manifold_ros.ticks.windows import WindowSet
    from two_manifold_ros.training.embeddings import Embeddings
    from two_manifold_ros.typing import Floats, Ints


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
        Nearest neighbours of a window in a graph; kernels without one pass over it.

    """

    states: int
    bandwidth_factor: float = 1.4
    ridge: float | None = None
    neighbours: int = 30

    def as_json(self) -> dict[str, float | None]:
        """Return the choices by name."""
        return asdict(self)


@dataclass(frozen=True)
class FittedFilter:
    """An HMM with its read-out, its covariances not yet calibrated."""

    directions: SharedDirections
    tables: Tables
    operator: ObservationOperator
    readout: Readout

    def belief(self) -> Belief:
        """Return a fresh belief at the prior."""
        return Belief(self.tables, self.operator)


def fit_filter(
    embeddings: Embeddings, targets: Floats, candidate: Candidate, readout: str
) -> FittedFilter:
    """
    Build the filter of a candidate.

    Parameters
    ----------
    embeddings
        From `embed`.
    targets : (n, c, 2)
        Targets of the training ticks, from ``training_targets``.
    candidate
        The choices.
    readout
        One of ``READOUTS``; ``mkdr`` is ``sharpened`` over imputed positions.

    """
    directions = embeddings.directions(candidate.states)
    tables = embeddings.tables(directions)
    operator = make_operator(embeddings.observations, candidate)
    if readout == 'ridge':
        states = training_states(embeddings, Belief(tables, operator))[embeddings.training.ticks]
        return FittedFilter(directions, tables, operator, fit_ridge(states, targets))
    sharpened = SharpenedReadout(targets, np.ones(targets.shape[1]))
    return FittedFilter(directions, tables, operator, sharpened)


def make_operator(observations: Floats, candidate: Candidate) -> ObservationOperator:
    """Return the observation operator of a candidate over (n, d) training observations."""
    bandwidth = candidate.bandwidth_factor * median_observation_distance(observations)
    if candidate.ridge is None:
        return RawKernel(observations, bandwidth)
    return make_ridge_kernel(observations, bandwidth, candidate.ridge)


def run_closed_loop(
    belief: Belief,
    readout: Readout,
    observations: Floats,
    recollection: Recollection | None = None,
) -> tuple[Floats, Floats]:
    """
    Filter the (T, d) observations of one segment from the prior.

    Parameters
    ----------
    belief, readout, observations
        The filter and its input.
    recollection
        With an empty window, for a filter whose read-out goes by weights.

    Returns
    -------
    means : (T, c, 2), covariances : (T, c, 2, 2)
        Read out after each observation.

    """
    belief.start()
    means, covariances = [], []
    for observation in observations:
        if recollection is not None:
            recollection.remind(belief)
            recollection.push(observation)
        belief.update(observation)
        mean, covariance = readout.read(belief.weights, belief.state)
        means.append(mean)
        covariances.append(covariance)
    return np.array(means), np.array(covariances)


def filtered_states(belief: Belief, observations: Floats) -> Floats:
    """Return the (T, k) states after each observation of one segment, from the prior."""
    belief.start()
    states = np.empty((len(observations), len(belief.state)))
    for tick, observation in enumerate(observations):
        belief.update(observation)
        states[tick] = belief.state
    return states


def training_states(embeddings: Embeddings, belief: Belief, most: int | None = None) -> Floats:
    """Return the states (N, k) of a run over the first ``most`` ticks, each segment cold."""
    ends = np.minimum(embeddings.begins, most) if most else embeddings.begins
    runs = [
        filtered_states(belief, embeddings.series[:, begin:end].T)
        for begin, end in itertools.pairwise(ends.tolist())
    ]
    return np.concatenate(runs)


def familiar_anchors(windows: WindowSet, *, spliced: bool = False) -> FamiliarAnchors:
    """
    Return the novelty that is typical for unseen windows of the route, and of another route.

    Each window of an even sample is compared with those that begin at least two windows before or
    after it, as if its surroundings had not been driven. So every lap is held out once, which
    tells more than one or a few held-out blocks. The same windows with their halves swapped stand
    for another route: bends that occur, in an order that does not.

    Parameters
    ----------
    windows
        Past windows of the training.
    spliced
        Whether windows whose second half is that of any other stand for another route too, if
        they are less alike: where a window is nearly a lap, swapped halves are the route itself.

    """
    # More windows change the medians by less than one lap differs from the next.
    count = min(len(windows), 200)
    chosen = np.linspace(0, len(windows) - 1, count).astype(np.int64)
    rows = windows.rows(chosen)
    half = windows.width // 2 * len(windows.series)
    swapped = np.concatenate([rows[:, half:], rows[:, :half]], axis=1)
    squared, own = _nearest_and_contrast(windows, chosen, rows)
    _, other = _nearest_and_contrast(windows, chosen, swapped)
    if spliced:
        drawn = np.random.default_rng(0).permutation(count)
        mixed = np.concatenate([rows[:, :half], rows[drawn, half:]], axis=1)
        other = max(other, _nearest_and_contrast(windows, chosen, mixed)[1])
    return FamiliarAnchors(squared, own, other, longest_stuck(windows.series))


def _nearest_and_contrast(windows: WindowSet, chosen: Ints, rows: Floats) -> tuple[float, float]:
    """Return the medians over the rows, which are made of the chosen windows."""
    distances = windows.distances_from(rows)
    nearest, contrasts = [], []
    for index, row in zip(chosen, distances.T, strict=True):
        away = np.abs(windows.starts - windows.starts[index])
        # Where the drive is too short for two windows, the farthest is all there is.
        kept = row[away >= min(2 * windows.width, int(away.max()))]
        nearest.append(float(kept.min()))
        contrasts.append(contrast(nearest[-1], float(kept.mean())))
    return float(np.median(nearest)), float(np.median(contrasts))
