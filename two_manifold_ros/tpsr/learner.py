# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR from a stream, in constant memory and constant time per sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
import math
from typing import Protocol, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.move import Move
from two_manifold_ros.tpsr.observation_covariance import ObservationCovariance
from two_manifold_ros.tpsr.operator_tensor import OperatorTensor
from two_manifold_ros.tpsr.parameters import count_states, make_parameters, Sums
from two_manifold_ros.tpsr.thin_svd import ThinSvd
from two_manifold_ros.tpsr.waiting import Waiting

if TYPE_CHECKING:
    from typing_extensions import Self

    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.tpsr.triples import Triples
    from two_manifold_ros.typing import Floats

SMALLEST_IMPORTANCE = 1e-60
"""Importance below which a sample teaches nothing, and lets nothing fade."""


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

    Raises
    ------
    InputError
        If one of them is not positive, or fewer directions are kept than there are states.

    """

    states: int
    rank: int
    ridge: float
    memory: float = math.inf
    fold_every: int = 32

    def __post_init__(self) -> None:
        for name in ('states', 'ridge', 'memory', 'fold_every'):
            value = getattr(self, name)
            if not value > 0:
                msg = f'{name} of a learner is {value}; it must be positive'
                raise InputError(msg)
        if self.rank < self.states:
            msg = f'{self.states} states need a rank of as many at least, not {self.rank}'
            raise InputError(msg)

    @property
    def decay(self) -> float:
        """By what the sums are multiplied from one sample to the next."""
        return math.exp(-1.0 / self.memory)


class Svd(Protocol):
    """A decomposition of the sum of outer products of tests and histories."""

    @property
    def left(self) -> Floats:
        """The (r, d) directions of tests."""

    @property
    def values(self) -> Floats:
        """The (r,) singular values, largest first."""

    @property
    def right(self) -> Floats:
        """The (r, h) directions of histories."""


class Learner(ABC):
    """
    What learners have in common: samples come in one by one, and parameters can be asked for.

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
    covariance
        That of the observations. All sums are weighted by importance and forgetting alike.
    history_sum : (h,)
        Weighted sum of the histories.
    weight, test_square
        Sum of the weights, and of the squared lengths of the tests.
    samples, refused
        How many samples were taken, and how many refused.

    """

    def __init__(
        self, settings: LearnerSettings, constant: Floats, tests: int, observations: int
    ) -> None:
        histories = len(constant)
        self.settings = settings
        self.constant = constant
        self.covariance = ObservationCovariance(observations, settings.ridge)
        self.history_sum = np.zeros(histories)
        self.weight = 0.0
        self.test_square = 0.0
        self.samples = 0
        self.refused = 0
        self.room = Waiting(settings.fold_every, tests, histories, observations)

    @property
    def waiting(self) -> int:
        """Number of samples that wait for the next fold."""
        return self.room.count

    @property
    @abstractmethod
    def svd(self) -> Svd:
        """The decomposition, which may change with the next fold."""

    @property
    @abstractmethod
    def moments(self) -> Floats:
        """The (p + 1, r, r) third moments in the bases of the decomposition."""

    @abstractmethod
    def learn(self, batch: Triples, weights: Floats, decay: float) -> Move:
        """Add samples with (c,) weights to the decayed second and third moments."""

    @abstractmethod
    def absorb(self, other: Self) -> None:
        """Add the second and third moments of another learner, of which nothing waits."""

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
            Features, see `Triples`. A sample is refused and counted if one of them is not
            finite, or so long that products of it would not be.
        importance
            Weight of the sample; one that is negative or not finite is refused as well.

        Returns
        -------
        Move or None
            How the bases moved, if this sample completed a fold.

        """
        if 0.0 <= float(importance) < SMALLEST_IMPORTANCE:
            self.samples += 1
            return None
        if not self.room.take(test, next_test, history, observation, importance):
            self.refused += 1
            return None
        self.samples += 1
        return self.fold() if self.room.full else None

    def add_all(self, triples: Triples) -> Move:
        """Take many samples, fold what waits, and return how the bases moved in all."""
        whole = Move.none(len(self.svd.values))
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
        batch = self.room.empty()
        count = len(batch)
        # The newest sample has its whole importance, the ones before it have faded already.
        weights = batch.importance * self.settings.decay ** np.arange(count - 1, -1, -1)
        if not count:
            return Move.none(len(self.svd.values))
        decay = self.settings.decay**count
        move = self.learn(batch, weights, decay)
        self.covariance.fold(batch.observations, weights, decay)
        self.history_sum = decay * self.history_sum + weights @ batch.histories
        self.weight = decay * self.weight + float(weights.sum())
        squares = np.einsum('ij,ij->i', batch.tests, batch.tests)
        self.test_square = decay * self.test_square + float(weights @ squares)
        return move

    def transition(self) -> Floats:
        """
        Return the (k, k) transition as it was learned, of which modes may grow.

        Raises
        ------
        InputError
            Before anything was learned.

        """
        states = self._count_states()
        transition: Floats = self.moments[-1, :states, :states] / self.svd.values[:states]
        return transition

    def parameters(self) -> Tpsr:
        """
        Return the parameters as of the last fold, eq. (7a-c), of the leading states only.

        Raises
        ------
        InputError
            Before anything was learned, or when the histories do not hold the constant.

        """
        states = self._count_states()
        return make_parameters(
            self.svd.values[:states],
            self.svd.right[:states],
            self.moments[:, :states, :states],
            Sums(
                self.constant,
                self.history_sum,
                self.covariance.inverse,
                self.weight,
                self.test_square,
            ),
        )

    def _count_states(self) -> int:
        states = count_states(self.svd.values, self.settings.states)
        if not states:
            msg = 'nothing was learned yet; take samples and fold them first'
            raise InputError(msg)
        return states


class OnlineLearner(Learner):
    """
    The online spectral algorithm of Boots & Gordon (2011), eq. (8) and (9).

    Parameters
    ----------
    settings, constant, tests, observations
        See `Learner`.

    Attributes
    ----------
    tensor
        The third moments in the form in which they can be kept.

    """

    def __init__(
        self, settings: LearnerSettings, constant: Floats, tests: int, observations: int
    ) -> None:
        super().__init__(settings, constant, tests, observations)
        self._svd = ThinSvd(tests, len(constant), settings.rank)
        self.tensor = OperatorTensor(observations)

    @property
    def svd(self) -> ThinSvd:
        """The decomposition; the next fold overwrites its bases."""
        return self._svd

    @property
    def moments(self) -> Floats:
        """The (p + 1, r, r) third moments in the bases of the decomposition."""
        return self.tensor.moments

    def learn(self, batch: Triples, weights: Floats, decay: float) -> Move:
        """Add samples with (c,) weights to the decayed second and third moments."""
        move = self.svd.fold(batch.tests, batch.histories, weights, decay)
        self.tensor.move(move, decay)
        self.tensor.add(
            (batch.next_tests @ self.svd.left.T) * weights[:, None],
            batch.observations,
            batch.histories @ self.svd.right.T,
        )
        return move

    def absorb(self, other: Self) -> None:
        """Add the second and third moments of another learner, of which nothing waits."""
        self.tensor.move(self.svd.fold(other.svd.left, other.svd.right, other.svd.values))
        self.tensor.absorb(
            other.moments,
            Move(self.svd.left @ other.svd.left.T, self.svd.right @ other.svd.right.T),
        )
