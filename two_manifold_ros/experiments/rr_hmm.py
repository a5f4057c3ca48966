# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``rr-hmm``: learned eigenvalues of a reduced-rank HMM against samples.

Boots & Gordon (2011), Fig. 1: a chain of four states and two symbols, learned in batch and online.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from two_manifold_ros.compilation import allocating
from two_manifold_ros.experiments import experiment as lab
from two_manifold_ros.tpsr.features import IndicatorFeatures
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner, Triples
from two_manifold_ros.typing import Floats, Ints

if TYPE_CHECKING:
    Complexes = NDArray[np.complex128]

TRANSITION = np.array(
    [
        [0.7829, 0.1036, 0.0399, 0.0736],
        [0.1036, 0.4237, 0.4262, 0.0465],
        [0.0399, 0.4262, 0.4380, 0.0959],
        [0.0736, 0.0465, 0.0959, 0.7840],
    ]
)
"""T of the paper: symmetric, so that in the long run every state is as likely as any other."""

SYMBOLS = np.array([0, 1, 0, 1])
"""Symbol of each state, O of the paper."""

RANK = 3
"""Rank of the transition matrix, to the digits printed."""

TRUE = np.linalg.eigvalsh(TRANSITION)[::-1][:RANK]
"""The eigenvalues that are not zero, largest first."""

LENGTH = 5
"""Symbols of a history and of a test. The HMM is 2-step observable; longer words are better."""


def sample_symbols(count: int, seed: int) -> Ints:
    """Return (count,) symbols 0 and 1 of a chain in its long run."""
    random = np.random.Generator(np.random.PCG64(seed))
    chances, start = random.random(count), int(random.integers(len(TRANSITION)))
    return SYMBOLS[_walk(chances, np.cumsum(TRANSITION, axis=1), start)]


@allocating
def _walk(chances: Floats, cumulative: Floats, state: int) -> Ints:
    last = len(cumulative) - 1
    states = np.empty(len(chances), dtype=np.int64)
    for index in range(len(chances)):
        following = 0
        # The last one is not compared: its sum may be less than one by rounding.
        while following < last and cumulative[state, following] <= chances[index]:
            following += 1
        state = following
        states[index] = state
    return states


def codes_of(symbols: Ints) -> Ints:
    """Return the codes of the samples (history, observation, test) in (n,) symbols, in turn."""
    words = sliding_window_view(symbols, 2 * LENGTH + 1)
    return words @ 2 ** np.arange(2 * LENGTH + 1)[::-1]


def _scaled(words: Ints) -> Floats:
    length = words.shape[1]
    points = words.astype(np.float64)
    return np.asarray(2.0 ** (length / 2) * IndicatorFeatures(2, length).transform(points))


CODES = 2 ** (2 * LENGTH + 1)
"""Number of different samples."""

_WORDS = (np.arange(2**LENGTH)[:, None] >> np.arange(LENGTH)[::-1]) & 1
TESTS = np.hstack([_scaled(_WORDS[:, :length]) for length in range(1, LENGTH + 1)])
HISTORIES = np.hstack([_scaled(_WORDS[:, -length:]) for length in range(1, LENGTH + 1)])
"""Indicators of words of 1 to ``LENGTH`` symbols, scaled so that all lengths weigh alike."""

CONSTANT = np.repeat([2.0**-0.5, 0.0], [2, HISTORIES.shape[1] - 2])
"""The constant in features of histories: either the one or the other symbol came last."""


