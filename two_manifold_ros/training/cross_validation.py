# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Closed-loop cross-validation of the spectral filter: choose settings, calibrate covariances."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
import itertools
from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.belief import Belief, Recollection
from two_manifold_ros.hse_hmm.readout import (
    calibrate,
    fit_ridge,
    SharpenedReadout,
    training_targets,
)
from two_manifold_ros.hse_hmm.tables import (
    make_ridge_kernel,
    median_observation_distance,
    RawKernel,
)
from two_manifold_ros.manifold.kernel_pca import LANDMARKS
from two_manifold_ros.manifold.selection import has_neighbours
from two_manifold_ros.ticks.sliding import SlidingWindow
from two_manifold_ros.training.embeddings import embed, impute_positions
from two_manifold_ros.training.held_out import (
    beside_mean_position,
    capped_mean,
    hold_out,
    hold_out_in_turn,
    lost_error,
    squared_distances,
    Validation,
    with_positions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from two_manifold_ros.hse_hmm.readout import Readout
    from two_manifold_ros.hse_hmm.tables import ObservationOperator, Tables
    from two_manifold_ros.hse_hmm.two_manifold import SharedDirections
    from two_manifold_ros.ticks.segments import Segment
    from two_manifold_ros.training.dataset import Dataset
    from two_manifold_ros.training.embeddings import Embeddings
    from two_manifold_ros.training.held_out import Split
    from two_manifold_ros.training.settings import SpectralSettings
    from two_manifold_ros.typing import Floats

BANDWIDTHS = (1.0, 1.4, 2.0, 2.8)
"""
Bandwidths of the observation kernel that are compared, in median distances between observations.

Narrower ones reject too many, with wider ones no observation distinguishes two places. The second
is taken where nothing is held out.
"""

NEIGHBOURS = (30, 100)
"""
Nearest neighbours of a window in a graph: few, and many for many laps that are alike.

With few the graph of many alike laps follows the speed first. With many, and fewer than ten
windows each, it joins places far apart.
"""

MOST_CALIBRATED = 8_000
"""Ticks on which the best candidate is followed, to calibrate its covariances; as for a route."""

MOST_COMPARED = 1_500
"""Ticks on which candidates are compared: half as many are few laps of each held-out block."""


@dataclass(frozen=True)
class Candidate:
    """Choices that are compared; without a ridge the kernel of observations is raw."""

    states: int
    bandwidth_factor: float = BANDWIDTHS[1]
    ridge: float | None = None
    neighbours: int = NEIGHBOURS[0]


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
    embeddings: Embeddings, targets: Floats, candidate: Candidate, settings: SpectralSettings
) -> FittedFilter:
    """Build the filter of a candidate from the targets (n, c, 2) of the training ticks."""
    directions = embeddings.directions(candidate.states)
    tables = embeddings.tables(directions)
    operator = make_operator(embeddings.observations, candidate, exact=not settings.guarded)
    readout: Readout = SharpenedReadout(targets)
    fitted = FittedFilter(directions, tables, operator, readout, settings.guarded)
    if settings.readout == 'ridge':
        states = training_states(embeddings, fitted.belief())[embeddings.training.ticks]
        return replace(fitted, readout=fit_ridge(states, targets))
    return fitted


