# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A TPSR over random features that learns a stream of measurements, and what it foretells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.slot_car_online_protocol import Forecaster
from two_manifold_ros.features.fourier import fourier_features
from two_manifold_ros.features.with_constant import WithConstant
from two_manifold_ros.hse_hmm.observation import median_observation_distance
from two_manifold_ros.kernels.bandwidth import median_distance
from two_manifold_ros.tpsr.belief import TpsrBelief
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner
from two_manifold_ros.windows.window_set import WindowSet

if TYPE_CHECKING:
    from two_manifold_ros.features.fourier import FourierFeatures
    from two_manifold_ros.tpsr.move import Move
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.typing import Floats

CHUNK = 64
"""Windows whose features are computed together, which reads the frequencies only once."""


@dataclass(frozen=True)
class StreamSettings:
    """
    Sizes of the online model.

    Parameters
    ----------
    window_features, observation_features
        Random Fourier features.
    states, rank
        Dimension of the state, and directions kept.
    fold_every
        Samples that share one update of the bases.

    """

    window_features: int = 25_000
    observation_features: int = 400
    states: int = 20
    rank: int = 80
    fold_every: int = 128


class StreamLearner:
    """
    Learns a stream of measurements tick by tick, in constant memory.

    Each tick's window is turned into features once, and is a test, then a next test and a
    history as it gets older.

    Parameters
    ----------
    warm_up : (n, d)
        Observations that settle the bandwidths by the median trick.
    window
        Ticks in a test and in a history.
    horizons
        Ticks to foretell, no more than the window, so that all of them are known when a test is.
    settings
        Sizes.

    """

    def __init__(
        self, warm_up: Floats, window: int, horizons: int, settings: StreamSettings
    ) -> None:
        channels = warm_up.shape[1]
        self._window, self._horizons, self._settings = window, horizons, settings
        self.observation_map = fourier_features(
            channels, settings.observation_features, median_observation_distance(warm_up), seed=0
        )
        self.window_map = WithConstant(_window_features(warm_up, window, settings))
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
        self._windows = 0

    def learn(self, stream: Floats) -> None:
        """Go on to the end of a (T, d) stream, of which earlier ticks were learned already."""
        starts = np.arange(self._windows, len(stream) - self._window + 1)
        windows = WindowSet(np.ascontiguousarray(stream.T), starts, self._window)
        observations = self.observation_map.transform(stream)
        for begin in range(0, len(starts), CHUNK):
            part = np.arange(begin, min(begin + CHUNK, len(starts)))
            for features in self.window_map.transform(windows.rows(part)):
                self._line[self._windows % len(self._line)] = features
                self._windows += 1
                if self._windows > self._window + 1:
                    self._take(self._windows - 2, stream, observations)
        self._fold(self.learner.waiting, self._windows - 2)

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

    def _fold(self, waiting: int, tick: int) -> None:
        if waiting:
            self._follow(self.learner.fold(), waiting, tick)

    def _follow(self, move: Move, count: int, newest: int) -> None:
        """Turn the sums behind the forecasts with the bases, and add what was folded."""
        ticks = np.arange(newest - count + 1, newest + 1)
        histories = self._line[(ticks - self._window) % len(self._line)]
        self._sums = self._sums @ move.right.T
        self._sums += self._ahead[:count].T @ (histories @ self.learner.svd.right.T)

    def forecaster(self, ridge: float) -> Forecaster:
        r"""
        Return the model as of now.

        Its forecasts are :math:`\sum_t o_{t+h} \otimes (\hat S^{-1}\hat V^\top\varphi^H_t)`, which
        is to observations what (6d) is to tests: the mean over the training ticks, weighed as the
        state implies.

        Parameters
        ----------
        ridge
            Of the observation covariance, per sample.

        """
        covariance = self.learner.covariance
        covariance.ridge = ridge
        covariance.refresh()
        tpsr = self.learner.parameters()
        kept = self._sums[:, : tpsr.states] / self.learner.svd.values[: tpsr.states]
        table = kept.reshape(self._horizons, -1, tpsr.states)
        feature_map = self.observation_map
        return Forecaster(lambda seen: _filter(tpsr, feature_map, seen), table)


def _window_features(warm_up: Floats, window: int, settings: StreamSettings) -> FourierFeatures:
    count = len(warm_up) - window + 1
    windows = WindowSet(np.ascontiguousarray(warm_up.T), np.arange(count), window)
    return fourier_features(
        window * warm_up.shape[1],
        settings.window_features,
        median_distance(windows),
        seed=1,
        precision='single',
    )


def _filter(tpsr: Tpsr, feature_map: FourierFeatures, observations: Floats) -> Floats:
    belief = TpsrBelief(tpsr)
    states = np.empty((len(observations), tpsr.states))
    for tick, features in enumerate(feature_map.transform(observations)):
        belief.update(features)
        states[tick] = belief.state
    return states
