# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The HMM of the state that two embeddings share: directions, tables, operators and the belief.

The noise of the two is independent given the state, so it averages out of the product between
them, and its leading singular directions are the state's (Boots & Gordon 2012, section 3, with the
whitened variants of footnote 2). An operator gives a factor per training tick, right up to one
common positive scale; the belief multiplies its weights by it, mathematics (6.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from two_manifold_ros.compilation import compiled
from two_manifold_ros.errors import InputError
from two_manifold_ros.manifold.learner import fix_signs, Limits, RIDGE
from two_manifold_ros.names import COUPLINGS
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.ticks.sliding import SlidingWindow


SMALLEST_RATIO = 1e-3
"""Directions with a smaller singular value, relative to the first, are left out."""


class Coupled(NamedTuple):
    """The directions of two embeddings that go with each other."""

    first_map: Floats  # (m_X, r), the largest entry of each column is positive
    second_map: Floats  # (m_Y, r), column i belongs to column i of the first
    singular_values: Floats  # (r,), largest first


def couple(first: Floats, second: Floats, coupling: str) -> Coupled:
    """
    Couple centred embeddings (n, m_X) and (n, m_Y), row i of both being the same sample.

    ``cross-covariance`` is the SVD of mathematics (3.1), Boots & Gordon 2012, section 3.2.2;
    ``gram-product`` that of C_X C_Y as in Algorithm 1 there, mathematics (4.5); ``canonical``
    weighs a direction by how well it is predicted; ``reduced-rank`` by how much of the first the
    second predicts along it. Raises ``InputError`` for another name.
    """
    if coupling == 'cross-covariance':
        product = first.T @ second / len(first)
        first_map, values, right = np.linalg.svd(product, full_matrices=False)
        second_map = right.T
    elif coupling == 'gram-product':
        triangles = [np.asarray(np.linalg.qr(each, mode='r')) for each in (first, second)]
        core = triangles[0] @ (first.T @ second) @ triangles[1].T
        left, values, right = np.linalg.svd(core, full_matrices=False)
        # sqrt(n) R^{-1} U'; the pseudo-inverse, as columns may be constant or repeated.
        inverses = [np.sqrt(len(first)) * np.linalg.pinv(triangle) for triangle in triangles]
        first_map, second_map = inverses[0] @ left, inverses[1] @ right.T
    elif coupling == 'canonical':
        first_map, values, second_map = _whitened(first, second, _ridged_root(first))
    elif coupling == 'reduced-rank':
        first_map, values, second_map = _whitened(first, second, np.eye(first.shape[1]))
    else:
        msg = f'there is no coupling named {coupling!r}; choose one of {", ".join(COUPLINGS)}'
        raise InputError(msg)
    fixed = fix_signs(first_map)
    return Coupled(fixed, second_map * np.sign((fixed * first_map).sum(axis=0)), values)


def _whitened(first: Floats, second: Floats, root: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the maps of an SVD for which the second is whitened and the first as by its root."""
    second_root = _ridged_root(second)
    half = np.linalg.solve(root, first.T @ second / len(first))
    left, values, right = np.linalg.svd(
        np.linalg.solve(second_root, half.T).T, full_matrices=False
    )
    return np.linalg.solve(root.T, left), values, np.linalg.solve(second_root.T, right.T)


def _ridged_root(features: Floats) -> Floats:
    """Return the Cholesky factor of a ridged covariance; the identity where nothing varies."""
    covariance = features.T @ features / len(features)
    ridge = RIDGE * float(np.trace(covariance)) / len(covariance) or 1.0
    return np.linalg.cholesky(covariance + ridge * np.eye(len(covariance)))


@dataclass(frozen=True)
class SharedDirections:
    r"""Directions of the future embedding that the past predicts, and the regression onto them."""

    future_map: Floats  # (m_F, r), state of a future window: `z_F @ future_map`
    # (m_P, r), of implied weights `z_P @ past_map / n`: (A' C) past_map = I with A the future map
    # and C of mathematics (3.1).
    past_map: Floats


def shared_directions(
    future: Floats, past: Floats, rank: int, coupling: str = 'cross-covariance'
) -> SharedDirections:
    """
    Couple centred coordinates (n, m_F) and (n, m_P) of future and past windows of the same ticks.

    There are ``rank`` directions, fewer if the spectrum falls below `SMALLEST_RATIO`.
    """
    future_map, past_map, values = couple(future, past, coupling)
    if not values[0] > 0.0:
        raise InputError('past and future windows share nothing; record while the vehicle drives')
    # Those of a product of Gram matrices are of the order of squares.
    least = SMALLEST_RATIO ** (2 if coupling == 'gram-product' else 1)
    keep = min(rank, int(np.count_nonzero(values > least * values[0])))
    future_map, values = future_map[:, :keep], values[:keep]
    if coupling == 'gram-product':
        # Its directions of the past belong to another product; the smallest regression does it.
        past_map = np.linalg.pinv(future_map.T @ future.T @ past / len(future))
    else:
        past_map = past_map[:, :keep] / values
    return SharedDirections(future_map, past_map)


def transition(weights: Floats, states: Floats) -> Floats:
    """Return the (k, k) transition by one tick without an observation, mathematics (6.3)."""
    matrix: Floats = states.T @ weights
    return matrix


def spectral_radius(matrix: Floats) -> float:
    """Return the largest modulus among the eigenvalues of A in [[1, 0], [c, A]]."""
    inner = matrix[1:, 1:]
    return float(np.abs(np.linalg.eigvals(inner)).max()) if inner.size else 0.0


def shrink_growing_modes(transition: Floats, *, as_factor: bool = False) -> Floats:
    """
    Return a (k, k) transition with its growing modes shrunk to modulus one, mathematics (6.4).

    With ``as_factor`` return S, such that S times the transition is the shrunk one. Where modes
    are too nearly parallel to be separated, all are scaled by the same factor.
    """
    values, vectors = np.linalg.eig(transition)
    modulus = np.abs(values)
    largest = modulus.max(initial=1.0)
    scaled: Floats = (np.eye(len(transition)) if as_factor else transition) / largest
    if not largest > 1.0:
        return scaled
    kept = (1.0 if as_factor else values) / np.maximum(modulus, 1.0)
    try:
        shrunk = (vectors * kept @ np.linalg.inv(vectors)).real
    except np.linalg.LinAlgError:
        return scaled
    moved = shrunk @ transition if as_factor else shrunk
    # Rounding may exceed one.
    return shrunk if np.abs(np.linalg.eigvals(moved)).max() <= 1.0 + 1e-9 else scaled


def stabilised(weights: Floats, states: Floats) -> Floats:
    """Return the state table with the growing modes of its transition shrunk to modulus one."""
    inner = transition(weights, states)[1:, 1:]
    matrix = shrink_growing_modes(inner, as_factor=True)
    if np.array_equal(matrix, np.eye(len(inner))):
        return states
    result = np.hstack([states[:, :1], states[:, 1:] @ matrix.T])
    # Of modes that are nearly parallel, rounding alone moves the moduli.
    while (radius := spectral_radius(transition(weights, result))) > 1.0 + 1e-9:
        result[:, 1:] /= radius
    return result


@dataclass(frozen=True)
class Tables:
    r"""
    Tables of the training ticks that the HMM is learned from.

    .. math:: \omega = Q b \quad\text{(weights on the training ticks)}, \qquad
              b^+ = X^\top \omega
    """

    weights: Floats  # (n, k), Q; the first column is 1/n
    # (n, k), X; the state that each training tick goes over to; the first column is 1.
    states: Floats


def build_tables(
    past: Floats, shifted: Floats, directions: SharedDirections, *, stable: bool = True
) -> Tables:
    """Build tables of past (n, m_P) and shifted (n, m_F), centred as the own futures."""
    ones = np.ones((len(past), 1))
    weights = np.hstack([ones, past @ directions.past_map]) / len(past)
    states = np.hstack([ones, shifted @ directions.future_map])
    return Tables(weights, stabilised(weights, states) if stable else states)


@dataclass(frozen=True)
class RawKernel:
    r"""The kernel itself as a likelihood: :math:`\gamma_i(o) = k(o_{t_i}, o)`, in (0, 1]."""

    observations: Floats  # (n, d), standardised observations of the training ticks
    bandwidth: float  # of the Gaussian kernel

    @property
    def kernel_points(self) -> Floats:
        """Observations that a new one is compared with: (l, d)."""
        return self.observations


@dataclass(frozen=True)
class RidgeKernel:
    r"""
    Kernel ridge regression on the observation, in features: mathematics (5.1).

    .. math:: n\gamma_i(o) = z_O(o_{t_i})^\top (\Sigma_{OO} + \lambda I)^{-1} z_O(o)
    """

    landmarks: Floats  # (l, d), observations that span the features
    bandwidth: float  # of the Gaussian kernel
    responses: Floats  # (l, p), V Lambda^(-1/2) (Sigma_OO + lambda I)^-1
    features: Floats  # (n, p), z_O of the training ticks

    @property
    def kernel_points(self) -> Floats:
        """Observations that a new one is compared with: (l, d)."""
        return self.landmarks


ObservationOperator = RawKernel | RidgeKernel


def gaussian_kernel(left: Floats, right: Floats, bandwidth: float) -> Floats:
    """Return the Gaussian kernel between rows of (a, d) and (b, d): (a, b)."""
    squared = np.zeros((len(left), len(right)))
    for channel in range(left.shape[1]):
        squared += np.square(left[:, channel, None] - right[:, channel])
    return np.exp(squared / (-2.0 * bandwidth**2))


def median_observation_distance(observations: Floats) -> float:
    """Return the median distance of some 1,000 observations; refuse if half are identical."""
    # A filter of a route, which loads this file as well, needs no SciPy.
    from scipy.spatial.distance import pdist  # noqa: PLC0415 - see above

    step = max(1, len(observations) // 1000)
    median = float(np.median(pdist(observations[::step])))
    if not median > 0.0:
        raise InputError('most IMU samples are identical; record while the vehicle drives')
    return median


def make_ridge_kernel(
    observations: Floats,
    bandwidth: float,
    ridge: float,
    landmarks: int = 500,
    features: int | None = 40,
) -> RidgeKernel:
    r"""
    Fit the ridge form to observations (n, d) of the training ticks, with :math:`\lambda` per tick.

    So many ``landmarks`` span the ``features``, of which 40 suffice for ridges of 0.1 and above.
    ``None`` keeps every feature that the ridge does not shrink to a ten-thousandth: with all
    observations as landmarks that is mathematics (4.3).
    """
    points = observations[:: max(1, len(observations) // landmarks)]
    values, vectors = np.linalg.eigh(gaussian_kernel(points, points, bandwidth))
    shrunk = 0.0 if features else 1e-4 * ridge * len(points)
    keep = values > max(shrunk, (1e-10 if features else 1e-13) * values[-1])
    projection = (vectors[:, keep] / np.sqrt(values[keep]))[:, ::-1][:, :features]
    rows = gaussian_kernel(observations, points, bandwidth) @ projection
    second_moment = rows.T @ rows / len(observations)
    inverse = np.linalg.inv(second_moment + ridge * np.eye(len(second_moment)))
    return RidgeKernel(points, bandwidth, projection @ inverse, rows)


@compiled
def gaussian_factors(
    observations: Floats, observation: Floats, bandwidth: float, factors: Floats
) -> None:
    """Fill the Gaussian kernel (n,) between an observation (d,) and many (d, n)."""
    # exp(-s) = (1 / exp(s / 4096))^4096 by a Taylor polynomial and twelve squarings, which become
    # vector code: a fourth of the time of exp(). Relative error below 1e-10; s is cut at 700.
    scale = 0.5 / (bandwidth * bandwidth)
    factors[:] = 0.0
    for c in range(observation.size):
        value = observation[c]
        for i in range(factors.size):
            difference = value - observations[c, i]
            factors[i] += difference * difference
    for i in range(factors.size):
        y = -min(factors[i] * scale, 700.0) / 4096.0
        e = 1.0 + y / 9.0
        e = 1.0 + y / 8.0 * e
        e = 1.0 + y / 7.0 * e
        e = 1.0 + y / 6.0 * e
        e = 1.0 + y / 5.0 * e
        e = 1.0 + y / 4.0 * e
        e = 1.0 + y / 3.0 * e
        e = 1.0 + y / 2.0 * e
        e = 1.0 + y * e
        for _ in range(12):
            e = e * e
        factors[i] = e


@compiled
def implied_weights(table: Floats, state: Floats, weights: Floats) -> None:
    """Fill the weights (n,) of a state (k,), mathematics (3.2); table (k, n)."""
    weights[:] = 0.0
    for j in range(state.size):
        coefficient = state[j]
        for i in range(weights.size):
            weights[i] += coefficient * table[j, i]


@compiled
def reweight(weights: Floats, factors: Floats) -> tuple[float, float]:
    """Multiply weights by factors in place; return their sum and the sum of their magnitudes."""
    total = 0.0
    absolute = 0.0
    for i in range(weights.size):
        product = weights[i] * factors[i]
        weights[i] = product
        total += product
        absolute += abs(product)
    return total, absolute


@compiled
def next_state(table: Floats, weights: Floats, state: Floats) -> None:
    """Fill the state (k,) one tick later than weights (n,), of any sum, mathematics (6.2)."""
    for j in range(state.size):
        total = 0.0
        for i in range(weights.size):
            total += table[j, i] * weights[i]
        state[j] = total
    first = state[0]
    for j in range(state.size):
        state[j] /= first


SHARE = 0.03
"""Chance in a tick that the vehicle is where the newest window puts it, whatever was believed."""

SMALLEST_EVIDENCE = 0.1
"""Below this an update is mostly cancellation: the observation is rejected (mathematics, 6.5)."""


class Recollection:
    """Regression from the newest window, which its owner appends to, to the state."""

    def __init__(self, window: SlidingWindow, warm_start: Extension) -> None:
        self.window = window
        self._warm_start = warm_start

    def state(self) -> Floats | None:
        """Return the (k,) state; ``None`` if the window is not full, or unlike all of training."""
        if not self.window.full:
            return None
        warm = self._warm_start.transform(self.window.distances())
        return None if warm is None else np.concatenate([[1.0], warm])

    def remind(self, belief: Belief) -> None:
        """Mix a belief with the state of the window, a second hypothesis of weight `SHARE`."""
        state = self.state()
        if state is not None:
            belief.state += SHARE * (state - belief.state)


class Belief:
    """
    Belief about the hidden state, as weights on the training ticks.

    The ``state`` (k,) is the belief before the next observation; its first coordinate is 1. The
    ``weights`` (n,), some negative, sum to one and are *at* the last observation, which
    ``accepted`` says to have moved the belief. ``lost``: it left no finite state without guards,
    so that the belief started again. A ``guarded`` one passes over observations of little
    evidence; others are as in Song et al. 2010.
    """

    def __init__(
        self, tables: Tables, operator: ObservationOperator, *, guarded: bool = True
    ) -> None:
        self._weight_table = np.ascontiguousarray(tables.weights.T)
        self._state_table = np.ascontiguousarray(tables.states.T)
        self._transition = transition(tables.weights, tables.states)
        self._operator = operator
        self._kernel_points = np.ascontiguousarray(operator.kernel_points.T)
        self._kernel = np.zeros(len(operator.kernel_points))
        self.weights = np.zeros(len(tables.weights))
        self.state = np.zeros(len(self._weight_table))
        self._guarded = guarded
        self.accepted = True
        self.lost = False
        self.start()

    def start(self, state: Floats | None = None) -> None:
        """Start at a state, or at the prior [1, 0, ..., 0] of the form mathematics (3.4)."""
        if state is None:
            self.state[:] = 0.0
            self.state[0] = 1.0
        else:
            self.state[:] = state
        implied_weights(self._weight_table, self.state, self.weights)

    def update(self, observation: Floats) -> float:
        """
        Take one (d,) observation, mathematics (6.2), and return its evidence in [-1, 1].

        That is what cancellation leaves of the weights, 0 for an observation unlike any in
        training. At `SMALLEST_EVIDENCE` or less a guarded belief moves on by mathematics (6.3)
        instead.
        """
        implied_weights(self._weight_table, self.state, self.weights)
        operator, factors = self._operator, self._kernel
        # As a row of another array it would be compiled for once more.
        observation = np.ascontiguousarray(observation)
        gaussian_factors(self._kernel_points, observation, operator.bandwidth, factors)
        if not isinstance(operator, RawKernel):
            factors = operator.features @ (factors @ operator.responses)
        total, absolute = reweight(self.weights, factors)
        evidence = total / absolute if absolute > Limits.degree else 0.0
        self.accepted = evidence > SMALLEST_EVIDENCE or not self._guarded
        if not self.accepted:
            implied_weights(self._weight_table, self.state, self.weights)
            self.state[:] = self._transition @ self.state
            return evidence
        # NumPy's quotient of a zero is infinite; Python's would raise.
        with np.errstate(divide='ignore', invalid='ignore', over='ignore'):
            self.weights /= total
        next_state(self._state_table, self.weights, self.state)
        self.lost = not self._guarded and not np.isfinite(self.state).all()
        if self.lost:
            self.start()
            return 0.0
        return evidence

    def skip(self, ticks: int) -> None:
        """Move on by some ticks without observations, mathematics (6.3)."""
        for _ in range(ticks):
            self.state[:] = self._transition @ self.state
        implied_weights(self._weight_table, self.state, self.weights)