def make_operator(
    observations: Floats, candidate: Candidate, *, exact: bool = False
) -> ObservationOperator:
    """Return the operator over (n, d) observations; an ``exact`` ridge keeps all."""
    bandwidth = candidate.bandwidth_factor * median_observation_distance(observations)
    if candidate.ridge is None:
        return RawKernel(observations, bandwidth)
    if exact:
        return make_ridge_kernel(observations, bandwidth, candidate.ridge, LANDMARKS, None)
    return make_ridge_kernel(observations, bandwidth, candidate.ridge)


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
    """Embeddings of a part to fit, and held-out blocks to run candidates over."""

    def __init__(
        self,
        fit: Sequence[Segment],
        held: Sequence[Segment],
        dataset: Dataset,
        settings: SpectralSettings,
    ) -> None:
        self._settings, self._window = settings, dataset.window
        self._fit = dataset.standardise(fit)
        self._embeddings: dict[int, Embeddings] = {}
        embeddings = self._embed(settings.neighbours or NEIGHBOURS[0])
        tracks = [segment.positions for segment in fit]
        self.lost_m = lost_error(tracks)
        if settings.imputes_positions:
            tracks, _ = impute_positions(embeddings, tracks)
        self.windows = len(embeddings.training.ticks)
        horizons, period_s = settings.horizons, dataset.period_s
        self._targets = training_targets(tracks, embeddings.training.ticks, horizons, period_s)
        self._blocks = dataset.blocks_of(held, horizons)

    def _embed(self, neighbours: int) -> Embeddings:
        known = self._embeddings
        if neighbours not in known:
            known[neighbours] = embed(self._fit, self._window, self._settings, neighbours)
        return known[neighbours]

    def ticks_of_each(self, most: int) -> int:
        """Return the ticks of each block that are followed, of ``most`` in all."""
        return max(most // len(self._blocks), 2 * self._window)

    def score(self, candidate: Candidate) -> float:
        """Return the mean error in metres, each error at most ``lost_m``."""
        runs = self.run(candidate, self._window, self.ticks_of_each(MOST_COMPARED))
        errors = np.concatenate([errors for errors, _ in runs])
        score_m = capped_mean(squared_distances(errors), self.lost_m)
        return score_m if np.isfinite(score_m) else self.lost_m

    def run(
        self, candidate: Candidate, lead: int, most: int | None = None
    ) -> list[tuple[Floats, Floats]]:
        """Return errors and raw covariances of ``most`` ticks of each block after the lead."""
        embeddings = self._embed(candidate.neighbours)
        fitted = fit_filter(embeddings, self._targets, candidate, self._settings)
        reminded = fitted.guarded and isinstance(fitted.readout, SharpenedReadout)
        belief, pasts, runs = fitted.belief(), embeddings.training.pasts, []
        for seen, truth in self._blocks:
            newest = SlidingWindow(pasts.series, pasts.starts, pasts.width)
            recollection = (
                Recollection(newest, embeddings.warm_start(fitted.directions))
                if reminded
                else None
            )
            belief.start()
            read = []
            for observation in seen[:most]:
                if recollection is not None:
                    recollection.remind(belief)
                    newest.push(observation)
                belief.update(observation)
                read.append(fitted.readout.read(belief.weights, belief.state))
            means, covariances = map(np.array, zip(*read, strict=True))
            runs.append(((means - truth[:most])[lead:], covariances[lead:]))
        return runs

    def truths(self, lead: int, most: int) -> Floats:
        """Return the targets (T, c, 2) of what `run` follows of each block."""
        return np.concatenate([truth[lead:most] for _, truth in self._blocks])


def usual_candidate(settings: SpectralSettings) -> Candidate:
    """Return the choices made without validation."""
    states = settings.states or 40
    ridge = (settings.ridge or 1.0) if settings.observation == 'ridge' else None
    return Candidate(
        states,
        settings.bandwidth_factor or BANDWIDTHS[1],
        ridge,
        settings.neighbours or NEIGHBOURS[0],
    )


def cross_validate(
    dataset: Dataset, settings: SpectralSettings, progress: Callable[[str, float], None]
) -> tuple[Candidate, Validation | str]:
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
    return usual_candidate(settings), why


def validate(
    turns: Sequence[Split],
    dataset: Dataset,
    settings: SpectralSettings,
    progress: Callable[[str, float], None],
) -> tuple[Candidate, Validation]:
    """Compare candidates on held-out blocks, then calibrate the best on the same blocks."""
    folds = [Fold(fit, held, dataset, settings) for fit, held in turns]
    table: dict[Candidate, float] = {}

    def score(candidate: Candidate) -> float:
        if candidate not in table:
            table[candidate] = float(np.mean([fold.score(candidate) for fold in folds]))
            progress('comparing settings', len(table) / (len(table) + 4))
        return table[candidate]

    best = _choose(settings, score, min(fold.windows for fold in folds))
    window = dataset.window
    most = [fold.ticks_of_each(MOST_CALIBRATED // len(folds)) for fold in folds]
    pairs = [*zip(folds, most, strict=True)]
    runs = [run for fold, ticks in pairs for run in fold.run(best, window, ticks)]
    errors, covariances = (np.concatenate(each) for each in zip(*runs, strict=True))
    lost_m = float(np.mean([fold.lost_m for fold in folds]))
    truths = np.concatenate([fold.truths(window, ticks) for fold, ticks in pairs])
    middle = np.nanmean(np.concatenate(dataset.tracks), axis=0)
    return best, Validation(
        tuple(asdict(candidate) | {'score_m': score} for candidate, score in table.items()),
        len(truths),
        score(best),
        lost_m,
        *beside_mean_position(errors, truths, middle, lost_m),
        calibrate(errors, covariances, len(errors) / window),
    )


def _choose(
    settings: SpectralSettings, score: Callable[[Candidate], float], windows: int
) -> Candidate:
    """Search over observation operators and neighbours, then over the number of states."""
    usual = usual_candidate(settings)
    tried = _operators(usual, settings)
    many = NEIGHBOURS[1]
    if settings.neighbours is None and has_neighbours(settings.kernel) and windows >= 10 * many:
        tried += _operators(replace(usual, neighbours=many), settings)
    best = _best(tried, score)
    if settings.states is None:
        tried += [replace(best, states=states) for states in (20, 60)]
    return _best(tried, score)


def _best(candidates: Sequence[Candidate], score: Callable[[Candidate], float]) -> Candidate:
    """Return the narrowest kernel within 5 % of the best score: it corrects the belief soonest."""
    known = {candidate: score(candidate) for candidate in candidates}
    limit = 1.05 * min(known.values())
    alike = [candidate for candidate in known if known[candidate] <= limit]
    return min(alike, key=lambda each: (each.bandwidth_factor, known[each]))


def _operators(usual: Candidate, settings: SpectralSettings) -> list[Candidate]:
    """Return the candidates that differ in the observation operator, as far as that is free."""
    factors: Sequence[float] = BANDWIDTHS
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
