# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Learn a TPSR from samples or from a stream of ticks, in constant memory and time per sample."""

from __future__ import annotations

from dataclasses import dataclass
import itertools
import math
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import solve_triangular

from two_manifold_ros.tpsr.features import LARGEST_SQUARE, squared_length
from two_manifold_ros.tpsr.parameters import count_states, make_parameters, Tpsr
from two_manifold_ros.tpsr.thin_svd import Move, ThinSvd
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.tpsr.features import FeatureMap


class ObservationCovariance:
    r"""
    :math:`\Sigma_{OO}+\lambda nI` and its inverse by the Woodbury identity, mathematics (10.1).

    The ratio of ridge and samples n decides whether a filter is stable (mathematics, section 5),
    but a ridge that grows with them would be an update of full rank. So the inverse has the ridge
    of its last computation, decayed like everything. It is computed again when that is off by a
    tenth, or after 512 samples, so that rounding does not add up.

    ``total`` (p, p) is the weighted sum of the outer products, ``weight`` the sum of the weights,
    n, and ``inverse`` (p, p) that of the total with ``ridge_within``, about :math:`\lambda n`.
    """

    def __init__(self, size: int, ridge: float) -> None:
        self.ridge = ridge
        self.total = np.zeros((size, size))
        self.weight = 0.0
        self.inverse = np.eye(size)
        self._scratch = np.zeros((size, size))
        self.ridge_within = 1.0
        self.since = 0

    def fold(self, features: Floats, weights: Floats, decay: float = 1.0) -> None:
        """Add finite (c, p) features with (c,) weights, not all 0, to the decayed sum."""
        rows = features * np.sqrt(weights)[:, None]
        self.total *= decay
        self.weight *= decay
        self.ridge_within *= decay
        self.inverse /= decay
        self.total += np.matmul(rows.T, rows, out=self._scratch)
        self.weight += float(weights.sum())
        self.since += len(rows)
        wanted = self.ridge * self.weight
        stale = abs(self.ridge_within - wanted) > 0.1 * wanted or self.since > 512
        # Of up to four features per sample a new inverse costs no more than its update.
        if stale or len(self.total) <= 4 * len(rows):
            self.refresh()
            return
        product = rows @ self.inverse
        try:
            root = np.linalg.cholesky(np.eye(len(rows)) + product @ rows.T)
        except np.linalg.LinAlgError:
            # Rows that are long and nearly parallel: there is more rounding in it than one.
            self.refresh()
            return
        half = solve_triangular(root, product, lower=True, check_finite=False)
        # A product with its own transpose: exactly symmetric, and half the work.
        self.inverse -= np.matmul(half.T, half, out=self._scratch)

    def refresh(self) -> None:
        """Compute the inverse again from the sum."""
        self.since = 0
        size = len(self.total)
        # Below the second, rounding could make the sum indefinite.
        least = size * float(np.finfo(np.float64).eps) * float(self.total.trace())
        self.ridge_within = max(self.ridge * self.weight, least)
        one = np.eye(size)
        root = np.linalg.cholesky(self.total + self.ridge_within * one)
        half = solve_triangular(root, one, lower=True, check_finite=False)
        self.inverse = half.T @ half


