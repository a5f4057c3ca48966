# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR from a stream, in constant memory and constant time per sample."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.tpsr.move import Move
from two_manifold_ros.tpsr.observation_covariance import ObservationCovariance
from two_manifold_ros.tpsr.operator_tensor import OperatorTensor
from two_manifold_ros.tpsr.parameters import make_parameters
from two_manifold_ros.tpsr.thin_svd import ThinSvd
from two_manifold_ros.tpsr.waiting import Waiting

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.tpsr.triples import Triples
    from two_manifold_ros.typing import Floats

ORTHONORMALISE_EVERY = 512
"""Samples after which the bases are made orthonormal again (section 10)."""


@dataclass(frozen=True)
class LearnerSettings:
    """
    How a TPSR is learned from a stream.

    Parameters
    ----------
    states
        Dimension of the state, k.
    rank
        Directions that are kept, r; what goes beyond the states is a buffer, because what was cut
        off once is lost. About twice the states is good.
    ridge
        Ridge on the observation covariance, per sample, for features of length about one.
    memory
        Samples after which an old one counts only 1/e; infinite to forget nothing.
    fold_every
        Samples that share one update of the bases. One is eq. (9) to the letter; more is eq. (8),
        which costs a small part of it per sample and differs only in what is cut off when.

    """

    states: int
    rank: int
    ridge: float
    memory: float = math.inf
    fold_every: int = 32

    @property
    def decay(self) -> float:
        """By what the sums are multiplied from one sample to the next."""
        return math.exp(-1.0 / self.memory)


class OnlineLearner:
    """
    The online spectral algorithm of Boots & Gordon (2011), eq. (8) and (9).

    Parameters
    ----------
    settings
        How it learns.
    constant : (h,)
        The constant written in history features: its product with each history is one.
    tests, observations
        Number of features of tests and of observations.

    Attributes
    ----------
    svd, tensor, covariance
        The running sums, in the form in which they can be kept.
    history_sum : (h,)
        Weighted sum of the histories.
    weight, test_square
        Sum of the weights, and of the squared lengths of the tests.
    samples, refused
        How many samples came in, and how many were refused because a feature was not finite.

    """

    def __init__(
        self, settings: LearnerSettings, constant: Floats, tests: int, observations: int
    ) -> None:
        histories = len(constant)
        self.settings = settings
        self.constant = constant
        self.svd = ThinSvd(tests, histories, settings.rank)
        self.tensor = OperatorTensor(observations)
        self.covariance = ObservationCovariance(observations, settings.ridge)
        self.history_sum = np.zeros(histories)
        self.weight = 0.0
        self.test_square = 0.0
        self.samples = 0
        self.refused = 0
        self._waiting = Waiting(settings.fold_every, tests, histories, observations)
        self._since = 0

    @property
    def waiting(self) -> int:
        """Number of samples that wait for the next fold."""
        return self._waiting.count

    def add(
        self,
        test: Floats,
        next_test: Floats,
        history: Floats,
        observation: Floats,
        importance: float = 1.0,
    ) -> Move | None:
        """
        Take one sample.

        Parameters
        ----------
        test, next_test, history, observation
            Features, see `Triples`. A sample of which one is not finite, or so large that its
            square is not, is refused and counted.
        importance
            Weight of the sample, at least 0.

        Returns
        -------
        Move or None
            How the bases moved, if this sample completed a fold.

        """
        if not self._waiting.take(test, next_test, history, observation, importance):
            self.refused += 1
            return None
        self.samples += 1
        return self.fold() if self._waiting.full else None

    def add_all(self, triples: Triples) -> Move:
        """Take many samples, fold what waits, and return how the bases moved in all."""
        whole = Move(np.eye(len(self.svd.values)), np.eye(len(self.svd.values)))
        for row in zip(
            triples.tests,
            triples.next_tests,
            triples.histories,
            triples.observations,
            triples.importance,
            strict=True,
        ):
            move = self.add(*row)
            whole = whole if move is None else move.after(whole)
        return self.fold().after(whole)

    def fold(self) -> Move:
        """Learn what waits, and return how the bases moved."""
        count = self._waiting.count
        if not count:
            return Move(np.eye(len(self.svd.values)), np.eye(len(self.svd.values)))
        batch = self._waiting.empty()
        # The newest sample has its whole importance, the ones before it have faded already.
        ages = np.arange(count - 1, -1, -1)
        weights = batch.importance * self.settings.decay**ages
        decay = self.settings.decay**count
        move = self.svd.fold(batch.tests * weights[:, None], batch.histories, decay)
        self._since += count
        if self._since >= ORTHONORMALISE_EVERY:
            self._since = 0
            move = self.svd.orthonormalise().after(move)
        self.tensor.move(move, decay)
        self.tensor.add(
            (batch.next_tests @ self.svd.left.T) * weights[:, None],
            batch.observations,
            batch.histories @ self.svd.right.T,
        )
        self.covariance.fold(batch.observations, weights, decay)
        self.history_sum = decay * self.history_sum + weights @ batch.histories
        self.weight = decay * self.weight + float(weights.sum())
        squares = np.einsum('ij,ij->i', batch.tests, batch.tests)
        self.test_square = decay * self.test_square + float(weights @ squares)
        return move

    def parameters(self) -> Tpsr:
        """
        Return the parameters as of the last fold, eq. (7a-c), of the leading states only.

        Raises
        ------
        ValueError
            Before the first fold.

        """
        if not self.weight:
            msg = 'nothing was learned yet'
            raise ValueError(msg)
        return make_parameters(self)
