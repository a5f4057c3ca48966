# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of `slot-car`: what states hold, and error against horizon, as in Fig. 3."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.comparison.figures import (
    draw_reading,
    draw_truth,
    dress_errors,
    label_ends,
)
from two_manifold_ros.experiments.drawing import (
    Axes,
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    save,
    VERMILION,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.comparison.outcome import Comparison

READ = {
    'kalman': 'linear (Kalman filter)',
    'gaussian': 'Gaussian RBF (HSE-HMM)',
    'manifold': 'Laplacian eigenmap (manifold)',
}
"""The kernels whose states are compared in Fig. 3(B)."""

STYLES: dict[str, dict[str, Any]] = {
    'mean': {'color': GREY, 'ls': '-.'},
    'previous': {'color': GREY, 'ls': (0, (1, 1))},
    'kalman': {'color': GREEN, 'ls': (0, (5, 2))},
    'hmm': {'color': PURPLE},
    'gaussian': {'color': VERMILION, 'ls': (0, (5, 2))},
    'manifold': {'color': BLUE, 'lw': 2.6},
}


def draw(comparisons: Sequence[Comparison], path: Path) -> None:
    """Write the readings of the first car on the left, and the mean errors on the right."""
    figure = Figure(figsize=(11.5, 6.4), layout='constrained')
    # matplotlib's stubs take the array of them for a single one.
    parts: Any = figure.subfigures(1, 2, width_ratios=(0.34, 0.66))
    left, right = parts
    first = comparisons[0]
    panels = left.subplots(len(READ), 1, sharex=True, sharey=True)
    shown = [result for result in first.results if result.name in READ]
    for axes, result in zip(panels, shown, strict=True):
        draw_truth(axes, first)
        draw_reading(axes, first, result)
        axes.set_title(f'{READ[result.name]}: RMSE {first.reading_rmse_m(result):.2f} m', size=9)
        axes.set_ylabel('y (m)')
    panels[-1].set_xlabel('x (m)')
    left.suptitle('What the states hold: first car, where it is followed', fontsize='medium')
    left.legend(*panels[0].get_legend_handles_labels(), loc='outside lower center', fontsize=8)
    _draw_errors(right.subplots(), comparisons)
    save(figure, path)


def _draw_errors(axes: Axes, comparisons: Sequence[Comparison]) -> None:
    first = comparisons[0]
    seconds = np.array(first.horizons[1:]) / first.rate_hz
    ends = []
    for index, result in enumerate(first.results):
        curves = [each.results[index].scores or () for each in comparisons]
        errors = np.array([[score.rmse_m for score in curve[1:]] for curve in curves])
        style = STYLES[result.name]
        axes.plot(seconds, errors.mean(axis=0), **style)
        ends.append((float(errors[:, -1].mean()), result.title, style['color']))
    dress_errors(axes, first.rate_hz)
    label_ends(axes, ends)
    axes.set_title(f'Error of predictions, mean of {len(comparisons)} cars', fontsize='medium')
