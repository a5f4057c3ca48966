# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Closed-loop validation: choose by running the filter over blocks that the fit did not see.

The same blocks then calibrate the covariances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from two_manifold_ros.training.assembly import Candidate, USUAL_NEIGHBOURS
from two_manifold_ros.training.held_out_bench import HeldOutBench

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Floats

NEIGHBOURS = (USUAL_NEIGHBOURS, 100)
"""Few for a few laps, more for many alike ones, where the graph would follow the speed first."""

FEWEST_PER_NEIGHBOUR = 10
"""Windows for each neighbour: with less, a graph of so many neighbours joins places far apart."""

USUAL_STATES = 40
OTHER_STATES = (20, 60)
BANDWIDTH_FACTORS = (1.0, 1.4, 2.0, 2.8)
RIDGES = (0.3, 1.0)
"""In units of a unit-diagonal kernel; at 0.1 and below the filter is unstable (section 5)."""

ALIKE = 1.05
"""Scores within 5 % of the best are alike; among those the narrowest kernel is taken, because it
corrects the belief soonest when the vehicle drives faster or slower than in training."""


@dataclass(frozen=True)
class Validation:
    """
    What the held-out blocks said.

    Parameters
    ----------
    candidate
        The best choices.
    factors, counts : (c,)
        Calibration of the covariance of each target, and on how many errors it rests.
    table
        Score of every candidate, metres: mean error over horizons and ticks, each error at most
        ``LOST_SHARE`` of the spread of the track (see ``HeldOutBench``).
    ticks
        Held-out ticks scored.
    score_m, lost_m
        Score of the best choices, and the error that counts as lost.

    """

    candidate: Candidate
    factors: Floats
    counts: Floats
    table: tuple[dict[str, float | None], ...]
    ticks: int
    score_m: float
    lost_m: float


def usual_candidate(settings: TrainingSettings) -> Candidate:
    """Return the choices made without validation."""
    ridge = RIDGES[-1] if settings.observation == 'ridge' else None
    neighbours = settings.neighbours or NEIGHBOURS[0]
    return Candidate(settings.states or USUAL_STATES, 1.4, ridge, neighbours)


def validate(
    fit: Sequence[Segment],
    held: Sequence[Segment],
    dataset: Dataset,
    settings: TrainingSettings,
    progress: Callable[[str, float], None],
) -> Validation:
    """Compare candidates on the held-out blocks, then calibrate the best of them."""
    bench = HeldOutBench(fit, held, dataset, settings)
    table: dict[Candidate, float] = {}

    def compare(candidates: Sequence[Candidate]) -> Candidate:
        for candidate in candidates:
            if candidate not in table:
                table[candidate] = bench.score(candidate)
                progress('comparing settings', len(table) / (len(table) + 4))
        limit = ALIKE * min(table.values())
        alike = [candidate for candidate in table if table[candidate] <= limit]
        return min(alike, key=lambda known: (known.bandwidth_factor, table[known]))

    usual = usual_candidate(settings)
    best = compare(_operators(usual))
    for neighbours in _other_neighbours(settings, bench.windows):
        best = compare(_operators(replace(usual, neighbours=neighbours)))
    if settings.states is None:
        best = compare([replace(best, states=states) for states in OTHER_STATES])
    factors, counts, ticks = bench.calibrate(best)
    rows = tuple(candidate.as_json() | {'score_m': score} for candidate, score in table.items())
    return Validation(
        best,
        factors,
        counts,
        rows,
        ticks,
        table[best],
        bench.lost_m,
    )


def _other_neighbours(settings: TrainingSettings, windows: int) -> list[int]:
    if settings.neighbours is not None or settings.kernel != 'laplacian-eigenmap':
        return []
    return [count for count in NEIGHBOURS[1:] if windows >= FEWEST_PER_NEIGHBOUR * count]


def _operators(usual: Candidate) -> list[Candidate]:
    if usual.ridge is not None:
        return [
            replace(usual, bandwidth_factor=factor, ridge=ridge)
            for factor in BANDWIDTH_FACTORS[:2]
            for ridge in RIDGES
        ]
    return [replace(usual, bandwidth_factor=factor) for factor in BANDWIDTH_FACTORS]
