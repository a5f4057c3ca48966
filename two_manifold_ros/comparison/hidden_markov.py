# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A hidden Markov model learned by EM over a k-means codebook: the fourth model of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import itertools
import logging
from typing import TYPE_CHECKING
import warnings

import numpy as np
from scipy.cluster.vq import kmeans2, vq
from scipy.spatial.distance import cdist

from two_manifold_ros.comparison.comparing import (
    fit_best,
    Fitted,
    Predictions,
    TrainSplit,
    with_constant,
)
from two_manifold_ros.errors import InputError
from two_manifold_ros.hse_hmm.readout import fit_ridge, velocities
from two_manifold_ros.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from two_manifold_ros.ticks.segments import Segment


SYMBOLS = 400
"""At most, in the codebook: fewer are coarser, of more each is seen more rarely in each state."""

WIDTH = 4.0
"""Of ``Codebook.nearness``: a small one keeps symbols to themselves, a large makes all alike."""

PSEUDO_COUNT = 1e-2
"""Added to every counted transition and emission: what was never counted is not impossible."""


@dataclass(frozen=True)
class Codebook:
    """Codes (K, d) to which observations are rounded, each the nearest of some training row."""

    codes: Floats

    def __len__(self) -> int:
        """Return the number of symbols."""
        return len(self.codes)

    def symbols(self, rows: Floats) -> Ints:
        """Return the index of the code nearest to each of (T, d) rows."""
        return np.asarray(vq(rows, self.codes, check_finite=False)[0], dtype=np.int64)

    def nearness(self) -> Floats:
        """Return the share of each symbol in each other one (K, K); rows sum to one."""
        if len(self) == 1:
            return np.eye(1)
        squared = cdist(self.codes, self.codes, 'sqeuclidean')
        unit = float(np.median(np.partition(squared, 1, axis=1)[:, 1]))
        shared = np.exp(-squared / (2.0 * WIDTH * unit))
        rows: Floats = shared / shared.sum(axis=1, keepdims=True)
        return rows


def learn_codebook(rows: Floats, most: int, seed: int) -> Codebook:
    """Cluster finite (T, d) rows by seeded k-means to at most so many codes that are used."""
    distinct = np.unique(rows, axis=0)
    with warnings.catch_warnings():
        # Of clusters that lost all their rows, which are left out below.
        warnings.simplefilter('ignore', UserWarning)
        # More than 20 passes were measured to change nothing that matters.
        codes, _ = kmeans2(rows, min(most, len(distinct)), 20, minit='points', seed=seed)
    return Codebook(codes[np.unique(Codebook(codes).symbols(rows))])


@dataclass(frozen=True)
class MarkovTables:
    """Start (k,), transitions (k, k) from row to column, and positive emissions (k, K)."""

    start: Floats
    transition: Floats
    emission: Floats

    def filter(self, symbols: Ints) -> tuple[Floats, float]:
        """Return by the forward algorithm states (T, k) after each symbol, and log-likelihood."""
        states = np.empty((len(symbols), len(self.start)))
        likelihoods = self.emission.T[symbols]
        log_likelihood = 0.0
        belief = self.start
        for tick, likelihood in enumerate(likelihoods):
            joint = (belief if tick == 0 else belief @ self.transition) * likelihood
            total = joint.sum()
            belief = joint / total
            states[tick] = belief
            log_likelihood += float(np.log(total))
        return states, log_likelihood

    def filter_all(self, stretches: Sequence[Ints]) -> tuple[Floats, float]:
        """Filter stretches, each from the start; the states are laid end to end."""
        found = [self.filter(symbols) for symbols in stretches]
        return np.concatenate([states for states, _ in found]), sum(each for _, each in found)

    def with_mean_start(self, stretches: Sequence[Ints]) -> MarkovTables:
        """Return the tables with the mean filtered distribution of training as their start."""
        even = np.full(len(self.start), 1.0 / len(self.start))
        states, _ = replace(self, start=even).filter_all(stretches)
        return replace(self, start=_probabilities(states.mean(axis=0)))


def _probabilities(rows: Floats) -> Floats:
    """Return rows that sum to one, each entry lifted above zero."""
    # A state or symbol at zero would stay there for ever.
    lifted = rows + 1e-6
    shares: Floats = lifted / lifted.sum(axis=-1, keepdims=True)
    return shares


def count_labels(
    labels: Sequence[Ints], stretches: Sequence[Ints], states: int, symbols: int
) -> MarkovTables:
    """Count transitions and emissions by labels, -1 where the state is unknown, and symbols."""
    start = np.full(states, PSEUDO_COUNT)
    transition = np.full((states, states), PSEUDO_COUNT)
    emission = np.full((states, symbols), PSEUDO_COUNT)
    for label, symbol in zip(labels, stretches, strict=True):
        known = label >= 0
        np.add.at(start, label[known], 1.0)
        np.add.at(emission, (label[known], symbol[known]), 1.0)
        both = known[1:] & known[:-1]
        np.add.at(transition, (label[:-1][both], label[1:][both]), 1.0)
    return MarkovTables(
        start / start.sum(),
        transition / transition.sum(axis=1, keepdims=True),
        emission / emission.sum(axis=1, keepdims=True),
    )


