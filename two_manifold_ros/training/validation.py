# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Closed-loop validation: choose by running the filter over blocks that the fit did not see.

The same blocks then calibrate the covariances and tell how far an unseen but familiar window is
from the training windows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.readout.calibration import calibration_factors
from two_manifold_ros.readout.targets import segment_targets, training_targets
from two_manifold_ros.training.assembly import assemble, Candidate
from two_manifold_ros.training.closed_loop import run_closed_loop
from two_manifold_ros.training.structure import learn_structure
from two_manifold_ros.windows.sliding import nearest_along

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.assembly import Assembly
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import TrainingSettings
    from two_manifold_ros.training.structure import Structure
    from two_manifold_ros.typing import Floats

USUAL_STATES = 40
OTHER_STATES = (20, 60)
BANDWIDTH_FACTORS = (1.0, 1.4, 2.0, 2.8)
RIDGES = (0.3, 1.0)
"""In units of a unit-diagonal kernel; at 0.1 and below the filter is unstable (section 5)."""

MOST_TICKS = 1500
"""Held-out ticks on which candidates are compared; the calibration uses all of them."""

FAMILIAR_QUANTILE = 0.5

LOST_SHARE = 0.25
"""Of the track's spread: beyond it a position is plainly wrong, and how wrong says nothing."""

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
    familiar_squared
        Median over the held-out windows of the squared distance to the nearest training window.
    table
        Score of every candidate, metres: mean error over horizons and ticks, each error at most
        ``LOST_SHARE`` of the spread of the track.
    ticks
        Held-out ticks scored.

    """

    candidate: Candidate
    factors: Floats
    counts: Floats
    familiar_squared: float
    table: tuple[dict[str, float | None], ...]
    ticks: int


def usual_candidate(settings: TrainingSettings) -> Candidate:
    """Return the choices made without validation."""
    ridge = RIDGES[-1] if settings.observation == 'ridge' else None
    return Candidate(settings.states or USUAL_STATES, 1.4, ridge)


def validate(
    fit: Sequence[Segment],
    held: Sequence[Segment],
    dataset: Dataset,
    settings: TrainingSettings,
    progress: Callable[[str, float], None],
) -> Validation:
    """Compare candidates on the held-out blocks, then calibrate the best of them."""
    bench = _Bench(fit, held, dataset, settings)
    table: dict[Candidate, float] = {}

    def compare(candidates: Sequence[Candidate]) -> Candidate:
        for candidate in candidates:
            if candidate not in table:
                table[candidate] = bench.score(candidate)
                progress(
                    'comparing settings', len(table) / (len(BANDWIDTH_FACTORS) + len(OTHER_STATES))
                )
        limit = ALIKE * min(table.values())
        alike = [candidate for candidate in table if table[candidate] <= limit]
        return min(alike, key=lambda known: (known.bandwidth_factor, table[known]))

    best = compare(_operators(settings))
    if settings.states is None:
        best = compare([replace(best, states=states) for states in OTHER_STATES])
    factors, counts, ticks = bench.calibrate(best)
    rows = tuple(candidate.as_json() | {'score_m': score} for candidate, score in table.items())
    return Validation(best, factors, counts, bench.familiar_squared(), rows, ticks)


def _operators(settings: TrainingSettings) -> list[Candidate]:
    usual = usual_candidate(settings)
    if settings.observation == 'ridge':
        return [
            replace(usual, bandwidth_factor=factor, ridge=ridge)
            for factor in BANDWIDTH_FACTORS[:2]
            for ridge in RIDGES
        ]
    return [replace(usual, bandwidth_factor=factor) for factor in BANDWIDTH_FACTORS]


class _Bench:
    """The embeddings of the fit part, and the held-out blocks to run candidates over."""

    def __init__(
        self,
        fit: Sequence[Segment],
        held: Sequence[Segment],
        dataset: Dataset,
        settings: TrainingSettings,
    ) -> None:
        period_s = dataset.period_ns * 1e-9
        standardise = dataset.channels.standardise
        self._settings = settings
        self._window = dataset.window
        self._structure: Structure = learn_structure(
            [standardise(segment.values) for segment in fit], dataset.window, settings
        )
        self._targets = training_targets(
            [segment.positions for segment in fit],
            self._structure.training.ticks,
            settings.horizons,
            period_s,
        )
        self._blocks = [standardise(segment.values) for segment in held]
        self._truths = [
            segment_targets(segment.positions, settings.horizons, period_s) for segment in held
        ]
        positions = np.concatenate([segment.positions for segment in fit])
        self._lost = LOST_SHARE * float(np.sqrt(np.nanvar(positions, axis=0).sum()))

    def _assemble(self, candidate: Candidate) -> Assembly:
        return assemble(self._structure, self._targets, candidate, self._settings.readout)

    def score(self, candidate: Candidate) -> float:
        """Return the mean error in metres, each error cut at ``LOST_SHARE`` of the spread."""
        assembly = self._assemble(candidate)
        belief = assembly.belief()
        most = max(MOST_TICKS // len(self._blocks), 2 * self._window)
        scores = []
        for block, truth in zip(self._blocks, self._truths, strict=True):
            run = run_closed_loop(belief, assembly.readout, block[:most])
            errors = run.means[:, :-1] - truth[: len(run.means), :-1]
            distances = np.linalg.norm(errors, axis=2)[self._window :]
            scores.append(np.minimum(distances[np.isfinite(distances)], self._lost))
        every = np.concatenate(scores)
        return float(every.mean()) if len(every) else self._lost

    def calibrate(self, candidate: Candidate) -> tuple[Floats, Floats, int]:
        """Return the covariance factors, their counts, and how many ticks were scored."""
        assembly = self._assemble(candidate)
        belief = assembly.belief()
        errors, covariances = [], []
        for block, truth in zip(self._blocks, self._truths, strict=True):
            run = run_closed_loop(belief, assembly.readout, block)
            errors.append((run.means - truth)[self._window :])
            covariances.append(run.covariances[self._window :])
        every = np.concatenate(errors)
        factors, counts = calibration_factors(every, np.concatenate(covariances))
        return factors, counts, len(every)

    def familiar_squared(self) -> float:
        """Return the quantile of the nearest squared distance over the held-out windows."""
        structure = self._structure
        starts = structure.training.pasts.starts
        nearest = [
            nearest_along(structure.series, starts, self._window, block) for block in self._blocks
        ]
        return float(np.quantile(np.concatenate(nearest), FAMILIAR_QUANTILE))