def triples_of(codes: Ints, counts: Floats) -> Triples:
    """Return the features of samples by code, each of which was seen so many times."""
    words = 2**LENGTH
    return Triples(
        TESTS[(codes // 2) % words],
        TESTS[codes % words],
        HISTORIES[codes // (2 * words)],
        np.eye(2)[(codes // words) % 2],
        counts,
    )


def learn_in_batch(symbols: Ints, ends: Sequence[int]) -> Complexes:
    """Return the (len(ends), 3) eigenvalues learned from a sequence up to each end."""
    codes = [codes_of(symbols[:end]) for end in ends]
    counts = [np.bincount(each, minlength=CODES) for each in codes]
    return np.array([eigenvalues_of(each.astype(np.float64)) for each in counts])


def eigenvalues_of(counts: Floats) -> Complexes:
    """Return the (3,) eigenvalues by Boots & Gordon 2011, eq. 6c-d, from counts of codes."""
    every = triples_of(np.arange(CODES), counts)
    histories = counts[:, None] * every.histories
    left, values, right = np.linalg.svd(every.tests.T @ histories)
    shifted = left[:, :RANK].T @ (every.next_tests.T @ histories) @ right[:RANK].T
    return _leading(shifted / values[:RANK])


def learn_online(symbols: Ints, ends: Sequence[int], *, one_by_one: bool = False) -> Complexes:
    """
    Learn from (n,) symbols as from a stream, and return the eigenvalues at the ends: (m, 3).

    Each sample is an update of its own (Boots & Gordon 2011, eq. 9), or samples that are alike
    among 20,000 are one sample with a weight, and 64 of these are one update.
    """
    codes, chunk = codes_of(symbols), 20_000
    # All directions are kept: what is cut off is lost. The ridge does not matter here.
    settings = LearnerSettings(RANK, 2**LENGTH, 1e-6, fold_every=1 if one_by_one else 64)
    learner = OnlineLearner(settings, CONSTANT, len(CONSTANT), 2)
    found, begin = [], 0
    for end in (each - 2 * LENGTH for each in ends):
        for start in range(begin, end, chunk):
            part = codes[start : min(start + chunk, end)]
            counts = np.ones(len(part))
            if not one_by_one:
                # The different ones in the order of their first appearance.
                kinds, first, often = np.unique(part, return_index=True, return_counts=True)
                order = np.argsort(first)
                part, counts = kinds[order], often[order].astype(np.float64)
            learner.add_all(triples_of(part, counts))
        found.append(_leading(learner.transition()))
        begin = end
    return np.array(found)


def errors_of(eigenvalues: Complexes) -> Floats:
    """Return the RMS distance of (..., 3) eigenvalues, in order, from the true ones."""
    squares = np.abs(eigenvalues - TRUE) ** 2
    return np.asarray(np.sqrt(squares.mean(axis=-1)))


def _leading(transition: Floats) -> Complexes:
    values = np.linalg.eigvals(transition).astype(np.complex128)
    # The true ones are real, so this order is the pairing with the least distance.
    return values[np.argsort(-values.real)]


class RankSettings(NamedTuple):
    """Settings of the experiment."""

    samples: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)  # symbols of a sequence
    single: tuple[int, ...] = (1_000, 10_000)  # the first of these, also learned one by one: slow
    trials: int = 10  # sequences


Learned = dict[str, 'Complexes']
"""Eigenvalues (m, 3), largest first, that each learner found after m sample counts."""


def fit(settings: RankSettings, seed: int, _: lab.Progress) -> Learned:
    """Learn from a sequence in batch, online, and one sample at a time."""
    symbols, samples = sample_symbols(settings.samples[-1], seed), settings.samples
    return {
        'batch': learn_in_batch(symbols, samples),
        'online': learn_online(symbols, samples),
        'single': learn_online(symbols, settings.single, one_by_one=True),
    }


def _mean_errors(found: list[Learned]) -> dict[str, Floats]:
    """Return the RMS errors over the eigenvalues, averaged over the trials, by learner: (m,)."""
    return {
        name: errors_of(np.array([each[name] for each in found])).mean(axis=0) for name in found[0]
    }


def score(settings: RankSettings, found: list[Learned]) -> list[lab.Claim]:
    """Claim that errors fall with samples, and online by as much as in batch."""
    means = _mean_errors(found)
    paper, errors = 'Fig. 1B, falls steadily', means['online']
    slope = float(np.polyfit(np.log(settings.samples), np.log(errors), 1)[0])
    what = 'online: slope of the RMS error of eigenvalues in a log-log plot'
    # The slope is -.5, as of a mean, with a deviation of .04.
    note = f' (errors {", ".join(f"{error:.3g}" for error in errors)})'
    claims = [lab.at_most(what, paper, slope, -0.4, note)]
    what = 'online: largest ratio of the error to that with a tenth of the samples'
    claims.append(lab.at_most(what, paper, float((errors[1:] / errors[:-1]).max()), 1.0))
    for name, curve in (('online', errors), ('one by one', means['single'])):
        worst = float((curve / means['batch'][: len(curve)]).max())
        # The mean error of ten trials has a deviation of .2 of itself.
        what = f'{name}: largest ratio to the error in batch'
        claims.append(lab.at_most(what, paper, worst, 1.2))
    return claims


def draw(found: list[Learned]) -> list[lab.Panel]:
    """Draw estimated and true eigenvalues in the complex plane, and the errors of all learners."""
    count, true = len(found[0]['online']), np.linalg.eigvalsh(TRANSITION)
    samples = np.array(RankSettings().samples[:count])
    plane = [
        lab.layer('plot', each.real, each.imag, 'o', ms=4.5, label=f'online, {count:,} samples')
        for each, count in zip(
            np.concatenate([one['online'] for one in found], 1), samples, strict=True
        )
    ]
    crosses = lab.layer('plot', true, 0.0 * true, 'kx', ms=9, label='true (two are at .714)')
    errors = _mean_errors(found)
    curves = [
        lab.layer('plot', samples[: len(each)], each, marker, label=name, ms=9, mfc='none')
        for (name, each), marker in zip(errors.items(), 'os^', strict=True)
    ]
    law = errors['batch'][-1] * np.sqrt(samples[-1] / samples)
    curves.append(lab.layer('plot', samples, law, ls=':', label='1/sqrt(samples)'))
    logarithms = {'xscale': 'log', 'yscale': 'log', 'xlabel': 'samples'}
    return [
        lab.panel('Eigenvalues of the transition', *plane, crosses, ylim=(-0.5, 0.5)),
        lab.panel(f'RMS error of eigenvalues, mean of {len(found)}', *curves, **logarithms),
    ]


run = lab.Runner(RankSettings(), RankSettings((1_000, 10_000), (1_000,), 2), fit, score, draw)
