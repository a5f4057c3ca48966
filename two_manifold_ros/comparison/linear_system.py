# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A Kalman filter for the linear system that N4SID finds.

P. Van Overschee, B. De Moor: Subspace Identification for Linear Systems, Kluwer 1996, chapter 3.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import qr, schur, solve_discrete_are, solve_discrete_lyapunov

from two_manifold_ros.comparison.method import Course
from two_manifold_ros.comparison.protocol import choose
from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import fit_ridge, segment_targets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.comparison.method import Lesson
    from two_manifold_ros.ticks.segments import Channels, Segment
    from two_manifold_ros.typing import Floats


SLOWEST = 1.0 - 1e-4
"""Largest modulus of an eigenvalue of A; rounding can push one over the circle from nearer it."""

STEPS = 1000
STILL = 1e-12


@dataclass(frozen=True)
class InnovationForm:
    r"""
    A linear system as its steady-state Kalman filter sees it.

    :math:`x_{t+1} = A x_t + K e_t,\; y_t = C x_t + e_t` with :math:`A - K C` stable.

    Parameters
    ----------
    transition : (k, k)
        A.
    output : (d, k)
        C.
    gain : (k, d)
        K.
    innovation : (d, d)
        Covariance of e.

    """

    transition: Floats
    output: Floats
    gain: Floats
    innovation: Floats

    def filter(self, outputs: Floats) -> Floats:
        """Return the (T, k) predictions of the next state after each of (T, d) outputs."""
        forgetting = self.transition - self.gain @ self.output
        states = np.empty((len(outputs), len(forgetting)))
        state = np.zeros(len(forgetting))
        for tick, corrected in enumerate(outputs @ self.gain.T):
            state = forgetting @ state + corrected
            states[tick] = state
        return states


def stabilised(transition: Floats) -> Floats:
    """Return the (k, k) matrix, eigenvalues beyond ``SLOWEST`` pulled back in to it."""
    if np.abs(np.linalg.eigvals(transition)).max() <= SLOWEST:
        return transition
    triangle, basis = schur(transition)
    for start, stop in _diagonal_blocks(triangle):
        block = triangle[start:stop, start:stop]
        block *= min(1.0, SLOWEST / max(np.abs(np.linalg.eigvals(block)).max(), SLOWEST))
    stable: Floats = basis @ triangle @ basis.T
    return stable


def _diagonal_blocks(triangle: Floats) -> Iterator[tuple[int, int]]:
    """Yield where the blocks of a real Schur form begin and end: a pair of eigenvalues has two."""
    start = 0
    while start < len(triangle):
        paired = start + 1 < len(triangle) and triangle[start + 1, start] != 0.0
        stop = start + 1 + paired
        yield start, stop
        start = stop


def innovation_form(transition: Floats, output: Floats, noise: Floats) -> InnovationForm:
    """
    Return the steady-state Kalman filter of a stable linear system.

    Parameters
    ----------
    transition : (k, k), output : (d, k)
        A with all eigenvalues inside the unit circle, and C.
    noise : (k + d, k + d)
        Joint covariance of the noises of state and output, [[Q, S], [S', R]].

    """
    spread = prediction_covariance(transition, output, noise)
    gain, innovation = kalman_gain(transition, output, noise, spread)
    return InnovationForm(transition, output, gain, innovation)


def prediction_covariance(transition: Floats, output: Floats, noise: Floats) -> Floats:
    """
    Solve the Riccati equation for the covariance (k, k) of the predicted state.

    Where the solver fails, or what it finds does not make a stable filter, the filter's own
    recursion is run until it stands still.
    """
    k = len(transition)
    try:
        spread: Floats = solve_discrete_are(
            transition.T, output.T, noise[:k, :k], noise[k:, k:], s=noise[:k, k:]
        )
    except np.linalg.LinAlgError:
        return settled_covariance(transition, output, noise)
    gain, _ = kalman_gain(transition, output, noise, spread)
    if np.abs(np.linalg.eigvals(transition - gain @ output)).max() >= 1.0:
        return settled_covariance(transition, output, noise)
    return spread


