# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of ``linear-iv``: subspace angles against samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.drawing import BLUE, GREEN, GREY, save, VERMILION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.typing import Floats


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
