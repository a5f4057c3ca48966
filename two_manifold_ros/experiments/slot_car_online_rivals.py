# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the online TPSR is compared with: the HSE-HMM, an HMM by EM and the mean."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

# Needed by name in `markov_tables`: without it the experiment would stop when it is half done.
import hmmlearn.hmm  # type: ignore[import-untyped]  # noqa: F401
import numpy as np

from two_manifold_ros.comparison.codebook import learn_codebook
from two_manifold_ros.comparison.markov_tables import count_labels, improve
from two_manifold_ros.experiments.slot_car_online_protocol import Forecaster
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.observation import make_ridge_kernel, median_observation_distance
from two_manifold_ros.training.closed_loop import filtered_states
from two_manifold_ros.training.settings import TrainingSettings
from two_manifold_ros.training.structure import learn_structure
from two_manifold_ros.windows.window_set import WindowSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.comparison.codebook import Codebook
    from two_manifold_ros.comparison.markov_tables import MarkovTables
    from two_manifold_ros.typing import Floats

STATES = 20
SYMBOLS = 400
ANY_NEIGHBOURS = 1
"""The Gaussian kernel has none."""

PASSES = 300
"""Of EM at most; it converges before."""

LABEL_WINDOW = 11
"""Ticks whose shape says in which state the tick in their middle begins EM."""


def mean_measurement(training: Floats, horizons: int) -> Forecaster:
    """Return what always foretells the mean of (N, d) training observations."""
    table = np.broadcast_to(training.mean(axis=0)[:, None], (horizons, training.shape[1], 1))
    return Forecaster(lambda observations: np.ones((len(observations), 1)), table)


def hse_hmms(
    training: Floats, window: int, horizons: int, ridges: Sequence[float]
) -> dict[float, Forecaster]:
    """
    Train the HSE-HMM with Gaussian kernels and the median trick, one for each ridge.

    Parameters
    ----------
    training : (N, d)
        Standardised observations.
    window
        Ticks in a past and in a future window.
    horizons
        Ticks to foretell, no more than the window.
    ridges
        Of the observation operator, see ``RidgeKernel``.

    """
    structure = learn_structure(
        [training], window, TrainingSettings(kernel='gaussian'), ANY_NEIGHBOURS
    )
    tables = structure.tables(structure.directions(STATES))
    # After an observation the state is about the next tick, whose weights it implies.
    ahead = structure.training.ticks + np.arange(horizons)[:, None]
    table = np.einsum('hnd,nk->hdk', training[ahead], tables.weights, optimize=True)
    bandwidth = median_observation_distance(structure.observations)
    found = {}
    for ridge in ridges:
        operator = make_ridge_kernel(structure.observations, bandwidth, ridge)
        found[ridge] = Forecaster(partial(filtered_states, Belief(tables, operator)), table)
    return found


def hidden_markov(training: Floats, horizons: int) -> Forecaster:
    """
    Train an HMM of 20 states over 400 symbols by EM until it converges.

    EM begins at states that are clusters of short windows: from random tables it was measured to
    end near the mean.
    """
    codebook = learn_codebook(training, SYMBOLS, seed=0)
    symbols = codebook.symbols(training)
    tables = improve(_counted(training, codebook), [symbols], PASSES).begun_anywhere([symbols])
    emission = tables.emission / tables.emission.sum(axis=1, keepdims=True)
    foretold = emission @ codebook.codes
    table = []
    for _ in range(horizons):
        foretold = tables.transition @ foretold
        table.append(foretold.T)
    return Forecaster(lambda seen: tables.filter(codebook.symbols(seen))[0], np.array(table))


def _counted(training: Floats, codebook: Codebook) -> MarkovTables:
    count = len(training) - LABEL_WINDOW + 1
    windows = WindowSet(np.ascontiguousarray(training.T), np.arange(count), LABEL_WINDOW)
    rows = windows.rows(np.arange(count))
    shapes = learn_codebook(rows, STATES, seed=0)
    labels = np.full(len(training), -1, dtype=np.int64)
    labels[LABEL_WINDOW // 2 :][:count] = shapes.symbols(rows)
    symbols = codebook.symbols(training)
    return count_labels([labels], [symbols], len(shapes), len(codebook))