class OperatorTensor:
    r"""
    The sum that gives a TPSR its operators, mathematics (10.4).

    It is the sum of Boots & Gordon 2011, eq. 6d and 8f, without the factor :math:`\hat S^{-1}`, so
    that each move of the bases is a rotation and forgetting is a factor. Divided by the singular
    values along its last axis it is :math:`\hat B_{AO}`. The newest samples, and the move since
    the last was added, are kept apart: to turn few coordinates costs nothing beside turning the
    sum. When there are ``together`` of them, or the moments are asked for, sum and samples are
    brought together.
    """

    def __init__(self, observations: int, together: int = 128) -> None:
        self._together = together
        self.settled = np.zeros((observations + 1, 0, 0))
        self.moved = Move.none(0)
        self.next_tests = np.zeros((0, 0))
        self.histories = np.zeros((0, 0))
        self.observations = np.zeros((0, observations + 1))

    def move(self, move: Move, decay: float = 1.0) -> None:
        """Express the sum in new bases, and forget by a factor."""
        self.moved = Move(decay * move.left, move.right).after(self.moved)
        self.next_tests = self.next_tests @ (decay * move.left).T
        self.histories = self.histories @ move.right.T

    def add(self, next_tests: Floats, observations: Floats, histories: Floats) -> None:
        """Add coordinates (c, r), one of which carries the weights, and (c, p) features."""
        slices = np.hstack([observations, np.ones((len(observations), 1))])
        for begin in range(0, len(slices), self._together):
            part = slice(begin, begin + self._together)
            self.next_tests = np.vstack([self.next_tests, next_tests[part]])
            self.histories = np.vstack([self.histories, histories[part]])
            self.observations = np.vstack([self.observations, slices[part]])
            if len(self.observations) >= self._together:
                self.settle()

    def settle(self) -> Floats:
        """Return the (p + 1, r, r) sum by observation feature, test and history."""
        before, rank = self.settled.shape[2], len(self.moved.left)
        total = self.settled
        if rank != before:
            total = np.empty((len(total), rank, rank))
        pairs = self.next_tests[:, :, None] * self.histories[:, None, :]
        pairs = pairs.reshape(len(pairs), rank**2)
        block = 32  # observation features turned at a time, so that they stay in the cache
        for begin in range(0, len(total), block):
            part = self.settled[begin : begin + block]
            turned = part.reshape(len(part) * before, before) @ self.moved.right.T
            turned = np.matmul(self.moved.left, turned.reshape(len(part), before, rank))
            added = self.observations[:, begin : begin + block].T @ pairs
            total[begin : begin + block] = turned + added.reshape(turned.shape)
        self.settled = total
        self.moved = Move.none(rank)
        self.next_tests = self.histories = np.zeros((0, rank))
        self.observations = np.zeros((0, len(total)))
        return total


@dataclass(frozen=True)
class Triples:
    r"""Features of n ticks: of what came before, of the tick, and of what came from it on."""

    tests: Floats  # (n, d), varphi^T_t, of the future from the tick on
    next_tests: Floats  # (n, d), varphi^T_(t+1), from the tick after it on
    histories: Floats  # (n, h), varphi^H_t, of the past before the tick
    observations: Floats  # (n, p), varphi^AO_t, of the observation, or of action and observation
    importance: Floats  # (n,), lambda_t, one unless a policy that looks at the past chose actions

    def __len__(self) -> int:
        return len(self.tests)


@dataclass(frozen=True)
class LearnerSettings:
    """Settings for learning a TPSR from a stream."""

    states: int  # dimension of the state, k
    rank: int  # directions that are kept, r; what was cut off once is lost, see docs/reproduce.md
    ridge: float  # on the observation covariance, per sample, for features of length about one
    memory: float = math.inf  # samples after which an old one counts only 1/e
    # Samples that share one update of the bases: one is Boots & Gordon 2011, eq. 9, more is eq. 8.
    fold_every: int = 32

    @property
    def decay(self) -> float:
        """Factor on the sums from one sample to the next."""
        return math.exp(-1.0 / self.memory)


