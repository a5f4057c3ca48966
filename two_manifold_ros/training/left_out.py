# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Validate a TPSR on its own training ticks, each followed without those around it.

Blocks that are held out have to be windows long, and of two or three laps that leaves nothing to
learn from. Here everything is learned from; but the position at a tick is read from what was
remembered at least a window before or after it, as another lap would be read. On the
followed drives of the gauntlet ellipses of 68 % then hold 64 to 94 % (told ticks). Were those
ticks left out of the belief as well, too little would be left of its weights: they would hold
66 to 100 %, and sixty per cent of the indoor car's positions would be withheld.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.hse_hmm.belief import SMALLEST_EVIDENCE, SMALLEST_SUPPORT
from two_manifold_ros.hse_hmm.recollection import SHARE
from two_manifold_ros.hse_hmm.transition import transition
from two_manifold_ros.readout.calibration import calibration_factors, tempered
from two_manifold_ros.readout.sharpened import SharpenedReadout
from two_manifold_ros.training.assembly import make_operator
from two_manifold_ros.training.held_out_bench import capped_mean, LOST_SHARE
from two_manifold_ros.training.validation import (
    choose_operator,
    usual_candidate,
    Validation,
)

if TYPE_CHECKING:
    from two_manifold_ros.hse_hmm.observation import ObservationOperator
    from two_manifold_ros.hse_hmm.tables import Tables
    from two_manifold_ros.kernels.extension import Extension
    from two_manifold_ros.training.assembly import Candidate
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.tpsr_structure import TpsrStructure
    from two_manifold_ros.typing import Floats

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
