# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make faulty positions out of those of a clean drive."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from position_fault import Change

    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Bools, Floats, Ints


def with_positions(recording: Recording, stamps: Ints, places: Floats) -> Recording:
    """Return the recording with other stamps and places (M, 2) of its positions."""
    assert recording.positions is not None
    return replace(
        recording, positions=replace(recording.positions, stamps=stamps, positions=places)
    )


def streams(recording: Recording) -> tuple[Ints, Floats]:
    """Return a copy of stamps (M,) and places (M, 2) of the positions."""
    assert recording.positions is not None
    return recording.positions.stamps.copy(), recording.positions.positions.copy()


def only(kept: Bools, recording: Recording) -> Recording:
    """Return the recording with some of its positions."""
    assert recording.positions is not None
    return replace(recording, positions=recording.positions.select(kept))


def glitches(count: int, nearest_m: float, farthest_m: float) -> Change:
    """Move single positions any way by distances that are even on a logarithmic scale."""

    def change(recording: Recording, rng: np.random.Generator) -> Recording:
        stamps, places = streams(recording)
        # Never two in a row.
        chosen = 2 * rng.choice(len(places) // 2, count, replace=False)
        places[chosen] += moves(rng, count, nearest_m, farthest_m)
        return with_positions(recording, stamps, places)

    return change


def moves(rng: np.random.Generator, count: int, nearest_m: float, farthest_m: float) -> Floats:
    """Return moves (count, 2) in any direction, their lengths even on a logarithmic scale."""
    metres = np.exp(rng.uniform(np.log(nearest_m), np.log(farthest_m), count))
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    return metres[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def doubled(recording: Recording, rng: np.random.Generator) -> Recording:
    """Give a fifth of the positions twice."""
    stamps, places = streams(recording)
    times = 1 + (rng.random(len(places)) < 0.2)
    return with_positions(recording, np.repeat(stamps, times), np.repeat(places, times, axis=0))


def missing(share: float) -> Change:
    """Lose a share of the positions at random."""

    def change(recording: Recording, rng: np.random.Generator) -> Recording:
        assert recording.positions is not None
        return only(rng.random(len(recording.positions.stamps)) >= share, recording)

    return change
