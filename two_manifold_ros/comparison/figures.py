# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Figures of a comparison: the track in each method's state, and error against horizon."""

from __future__ import annotations

import itertools
import math
from typing import Any, TYPE_CHECKING

from matplotlib.figure import Figure
import numpy as np

from two_manifold_ros.evaluation.figures import Axes, dress_errors, save
from two_manifold_ros.names import OURS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.comparison.outcome import Comparison, Result
    from two_manifold_ros.typing import Floats


def draw_tracks(comparison: Comparison, path: Path) -> None:
    """Write the true track, and over it what is read linearly from each method's state."""
    drawn = [result for result in comparison.succeeded if result.linear is not None]
    # At most four in a row, and as many in every row as fill the last one best.
    lines = max(1, math.ceil(len(drawn) / 4))
    columns = max(1, math.ceil(len(drawn) / lines))
    # Panels of about the shape of the track, 2.7 inches across a square one.
    true = _joined(comparison.tracks)
    width, height = (np.nanmax(true, axis=0) - np.nanmin(true, axis=0)).tolist()
    shape = math.sqrt(min(max(width / max(height, 1e-9), 0.5), 2.0))
    size = max(5.0, (2.7 * shape + 0.3) * columns + 0.6), (2.7 / shape + 0.6) * lines + 1.0
    figure = Figure(figsize=size, layout='constrained')
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for index, axes in enumerate(panels.flat):
        if index and index >= len(drawn):
            axes.set_visible(False)
            continue
        draw_truth(axes, comparison)
        if index < len(drawn):
            draw_reading(axes, comparison, drawn[index])
        if index + columns >= len(drawn):
            axes.tick_params(labelbottom=True)
            axes.set_xlabel('x (m)')
        if index % columns == 0:
            axes.set_ylabel('y (m)')
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc='outside lower center', ncols=2)
    figure.suptitle(caption_of(comparison), fontsize='medium', wrap=True)
    save(figure, path)


def caption_of(comparison: Comparison) -> str:
    """Return the caption of the panels, a line for each thing that they do not show."""
    lines = ['A linear reading of what the state of each method holds, not what it predicts']
    for words, chosen in (
        ('Given true positions on the way', [r for r in comparison.succeeded
                                             if r.sees_positions and r.linear is not None]),
        ('Without a state, so not shown', [r for r in comparison.succeeded if r.linear is None]),
    ):  # fmt: skip
        if chosen:
            lines.append(f'{words}: {", ".join(each.title for each in chosen)}')
    return '\n'.join(lines)


def draw_truth(axes: Axes, comparison: Comparison) -> None:
    """Draw the true track, all of it in sight."""
    true = _joined(comparison.tracks)
    axes.plot(*true.T, color='#a6a6a6', lw=3.5, label='true position')
    axes.set_aspect('equal')
    low, high = _limits(true)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.grid(alpha=0.3)


def draw_reading(axes: Axes, comparison: Comparison, result: Result) -> None:
    """Draw what is read linearly from the states of a method, with its error as the title."""
    read = _joined(comparison.readings(result))
    axes.plot(*read.T, color='#0072B2', lw=0.9, label='linear reading of the state')
    low, high = _limits(_joined(comparison.tracks))
    beyond = np.maximum(low - read, read - high).max(axis=1)
    outside = float(np.mean(beyond[np.isfinite(beyond)] > 0.0))
    if outside > 0.2:  # a share that the picture must not hide
        axes.text(0.5, 0.02, f'{outside:.0%} outside', transform=axes.transAxes, ha='center')
    rmse_m = comparison.reading_rmse_m(result)
    axes.set_title(f'{result.title}\nRMSE of this reading {rmse_m:.2f} m', fontsize='medium')


def _joined(parts: Sequence[Floats]) -> Floats:
    """Join (T, 2) tracks with a row of NaN between, which no line crosses."""
    seam = np.full((1, 2), np.nan)
    joined: Floats = np.concatenate([row for part in parts for row in (part, seam)][:-1])
    return joined


def _limits(true: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a picture that shows the track and not the outliers of a method."""
    low, high = np.nanmin(true, axis=0), np.nanmax(true, axis=0)
    margin = 0.12 * float(np.max(high - low)) + 1e-3
    return low - margin, high + margin


def draw_errors(comparison: Comparison, path: Path) -> None:
    """Write the RMSE of every method against the horizon."""
    figure = Figure(figsize=(9.0, 5.2), layout='constrained')
    axes = figure.subplots()
    # Okabe and Ito's colours, which colour-blind people distinguish; dashes help too.
    others = itertools.cycle(
        {'color': colour, 'ls': dash, 'lw': 1.4}
        for dash in ('solid', (0, (5, 2)), (0, (1, 1)))
        for colour in ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00')
    )
    styles = {
        result.name: {'color': 'black', 'lw': 2.8} if result.name == OURS else next(others)
        for result in comparison.succeeded
    }
    curves = [
        # NaN where there is none, or none on a log scale.
        (result.title, [each.all.rmse_m or np.nan for each in result.scores or ()], style)
        for result, style in zip(comparison.succeeded, styles.values(), strict=True)
    ]
    draw_curves(axes, curves, comparison.horizons, comparison.rate_hz)
    save(figure, path)


def draw_curves(
    axes: Axes,
    curves: Sequence[tuple[str, Sequence[float], dict[str, Any]]],
    horizons: Sequence[int],
    rate_hz: float,
) -> None:
    """Draw errors (H,) of methods against horizons in ticks, named in the order of their ends."""
    seconds = np.array(horizons) / rate_hz
    marker = {'marker': 'o', 'ms': 4.0} if len(seconds) <= 12 else {}
    for label, errors, style in sorted(curves, key=_last_known, reverse=True):
        axes.plot(seconds, errors, label=label, **marker, **style)
    dress_errors(axes)
    axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), frameon=False)


def _last_known(curve: tuple[str, Sequence[float], dict[str, Any]]) -> float:
    return next((error for error in reversed(curve[1]) if np.isfinite(error)), 0.0)
