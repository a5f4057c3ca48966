# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Closed-loop validation on blocks that the fit did not see.

The same blocks then calibrate the covariances. What the belief about the place has to choose is
fitted in another way, see ``route.fitting``.

Blocks that are held out have to be windows long, and of two or three laps that leaves nothing to
learn from. Here everything is learned from; but the position at a tick is read from what was
remembered at least a window before or after it, as another lap would be read. On the
followed drives of the gauntlet ellipses of 68 % then hold 64 to 94 % (told ticks). Were those
ticks left out of the belief as well, too little would be left of its weights: they would hold
66 to 100 %, and sixty per cent of the indoor car's positions would be withheld.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.belief import SHARE, SMALLEST_EVIDENCE, SMALLEST_SUPPORT
from two_manifold_ros.hse_hmm.readout import calibration_factors, tempered
from two_manifold_ros.hse_hmm.sharpened import SharpenedReadout
from two_manifold_ros.hse_hmm.tables import transition
from two_manifold_ros.manifold.selection import gains_by_neighbours
from two_manifold_ros.training.assembly import (
    Candidate,
    make_operator,
    USUAL_BANDWIDTH,
    USUAL_NEIGHBOURS,
)
from two_manifold_ros.training.holdout import capped_mean, HeldOut, HeldOutBench, LOST_SHARE
from two_manifold_ros.training.tpsr_structure import TPSR_STATES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.hse_hmm.tables import ObservationOperator, Tables
    from two_manifold_ros.manifold.learner import Extension
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.tpsr_structure import TpsrStructure
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
class Validation(HeldOut):
    """
    What the held-out blocks said.

    Scores are mean errors over horizons and ticks, each error at most ``LOST_SHARE`` of the
    spread of the track (see ``HeldOutBench``).

    Parameters
    ----------
    candidate
        The best choices.
    factors : (c,)
        Calibration of the covariance of each target.

    """

    candidate: Candidate
    factors: Floats


def usual_candidate(settings: TrainingSettings) -> Candidate:
    """Return the choices made without validation."""
    ridge = (settings.ridge or RIDGES[-1]) if settings.observation == 'ridge' else None
    neighbours = settings.neighbours or NEIGHBOURS[0]
    bandwidth = settings.bandwidth_factor or USUAL_BANDWIDTH
    states = TPSR_STATES if settings.method == 'tpsr' else USUAL_STATES
    return Candidate(settings.states or states, bandwidth, ridge, neighbours)


def validate(
    turns: Sequence[tuple[Sequence[Segment], Sequence[Segment]]],
    dataset: Dataset,
    settings: TrainingSettings,
    progress: Callable[[str, float], None],
) -> Validation:
    """
    Compare candidates on the held-out blocks, then calibrate the best.

    Parameters
    ----------
    turns
        Parts to fit and blocks held out, from `hold_out`, or some from `hold_out_in_turn`.
    dataset, settings
        What the segments came from.
    progress
        See `train_model`.

    """
    benches = [HeldOutBench(fit, held, dataset, settings) for fit, held in turns]
    table: dict[Candidate, float] = {}

    def score(candidate: Candidate) -> float:
        if candidate not in table:
            table[candidate] = float(np.mean([bench.score(candidate) for bench in benches]))
            progress('comparing settings', len(table) / (len(table) + 4))
        return table[candidate]

    windows = min(bench.windows for bench in benches)
    best = _choose(usual_candidate(settings), score, settings, windows)
    errors, covariances = zip(*(bench.misses(best) for bench in benches), strict=True)
    every = np.concatenate(errors)
    factors, _ = calibration_factors(every, np.concatenate(covariances))
    factors = tempered(factors, len(every) / dataset.window)
    rows = tuple(candidate.as_json() | {'score_m': score} for candidate, score in table.items())
    return Validation(
        rows,
        sum(bench.ticks for bench in benches),
        score(best),
        float(np.mean([bench.lost_m for bench in benches])),
        best,
        factors,
    )


def choose_operator(
    usual: Candidate, score: Callable[[Candidate], float], settings: TrainingSettings
) -> Candidate:
    """Return the candidate with the best observation operator, as far as that is free."""
    return _best(_operators(usual, settings), score)


def _best(candidates: Sequence[Candidate], score: Callable[[Candidate], float]) -> Candidate:
    """Return the narrowest kernel among the candidates whose scores are alike the best."""
    known = {candidate: score(candidate) for candidate in candidates}
    limit = ALIKE * min(known.values())
    alike = [candidate for candidate in known if known[candidate] <= limit]
    return min(alike, key=lambda each: (each.bandwidth_factor, known[each]))


