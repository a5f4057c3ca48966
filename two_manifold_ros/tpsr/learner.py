# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR from a stream, in constant memory and constant time per sample."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.tpsr.base_learner import Learner
from two_manifold_ros.tpsr.move import Move
from two_manifold_ros.tpsr.operator_tensor import OperatorTensor
from two_manifold_ros.tpsr.thin_svd import ThinSvd

if TYPE_CHECKING:
    from typing_extensions import Self

    from two_manifold_ros.tpsr.triples import Triples
    from two_manifold_ros.typing import Floats


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
        off once is lost. A third more than 60 states is enough for the slot car with 32 samples
        to a fold; learned one by one, or with few states, it takes several times the states, see
        docs/reproduce/rr-hmm.md.
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


class OnlineLearner(Learner):
    """
    The online spectral algorithm of Boots & Gordon (2011), eq. (8) and (9).

    It gives what a batch gives as long as no direction is cut off. The other thing that is lost is
    what of a next test lies outside of the directions so far: of the first few samples, and
    nothing of them if they are folded together.

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
        """The (p + 1, r, r) third moments in its bases, which later folds may overwrite."""
        return self.tensor.moments

    def learn(self, batch: Triples, weights: Floats, decay: float) -> Move:
        """Add samples with (c,) weights to the decayed second and third moments."""
        move = self.svd.fold(batch.tests, batch.histories, weights, decay)
        self.tensor.move(move, decay)
        self.tensor.add(
            self.svd.coordinates(batch.next_tests) * weights[:, None],
            batch.observations,
            self.svd.newest,
        )
        return move

    def fade_moments(self, share: float) -> None:
        """Scale the second and third moments."""
        self.svd.values = share * self.svd.values
        self.tensor.move(Move.none(len(self.svd.values)), share)

    def absorb(self, other: Self) -> None:
        """Add the second and third moments of another learner, of which nothing waits."""
        self.tensor.move(self.svd.fold(other.svd.left, other.svd.right, other.svd.values))
        self.tensor.absorb(
            other.moments,
            Move(self.svd.left @ other.svd.left.T, self.svd.right @ other.svd.right.T),
        )
