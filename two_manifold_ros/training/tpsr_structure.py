# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A TPSR of the training windows by the online spectral algorithm of Boots and Gordon (2011)."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.tables import stabilised, Tables
from two_manifold_ros.hse_hmm.two_manifold import SharedDirections, SMALLEST_RATIO
from two_manifold_ros.manifold.affinity import median_distance
from two_manifold_ros.manifold.diffusion_map import Transition
from two_manifold_ros.manifold.learner import Extension
from two_manifold_ros.tpsr.features import WithConstant
from two_manifold_ros.tpsr.random_features import fourier_features
from two_manifold_ros.tpsr.thin_svd import ThinSvd

if TYPE_CHECKING:
    from two_manifold_ros.ticks.windows import TrainingTicks, WindowSet
    from two_manifold_ros.typing import Floats, Ints


FEATURES = 1000
"""Random Fourier features of a window, as in the slot-car experiment of the paper."""

BANDWIDTH = 0.7
"""
Of the kernel of the features, in median distances between windows.

At 1.0 the followed drives of ridge_car and tram err 1.7 times as much, the kart .8 times.
"""

TICKS_A_STATE = 3
"""Training ticks for each state, as for each coordinate of an embedding: there are at least 50."""

SPARE = 30
"""
Directions that are kept beyond the states: what an update of a thin SVD cuts off is lost for good.
"""

FOLD = 32
"""Ticks that share one update of the SVD, eq. (8c-e), to save time: see `./run bench online`."""

AT_ONCE = 1024
"""Windows whose features are held at once: 8 MB of them, however long a drive is."""

TPSR_STATES = 80
"""
States where no number is given.

Chosen among 40, 80 and 110 on parts left out, errors fall by a third on rc_car and rise by half on
the car on 4 km, see docs/experiments.md.
"""

MEMORY_TICKS = 2400
"""Ticks after which an old one counts 1/e: thirty laps of 80 ticks."""

NEIGHBOURS = 30
"""Windows near the newest one from which the state is estimated, as many as in an eigenmap."""

LEAST_SUM = 0.2
"""Sum of the weights that a state implies, usually 1, below which it is no state."""


@dataclass(frozen=True)
class TpsrStructure:
    r"""
    Histories and tests of the training ticks in the singular directions of their covariance.

    Parameters
    ----------
    series : (d, N), begins : (s + 1,)
        Standardised observations end to end, and where the segments begin.
    training
        The training ticks and their windows: histories are past windows, tests future ones.
    histories, tests, shifted : (n, r)
        Coordinates of the features of past, future and shifted windows: of histories in the right
        singular vectors, of the others in the left ones.
    singular_values : (r,)
        Of the covariance of tests and histories, largest first.
    notes
        Sentences that have to be said aloud.

    """

    series: Floats
    begins: Ints
    training: TrainingTicks
    histories: Floats
    tests: Floats
    shifted: Floats
    singular_values: Floats
    notes: tuple[str, ...] = ()

    @property
    def observations(self) -> Floats:
        """Observation of each training tick: (n, d)."""
        return np.ascontiguousarray(self.series[:, self.training.ticks].T)

    def directions(self, states: int) -> SharedDirections:
        r"""
        Return the maps to at most k states, whose first coordinate is the constant.

        With H, T of the leading k directions the weights that a state implies are
        :math:`\omega = H (T^\top H)^+ b`, eq. (7), and :math:`1^\top H (T^\top H)^+` is the
        normaliser :math:`b_\infty`. The other coordinates are those across it.
        """
        # The first one is that of the constant.
        values = self.singular_values
        kept = 1 + int(np.count_nonzero(values[1:] > SMALLEST_RATIO * values[1]))
        kept = min(states, kept, len(self.tests) // TICKS_A_STATE)
        tests, histories = self.tests[:, :kept], self.histories[:, :kept]
        responses = np.linalg.pinv(tests.T @ histories)
        normaliser = histories.sum(axis=0) @ responses
        across = np.linalg.svd(normaliser[None])[2][1:]
        # Back from (constant, across) to coordinates of tests.
        both = np.vstack([normaliser, across])
        mean = tests.mean(axis=0) / float(normaliser @ tests.mean(axis=0))
        back = np.linalg.inv(both)
        back[:, 0] = mean
        past_map = responses @ back
        future_map = both.T.copy()
        future_map[:, 1:] -= np.outer(normaliser, across @ mean)
        return SharedDirections(future_map, past_map, values[1:kept])

    def tables(self, directions: SharedDirections) -> Tables:
        """Return the tables of the belief, which are those of the HMM."""
        weights = self.histories[:, : len(directions.past_map)] @ directions.past_map
        states = self._states(self.shifted, directions)
        return Tables(weights, stabilised(weights, states))

    def warm_start(self, directions: SharedDirections) -> Extension:
        """Return the map from a past window to the state: the mean of those of windows near."""
        states = self._states(self.tests, directions)
        neighbours = min(NEIGHBOURS, len(states) - 1)
        radii = self.training.pasts.neighbours(neighbours)[1][:, -1]
        response = Transition(
            float(np.sqrt(np.median(radii))), neighbours, radii, np.ones(len(radii))
        )
        return Extension(response, states[:, 1:].copy(), np.zeros(states.shape[1] - 1))

    @staticmethod
    def _states(tests: Floats, directions: SharedDirections) -> Floats:
        """Return the (n, k) states that tests (n, r) are samples of, the constant first."""
        states = tests[:, : len(directions.future_map)] @ directions.future_map
        sums = states[:, :1]
        sound = sums[:, 0] > LEAST_SUM
        states = np.where(sound[:, None], states / np.where(sound[:, None], sums, 1.0), 0.0)
        states[:, 0] = 1.0
        return states


def learn_tpsr(
    series: Floats, begins: Ints, training: TrainingTicks, states: int, seed: int = 0
) -> TpsrStructure:
    """
    Learn a TPSR in one pass over the training ticks.

    Parameters
    ----------
    series, begins, training
        See `TpsrStructure`.
    states
        Most that will be asked for.
    seed
        Of the random features.

    """
    features = WithConstant(
        fourier_features(
            training.pasts.width * len(series),
            FEATURES,
            BANDWIDTH * median_distance(training.pasts),
            seed,
        )
    )
    svd = ThinSvd(features.size, features.size, states + SPARE)
    count = len(training.ticks)
    for begin, end in itertools.pairwise([*range(0, count, FOLD), count]):
        chosen = np.arange(begin, end)
        svd.fold(
            features.transform(training.futures.rows(training.own[chosen])),
            features.transform(training.pasts.rows(chosen)),
            np.ones(len(chosen)),
            float(np.exp(-len(chosen) / MEMORY_TICKS)),
        )
    svd.settle()
    futures = _coordinates(features, training.futures, svd.left)
    histories = _coordinates(features, training.pasts, svd.right)
    tests, shifted = futures[training.own], futures[training.shifted]
    return TpsrStructure(
        series, begins, training, histories, tests, shifted, svd.values / svd.values[0]
    )


def _coordinates(features: WithConstant, windows: WindowSet, directions: Floats) -> Floats:
    """Return the coordinates (n, r) of windows along (r, D) directions of their features."""
    parts = [
        features.transform(windows.rows(np.arange(begin, min(begin + AT_ONCE, len(windows)))))
        @ directions.T
        for begin in range(0, len(windows), AT_ONCE)
    ]
    return np.concatenate(parts)
