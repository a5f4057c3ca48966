# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The experiment ``rr-hmm``: learned eigenvalues of a reduced-rank HMM against samples.

Boots & Gordon (2011), Fig. 1: a chain of four states and two symbols, learned in batch and online.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.compilation import allocating
from two_manifold_ros.experiments.experiment import at_most, Colour, seeds_of_set
from two_manifold_ros.tpsr.features import IndicatorFeatures
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner, Triples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.experiments.experiment import Axes, Findings, Progress
    from two_manifold_ros.typing import Floats, Ints

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

LENGTH = 5
"""Symbols of a history and of a test. The HMM is 2-step observable; longer words are better."""


def true_eigenvalues() -> Floats:
    """Return the (3,) eigenvalues that are not zero, largest first."""
    values: Floats = np.linalg.eigvalsh(TRANSITION)[::-1][:RANK]
    return values


def sample_symbols(count: int, seed: int) -> Ints:
    """Return (count,) symbols 0 and 1 of a chain in its long run."""
    random = np.random.Generator(np.random.PCG64(seed))
    chances, start = random.random(count), int(random.integers(len(TRANSITION)))
    symbols: Ints = SYMBOLS[_walk(chances, np.cumsum(TRANSITION, axis=1), start)]
    return symbols


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


def samples_in(symbols: int) -> int:
    """Return the samples in so many symbols: a history, an observation and the test after it."""
    return max(0, symbols - 2 * LENGTH)


def codes_of(symbols: Ints) -> Ints:
    """Return the codes of the samples in (n,) symbols, in turn."""
    codes = np.zeros(samples_in(len(symbols)), dtype=np.int64)
    for place in range(2 * LENGTH + 1):
        codes = 2 * codes + symbols[place : place + len(codes)]
    return codes


