# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of ``rr-hmm``, as Fig. 1 of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.experiments.drawing import Axes, GREEN, GREY, save, VERMILION
from two_manifold_ros.experiments.rr_hmm_chain import TRANSITION
from two_manifold_ros.experiments.rr_hmm_trial import errors_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from two_manifold_ros.experiments.rr_hmm_trial import Complexes
    from two_manifold_ros.typing import Floats

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
