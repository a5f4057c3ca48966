# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A Kalman filter for the system that N4SID finds (Van Overschee & De Moor 1996, chapter 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import qr, schur, solve_discrete_are

from two_manifold_ros.comparison.comparing import (
    fit_best,
    Fitted,
    Predictions,
    TrainSplit,
    with_constant,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import fit_ridge
from two_manifold_ros.typing import Floats

if TYPE_CHECKING:
    from two_manifold_ros.ticks.segments import Segment


SLOWEST = 1.0 - 1e-4
"""Largest modulus of an eigenvalue of A, a memory of ten thousand ticks: rounding errs by less."""

CHUNK = 4096
"""Windows laid out in memory at a time."""

MOST_ROWS = 1000
"""Block rows times channels; the time of a decomposition grows with the cube."""


@dataclass(frozen=True)
class InnovationForm:
    """x(t+1) = A x(t) + K e(t), y(t) = C x(t) + e(t), A - K C stable: a Kalman filter."""

    transition: Floats  # A, (k, k)
    output: Floats  # C, (d, k)
    gain: Floats  # K, (k, d)

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
    start = 0
    while start < len(triangle):
        # In a real Schur form a pair of eigenvalues has a block of two rows.
        stop = start + 1 + bool(triangle[start + 1 : start + 2, start].any())
        block = triangle[start:stop, start:stop]
        block *= min(1.0, SLOWEST / max(np.abs(np.linalg.eigvals(block)).max(), SLOWEST))
        start = stop
    stable: Floats = basis @ triangle @ basis.T
    return stable


def innovation_form(transition: Floats, output: Floats, noise: Floats) -> InnovationForm:
    """Return the steady-state Kalman filter of noise [[Q, S], [S', R]], or ``LinAlgError``."""
    k = len(transition)
    spread = solve_discrete_are(
        transition.T, output.T, noise[:k, :k], noise[k:, k:], s=noise[:k, k:]
    )
    innovation = output @ spread @ output.T + noise[k:, k:]
    crossed = transition @ spread @ output.T + noise[:k, k:]
    gain = crossed @ np.linalg.pinv(innovation, hermitian=True)
    if np.abs(np.linalg.eigvals(transition - gain @ output)).max() >= 1.0:
        raise np.linalg.LinAlgError('the Kalman filter of the system is not stable')
    return InnovationForm(transition, output, gain)


def decompose_hankel(segments: Sequence[Floats], block_rows: int) -> Floats:
    """
    Return L of the LQ decomposition of a block Hankel matrix, pasts above futures: (2 i d, 2 i d).

    It is of outputs (T, d) without a gap, in windows of i ``block_rows`` before and after.
    """
    outputs = segments[0].shape[1]
    windows = sum(max(0, len(segment) - 2 * block_rows + 1) for segment in segments)
    needed = (block_rows + 1) * outputs + 1
    if windows < needed:
        raise InputError(
            f'N4SID with {block_rows} block rows of {outputs} channels needs {needed} windows of '
            f'{2 * block_rows} ticks without a gap, but the recording has {windows}; record '
            'longer or shorten --window'
        )
    width = 2 * block_rows * outputs
    upper = np.empty((0, width))
    for segment in segments:
        if len(segment) < 2 * block_rows:
            continue
        every = sliding_window_view(segment, 2 * block_rows, axis=0)
        for begin in range(0, len(every), CHUNK):
            # One window a row, oldest tick first.
            rows = every[begin : begin + CHUNK].transpose(0, 2, 1).reshape(-1, width)
            upper = qr(np.concatenate([upper, rows]), mode='r', overwrite_a=True)[0][:width]
    factor = np.zeros((width, width))
    factor[:, : len(upper)] = upper.T / np.sqrt(windows)
    return factor


def find_directions(factor: Floats, weighting: str) -> tuple[Floats, Floats]:
    """Return orthonormal directions (i d, r) that the past predicts, strongest first, and (r,)."""
    past = len(factor) // 2
    matrix = factor[past:, :past]
    if weighting == 'principal':
        # Faint directions of the past count less; else all alike, 'unweighted'.
        matrix = matrix @ factor[:past, :past].T
    vectors, strengths, _ = np.linalg.svd(matrix)
    # Directions weaker than this, against the strongest, are rounding.
    rank = max(1, int(np.count_nonzero(strengths > 1e-9 * strengths[0])))
    return vectors[:, :rank], strengths[:rank]


def identify(
    factor: Floats, outputs: int, directions: tuple[Floats, Floats], order: int
) -> InnovationForm:
    """Identify a system of an order, or of the largest that the directions support."""
    vectors, strengths = directions
    past = len(factor) // 2
    one_more = past + outputs
    order = min(order, len(strengths), past - outputs)
    observability = vectors[:, :order] * np.sqrt(strengths[:order])
    before = np.zeros((order, one_more))
    # Futures projected on pasts, in the coordinates of Q.
    before[:, :past] = np.linalg.pinv(observability) @ factor[past:, :past]
    after = np.linalg.pinv(observability[:-outputs]) @ factor[one_more:, :one_more]
    wanted = np.concatenate([after, factor[past:one_more, :one_more]])
    system = np.linalg.lstsq(before.T, wanted.T, rcond=None)[0].T
    transition, output = stabilised(system[:order]), system[order:]
    residuals = wanted - np.concatenate([transition, output]) @ before
    return innovation_form(transition, output, residuals @ residuals.T)


def kalman_filter(
    train: TrainSplit, states: int | None = None, block_rows: int | None = None
) -> Fitted:
    """Fit the Kalman filter of stochastic N4SID; what is ``None`` is chosen on held-out blocks."""
    window, outputs = train.dataset.window, train.dataset.observations[0].shape[1]
    # The first of each is the paper's.
    shares = [max(2, round(share * window)) for share in (1.0, 0.5, 0.75, 1.5, 2.0)]
    possible = [rows for rows in shares if rows * outputs <= MOST_ROWS]
    candidates: list[dict[str, Any]] = [
        {'states': most, 'block_rows': rows, 'weighting': weighting}
        for rows, weighting, most in itertools.product(
            [block_rows] if block_rows else possible or [window],
            ('unweighted', 'principal'),
            [states] if states else [20, 40, 80, 160],
        )
    ]
    return fit_best(candidates, train, _prepare)


def _prepare(train: TrainSplit) -> Callable[..., Fitted]:
    """Return a function that fits settings to a training part; what they share is kept."""
    dataset = train.dataset
    outputs = dataset.observations[0].shape[1]

    @cache
    def decomposed(block_rows: int) -> Floats:
        return decompose_hankel(dataset.observations, block_rows)

    @cache
    def directions(block_rows: int, weighting: str) -> tuple[Floats, Floats]:
        return find_directions(decomposed(block_rows), weighting)

    def fit(states: int, block_rows: int, weighting: str) -> Fitted:
        factor, found = decomposed(block_rows), directions(block_rows, weighting)
        system = identify(factor, outputs, found, states)
        coefficients = fit_readout(system, train)
        horizons, _, width = coefficients.shape

        def predict(segment: Segment) -> Predictions:
            # A state is what is predicted for the next tick.
            seen = system.filter(dataset.channels.standardise(segment.values))
            positions = with_constant(seen) @ coefficients.reshape(-1, width).T
            return Predictions(positions.reshape(len(seen), horizons, 2), seen)

        return Fitted(predict, {'states': len(system.transition)})

    return fit


def fit_readout(system: InnovationForm, train: TrainSplit) -> Floats:
    """Regress the position at each horizon on the states of full windows: (H, 2, k + 1)."""
    window = train.dataset.window
    states = [system.filter(outputs)[window:] for outputs in train.dataset.observations]
    targets = [each[window:] for each in train.targets]
    return fit_ridge(with_constant(np.concatenate(states)), np.concatenate(targets)).coefficients
