# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The tables of a hidden Markov model over symbols: counted, improved by EM, and filtered.

EM is hmmlearn's. What hmmlearn cannot do is here and in `hidden_markov.py`: it has no filter for
one symbol after the other (its posteriors look ahead), no prediction, no shared emissions, no
positions; its states that die out leave rows of zeros, and it restarts no search.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
import importlib
import logging
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.typing import Floats, Ints

FLOOR = 1e-6
"""Least probability: what never happened may still happen."""

PSEUDO_COUNT = 1e-2
"""For every transition, and for every symbol in every state, when counting labels."""

TOLERANCE = 1e-4
"""EM ends when a pass gains less log-likelihood than this, for each symbol."""


@dataclass(frozen=True)
class MarkovTables:
    """
    A hidden Markov model of k states and K symbols.

    Parameters
    ----------
    start : (k,)
        Where a stretch may begin.
    transition : (k, k)
        From the row's state to the column's.
    emission : (k, K)
        Likelihood of each symbol in each state, positive. Rows need not sum to one to be filtered
        with, but learned ones do.

    """

    start: Floats
    transition: Floats
    emission: Floats

    def filter(self, symbols: Ints) -> tuple[Floats, float]:
        """
        Run the forward algorithm over a stretch.

        Returns
        -------
        states : (T, k)
            Distribution after each symbol, which depends on no later one.
        log_likelihood
            Of the whole stretch.

        """
        states = np.empty((len(symbols), len(self.start)))
        likelihoods = self.emission.T[symbols]
        log_likelihood = 0.0
        believed = self.start
        for tick, likelihood in enumerate(likelihoods):
            joint = (believed if tick == 0 else believed @ self.transition) * likelihood
            total = joint.sum()
            believed = joint / total
            states[tick] = believed
            log_likelihood += float(np.log(total))
        return states, log_likelihood

    def filter_all(self, stretches: Sequence[Ints]) -> tuple[Floats, float]:
        """Filter stretches, each from the start; the states are laid end to end."""
        found = [self.filter(symbols) for symbols in stretches]
        return np.concatenate([states for states, _ in found]), sum(each for _, each in found)

    def begun_anywhere(self, stretches: Sequence[Ints]) -> MarkovTables:
        """Return the tables with the mean filtered distribution of training as their start."""
        even = np.full(len(self.start), 1.0 / len(self.start))
        states, _ = replace(self, start=even).filter_all(stretches)
        return replace(self, start=_probabilities(states.mean(axis=0)))

    def shared(self, nearness: Floats) -> MarkovTables:
        """Return the tables with emissions spread over alike symbols by a (K, K) matrix."""
        return replace(self, emission=_probabilities(self.emission @ nearness))


def _probabilities(rows: Floats) -> Floats:
    lifted = rows + FLOOR
    shares: Floats = lifted / lifted.sum(axis=-1, keepdims=True)
    return shares


def count_labels(
    labels: Sequence[Ints], stretches: Sequence[Ints], states: int, symbols: int
) -> MarkovTables:
    """
    Count transitions and emissions where the states are known.

    Parameters
    ----------
    labels
        State of each tick of each stretch, -1 where unknown.
    stretches
        Symbol of each tick of each stretch.
    states, symbols
        How many there are.

    """
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
    """
    Raise the likelihood of the stretches by EM, from given tables.

    Parameters
    ----------
    tables
        Where the search begins.
    stretches
        Symbols.
    passes
        At most; fewer when the likelihood settles.

    Raises
    ------
    InputError
        If hmmlearn is missing.

    """
    model = expectation_maximisation()(
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
        # Pass by pass, because a state that dies out has to be lifted from zero before the next.
        model.startprob_ = _probabilities(tables.start)
        model.transmat_ = _probabilities(tables.transition)
        model.emissionprob_ = _probabilities(tables.emission)
        with _silence():
            model.fit(column, lengths)
        tables = MarkovTables(model.startprob_, model.transmat_, model.emissionprob_)
        now = model.monitor_.history[-1]
        if now - before < TOLERANCE * len(column):
            break
        before = now
    return MarkovTables(*map(_probabilities, (tables.start, tables.transition, tables.emission)))


@contextmanager
def _silence() -> Iterator[None]:
    """Withhold hmmlearn's advice on the number of parameters, given at every pass."""
    logger = logging.getLogger('hmmlearn')
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def expectation_maximisation() -> Any:  # noqa: ANN401 - a class of hmmlearn, which is not typed
    """
    Return hmmlearn's HMM over symbols.

    Raises
    ------
    InputError
        If the library is missing; the sentence says how to install it.

    """
    try:
        return importlib.import_module('hmmlearn.hmm').CategoricalHMM
    except ModuleNotFoundError as error:
        msg = (
            f'The HMM cannot be learned because the Python package {error.name!r} is missing: '
            "install the offline extra with pip install 'two_manifold_ros[train]'."
        )
        raise InputError(msg) from error
