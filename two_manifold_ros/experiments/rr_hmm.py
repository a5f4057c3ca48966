# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``rr-hmm``: learned eigenvalues of a reduced-rank HMM against samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.acceleration import compiled
from two_manifold_ros.experiments.experiment import at_most, Axes, GREEN, GREY, save, VERMILION
from two_manifold_ros.tpsr.features import IndicatorFeatures
from two_manifold_ros.tpsr.learner import LearnerSettings, OnlineLearner, Triples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from two_manifold_ros.typing import Floats, Ints

    Complexes = NDArray[np.complex128]
    from collections.abc import Mapping
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim, Progress


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
"""What each state shows, O of the paper."""

RANK = 3
"""Of the transition matrix, to the digits printed."""


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


@compiled
def _walk(chances: Floats, cumulative: Floats, state: int) -> Ints:
    last = len(cumulative) - 1
    states = np.empty(len(chances), dtype=np.int64)
    for index in range(len(chances)):
        following = 0
        # The last one needs no look: its sum may be less than one by rounding.
        while following < last and cumulative[state, following] <= chances[index]:
            following += 1
        state = following
        states[index] = state
    return states


LENGTH = 5
"""Symbols of a history and of a test. The HMM is 2-step observable, but longer words tell more."""

_SPAN = 2 * LENGTH + 1
"""Symbols that a sample is made of: a history, the observation and the test after it."""

CODES = 2**_SPAN
"""How many different samples there are."""


def samples_in(symbols: int) -> int:
    """Return how many samples that many symbols in a row hold."""
    return max(0, symbols - _SPAN + 1)


def codes_of(symbols: Ints) -> Ints:
    """Return the codes of the samples in (n,) symbols, in turn."""
    codes = np.zeros(samples_in(len(symbols)), dtype=np.int64)
    for place in range(_SPAN):
        codes = 2 * codes + symbols[place : place + len(codes)]
    return codes