def settled_covariance(transition: Floats, output: Floats, noise: Floats) -> Floats:
    """
    Run the recursion of a filter that at first knows nothing, until it stands still.

    It can only sink from the covariance of the state itself, and so each of its gains makes a
    stable filter.
    """
    k = len(transition)
    spread: Floats = solve_discrete_lyapunov(transition, noise[:k, :k])
    for _ in range(STEPS):
        gain, innovation = kalman_gain(transition, output, noise, spread)
        last = spread
        spread = transition @ last @ transition.T + noise[:k, :k] - gain @ innovation @ gain.T
        if np.abs(spread - last).max() <= STILL * np.abs(last).max():
            break
    return spread


def kalman_gain(
    transition: Floats, output: Floats, noise: Floats, spread: Floats
) -> tuple[Floats, Floats]:
    """Return the gain (k, d) at a covariance of the prediction, and the innovation's (d, d)."""
    k = len(transition)
    innovation = output @ spread @ output.T + noise[k:, k:]
    crossed = transition @ spread @ output.T + noise[:k, k:]
    return crossed @ np.linalg.pinv(innovation, hermitian=True), innovation


WEIGHTINGS = ('unweighted', 'principal')

CHUNK = 4096
"""Windows laid out in memory at a time."""

FAINTEST = 1e-9
"""Directions weaker than this, against the strongest, are rounding."""


@dataclass(frozen=True)
class Hankel:
    """
    What identification needs to know of a Hankel matrix.

    Parameters
    ----------
    factor : (2 i d, 2 i d)
        Lower triangular L of its LQ decomposition, pasts above futures, divided by the root of
        the number of its columns.
    block_rows
        Ticks i in a past and in a future.
    outputs
        Channels d.

    """

    factor: Floats
    block_rows: int
    outputs: int

    @property
    def past(self) -> int:
        """Rows of the pasts, i d."""
        return self.block_rows * self.outputs

    @property
    def projection(self) -> Floats:
        r"""Futures projected on pasts, :math:`Y_f / Y_p`, in the coordinates of Q: (i d, i d)."""
        return self.factor[self.past :, : self.past]


@dataclass(frozen=True)
class Directions:
    """
    Directions of the future that the past tells about.

    Parameters
    ----------
    hankel
        Where they were found.
    vectors : (i d, r), strengths (r,)
        Orthonormal, the strongest first, without those that are rounding.

    """

    hankel: Hankel
    vectors: Floats
    strengths: Floats


def count_windows(segments: Sequence[Floats], block_rows: int) -> int:
    """Return how many pasts followed by futures, ``block_rows`` ticks each, there are."""
    return sum(max(0, len(segment) - 2 * block_rows + 1) for segment in segments)


def needed_windows(outputs: int, block_rows: int) -> int:
    """Return how many windows a regression on the past and one more tick needs."""
    return (block_rows + 1) * outputs + 1


def decompose_hankel(segments: Sequence[Floats], block_rows: int) -> Hankel:
    """
    Decompose the block Hankel matrix of outputs, a chunk of its columns at a time.

    Parameters
    ----------
    segments
        Outputs (T, d) of mean zero of stretches without a gap; no window crosses a seam.
    block_rows
        Ticks in a past and in a future, at least 2.

    Raises
    ------
    InputError
        If there are fewer than ``needed_windows``.

    """
    outputs = segments[0].shape[1]
    windows = count_windows(segments, block_rows)
    if windows < needed_windows(outputs, block_rows):
        msg = (
            f'N4SID with {block_rows} block rows of {outputs} channels needs '
            f'{needed_windows(outputs, block_rows)} windows of {2 * block_rows} ticks without a '
            f'gap, but the recording has {windows}; record longer or shorten --window'
        )
        raise InputError(msg)
    width = 2 * block_rows * outputs
    upper = np.empty((0, width))
    for rows in _windows_as_rows(segments, 2 * block_rows):
        upper = qr(np.concatenate([upper, rows]), mode='r', overwrite_a=True)[0][:width]
    factor = np.zeros((width, width))
    factor[:, : len(upper)] = upper.T / np.sqrt(windows)
    return Hankel(factor, block_rows, outputs)


