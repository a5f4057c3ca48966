# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The models of the experiment ``slot-car-online``: filters whose forecasts are linear."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.comparison.hidden_markov import count_labels, improve, learn_codebook
from two_manifold_ros.hse_hmm.belief import Belief
from two_manifold_ros.hse_hmm.tables import make_ridge_kernel, median_observation_distance
from two_manifold_ros.manifold.affinity import median_distance
from two_manifold_ros.ticks.windows import WindowSet
from two_manifold_ros.tpsr.features import WithConstant
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.tpsr.parameters import TpsrBelief
from two_manifold_ros.tpsr.random_features import fourier_features
from two_manifold_ros.training.cross_validation import filtered_states
from two_manifold_ros.training.embeddings import embed
from two_manifold_ros.training.settings import TrainingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.tpsr.random_features import FourierFeatures
    from two_manifold_ros.tpsr.thin_svd import Move
    from two_manifold_ros.typing import Floats


@dataclass(frozen=True)
class Forecaster:
    """A filter, and forecasts that are linear in its state."""

    filter: Callable[[Floats], Floats]  # from observations (T, d) to the states after each (T, k)
    table: Floats  # (H, d, k); times a state it is the observation in 1, 2, ..., H ticks


def mean_measurement(training: Floats, horizons: int) -> Forecaster:
    """Return a forecaster that always predicts the mean of (N, d) training observations."""
    table = np.broadcast_to(training.mean(axis=0)[:, None], (horizons, training.shape[1], 1))
    return Forecaster(lambda observations: np.ones((len(observations), 1)), table)


def hse_hmms(
    training: Floats, window: int, horizons: int, ridges: Sequence[float], states: int = 20
) -> dict[float, Forecaster]:
    """
    Train the HSE-HMM with Gaussian kernels and the median trick, one for each ridge.

    ``training`` is (N, d) and standardised; ``window`` and ``horizons`` are in ticks, and no
    horizon is beyond the window.
    """
    # The Gaussian kernel has no neighbours.
    embeddings = embed([training], window, TrainingSettings(kernel='gaussian'), 1)
    tables = embeddings.tables(embeddings.directions(states))
    # After an observation the state is about the next tick, whose weights it implies.
    ahead = embeddings.training.ticks + np.arange(horizons)[:, None]
    table = np.einsum('hnd,nk->hdk', training[ahead], tables.weights, optimize=True)
    bandwidth = median_observation_distance(embeddings.observations)
    found = {}
    for ridge in ridges:
        operator = make_ridge_kernel(embeddings.observations, bandwidth, ridge)
        found[ridge] = Forecaster(partial(filtered_states, Belief(tables, operator)), table)
    return found


