# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The reduced-rank HMM of the paper, and sequences of its symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.acceleration import compiled

if TYPE_CHECKING:
    from two_manifold_ros.typing import Floats, Ints

TRANSITION = np.array(
    [
        [0.7829, 0.1036, 0.0399, 0.0736],
        [0.1036, 0.4237, 0.4262, 0.0465],
        [0.0399, 0.4262, 0.4380, 0.0959],
        [0.0736, 0.0465, 0.0959, 0.7840],
    ]
)
"""T of the paper: symmetric, so that in the long run every state is as likely as any other."""

SYMBOLS = np.array([0, 1, 0, 1])
"""What each state shows, O of the paper."""

RANK = 3
"""Of the transition matrix, to the digits printed."""


def true_eigenvalues() -> Floats:
    """Return the (3,) eigenvalues that are not zero, largest first."""
    values: Floats = np.linalg.eigvalsh(TRANSITION)[::-1][:RANK]
    return values


def sample_symbols(count: int, seed: int) -> Ints:
    """Return (count,) symbols 0 and 1 of a chain in its long run."""
    random = np.random.Generator(np.random.PCG64(seed))
    chances, start = random.random(count), int(random.integers(len(TRANSITION)))
    symbols: Ints = SYMBOLS[_walk(chances, np.cumsum(TRANSITION, axis=1), start)]
    return symbols


@compiled
def _walk(chances: Floats, cumulative: Floats, state: int) -> Ints:
    last = len(cumulative) - 1
    states = np.empty(len(chances), dtype=np.int64)
    for index in range(len(chances)):
        following = 0
        # The last one needs no look: its sum may be less than one by rounding.
        while following < last and cumulative[state, following] <= chances[index]:
            following += 1
        state = following
        states[index] = state
    return states