def _windows_as_rows(segments: Sequence[Floats], width: int) -> Iterator[Floats]:
    """Yield flat windows, oldest tick first: (up to ``CHUNK``, width d)."""
    for segment in segments:
        if len(segment) >= width:
            windows = sliding_window_view(segment, width, axis=0)
            for begin in range(0, len(windows), CHUNK):
                chunk = windows[begin : begin + CHUNK]
                yield chunk.transpose(0, 2, 1).reshape(len(chunk), -1)


def find_directions(hankel: Hankel, weighting: str) -> Directions:
    """
    Order the directions of the projection by what they carry.

    Parameters
    ----------
    hankel
        From ``decompose_hankel``.
    weighting
        One of ``WEIGHTINGS``: as it is, or (``principal``) by the covariance with the past, where
        faint directions of the past count less.

    """
    matrix = hankel.projection
    if weighting == 'principal':
        matrix = matrix @ hankel.factor[: hankel.past, : hankel.past].T
    vectors, strengths, _ = np.linalg.svd(matrix)
    rank = max(1, int(np.count_nonzero(strengths > FAINTEST * strengths[0])))
    return Directions(hankel, vectors[:, :rank], strengths[:rank])


def identify(directions: Directions, order: int) -> InnovationForm:
    """
    Identify a system of an order, or of the largest that the directions support.

    The states before and after a tick are projections of its past; A and C follow from them by
    least squares, the noise from what is left.
    """
    hankel = directions.hankel
    past, one_more = hankel.past, hankel.past + hankel.outputs
    order = min(order, len(directions.strengths), past - hankel.outputs)
    observability = directions.vectors[:, :order] * np.sqrt(directions.strengths[:order])
    before = np.zeros((order, one_more))
    before[:, :past] = np.linalg.pinv(observability) @ hankel.projection
    shortened = np.linalg.pinv(observability[: -hankel.outputs])
    after = shortened @ hankel.factor[one_more:, :one_more]
    outputs = hankel.factor[past:one_more, :one_more]
    wanted = np.concatenate([after, outputs])
    system = np.linalg.lstsq(before.T, wanted.T, rcond=None)[0].T
    transition, output = stabilised(system[:order]), system[order:]
    residuals = wanted - np.concatenate([transition, output]) @ before
    return innovation_form(transition, output, residuals @ residuals.T)


STATES = (20, 40, 80, 160)
"""The first is the paper's."""

WINDOW_SHARES = (1.0, 0.5, 0.75, 1.5, 2.0)
"""Block rows to compare, in windows of the lesson; the first is the paper's."""

MOST_ROWS = 1000
"""Block rows times channels beyond which more are not tried: the cost grows with the cube."""


@dataclass(frozen=True)
class Settings:
    """
    What is chosen on held-out blocks.

    Parameters
    ----------
    states
        Order of the system; fewer where the data supports fewer.
    block_rows
        Ticks in a past and in a future of the Hankel matrix.
    weighting
        One of ``WEIGHTINGS``.

    """

    states: int
    block_rows: int
    weighting: str


@dataclass
class FittedKalmanFilter:
    """
    The filter and its read-out.

    Parameters
    ----------
    channels
        Standardise the IMU.
    system
        As identified.
    coefficients : (H, 2, k + 1)
        From 1 and the state to the position at each horizon, metres.
    chosen
        The settings, with the number of states that there really are.

    """

    channels: Channels
    system: InnovationForm
    coefficients: Floats
    chosen: dict[str, Any]

    def follow(self, segment: Segment) -> Course:
        """Filter one segment from the mean state; a state is what is predicted for the next."""
        states = self.system.filter(self.channels.standardise(segment.values))
        horizons, _, width = self.coefficients.shape
        positions = _with_constant(states) @ self.coefficients.reshape(-1, width).T
        return Course(positions.reshape(len(states), horizons, 2), states)


