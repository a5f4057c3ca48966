# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The steady-state Kalman filter of a linear system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import schur, solve_discrete_are, solve_discrete_lyapunov

if TYPE_CHECKING:
    from collections.abc import Iterator

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