class OnlineLearner:
    """
    Learn a TPSR from a stream of samples (Boots & Gordon 2011, eq. 8 and 9).

    The product of the ``constant`` (h,) with each history is one. ``tests`` and ``observations``
    are numbers of features. All sums are weighted by importance and forgetting alike.
    """

    def __init__(
        self, settings: LearnerSettings, constant: Floats, tests: int, observations: int
    ) -> None:
        self.settings = settings
        self.constant = constant
        self.svd = ThinSvd(tests, len(constant), settings.rank)
        self.tensor = OperatorTensor(observations)
        self.covariance = ObservationCovariance(observations, settings.ridge)
        self.history_sum = np.zeros(len(constant))
        self.weight = 0.0
        self.longest_square = 0.0
        self._waiting: list[tuple[Floats, ...]] = []
        # Next test, observation and coordinates of the history of the last sample; one row each.
        none = np.zeros((0, 0))
        self._last = np.zeros((0, tests)), np.zeros((0, observations)), none

    def add(
        self,
        test: Floats,
        next_test: Floats,
        history: Floats,
        observation: Floats,
        importance: float = 1.0,
    ) -> Move | None:
        """Take one sample, see `Triples`; return how the bases moved if it completed a fold."""
        # Passed over are numbers not finite or too large, and importances near zero or infinity.
        features = (test, next_test, history, observation)
        # The sum and not the largest: that of NaN and a number may be the number.
        squares = sum(squared_length(each) for each in features)
        if not (squares < LARGEST_SQUARE and 1e-60 <= float(importance) < 1e60):
            return None
        parts = (*features, importance)
        self._waiting.append(tuple(np.array(each, dtype=float) for each in parts))
        return self.fold() if len(self._waiting) >= self.settings.fold_every else None

    def add_all(self, triples: Triples) -> Move:
        """Take many samples, fold them, and return the total move of the bases."""
        whole = Move.none(len(self.svd.values))
        for row in zip(*vars(triples).values(), strict=True):
            move = self.add(*row)
            whole = whole if move is None else move.after(whole)
        return self.fold().after(whole)

    def fold(self) -> Move:
        """Fold the waiting samples, and return the move of the bases."""
        count = len(self._waiting)
        if not count:
            return Move.none(len(self.svd.values))
        batch = Triples(*(np.array(column) for column in zip(*self._waiting, strict=True)))
        self._waiting.clear()
        # The newest sample has its whole importance, the ones before it have faded already.
        weights = batch.importance * self.settings.decay ** np.arange(count - 1, -1, -1)
        decay = self.settings.decay**count
        move = self.svd.fold(batch.tests, batch.histories, weights, decay)
        self.tensor.move(move, decay)
        next_tests, observations, histories = self._last
        next_tests = np.concatenate([decay * next_tests, batch.next_tests * weights[:, None]])
        observations = np.concatenate([observations, batch.observations])
        histories = np.concatenate([histories @ move.right.T, self.svd.newest])
        earlier = self.svd.across.coordinates(next_tests[:-1])
        self.tensor.add(earlier, observations[:-1], histories[:-1])
        self._last = next_tests[-1:], observations[-1:], histories[-1:]
        self.covariance.fold(batch.observations, weights, decay)
        self.history_sum = decay * self.history_sum + weights @ batch.histories
        self.weight = decay * self.weight + float(weights.sum())
        squares = np.einsum('ij,ij->i', batch.tests, batch.tests)
        self.longest_square = max(self.longest_square, float(squares.max()))
        return move

    def moments(self, states: int) -> Floats:
        """Return a copy of the (p + 1, k, k) third moments in its leading k directions."""
        moments: Floats = self.tensor.settle()[:, :states, :states].copy()
        next_tests, observations, histories = self._last
        for test, seen, history in zip(
            self.svd.across.coordinates(next_tests), observations, histories, strict=True
        ):
            moments += np.multiply.outer(
                np.append(seen, 1.0), np.outer(test[:states], history[:states])
            )
        return moments

    def transition(self) -> Floats:
        """Return the (k, k) transition as it was learned, of which modes may grow."""
        states = count_states(self.svd.values, self.settings.states)
        transition: Floats = self.moments(states)[-1] / self.svd.values[:states]
        return transition

    def parameters(self) -> Tpsr:
        """Return the parameters, Boots & Gordon 2011, eq. 7a-c; refuse it before a fold."""
        states = count_states(self.svd.values, self.settings.states)
        ends = np.stack([self.constant, self.history_sum])
        values = self.svd.values[:states]
        start, sums = self.svd.down.coordinates(ends)[:, :states]
        operators = self.moments(states)
        operators /= values
        return make_parameters(
            values * start,
            sums / values,
            operators,
            self.covariance.inverse,
            self.weight,
            self.longest_square,
        )


def learn(triples: Triples, constant: Floats, states: int, ridge: float) -> Tpsr:
    """Learn by Boots & Gordon 2011, eq. 7a-c, as `OnlineLearner`, from all samples at once."""
    # Singular values and vectors, eq. 6c.
    weighted = triples.tests * triples.importance[:, None]
    tests, across = np.linalg.qr(weighted.T)
    histories, down = np.linalg.qr(triples.histories.T)
    left, values, right = np.linalg.svd(across @ down.T, full_matrices=False)
    kept = count_states(values, states)
    values, left, right = values[:kept], (tests @ left[:, :kept]).T, right[:kept] @ histories.T
    tensor = OperatorTensor(triples.observations.shape[1])
    none = np.zeros((len(values), 0))
    tensor.move(Move(none, none))
    tensor.add(
        (triples.next_tests @ left.T) * triples.importance[:, None],
        triples.observations,
        triples.histories @ right.T,
    )
    start, sums = np.stack([constant, triples.importance @ triples.histories]) @ right.T
    operators = tensor.settle() / values
    observations, importance = triples.observations, triples.importance
    weight = float(importance.sum())
    total = (observations * importance[:, None]).T @ observations
    inverse = np.linalg.inv(total + ridge * weight * np.eye(len(total)))
    square = float(np.square(triples.tests).sum(axis=1).max())
    return make_parameters(values * start, sums / values, operators, inverse, weight, square)


SEAM = 1_000_000_000
"""Ticks by which numbers of ticks jump where a stretch ends: more than any horizon."""