class KalmanFilter:
    """
    Steady-state Kalman filter of a linear system identified by stochastic N4SID.

    Parameters
    ----------
    states
        Order of the system; ``None`` to choose on held-out blocks.
    block_rows
        Ticks in a past and in a future of the Hankel matrix, at least 2; ``None`` to choose
        likewise.

    """

    name = 'kalman'
    title = 'Kalman filter (N4SID)'
    told = False

    def __init__(self, states: int | None = None, block_rows: int | None = None) -> None:
        self.states = states
        self.block_rows = block_rows

    def fit(self, lesson: Lesson) -> FittedKalmanFilter:
        """
        Identify the system and regress the positions on its filtered states.

        Raises
        ------
        InputError
            If the lesson is too short for the Hankel matrix.

        """
        candidates = self._candidates(lesson)
        try:
            best, _ = choose(candidates, lesson, _Identification().fit)
        except InputError:
            # Too short for any once blocks are held out of it, but perhaps not as a whole.
            best = candidates[0]
        return _Identification().fit(lesson, best)

    def _candidates(self, lesson: Lesson) -> list[Settings]:
        """List what the lesson is long enough for; what was asked for is not questioned."""
        every_rows = [self.block_rows] if self.block_rows else _possible_rows(lesson)
        every_states = [self.states] if self.states else STATES
        return [
            Settings(states, block_rows, weighting)
            for block_rows, weighting, states in itertools.product(
                every_rows, WEIGHTINGS, every_states
            )
        ]


def _possible_rows(lesson: Lesson) -> list[int]:
    observations = _observations(lesson)
    outputs = observations[0].shape[1]
    possible = [
        rows
        for rows in (max(2, round(share * lesson.dataset.window)) for share in WINDOW_SHARES)
        if rows * outputs <= MOST_ROWS
        and count_windows(observations, rows) >= needed_windows(outputs, rows)
    ]
    # Where not one will do, the first says why.
    return possible or [lesson.dataset.window]


class _Identification:
    """Fits one candidate after the other to the same lesson; what they share is kept."""

    def __init__(self) -> None:
        self._hankels: dict[int, Hankel] = {}
        self._directions: dict[tuple[int, str], Directions] = {}

    def fit(self, lesson: Lesson, settings: Settings) -> FittedKalmanFilter:
        """Identify a system and fit its read-out."""
        system = identify(self._find(lesson, settings), settings.states)
        coefficients = fit_readout(system, lesson)
        chosen = asdict(settings) | {'states': len(system.transition)}
        return FittedKalmanFilter(lesson.dataset.channels, system, coefficients, chosen)

    def _find(self, lesson: Lesson, settings: Settings) -> Directions:
        rows, weighting = settings.block_rows, settings.weighting
        if rows not in self._hankels:
            self._hankels[rows] = decompose_hankel(_observations(lesson), rows)
        if (rows, weighting) not in self._directions:
            self._directions[rows, weighting] = find_directions(self._hankels[rows], weighting)
        return self._directions[rows, weighting]


def fit_readout(system: InnovationForm, lesson: Lesson) -> Floats:
    """Regress the position at each horizon on the states of full windows: (H, 2, k + 1)."""
    states, targets = [], []
    window = lesson.dataset.window
    for segment, outputs in zip(lesson.dataset.segments, _observations(lesson), strict=True):
        every = segment_targets(segment.positions, lesson.horizons, lesson.period_s)
        states.append(system.filter(outputs)[window:])
        targets.append(every[window:, :-1])
    rows = _with_constant(np.concatenate(states))
    return fit_ridge(rows, np.concatenate(targets)).coefficients


def _observations(lesson: Lesson) -> list[Floats]:
    dataset = lesson.dataset
    return [dataset.channels.standardise(segment.values) for segment in dataset.segments]


def _with_constant(states: Floats) -> Floats:
    return np.concatenate([np.ones((len(states), 1)), states], axis=1)
