# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What learners of a TPSR have in common: taking samples, plain sums, and giving parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.move import Move
from two_manifold_ros.tpsr.observation_covariance import ObservationCovariance
from two_manifold_ros.tpsr.parameters import count_states, make_parameters, Sums
from two_manifold_ros.tpsr.waiting import Waiting

if TYPE_CHECKING:
    from typing_extensions import Self

    from two_manifold_ros.tpsr.learner import LearnerSettings
    from two_manifold_ros.tpsr.parameters import Tpsr
    from two_manifold_ros.tpsr.triples import Triples
    from two_manifold_ros.typing import Floats

SMALLEST_IMPORTANCE = 1e-60
"""Importance below which a sample teaches nothing, and lets nothing fade."""


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

    def right_coordinates(self, y: Floats) -> Floats:
        """Return the (c, r) products of (c, h) vectors with them, at less cost than they have."""


class Learner(ABC):
    """
    A learner: samples come in one by one, and parameters can be asked for at any time.

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
        """The (p + 1, r, r) third moments in its bases, which later folds may overwrite."""

    @abstractmethod
    def learn(self, batch: Triples, weights: Floats, decay: float) -> Move:
        """Add samples with (c,) weights to the decayed second and third moments."""

    @abstractmethod
    def fade_moments(self, share: float) -> None:
        """Scale the second and third moments."""

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
            Features, see `Triples`. A sample is refused and counted if a number in them is not
            finite, or if together they are longer than 1e6 (`LARGEST_SQUARE`).
        importance
            Weight of the sample in every sum; one that is negative or not finite is refused as
            well. It makes up for actions that were not chosen blindly, see `Triples`.

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
        if not count:
            return Move.none(len(self.svd.values))
        # The newest sample has its whole importance, the ones before it have faded already.
        weights = batch.importance * self.settings.decay ** np.arange(count - 1, -1, -1)
        decay = self.settings.decay**count
        move = self.learn(batch, weights, decay)
        self.covariance.fold(batch.observations, weights, decay)
        self.history_sum = decay * self.history_sum + weights @ batch.histories
        self.weight = decay * self.weight + float(weights.sum())
        squares = np.einsum('ij,ij->i', batch.tests, batch.tests)
        self.test_square = decay * self.test_square + float(weights @ squares)
        return move

    def fade(self, share: float) -> None:
        """
        Let everything learned so far count only a share, as if time had passed for its memory.

        Parameters
        ----------
        share
            Above 0. Samples that wait keep their whole weight.

        """
        self.fade_moments(share)
        self.covariance.fade(share)
        self.history_sum *= share
        self.weight *= share
        self.test_square *= share

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
        ends = np.stack([self.constant, self.history_sum])
        return make_parameters(
            self.svd.values[:states],
            self.svd.right_coordinates(ends)[:, :states],
            self.moments[:, :states, :states],
            Sums(self.covariance.inverse, self.weight, self.test_square),
        )

    def _count_states(self) -> int:
        states = count_states(self.svd.values, self.settings.states)
        if not states:
            msg = 'nothing was learned yet; take samples and fold them first'
            raise InputError(msg)
        return states
