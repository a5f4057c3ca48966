# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The route belief from the embeddings: what is dear is made once, what is chosen is cheap."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.localisation.features import (
    features_along,
    gains_for,
    MEMORIES_S,
    PLACE_MEMORIES,
)
from two_manifold_ros.localisation.lookahead import averaged_targets, pace_drift
from two_manifold_ros.localisation.pace import FINENESS, make_paces, pace_shifts
from two_manifold_ros.localisation.pace_signs import learn_pace_signs, PaceSigns
from two_manifold_ros.localisation.passes import find_passes, Ground
from two_manifold_ros.localisation.refining import refined
from two_manifold_ros.localisation.route import Route
from two_manifold_ros.localisation.surprise import USUAL_SHARE
from two_manifold_ros.localisation.twins import find_twins
from two_manifold_ros.localisation.whitening import whitening
from two_manifold_ros.readout.forecast import ForecastReadout
from two_manifold_ros.readout.targets import segment_targets
from two_manifold_ros.training.assembly import (
    Assembly,
    Candidate,
    make_operator,
    USUAL_BANDWIDTH,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.hse_hmm.observation import ObservationOperator
    from two_manifold_ros.hse_hmm.tables import Tables
    from two_manifold_ros.training.structure import Structure
    from two_manifold_ros.two_manifold.shared_directions import SharedDirections
    from two_manifold_ros.typing import Floats, Ints

OUT_OF_SIGHT = 1e6
"""Features of a step that no observation resembles."""

HOP = 0.02
"""Chance per tick to go over to another pass: once in 50 ticks."""


@dataclass(frozen=True)
class RouteCandidate:
    """
    Choices about the route belief that closed-loop validation compares.

    Parameters
    ----------
    sharpness
        Weight of an observation.
    paces_each_way
        Paces slower and faster than in training; 0 for the pace of the training alone.
    averaged
        Whether predictions are averaged over the passes.
    states
        Dimension of the state.
    neighbours
        Of a window in a graph; kernels without one pass over it.

    """

    sharpness: float
    paces_each_way: int
    averaged: bool
    states: int
    neighbours: int

    def as_json(self) -> dict[str, float | None]:
        """Return the choices by name."""
        return asdict(self)


AnyCandidate: TypeAlias = Candidate | RouteCandidate


@dataclass(frozen=True)
class RouteParts:
    """
    What every route belief over the same drives shares.

    Parameters
    ----------
    directions, tables, operator
        The spectral HMM over the same embeddings.
    ground
        Where the ticks were.
    features : (N, f)
        Whitened.
    whitening : (f, f), signs, gains : (m,)
        See ``Route``.
    passes : (N, p) int64
        From ``find_passes``.
    states : (N, k)
        The constant first; where a step has none that of another pass, else the prior.
    targets, averaged, drift : (N, H + 1, 2)
        Targets as they were, averaged over passes, and what a pace adds to them.
    forecast_passes : (N, p) int64
        The passes that are averaged over.

    """

    directions: SharedDirections
    tables: Tables
    operator: ObservationOperator
    ground: Ground
    features: Floats
    whitening: Floats
    signs: PaceSigns | None
    gains: Floats
    passes: Ints
    states: Floats
    targets: Floats
    averaged: Floats
    drift: Floats
    forecast_passes: Ints

    def assembly(self, candidate: RouteCandidate) -> Assembly:
        """Return the route belief of a candidate with its uncalibrated read-out."""
        return Assembly(
            self.directions,
            self.tables,
            self.operator,
            self._readout(candidate, self.averaged),
            self._route(candidate),
        )

    def readout_without(self, candidate: RouteCandidate, begin: int, end: int) -> ForecastReadout:
        """Return the read-out that knows nothing of where the steps from begin to end led to."""
        inside = (self.forecast_passes >= begin) & (self.forecast_passes < end)
        passes = np.where(inside, -1, self.forecast_passes)
        return self._readout(candidate, averaged_targets(self.targets, self.ground, passes))

    def _route(self, candidate: RouteCandidate) -> Route:
        shifts = pace_shifts(self.ground.speeds, self.passes, candidate.paces_each_way)
        return Route(
            np.ascontiguousarray(self.features.T),
            self.whitening,
            self.signs,
            self.gains,
            self.ground.since_begin,
            self.passes,
            shifts,
            self.states,
            make_paces(candidate.paces_each_way),
            candidate.sharpness,
            USUAL_SHARE * candidate.sharpness,
            HOP,
        )

    def _readout(self, candidate: RouteCandidate, averaged: Floats) -> ForecastReadout:
        targets = averaged if candidate.averaged else self.targets
        drift = self.drift if candidate.paces_each_way else np.zeros_like(self.drift)
        return ForecastReadout(targets, drift, np.ones(targets.shape[1]))


def route_parts(
    structure: Structure,
    states: int,
    positions: Sequence[Floats],
    horizons: Sequence[int],
    period_s: float,
) -> RouteParts:
    """
    Prepare the parts.

    Parameters
    ----------
    structure
        The embeddings.
    states
        Dimension of the two-manifold state.
    positions
        Of each segment, (T, 2), NaN where unknown.
    horizons
        Ticks ahead.
    period_s
        Length of a tick.

    """
    directions = structure.directions(states)
    tables = structure.tables(directions)
    seams = structure.begins[1:-1]
    gains = gains_for(MEMORIES_S, period_s)
    known = _spread_out(structure, tables.states[:, 1:])
    from_past = _spread_out(structure, tables.weights[:, 1:])
    raw = [
        refined(features_along(part.T, gains))
        for part in np.split(structure.series, seams, axis=1)
    ]
    begins = np.concatenate([[0], np.cumsum([len(part) for part in raw])])
    features = np.concatenate(raw)
    embedded = np.concatenate([refined(part) for part in np.split(known, seams)])
    expected = np.concatenate([refined(part) for part in np.split(from_past, seams)])
    step_s = period_s / FINENESS
    ahead = [FINENESS * horizon for horizon in horizons]
    segments = [segment_targets(refined(each), ahead, step_s) for each in positions]
    targets = np.concatenate(segments)
    ground = Ground(begins, targets[:, 0], targets[:, -1], step_s)
    passes = find_passes(ground, embedded)
    place = features[:, : len(structure.series) * (1 + PLACE_MEMORIES)]
    settled = np.flatnonzero(ground.since_begin > 2.0 * MEMORIES_S[PLACE_MEMORIES - 1] / step_s)
    map_ = whitening(place, passes, settled)
    usual = Candidate(states, USUAL_BANDWIDTH)
    placed = place @ map_
    placed[find_twins(ground.positions, embedded, passes)] = OUT_OF_SIGHT
    # Averaged over passes with a like past: with a like future they would foretell too surely.
    forecast_passes = find_passes(ground, expected)
    return RouteParts(
        directions,
        tables,
        make_operator(structure.observations, usual),
        ground,
        placed,
        map_,
        learn_pace_signs(features, passes, ground.speeds),
        gains,
        passes,
        np.hstack([np.ones((len(features), 1)), _borrowed(embedded, passes)]),
        targets,
        averaged_targets(targets, ground, forecast_passes),
        np.concatenate([pace_drift(each, ahead, step_s) for each in segments]),
        forecast_passes,
    )


def _borrowed(states: Floats, passes: Ints) -> Floats:
    """Give steps without a state that of another pass of the place, or zeros."""
    filled = states.copy()
    for column in range(passes.shape[1]):
        lacking = ~np.isfinite(filled).all(axis=1) & (passes[:, column] >= 0)
        filled[lacking] = states[passes[lacking, column]]
    return np.where(np.isfinite(filled), filled, 0.0)


def _spread_out(structure: Structure, rows: Floats) -> Floats:
    """Give every tick of the series a row, NaN where it is no training tick."""
    spread = np.full((structure.series.shape[1], rows.shape[1]), np.nan)
    spread[structure.training.ticks] = rows
    return spread