class WordFeatures:
    """
    Indicators of the words of 1 to ``LENGTH`` symbols that a test begins or a history ends with.

    Short words are seen often and long ones tell more; one length alone does worse with few
    samples or with many. Each is scaled so that all lengths weigh the same for a fair coin.

    Attributes
    ----------
    constant : (d,)
        The constant in features of histories.

    """

    def __init__(self) -> None:
        words = IndicatorFeatures(2, LENGTH)
        whole = (np.arange(words.size)[:, None] >> np.arange(LENGTH)[::-1]) & 1
        points = whole.astype(np.float64)
        self._tests = _stacked([points[:, :length] for length in range(1, LENGTH + 1)])
        self._histories = _stacked([points[:, -length:] for length in range(1, LENGTH + 1)])
        self._observations = np.eye(2)
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
            self._observations[(codes // words) % 2],
            counts,
        )


def _stacked(parts: list[Floats]) -> Floats:
    scaled = [
        2.0 ** (part.shape[1] / 2) * IndicatorFeatures(2, part.shape[1]).transform(part)
        for part in parts
    ]
    return np.hstack(scaled)


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


STYLES: tuple[dict[str, Any], ...] = (
    {'color': '#9cc4e0', 'marker': 'o', 'ms': 13.0, 'lw': 7.0},
    {'color': VERMILION, 'marker': 's', 'ms': 6.0, 'lw': 2.0},
    {'color': GREEN, 'marker': '^', 'ms': 11.0, 'mfc': 'none', 'mew': 2.0, 'lw': 0.0},
)
"""They lie on each other, so the first ones are broad."""

SHADES = ('#cfe3f1', '#9cc4e0', '#4f93c4', '#08306b')
"""Of the clouds of estimates, the more samples the darker."""


@dataclass(frozen=True)
class Curve:
    """
    What one way of learning found.

    Parameters
    ----------
    name
        Of the way.
    samples
        After how many it was looked at.
    eigenvalues : (trials, len(samples), 3)
        Largest first.

    """

    name: str
    samples: tuple[int, ...]
    eigenvalues: Complexes

    @property
    def mean_errors(self) -> Floats:
        """RMS error over the eigenvalues, averaged over the trials, shape (len(samples),)."""
        errors: Floats = errors_of(self.eigenvalues).mean(axis=0)
        return errors


def draw(curves: Sequence[Curve], reference: Mapping[int, float], path: Path) -> None:
    """Write the eigenvalues that the second curve is about, and the errors of all curves."""
    figure = Figure(figsize=(10.0, 4.2), layout='constrained')
    plane, errors = figure.subplots(1, 2)
    _draw_plane(plane, curves[1])
    _draw_errors(errors, curves, reference)
    save(figure, path)


def _draw_plane(axes: Axes, curve: Curve) -> None:
    angles = np.linspace(-np.pi, np.pi, 400)
    axes.plot(np.cos(angles), np.sin(angles), color=GREY, lw=0.8)
    for index, samples in enumerate(curve.samples):
        found = curve.eigenvalues[:, index].ravel()
        shade = SHADES[index + len(SHADES) - len(curve.samples)]
        label = f'learned {curve.name}, {samples:,} samples'
        axes.plot(found.real, found.imag, 'o', color=shade, ms=4.5, label=label)
    true = np.linalg.eigvalsh(TRANSITION)
    axes.plot(true, 0.0 * true, 'x', color='black', ms=9, mew=1.6, label='true (two are at .714)')
    axes.set(xlabel='real part', ylabel='imaginary part', xlim=(-0.08, 1.12), ylim=(-0.5, 0.5))
    axes.set_title('Eigenvalues of the transition')
    axes.legend(loc='upper left', fontsize='small')
    axes.grid(alpha=0.3)


def _draw_errors(axes: Axes, curves: Sequence[Curve], reference: Mapping[int, float]) -> None:
    for curve, style in zip(curves, STYLES, strict=True):
        axes.plot(curve.samples, curve.mean_errors, label=curve.name, **style)
    each = errors_of(curves[1].eigenvalues)
    for row in each:
        axes.plot(curves[1].samples, row, '.', color=VERMILION, alpha=0.3, ms=4.0)
    shown = {samples: reference[samples] for samples in curves[0].samples}
    axes.plot([*shown], [*shown.values()], 'kx', ms=7, label='batch, an earlier prototype')
    axes.set(xscale='log', yscale='log', xlabel='samples', ylabel='RMS error of eigenvalues')
    axes.set_title(f'Mean error of {len(each)} trials (dots: each of them, online)')
    axes.legend(loc='lower left', fontsize='small')
    axes.grid(alpha=0.3, which='both')


PAPER = 'Fig. 1B, falls steadily'

REFERENCE = {1_000: 0.107, 10_000: 0.029, 100_000: 0.0081, 1_000_000: 0.0021}
"""Errors of an earlier batch learner by samples, which the paper's picture is taken to show."""

RATIO = 1.2
"""By what an online learner's error may exceed that of the batch learner on the same data."""

SLOPE = -0.4
"""Of the error against samples on logarithmic axes, at most; -0.5 is that of a mean."""


@dataclass(frozen=True)
class Size:
    """
    How much is run, and how strictly it is judged.

    Parameters
    ----------
    samples
        Symbols of a sequence, after which eigenvalues are looked at.
    single
        The first of these, up to which samples are also learned one at a time, which is slow.
    trials
        Sequences.
    slack
        By what the online learner's error may exceed the reference.

    """

    samples: tuple[int, ...] = tuple(REFERENCE)
    single: tuple[int, ...] = (1_000, 10_000)
    trials: int = 10
    slack: float = 1.2


QUICK = Size(samples=(1_000, 10_000), single=(1_000,), trials=2, slack=2.0)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    batch, online, single = _learn(size, progress)
    draw([batch, online, single], REFERENCE, folder / 'rr-hmm.png')
    errors = online.mean_errors
    claims = [
        at_most(
            f'online: RMS error of eigenvalues, {samples:,} samples',
            PAPER,
            error,
            size.slack * REFERENCE[samples],
        )
        for samples, error in zip(size.samples, errors.tolist(), strict=True)
    ]
    slope = float(np.polyfit(np.log(size.samples), np.log(errors), 1)[0])
    claims.append(at_most('online: slope of this error in a log-log plot', PAPER, slope, SLOPE))
    for curve in (online, single):
        worst = (curve.mean_errors / batch.mean_errors[: len(curve.samples)]).max()
        what = f'{curve.name}: largest ratio to the error in batch'
        claims.append(at_most(what, PAPER, float(worst), RATIO))
    return claims


def _learn(size: Size, progress: Progress) -> tuple[Curve, Curve, Curve]:
    batch, online, single = [], [], []
    for trial in range(size.trials):
        progress(f'learning from sequence {trial + 1} of {size.trials}', trial / size.trials)
        symbols = sample_symbols(size.samples[-1], seed=trial)
        batch.append(learn_in_batch(symbols, size.samples))
        online.append(learn_online(symbols, size.samples))
        single.append(learn_online(symbols, size.single, one_by_one=True))
    return (
        Curve('batch', size.samples, np.array(batch)),
        Curve('online', size.samples, np.array(online)),
        Curve('one by one', size.single, np.array(single)),
    )