class WordFeatures:
    """
    Indicators of the words of 1 to ``LENGTH`` symbols that a test starts or a history ends with.

    Short words are seen often and long ones say more; one length alone does worse with few
    samples or with many. Each is scaled so that all lengths weigh the same for a fair coin. The
    (d,) ``constant`` is the constant in features of histories.
    """

    codes = 2 ** (2 * LENGTH + 1)  # number of different samples

    def __init__(self) -> None:
        words = np.arange(IndicatorFeatures(2, LENGTH).size)[:, None]
        points = ((words >> np.arange(LENGTH)[::-1]) & 1).astype(np.float64)
        lengths = range(1, LENGTH + 1)
        self._tests = _stacked([points[:, :length] for length in lengths])
        self._histories = _stacked([points[:, -length:] for length in lengths])
        self.constant = np.zeros(self._histories.shape[1])
        # Either the one or the other symbol came last.
        self.constant[:2] = 2.0**-0.5

    def triples(self, codes: Ints, counts: Floats) -> Triples:
        """Return the features of samples by code, each of which was seen so many times."""
        words = 2**LENGTH
        return Triples(
            self._tests[(codes // 2) % words],
            self._tests[codes % words],
            self._histories[codes // (2 * words)],
            np.eye(2)[(codes // words) % 2],
            counts,
        )


def _stacked(parts: list[Floats]) -> Floats:
    scaled = [
        2.0 ** (part.shape[1] / 2) * IndicatorFeatures(2, part.shape[1]).transform(part)
        for part in parts
    ]
    return np.hstack(scaled)


def learn_in_batch(symbols: Ints, ends: Sequence[int]) -> Complexes:
    """Return the (len(ends), 3) eigenvalues learned from a sequence up to each end."""
    codes = codes_of(symbols)
    counts = [np.bincount(codes[: samples_in(end)], minlength=WordFeatures.codes) for end in ends]
    return np.array([eigenvalues_of(each.astype(np.float64)) for each in counts])


def eigenvalues_of(counts: Floats) -> Complexes:
    """
    Return the (3,) eigenvalues of the transition from how often each code was.

    The transition is that of Boots & Gordon 2011, eq. 6c-d.
    """
    every = WordFeatures().triples(np.arange(WordFeatures.codes), counts)
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
    codes, features, chunk = codes_of(symbols), WordFeatures(), 20_000
    # All directions are kept, because what is cut off is lost; the transition does not depend on
    # the ridge.
    settings = LearnerSettings(RANK, 2**LENGTH, 1e-6, fold_every=1 if one_by_one else 64)
    learner = OnlineLearner(settings, features.constant, len(features.constant), 2)
    found, begin = [], 0
    for end in map(samples_in, ends):
        for start in range(begin, end, chunk):
            part = codes[start : min(start + chunk, end)]
            weighted = (part, np.ones(len(part))) if one_by_one else _counted(part)
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


@dataclass(frozen=True)
class Curve:
    """Eigenvalues (trials, m, 3), largest first, that a learner found after m sample counts."""

    name: str
    samples: tuple[int, ...]
    eigenvalues: Complexes

    @property
    def mean_errors(self) -> Floats:
        """RMS error over the eigenvalues, averaged over the trials: (m,)."""
        errors: Floats = errors_of(self.eigenvalues).mean(axis=0)
        return errors


@dataclass(frozen=True)
class Settings:
    """Settings of the runs, and limits that they are judged by."""

    samples: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)  # symbols of a sequence
    single: tuple[int, ...] = (1_000, 10_000)  # the first of these, also learned one by one: slow
    trials: int = 10  # sequences
    # Factor by which the online error may exceed that of the batch learner on the same data. The
    # error of a trial has a deviation of .64 of its mean, so that the mean of ten has one of .2.
    ratio: float = 1.2
    # Slope of the error against samples in a log-log plot, at most: -.5, that of a mean, and 2.5
    # deviations. A deviation of .2 in each of four points a factor of ten apart is one of .04.
    slope: float = -0.4


def run(progress: Progress, *, quick: bool, seed: int = 0) -> Findings:
    """Compare the errors of learners in batch, online and one sample at a time."""
    settings = Settings()
    if quick:
        settings = Settings(samples=(1_000, 10_000), single=(1_000,), trials=2)
    found: list[list[Complexes]] = [[], [], []]
    for trial, drawn in enumerate(seeds_of_set(seed, settings.trials)):
        share = trial / settings.trials
        progress(f'learning from sequence {trial + 1} of {settings.trials}', share)
        symbols = sample_symbols(settings.samples[-1], drawn)
        found[0].append(learn_in_batch(symbols, settings.samples))
        found[1].append(learn_online(symbols, settings.samples))
        found[2].append(learn_online(symbols, settings.single, one_by_one=True))
    batch = Curve('batch', settings.samples, np.array(found[0]))
    online = Curve('online', settings.samples, np.array(found[1]))
    single = Curve('one by one', settings.single, np.array(found[2]))
    paper, errors = 'Fig. 1B, falls steadily', online.mean_errors
    slope = float(np.polyfit(np.log(settings.samples), np.log(errors), 1)[0])
    what = 'online: slope of the RMS error of eigenvalues in a log-log plot'
    falls = at_most(what, paper, slope, settings.slope)
    found_errors = ', '.join(f'{error:.3g}' for error in errors)
    what = 'online: largest ratio of the error to that with a tenth of the samples'
    claims = [
        replace(falls, ours=f'{falls.ours} (errors {found_errors})'),
        at_most(what, paper, float((errors[1:] / errors[:-1]).max()), 1.0),
    ]
    for curve in (online, single):
        worst = (curve.mean_errors / batch.mean_errors[: len(curve.samples)]).max()
        what = f'{curve.name}: largest ratio to the error in batch'
        claims.append(at_most(what, paper, float(worst), settings.ratio))
    figure = Figure(figsize=(10.0, 4.2), layout='constrained')
    plane, axes = figure.subplots(1, 2)
    _draw_plane(plane, online)
    _draw_errors(axes, [batch, online, single])
    return claims, figure


def _draw_plane(axes: Axes, curve: Curve) -> None:
    """Draw estimated and true eigenvalues in the complex plane."""
    angles = np.linspace(-np.pi, np.pi, 400)
    axes.plot(np.cos(angles), np.sin(angles), color=Colour.GREY, lw=0.8)
    # The more samples the darker.
    shades = ('#cfe3f1', '#9cc4e0', '#4f93c4', '#08306b')[-len(curve.samples) :]
    for index, (samples, shade) in enumerate(zip(curve.samples, shades, strict=True)):
        found = curve.eigenvalues[:, index].ravel()
        label = f'learned {curve.name}, {samples:,} samples'
        axes.plot(found.real, found.imag, 'o', color=shade, ms=4.5, label=label)
    true = np.linalg.eigvalsh(TRANSITION)
    axes.plot(true, 0.0 * true, 'x', color='black', ms=9, mew=1.6, label='true (two are at .714)')
    axes.set(xlabel='real part', ylabel='imaginary part', xlim=(-0.08, 1.12), ylim=(-0.5, 0.5))
    axes.set_title('Eigenvalues of the transition')
    axes.legend(loc='upper left', fontsize='small')
    axes.grid(alpha=0.3)


def _draw_errors(axes: Axes, curves: Sequence[Curve]) -> None:
    """Draw the errors of all learners; they lie on each other, so the first ones are broad."""
    styles: tuple[dict[str, Any], ...] = (
        {'color': '#9cc4e0', 'marker': 'o', 'ms': 13.0, 'lw': 7.0},
        {'color': Colour.VERMILION, 'marker': 's', 'ms': 6.0, 'lw': 2.0},
        {'color': Colour.GREEN, 'marker': '^', 'ms': 11.0, 'mfc': 'none', 'mew': 2.0, 'lw': 0.0},
    )
    for curve, style in zip(curves, styles, strict=True):
        axes.plot(curve.samples, curve.mean_errors, label=curve.name, **style)
    each = errors_of(curves[1].eigenvalues)
    for row in each:
        axes.plot(curves[1].samples, row, '.', color=Colour.VERMILION, alpha=0.3, ms=4.0)
    samples, errors = np.array(curves[0].samples), curves[0].mean_errors
    law = errors[-1] * np.sqrt(samples[-1] / samples)
    axes.plot(samples, law, color=Colour.GREY, ls=':', label='1/sqrt(samples)')
    axes.set(xscale='log', yscale='log', xlabel='samples', ylabel='RMS error of eigenvalues')
    axes.set_title(f'Mean error of {len(each)} trials (dots: each of them, online)')
    axes.legend(loc='lower left', fontsize='small')
    axes.grid(alpha=0.3, which='both')