AT_ONCE = 256
"""Ticks whose windows become features together, in 2 MB of 1,000 features."""


class RememberedTicks(NamedTuple):
    r"""Ticks of which a state says how much it is like what came before each of them."""

    numbers: Ints  # (n,) int64, of the ticks, ascending; with a jump between two stretches
    histories: Floats  # (n, r), coordinates of their histories in the right basis, V' varphi^H_t
    features: Floats  # (n, p), of their observations, varphi^O_t


class WindowLearner:
    r"""
    Learn a TPSR from a stream of observations and remember ticks, both in bounded memory.

    The test of a tick is the window of ``width`` observations that starts with it, the next test
    the window a tick later, and the history the window that ends just before it: each is learned
    when its next test is whole, by Boots & Gordon 2011, eq. 8 and 9, never over the end of a
    stretch. Of the ticks ``most`` of the newest are remembered. A state b gives tick t the weight
    :math:`b^\top\hat S^{-1}\hat V^\top\varphi^H_t`: the mean under these weights is to any
    quantity what eq. 6d and 7c are to the next test. By it positions are read. Features of windows
    (width d,) are channel by channel, with the constant last. ``begin`` is the number of the next
    tick.
    """

    def __init__(
        self,
        windows: FeatureMap,
        observations: FeatureMap,
        width: int,
        settings: LearnerSettings,
        most: int,
    ) -> None:
        self.windows, self.observations, self.width = windows, observations, width
        self._most = most
        constant = np.zeros(windows.size)
        constant[-1] = 1.0
        self.learner = OnlineLearner(settings, constant, windows.size, observations.size)
        none = np.zeros(0, dtype=np.int64)
        self.remembered = RememberedTicks(none, np.zeros((0, 0)), np.zeros((0, observations.size)))
        # The last window of observations, and features of windows of the next histories and tests.
        self._seen = np.zeros((0, observations.inputs))
        self._features = np.zeros((0, windows.size))
        self.begin = 0

    def end_stretch(self) -> None:
        """Let no window reach from what came to what comes next."""
        self._seen, self._features = self._seen[:0], self._features[:0]
        self.begin += SEAM

    def learn(self, seen: Floats) -> Move:
        """Go on with the observations (T, d) that come next; return the move of the bases."""
        whole = Move.none(len(self.learner.svd.values))
        for first in range(0, len(seen), AT_ONCE):
            whole = self._learn(seen[first : first + AT_ONCE]).after(whole)
        return whole

    def _learn(self, new: Floats) -> Move:
        width, seen = self.width, np.concatenate([self._seen, new])
        whole_windows = max(min(len(new), len(seen) - width + 1), 0)
        features = self._features
        if whole_windows:
            rows = sliding_window_view(seen, width, axis=0)[-whole_windows:]
            newest = self.windows.transform(rows.reshape(whole_windows, -1))
            features = np.concatenate([features, newest])
        self._seen, self._features = seen[-width:], features[-width - 1 :]
        self.begin += len(new)
        # Ticks whose next test is a new window, and whose history is there.
        count = min(whole_windows, len(features) - width - 1)
        if count <= 0:
            return Move.none(len(self.learner.svd.values))
        last = len(features) - 1
        observed = self.observations.transform(seen[-width - count : -width])
        histories = features[last - width - count : last - width]
        tests, next_tests = features[last - count : last], features[-count:]
        move = self.learner.add_all(
            Triples(tests, next_tests, histories, observed, np.ones(count))
        )
        old = self.remembered
        parts = (
            (old.numbers, self.begin - width - count + np.arange(count)),
            (old.histories @ move.right.T, self.learner.svd.down.coordinates(histories)),
            (old.features, observed),
        )
        self.remembered = RememberedTicks(*(np.concatenate(each)[-self._most :] for each in parts))
        return move

    def parameters(self) -> tuple[Tpsr, Floats]:
        """Return the parameters of now, and the table (n, k) from a state to weights."""
        tpsr = self.learner.parameters()
        values = self.learner.svd.values[: tpsr.states]
        histories = self.remembered.histories[:, : tpsr.states]
        ages = np.arange(len(histories))[::-1, None]
        return tpsr, np.exp(-ages / self.learner.settings.memory) * histories / values


def stretches_of(numbers: Ints) -> list[tuple[int, int]]:
    """Return where each stretch of ascending numbers of ticks begins and ends, as indices."""
    seams = 1 + np.flatnonzero(np.diff(numbers) != 1)
    return list(itertools.pairwise([0, *seams.tolist(), len(numbers)]))