def _choose(
    usual: Candidate,
    score: Callable[[Candidate], float],
    settings: TrainingSettings,
    windows: int,
) -> Candidate:
    tried = _operators(usual, settings)
    for neighbours in _other_neighbours(settings, windows):
        tried += _operators(replace(usual, neighbours=neighbours), settings)
    best = _best(tried, score)
    # Of a TPSR what its SVD puts last counts for little.
    if settings.states is None and settings.method == 'spectral':
        tried += [replace(best, states=states) for states in OTHER_STATES]
    return _best(tried, score)


def _other_neighbours(settings: TrainingSettings, windows: int) -> list[int]:
    if settings.method == 'tpsr' or settings.neighbours is not None:
        return []
    if not gains_by_neighbours(settings.kernel):
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


MOST_TICKS = 1500
"""Newest training ticks that are followed: 19 laps, more than an updater learns from."""

NOT_MET_AGAIN = 'no place of the route was met twice, apart from its own lap'


def validate_left_out(
    structure: TpsrStructure,
    targets: Floats,
    truths: Floats,
    dataset: Dataset,
    settings: TrainingSettings,
) -> Validation | str:
    """
    Choose the bandwidth, and calibrate the covariances.

    Parameters
    ----------
    structure
        Learned from all segments.
    targets : (n, c, 2)
        Of the training ticks, from ``training_targets``, to read from.
    truths : (n, c, 2)
        The same to judge by: NaN where targets are estimates.
    dataset, settings
        What the segments came from.

    Returns
    -------
    Validation, or why there is none

    """
    positions = np.concatenate([each.positions for each in dataset.segments])
    lost_m = LOST_SHARE * float(np.sqrt(np.nanvar(positions, axis=0).sum()))
    usual = usual_candidate(settings)
    # The same for all that are compared: they differ in the observation operator alone.
    directions = structure.directions(usual.states)
    tables, warm_start = structure.tables(directions), structure.warm_start(directions)
    runs: dict[Candidate, tuple[Floats, Floats]] = {}

    def score(candidate: Candidate) -> float:
        if candidate not in runs:
            operator = make_operator(structure.observations, candidate)
            parts = tables, warm_start, operator
            runs[candidate] = _follow(structure, targets, truths, parts, dataset.window)
        errors = runs[candidate][0][:, :-1]
        score_m = capped_mean(np.square(errors).sum(axis=2), lost_m)
        return score_m if np.isfinite(score_m) else lost_m

    best = choose_operator(usual, score, settings)
    errors, covariances = runs[best]
    if not np.isfinite(errors).any():
        return NOT_MET_AGAIN
    factors, _ = calibration_factors(errors, covariances)
    judged = int(np.isfinite(errors[:, 0]).all(axis=1).sum())
    factors = tempered(factors, judged / dataset.window)
    rows = tuple(each.as_json() | {'score_m': score(each)} for each in runs)
    # It has no graph.
    rows = tuple({key: row[key] for key in row if key != 'neighbours'} for row in rows)
    return Validation(rows, judged, score(best), lost_m, best, factors)


def _follow(
    structure: TpsrStructure,
    targets: Floats,
    truths: Floats,
    parts: tuple[Tables, Extension, ObservationOperator],
    window: int,
) -> tuple[Floats, Floats]:
    """Return errors (m, c, 2) and covariances (m, c, 2, 2) at the newest training ticks."""
    tables, warm_start, operator = parts
    readout = SharpenedReadout(targets, np.ones(targets.shape[1]))
    ticks, pasts = structure.training.ticks, structure.training.pasts
    ahead = transition(tables.weights, tables.states)
    state, last, begun = np.eye(1, tables.weights.shape[1])[0], -2, 0
    errors, covariances = [], []
    for index, squared in pasts.distance_rows():
        tick = int(ticks[index])
        if index < len(ticks) - MOST_TICKS:
            continue
        if tick != last + 1:
            state, begun = np.eye(1, len(state))[0], tick
        last = tick
        near = np.abs(ticks - tick) < window
        # Where the newest window puts it, from other laps alone.
        remembered = warm_start.transform(np.where(near, np.inf, squared))
        if remembered is not None:
            state[1:] += SHARE * (remembered - state[1:])
        weights = tables.weights @ state * operator.factors(structure.observations[index])
        total, support = float(weights.sum()), float(np.abs(weights).sum())
        if support > SMALLEST_SUPPORT and total / support > SMALLEST_EVIDENCE:
            weights /= total
            state = weights @ tables.states
        else:
            weights = tables.weights @ state
            state = ahead @ state
        means, spreads = readout.read(np.where(near, 0.0, weights), state)
        if tick >= begun + window:
            errors.append(means - truths[index])
            covariances.append(spreads)
    if not errors:
        return np.full((0, *targets.shape[1:]), np.nan), np.zeros((0, targets.shape[1], 2, 2))
    return np.array(errors), np.array(covariances)