def improve(tables: MarkovTables, stretches: Sequence[Ints], passes: int) -> MarkovTables:
    """Raise the likelihood of stretches of symbols by EM, in at most the passes."""
    # Of an extra; a comparison names it where it is missing, and goes on.
    from hmmlearn.hmm import (  # type: ignore[import-untyped]  # noqa: PLC0415
        CategoricalHMM,
    )

    # At every pass it gives advice on the number of parameters.
    logging.getLogger('hmmlearn').setLevel(logging.ERROR)
    model = CategoricalHMM(
        n_components=len(tables.start),
        n_features=tables.emission.shape[1],
        n_iter=1,
        init_params='',
        implementation='scaling',
    )
    column = np.concatenate(stretches)[:, None]
    lengths = [len(symbols) for symbols in stretches]
    before = -np.inf
    for _ in range(passes):
        # Pass by pass: a state that dies out has to be lifted from zero before the next.
        model.startprob_ = _probabilities(tables.start)
        model.transmat_ = _probabilities(tables.transition)
        model.emissionprob_ = _probabilities(tables.emission)
        model.fit(column, lengths)
        tables = MarkovTables(model.startprob_, model.transmat_, model.emissionprob_)
        now = model.monitor_.history[-1]
        # Of log-likelihood for each symbol.
        if now - before < 1e-4 * len(column):
            break
        before = now
    return MarkovTables(*map(_probabilities, (tables.start, tables.transition, tables.emission)))


class Learning:
    """A training part as symbols of each segment, and the tables learned from them so far."""

    def __init__(self, train: TrainSplit) -> None:
        self.channels = train.dataset.channels
        observations = train.dataset.observations
        rows = np.concatenate(observations)
        # At least two ticks for each.
        self.codebook = learn_codebook(rows, min(SYMBOLS, len(rows) // 2), seed=0)
        self.stretches = [self.codebook.symbols(each) for each in observations]
        self.targets = np.concatenate(train.targets)
        self._motion = _motion(train)
        self._tables: dict[tuple[int, int], MarkovTables] = {}

    def tables(self, states: int, passes: int) -> MarkovTables:
        """Return tables by EM from clusters of motion, of the restart of most likelihood."""
        key = (states, passes)
        if key not in self._tables:
            known: Bools = np.all(np.isfinite(self._motion), axis=1)
            ends = np.cumsum([len(each) for each in self.stretches])
            found = []
            # The likeliest clustering into states counts; the time to learn grows with them.
            for seed in range(3):
                places = learn_codebook(self._motion[known], states, seed)
                labels = np.full(len(known), -1, dtype=np.int64)
                labels[known] = places.symbols(self._motion[known])
                parts = np.split(labels, ends[:-1])
                counted = count_labels(parts, self.stretches, len(places), len(self.codebook))
                found.append(improve(counted, self.stretches, passes))
            likelihoods = [tables.filter_all(self.stretches)[1] for tables in found]
            self._tables[key] = found[int(np.argmax(likelihoods))]
        return self._tables[key]

    def follow(self, states: int, passes: int, sharpness: float, readout: str) -> Fitted:
        """
        Filter with emissions shared with alike symbols, see ``Codebook.nearness``.

        The sharpness is a power of likelihoods: below 1 where the noise of neighbouring ticks is
        correlated. The readout is ``'ridge'``, or ``'mean'`` for the mean position of each state.
        """
        tables, codebook = self.tables(states, passes), self.codebook
        shared = _probabilities(tables.emission @ codebook.nearness())
        # Where a recording started shows nothing about the next one.
        tables = replace(tables, emission=shared**sharpness).with_mean_start(self.stretches)
        seen = with_constant(tables.filter_all(self.stretches)[0])
        coefficients: Floats = fit_ridge(seen, self.targets).coefficients.copy()
        for column in range(self.targets.shape[1]):
            known = np.isfinite(self.targets[:, column]).all(axis=1)
            if not known.any():
                # A horizon beyond every segment.
                coefficients[column] = np.nan
            elif readout == 'mean':
                rows, wanted = seen[known, 1:], self.targets[known, column]
                coefficients[column, :, 0] = 0.0
                coefficients[column, :, 1:] = (rows.T @ wanted / rows.sum(axis=0)[:, None]).T

        def predict(segment: Segment) -> Predictions:
            symbols = codebook.symbols(self.channels.standardise(segment.values))
            states, _ = tables.filter(symbols)
            positions = np.einsum('hck,tk->thc', coefficients, with_constant(states))
            return Predictions(positions, states)

        return Fitted(predict, {'states': len(tables.start), 'symbols': len(codebook)})


def _motion(train: TrainSplit) -> Floats:
    """Return position and velocity, which weighs half as much, of each tick (N, 4) in spreads."""
    places = train.positions
    period_s = train.dataset.period_s
    moves = np.concatenate([velocities(track, period_s) for track in train.dataset.tracks])
    if not np.isfinite(moves).all(axis=1).any():
        msg = 'no velocity is known at any training tick; record positions without holes'
        raise InputError(msg)
    spread = np.sqrt(np.nanvar(places, axis=0).sum())
    speed = np.sqrt(np.nanmean(np.square(moves), axis=0).sum())
    # Of a vehicle that stands neither spreads.
    return np.hstack([places / max(spread, 1e-9), moves / (max(speed, 1e-9) / 0.5)])


def hidden_markov(train: TrainSplit, states: tuple[int, ...] = (40, 80, 20)) -> Fitted:
    """Fit an HMM, filtered forward, its settings chosen on held-out blocks."""
    # States start as pieces of the track: EM from random tables finds next to nothing.
    names = ('states', 'passes', 'sharpness', 'readout')
    grid = itertools.product(states, (5, 0, 20), (0.25, 0.5, 0.12, 1.0), ('ridge', 'mean'))
    candidates = [dict(zip(names, values, strict=True)) for values in grid]
    return fit_best(candidates, train, lambda part: Learning(part).follow)
