# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The experiment ``linear-iv``: the bias of PCA, and two-subspace PCA without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np
from scipy.linalg import subspace_angles
from sklearn.decomposition import PCA

from two_manifold_ros.estimators import TwoSubspacePCA
from two_manifold_ros.experiments.experiment import (
    at_least,
    at_most,
    BLUE,
    GREEN,
    GREY,
    save,
    VERMILION,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.experiments.experiment import Claim, Progress
    from two_manifold_ros.typing import Floats


HIDDEN = 2
COLUMNS = (10, 8)
"""Of the first view and of the second."""

NOISE = (3.0, 0.1)
"""Standard deviation of the noise in its loudest direction and in its quietest, about."""


@dataclass(frozen=True)
class LinearView:
    """
    A view x = M z + e with cov(z) = I and cov(e) = R R'.

    Parameters
    ----------
    mixing : (D, 2)
        M.
    noise_root : (D, D)
        R.

    """

    mixing: Floats
    noise_root: Floats

    @classmethod
    def draw(cls, columns: int, rng: np.random.Generator) -> LinearView:
        """Draw a view of so many columns."""
        mixing = rng.normal(size=(columns, HIDDEN))
        directions = rng.normal(size=(columns, columns)) / np.sqrt(columns)
        return cls(mixing, directions * np.geomspace(*NOISE, columns))

    def sample(self, hidden: Floats, rng: np.random.Generator) -> Floats:
        """Return rows (n, D) for hidden rows (n, 2)."""
        noise = rng.normal(size=(len(hidden), len(self.noise_root)))
        rows: Floats = hidden @ self.mixing.T + noise @ self.noise_root.T
        return rows

    def angle(self, directions: Floats) -> float:
        """Return the largest angle, in degrees, between the range of M and (D, 2) columns."""
        return float(np.degrees(subspace_angles(directions, self.mixing)[0]))

    def bias(self) -> float:
        """Return the angle of the principal components of infinitely many samples, in degrees."""
        covariance = self.mixing @ self.mixing.T + self.noise_root @ self.noise_root.T
        return self.angle(np.linalg.eigh(covariance)[1][:, -HIDDEN:])


def draw_views(seed: int) -> tuple[LinearView, LinearView]:
    """Draw the two views."""
    rng = np.random.default_rng(seed)
    first, second = (LinearView.draw(columns, rng) for columns in COLUMNS)
    return first, second


@dataclass(frozen=True)
class Curve:
    """
    What one method found.

    Parameters
    ----------
    name
        Of the method.
    angles : (trials, len(samples))
        In degrees.
    samples
        Of a trial.

    """

    name: str
    angles: Floats
    samples: tuple[int, ...]

    @property
    def means(self) -> Floats:
        """Angles averaged over the trials, shape (len(samples),)."""
        means: Floats = self.angles.mean(axis=0)
        return means

    @property
    def last(self) -> float:
        """Mean angle with the most samples."""
        return float(self.means[-1])

    @property
    def slope(self) -> float:
        """Of the mean angle against samples, both as logarithms."""
        return float(np.polyfit(np.log(self.samples), np.log(self.means), 1)[0])


def draw(curves: Sequence[Curve], bias: float, path: Path) -> None:
    """Write the angles of all methods, and the bias that PCA has with infinitely many samples."""
    figure = Figure(figsize=(7.0, 4.6), layout='constrained')
    axes = figure.subplots()
    styles = (VERMILION, 'o'), (BLUE, 's'), (GREEN, '^')
    for curve, (colour, marker) in zip(curves, styles, strict=True):
        axes.plot(curve.samples, curve.angles.T, marker, color=colour, ms=3, alpha=0.2)
        label = f'{curve.name}, slope {round(curve.slope, 2) + 0.0:.2f}'
        axes.plot(curve.samples, curve.means, marker=marker, color=colour, ms=6, label=label)
    axes.axhline(bias, color='black', lw=1, ls='--', label='PCA of infinitely many samples')
    ends = np.array(curves[1].samples)[[0, -1]]
    axes.plot(
        ends,
        2 * curves[1].means[0] * np.sqrt(ends[0] / ends),
        color=GREY,
        ls=':',
        label='1/sqrt(n)',
    )
    axes.set(
        xscale='log', yscale='log', xlabel='samples n', ylabel='largest subspace angle (degrees)'
    )
    axes.set_title(f'Mean of {len(curves[0].angles)} trials (pale: each of them)')
    axes.legend(loc='lower left', fontsize='small')
    axes.grid(alpha=0.3, which='both')
    save(figure, path)


PAPER = 'section 3.1, in words'

SLOPES = (-0.6, -0.4)
"""Of the angle against samples on logarithmic axes, between these; -0.5 is that of a mean."""

METHODS = ('PCA', 'two-subspace PCA', 'reduced-rank regression')


@dataclass(frozen=True)
class Size:
    """
    How much is run.

    Parameters
    ----------
    samples
        Of a trial.
    trials
        For every number of samples.

    """

    samples: tuple[int, ...] = (100, 320, 1_000, 3_200, 10_000, 32_000, 100_000)
    trials: int = 20


QUICK = Size(samples=(100, 1_000, 10_000), trials=10)


def run(folder: Path, progress: Progress, *, quick: bool) -> list[Claim]:
    """Run the experiment, see `two_manifold_ros.experiments.experiment.Run`."""
    size = QUICK if quick else Size()
    views = draw_views(seed=0)
    angles = np.empty((len(METHODS), size.trials, len(size.samples)))
    for trial in range(size.trials):
        progress('trials', trial / size.trials)
        for column, samples in enumerate(size.samples):
            angles[:, trial, column] = _trial(views, samples, seed=trial)
    curves = [Curve(*pair, size.samples) for pair in zip(METHODS, angles, strict=True)]
    draw(curves, views[0].bias(), folder / 'linear-iv.png')
    return _claims(curves, views[0].bias())


def _trial(views: tuple[LinearView, LinearView], samples: int, seed: int) -> list[float]:
    """Return the angles of what the methods find in the first view, in degrees."""
    rng = np.random.default_rng((seed, samples))
    hidden = rng.normal(size=(samples, HIDDEN))
    rows = [view.sample(hidden, rng) for view in views]
    plain: Floats = PCA(HIDDEN).fit(rows[0]).components_
    subspace = TwoSubspacePCA(HIDDEN).fit(*rows)
    regression = TwoSubspacePCA(HIDDEN, coupling='reduced-rank').fit(*rows)
    found = (plain, subspace.components_, regression.components_)
    return [views[0].angle(components.T) for components in found]


def _claims(curves: list[Curve], bias: float) -> list[Claim]:
    claims = []
    for curve in curves[1:]:
        what = f'{curve.name}: log-log slope of the angle'
        claims += [
            at_least(what, PAPER, curve.slope, SLOPES[0]),
            at_most(what, PAPER, curve.slope, SLOPES[1]),
        ]
    plain, subspace = curves[:2]
    last = 'PCA: angle with most samples, relative to'
    return [
        *claims,
        at_least('PCA: log-log slope of the angle', PAPER, plain.slope, -0.1),
        at_least(f'{last} its limit', PAPER, plain.last / bias, 0.95),
        at_least(f'{last} {subspace.name}', PAPER, plain.last / subspace.last, 10.0),
    ]