def hidden_markov(
    training: Floats, horizons: int, states: int = 20, symbols: int = 400, passes: int = 300
) -> Forecaster:
    """
    Train an HMM of some states over symbols by EM until it converges, in ``passes`` at most.

    EM begins at states that are clusters of short windows: from random tables it was measured to
    end near the mean.
    """
    codebook = learn_codebook(training, symbols, seed=0)
    seen = codebook.symbols(training)
    # The shape of 11 ticks says in which state the tick in their middle begins.
    ticks = 11
    count = len(training) - ticks + 1
    rows = _windows(training, ticks).rows(np.arange(count))
    shapes = learn_codebook(rows, states, seed=0)
    labels = np.full(len(training), -1, dtype=np.int64)
    labels[ticks // 2 :][:count] = shapes.symbols(rows)
    counted = count_labels([labels], [seen], len(shapes), len(codebook))
    tables = improve(counted, [seen], passes).with_mean_start([seen])
    predicted = tables.emission / tables.emission.sum(axis=1, keepdims=True) @ codebook.codes
    table = []
    for _ in range(horizons):
        predicted = tables.transition @ predicted
        table.append(predicted.T)
    return Forecaster(lambda given: tables.filter(codebook.symbols(given))[0], np.array(table))


def _windows(stream: Floats, width: int, begin: int = 0) -> WindowSet:
    """Return all windows of a (T, d) stream from a tick on."""
    starts = np.arange(begin, len(stream) - width + 1)
    return WindowSet(np.ascontiguousarray(stream.T), starts, width)


@dataclass(frozen=True)
class StreamSettings:
    """Sizes of the online model."""

    window_features: int = 25_000  # random Fourier features
    observation_features: int = 400
    states: int = 20
    rank: int = 80  # directions kept
    fold_every: int = 128  # samples that share one update of the bases


class StreamLearner:
    """
    Learns a stream of measurements tick by tick, in constant memory.

    Each tick's window is turned into features once, and is a test, then a next test and a
    history as it gets older. The (n, d) observations of ``warm_up`` settle the bandwidths by the
    median trick. No horizon is beyond the window, so all are known when a test is.
    """

    def __init__(
        self, warm_up: Floats, window: int, horizons: int, settings: StreamSettings
    ) -> None:
        channels = warm_up.shape[1]
        self._window, self._horizons = window, horizons
        self.observation_map = fourier_features(
            channels, settings.observation_features, median_observation_distance(warm_up), seed=0
        )
        window_map = fourier_features(
            window * channels,
            settings.window_features,
            median_distance(_windows(warm_up, window)),
            seed=1,
            precision='single',
        )
        self.window_map = WithConstant(window_map)
        constant = np.zeros(self.window_map.size)
        constant[-1] = 1.0
        self.learner = OnlineLearner(
            # The ridge is chosen later: it counts only when the model is filtered with.
            LearnerSettings(settings.states, settings.rank, 1.0, fold_every=settings.fold_every),
            constant,
            len(constant),
            settings.observation_features,
        )
        self._line = np.zeros((window + settings.fold_every + 1, len(constant)))
        self._ahead = np.zeros((settings.fold_every, horizons * channels))
        self._sums = np.zeros((horizons * channels, 0))
        self._seen = 0

    def learn(self, stream: Floats) -> None:
        """Go on to the end of a (T, d) stream, of which earlier ticks were learned already."""
        windows = _windows(stream, self._window, self._seen)
        observations = self.observation_map.transform(stream)
        # Features of 64 windows are computed together: the frequencies are read only once.
        for begin in range(0, len(windows), 64):
            part = np.arange(begin, min(begin + 64, len(windows)))
            for features in self.window_map.transform(windows.rows(part)):
                self._line[self._seen % len(self._line)] = features
                self._seen += 1
                if self._seen > self._window + 1:
                    self._take(self._seen - 2, stream, observations)
        waiting = self.learner.waiting
        if waiting:
            self._follow(self.learner.fold(), waiting, self._seen - 2)

    def _take(self, tick: int, stream: Floats, observations: Floats) -> None:
        """Learn the tick whose next test begins with the newest window."""
        line, room = self._line, len(self._line)
        self._ahead[self.learner.waiting] = stream[tick : tick + self._horizons].ravel()
        waiting = self.learner.waiting + 1
        move = self.learner.add(
            line[tick % room],
            line[(tick + 1) % room],
            line[(tick - self._window) % room],
            observations[tick],
        )
        if move is not None:
            self._follow(move, waiting, tick)

    def _follow(self, move: Move, count: int, newest: int) -> None:
        """Turn the sums behind the forecasts with the bases, and add what was folded."""
        ticks = np.arange(newest - count + 1, newest + 1)
        histories = self._line[(ticks - self._window) % len(self._line)]
        self._sums = self._sums @ move.right.T
        self._sums += self._ahead[:count].T @ (histories @ self.learner.svd.right.T)

    def forecaster(self, ridge: float) -> Forecaster:
        r"""
        Return the model as of now, with a ridge of the observation covariance, per sample.

        Its forecasts are :math:`\sum_t o_{t+h} \otimes (\hat S^{-1}\hat V^\top\varphi^H_t)`, which
        is to observations what Boots & Gordon 2011, eq. 6d, is to tests: the mean over the
        training ticks, weighted as the state implies.
        """
        covariance = self.learner.covariance
        covariance.ridge = ridge
        covariance.refresh()
        tpsr = self.learner.parameters()
        kept = self._sums[:, : tpsr.states] / self.learner.svd.values[: tpsr.states]
        table = kept.reshape(self._horizons, -1, tpsr.states)
        return Forecaster(partial(_filter, tpsr, self.observation_map), table)


def _filter(tpsr: Tpsr, feature_map: FourierFeatures, observations: Floats) -> Floats:
    belief = TpsrBelief(tpsr)
    states = np.empty((len(observations), tpsr.states))
    for tick, features in enumerate(feature_map.transform(observations)):
        belief.update(features)
        states[tick] = belief.state
    return states
