# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop cross-validation of the spectral filter: choose settings, calibrate covariances."""

from __future__ import annotations

from dataclasses import dataclass, replace
import itertools
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.belief import Belief, Recollection
from two_manifold_ros.hse_hmm.readout import (
    fit_ridge,
    Readout,
    segment_targets,
    SharpenedReadout,
    training_targets,
)
from two_manifold_ros.hse_hmm.tables import (
    make_ridge_kernel,
    median_observation_distance,
    ObservationOperator,
    RawKernel,
    Tables,
)
from two_manifold_ros.manifold.kernel_pca import LANDMARKS
from two_manifold_ros.manifold.selection import has_neighbours
from two_manifold_ros.ticks.sliding import SlidingWindow
from two_manifold_ros.training.embeddings import embed, Embeddings, impute_positions, NEIGHBOURS
from two_manifold_ros.training.held_out import (
    capped_mean,
    follow,
    hold_out,
    hold_out_in_turn,
    lost_error,
    Run,
    Split,
    squared_distances,
    Validation,
    with_positions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.hse_hmm.two_manifold import SharedDirections
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.settings import SpectralSettings
    from two_manifold_ros.typing import Floats

BANDWIDTHS = (1.0, 1.4, 2.0, 2.8)
"""
Bandwidths of the observation kernel that are compared, in median distances between observations:
narrower ones reject too many, with wider ones no observation distinguishes two places. The second
is taken if nothing is held out.
"""

MOST_CALIBRATED = 8_000
"""Ticks on which the best settings are followed, to calibrate covariances; as for a route."""

MOST_COMPARED = 1_500
"""Ticks on which settings are compared: half as many are few laps of each held-out block."""


def usual_choices(settings: SpectralSettings) -> SpectralSettings:
    """Return the settings with the choices made without validation, where they are left open."""
    return replace(
        settings,
        states=settings.states or 40,
        bandwidth_factor=settings.bandwidth_factor or BANDWIDTHS[1],
        ridge=(settings.ridge or 1.0) if settings.observation == 'ridge' else None,
        neighbours=settings.neighbours or NEIGHBOURS[0],
    )


def chosen_of(settings: SpectralSettings) -> dict[str, Any]:
    """Return what is compared of complete settings; no ridge where the kernel is raw."""
    names = ('states', 'bandwidth_factor', 'ridge', 'neighbours')
    return {name: getattr(settings, name) for name in names}


@dataclass(frozen=True)
class FittedFilter:
    """An HMM with its read-out, its covariances not yet calibrated."""

    directions: SharedDirections
    tables: Tables
    operator: ObservationOperator
    readout: Readout
    guarded: bool

    def belief(self) -> Belief:
        """Return a belief at the prior."""
        return Belief(self.tables, self.operator, guarded=self.guarded)


def fit_filter(
    embeddings: Embeddings, targets: Floats, settings: SpectralSettings
) -> FittedFilter:
    """Build the filter of complete settings from the targets (n, c, 2) of the training ticks."""
    chosen, observations = chosen_of(settings), embeddings.observations
    directions = embeddings.directions(chosen['states'])
    bandwidth = chosen['bandwidth_factor'] * median_observation_distance(observations)
    operator: ObservationOperator
    if settings.ridge is None:
        operator = RawKernel(observations, bandwidth)
    elif settings.guarded:
        operator = make_ridge_kernel(observations, bandwidth, settings.ridge)
    else:
        # As the papers print it: every feature is kept.
        operator = make_ridge_kernel(observations, bandwidth, settings.ridge, LANDMARKS, None)
    readout = SharpenedReadout(targets)
    tables = embeddings.tables(directions)
    fitted = FittedFilter(directions, tables, operator, readout, settings.guarded)
    if settings.readout == 'ridge':
        states = training_states(embeddings, fitted.belief())[embeddings.training.ticks]
        return replace(fitted, readout=fit_ridge(states, targets))
    return fitted


def filtered_states(belief: Belief, observations: Floats) -> Floats:
    """Return the (T, k) states after each observation of one segment, from the prior."""
    belief.start()
    states = np.empty((len(observations), len(belief.state)))
    for tick, observation in enumerate(observations):
        belief.update(observation)
        states[tick] = belief.state
    return states


def training_states(embeddings: Embeddings, belief: Belief, most: int | None = None) -> Floats:
    """Return the states (N, k) of a run over the first ``most`` ticks, each segment cold."""
    ends = np.minimum(embeddings.begins, most) if most else embeddings.begins
    runs = [
        filtered_states(belief, embeddings.series[:, begin:end].T)
        for begin, end in itertools.pairwise(ends.tolist())
    ]
    return np.concatenate(runs)


class Fold:
    """Embeddings of a part to fit, and held-out blocks to run settings over."""

    def __init__(self, split: Split, dataset: Dataset, settings: SpectralSettings) -> None:
        fit, held = split
        self._settings, self._window = settings, dataset.window
        self._fit = dataset.standardise(fit)
        self._embeddings: dict[int | None, Embeddings] = {}
        embeddings = self._embed(settings.neighbours or NEIGHBOURS[0])
        tracks = [segment.positions for segment in fit]
        self.lost_m = lost_error(tracks)
        if settings.imputes_positions:
            tracks, _ = impute_positions(embeddings, tracks)
        self.windows = len(embeddings.training.ticks)
        horizons, period_s = settings.horizons, dataset.period_s
        self._targets = training_targets(tracks, embeddings.training.ticks, horizons, period_s)
        self._blocks = [
            (seen, segment_targets(each.positions, horizons, period_s))
            for seen, each in zip(dataset.standardise(held), held, strict=True)
        ]

    def _embed(self, neighbours: int | None) -> Embeddings:
        known = self._embeddings
        if neighbours not in known:
            settings = replace(self._settings, neighbours=neighbours)
            known[neighbours] = embed(self._fit, self._window, settings)
        return known[neighbours]

    def score(self, settings: SpectralSettings) -> float:
        """Return the mean error in metres, each error at most ``lost_m``."""
        errors = np.concatenate([run.errors for run in self.run(settings, MOST_COMPARED)])
        score_m = capped_mean(squared_distances(errors), self.lost_m)
        return score_m if np.isfinite(score_m) else self.lost_m

    def run(self, settings: SpectralSettings, most: int) -> list[Run]:
        """Follow ``most`` ticks of all blocks together, with complete settings."""
        embeddings = self._embed(settings.neighbours)
        fitted = fit_filter(embeddings, self._targets, settings)
        reminded = fitted.guarded and isinstance(fitted.readout, SharpenedReadout)
        belief, pasts = fitted.belief(), embeddings.training.pasts
        each = max(most // len(self._blocks), 2 * self._window)

        def followed(seen: Floats, truths: Floats) -> Run:
            newest = SlidingWindow(pasts.series, pasts.starts, pasts.width)
            recollection = None
            if reminded:
                recollection = Recollection(newest, embeddings.warm_start(fitted.directions))
            belief.start()

            def step(observation: Floats) -> tuple[Floats, Floats]:
                if recollection is not None:
                    recollection.remind(belief)
                    newest.push(observation)
                belief.update(observation)
                return fitted.readout.read(belief.weights, belief.state)

            return follow(step, seen[:each], truths[:each], self._window)

        return [followed(*block) for block in self._blocks]


def cross_validate(
    dataset: Dataset, settings: SpectralSettings, progress: Callable[[str, float], None]
) -> tuple[SpectralSettings, Validation | str]:
    """Return the best choices on held-out blocks, or the usual ones and why none was held out."""
    once = hold_out(dataset.segments, dataset.window)
    choices = [with_positions([once])]
    # The configuration of the paper, which reads positions by a ridge regression, is left alone.
    if len(once[1]) < 2 and settings.readout != 'ridge':
        # One block is one draw: what happens to suit it need not suit the next lap.
        choices.insert(0, hold_out_in_turn(dataset.segments, dataset.window))
    why = 'no block with positions could be held out; record longer'
    for turns in choices:
        if not turns:
            continue
        try:
            return validate(turns, dataset, settings, progress)
        except InputError as error:
            # What is left of a short recording without a held-out block may be too short to fit.
            why = f'without the held-out part {error}'
    return usual_choices(settings), why


def validate(
    turns: Sequence[Split],
    dataset: Dataset,
    settings: SpectralSettings,
    progress: Callable[[str, float], None],
) -> tuple[SpectralSettings, Validation]:
    """Compare settings on held-out blocks, then calibrate the best on the same blocks."""
    folds = [Fold(split, dataset, settings) for split in turns]
    table: dict[SpectralSettings, float] = {}

    def score(tried: SpectralSettings) -> float:
        if tried not in table:
            table[tried] = float(np.mean([fold.score(tried) for fold in folds]))
            progress('comparing settings', len(table) / (len(table) + 4))
        return table[tried]

    best = _choose(settings, score, min(fold.windows for fold in folds))
    runs = [run for fold in folds for run in fold.run(best, MOST_CALIBRATED // len(folds))]
    return best, Validation.of_runs(
        runs,
        score(best),
        float(np.mean([fold.lost_m for fold in folds])),
        np.nanmean(np.concatenate(dataset.tracks), axis=0),
        dataset.window,
        tuple(chosen_of(tried) | {'score_m': score_m} for tried, score_m in table.items()),
    )


def _choose(
    settings: SpectralSettings, score: Callable[[SpectralSettings], float], windows: int
) -> SpectralSettings:
    """Search over observation operators and neighbours, then over the number of states."""
    usual = usual_choices(settings)
    tried = _operators(usual, settings)
    many = NEIGHBOURS[1]
    if settings.neighbours is None and has_neighbours(settings.kernel) and windows >= 10 * many:
        tried += _operators(replace(usual, neighbours=many), settings)
    best = _best(tried, score)
    if settings.states is None:
        tried += [replace(best, states=states) for states in (20, 60)]
    return _best(tried, score)


def _best(
    tried: Sequence[SpectralSettings], score: Callable[[SpectralSettings], float]
) -> SpectralSettings:
    """Return the narrowest kernel within 5 % of the best score: it corrects the belief soonest."""
    known = {each: score(each) for each in tried}
    limit = 1.05 * min(known.values())
    alike = [each for each in known if known[each] <= limit]
    return min(alike, key=lambda each: (each.bandwidth_factor or 0.0, known[each]))


def _operators(usual: SpectralSettings, settings: SpectralSettings) -> list[SpectralSettings]:
    """Return the settings that differ in the observation operator, as far as that is free."""
    factors: Sequence[float | None] = BANDWIDTHS
    ridges: Sequence[float | None] = (None,)
    if usual.ridge is not None:
        factors = factors[:2]
        # In units of a unit-diagonal kernel; at 0.1 and below the filter is unstable
        # (mathematics, section 5).
        ridges = (0.3, 1.0) if settings.ridge is None else (usual.ridge,)
    if settings.bandwidth_factor is not None:
        factors = (usual.bandwidth_factor,)
    return [
        replace(usual, bandwidth_factor=factor, ridge=ridge)
        for factor in factors
        for ridge in ridges
    ]
