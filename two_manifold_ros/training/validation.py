# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Closed-loop validation: choose by running the filter over blocks that the fit did not see.

The same blocks then calibrate the covariances of the spectral filter; those of the route belief
are calibrated by a rehearsal (``rehearsal.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from two_manifold_ros.kernels.selection import gains_by_neighbours
from two_manifold_ros.training.assembly import Candidate, USUAL_BANDWIDTH, USUAL_NEIGHBOURS
from two_manifold_ros.training.held_out_bench import HeldOutBench
from two_manifold_ros.training.route_assembly import RouteCandidate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.route_assembly import AnyCandidate
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.typing import Floats

NEIGHBOURS = (USUAL_NEIGHBOURS, 100)
"""Few for a few laps, more for many alike ones, where the graph would follow the speed first."""

FEWEST_PER_NEIGHBOUR = 10
"""Windows for each neighbour: with less, a graph of so many neighbours joins places far apart."""

SHARPNESSES = (0.5, 1.0, 0.25)
PACES_EACH_WAY = 3
ROUTE_STATES = 20

FEWEST_BLOCKS = 2

CLEARLY = 1.05
"""A choice other than the usual one has to be better by this factor: less is chance."""

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
    factors : (c,), optional
        Calibration of the covariance of each target of the spectral filter.
    table
        Score of every candidate, metres: mean error over horizons and ticks, each error at most
        ``LOST_SHARE`` of the spread of the track (see ``HeldOutBench``).
    ticks
        Held-out ticks scored.
    score_m, lost_m
        Score of the best choices, and the error that counts as lost.

    """

    candidate: AnyCandidate
    factors: Floats | None
    table: tuple[dict[str, float | None], ...]
    ticks: int
    score_m: float
    lost_m: float


def usual_candidate(settings: TrainingSettings) -> AnyCandidate:
    """Return the choices made without validation."""
    neighbours = settings.neighbours or NEIGHBOURS[0]
    if settings.method == 'route':
        paces = settings.paces_each_way
        return RouteCandidate(
            settings.sharpness or SHARPNESSES[0],
            PACES_EACH_WAY if paces is None else paces,
            settings.averaged is not False,
            settings.states or ROUTE_STATES,
            neighbours,
        )
    return _usual_spectral(settings)


def _usual_spectral(settings: TrainingSettings) -> Candidate:
    ridge = (settings.ridge or RIDGES[-1]) if settings.observation == 'ridge' else None
    neighbours = settings.neighbours or NEIGHBOURS[0]
    bandwidth = settings.bandwidth_factor or USUAL_BANDWIDTH
    return Candidate(settings.states or USUAL_STATES, bandwidth, ridge, neighbours)


def validate(
    fit: Sequence[Segment],
    held: Sequence[Segment],
    dataset: Dataset,
    settings: TrainingSettings,
    progress: Callable[[str, float], None],
) -> Validation:
    """Compare candidates on the held-out blocks, then calibrate the best where they have to."""
    bench = HeldOutBench(fit, held, dataset, settings)
    table: dict[AnyCandidate, float] = {}

    def score(candidate: AnyCandidate) -> float:
        if candidate not in table:
            table[candidate] = bench.score(candidate)
            progress('comparing settings', len(table) / (len(table) + 4))
        return table[candidate]

    usual = usual_candidate(settings)
    if isinstance(usual, RouteCandidate):
        # One block is one draw: what happens to suit it is not chosen over what usually does.
        enough = len(held) >= FEWEST_BLOCKS
        best: AnyCandidate = _choose_route(usual, score, settings) if enough else usual
        factors = None
    else:
        best = _choose_spectral(usual, score, settings, bench.windows)
        factors = bench.calibrate(best)
    score_m = score(best)
    rows = tuple(candidate.as_json() | {'score_m': score} for candidate, score in table.items())
    return Validation(
        best,
        factors,
        rows,
        bench.ticks,
        score_m,
        bench.lost_m,
    )


def _choose_route(
    usual: RouteCandidate,
    score: Callable[[AnyCandidate], float],
    settings: TrainingSettings,
) -> RouteCandidate:
    """Change one choice after the other, where it is free and the change is clearly better."""
    best = usual
    if settings.sharpness is None:
        sharper = [replace(usual, sharpness=sharpness) for sharpness in SHARPNESSES[1:]]
        best = _clearly_better(usual, sharper, score)
    if settings.paces_each_way is None:
        best = _clearly_better(best, [replace(best, paces_each_way=0)], score)
    return best


def _clearly_better(
    usual: RouteCandidate,
    others: Sequence[RouteCandidate],
    score: Callable[[AnyCandidate], float],
) -> RouteCandidate:
    best = min(others, key=score)
    return best if CLEARLY * score(best) < score(usual) else usual


def _choose_spectral(
    usual: Candidate,
    score: Callable[[AnyCandidate], float],
    settings: TrainingSettings,
    windows: int,
) -> Candidate:
    known: dict[Candidate, float] = {}

    def compare(candidates: Sequence[Candidate]) -> Candidate:
        known.update({candidate: score(candidate) for candidate in candidates})
        limit = ALIKE * min(known.values())
        alike = [candidate for candidate in known if known[candidate] <= limit]
        return min(alike, key=lambda each: (each.bandwidth_factor, known[each]))

    best = compare(_operators(usual, settings))
    for neighbours in _other_neighbours(settings, windows):
        best = compare(_operators(replace(usual, neighbours=neighbours), settings))
    if settings.states is None:
        best = compare([replace(best, states=states) for states in OTHER_STATES])
    return best


def _other_neighbours(settings: TrainingSettings, windows: int) -> list[int]:
    if settings.neighbours is not None or not gains_by_neighbours(settings.kernel):
        return []
    return [count for count in NEIGHBOURS[1:] if windows >= FEWEST_PER_NEIGHBOUR * count]


def _operators(usual: Candidate, settings: TrainingSettings) -> list[Candidate]:
    """Return the candidates that differ in the observation operator, as far as that is free."""
    factors: Sequence[float] = BANDWIDTH_FACTORS
    ridges: Sequence[float | None] = (None,)
    if usual.ridge is not None:
        factors = BANDWIDTH_FACTORS[:2]
        ridges = RIDGES if settings.ridge is None else (usual.ridge,)
    if settings.bandwidth_factor is not None:
        factors = (usual.bandwidth_factor,)
    return [
        replace(usual, bandwidth_factor=factor, ridge=ridge)
        for factor in factors
        for ridge in ridges
    ]
