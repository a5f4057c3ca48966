# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues of the transition learned from one sequence, in batch and online."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from two_manifold_ros.experiments.rr_hmm_chain import RANK, true_eigenvalues
from two_manifold_ros.experiments.rr_hmm_words import (
    CODES,
    codes_of,
    LENGTH,
    samples_in,
    WordFeatures,
)
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats, Ints

    Complexes = NDArray[np.complex128]

KEPT = 2**LENGTH
"""Directions that the online learner keeps: all, because what is cut off is lost for good."""

RIDGE = 1e-6
"""Of the observations; the transition does not depend on it."""

FOLD = 64
"""Samples that the online learner folds at a time, eq. (8)."""

CHUNK = 20_000
"""Samples of which those that are alike are counted and given to the learner as one."""


def learn_in_batch(symbols: Ints, ends: Sequence[int]) -> Complexes:
    """Return the (len(ends), 3) eigenvalues learned from a sequence up to each end."""
    codes = codes_of(symbols)
    counts = [np.bincount(codes[: samples_in(end)], minlength=CODES) for end in ends]
    return np.array([eigenvalues_of(each.astype(np.float64)) for each in counts])


def eigenvalues_of(counts: Floats) -> Complexes:
    """Return the (3,) eigenvalues of the transition of eq. (6c-d) from how often each code was."""
    every = WordFeatures().triples(np.arange(CODES), counts)
    histories = counts[:, None] * every.histories
    left, values, right = np.linalg.svd(every.tests.T @ histories)
    shifted = left[:, :RANK].T @ (every.next_tests.T @ histories) @ right[:RANK].T
    return _leading(shifted / values[:RANK])


def learn_online(symbols: Ints, ends: Sequence[int], *, one_by_one: bool = False) -> Complexes:
    """
    Learn from a sequence as from a stream.

    Parameters
    ----------
    symbols : (n,)
        The sequence.
    ends
        After which symbols to look at what was learned, in order.
    one_by_one
        Whether each sample is an update of its own, eq. (9) to the letter. If not, samples of a
        chunk that are alike are one sample with a weight, and `FOLD` of them are one update.

    Returns
    -------
    (len(ends), 3)
        Eigenvalues of the transition.

    """
    codes, features = codes_of(symbols), WordFeatures()
    settings = LearnerSettings(RANK, KEPT, RIDGE, fold_every=1 if one_by_one else FOLD)
    learner = OnlineLearner(settings, features.constant, len(features.constant), 2)
    found, begin = [], 0
    for end in map(samples_in, ends):
        for start in range(begin, end, CHUNK):
            chunk = codes[start : min(start + CHUNK, end)]
            weighted = (chunk, np.ones(len(chunk))) if one_by_one else _counted(chunk)
            learner.add_all(features.triples(*weighted))
        found.append(_leading(learner.transition()))
        begin = end
    return np.array(found)


def errors_of(eigenvalues: Complexes) -> Floats:
    """Return the RMS distance of (..., 3) eigenvalues, in order, from the true ones."""
    squares = np.abs(eigenvalues - true_eigenvalues()) ** 2
    errors: Floats = np.sqrt(squares.mean(axis=-1))
    return errors


def _counted(codes: Ints) -> tuple[Ints, Floats]:
    """Return the different codes in the order of their first appearance, and their counts."""
    different, first, counts = np.unique(codes, return_index=True, return_counts=True)
    order = np.argsort(first)
    return different[order], counts[order].astype(np.float64)


def _leading(transition: Floats) -> Complexes:
    values = np.linalg.eigvals(transition).astype(np.complex128)
    # The true ones are real, so this order is the pairing with the least distance.
    return values[np.argsort(-values.real)]
