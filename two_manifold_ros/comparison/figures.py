# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Figures of a comparison: the track in each method's state, and error against horizon."""

from __future__ import annotations

import itertools
import math
import textwrap
from typing import Any, TYPE_CHECKING, TypeAlias

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
import numpy as np

from two_manifold_ros.comparison.own_filters import OURS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from two_manifold_ros.comparison.outcome import Comparison, Result
    from two_manifold_ros.typing import Floats


Axes: TypeAlias = Any
"""Axes of a figure, which matplotlib hands out as anything."""


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
    figure.suptitle(caption_of(comparison, figure.get_figwidth()), fontsize='medium')
    _save(figure, path)


def caption_of(comparison: Comparison, width: float) -> str:
    """Return the caption of the panels, in lines of twelve characters an inch."""
    seeing = [
        each.title
        for each in comparison.succeeded
        if each.sees_positions and each.linear is not None
    ]
    stateless = [each.title for each in comparison.succeeded if each.linear is None]
    shown = (
        'Where a linear regression on the state of each method puts the robot: what the state '
        'holds, not what the method predicts, which is in the table and in errors.png'
    )
    lines = [shown]
    if seeing:
        lines.append(f'Given true positions on the way: {", ".join(seeing)}')
    if stateless:
        lines.append(f'Without a state, so not shown: {", ".join(stateless)}')
    return '\n'.join(textwrap.fill(line, int(12.0 * width)) for line in lines)


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
    seconds = np.array(comparison.horizons) / comparison.rate_hz
    # Okabe and Ito's colours, which colour-blind people distinguish; dashes and labels help too.
    others = itertools.cycle(
        {'color': colour, 'ls': dash, 'lw': 1.4}
        for dash in ('solid', (0, (5, 2)), (0, (1, 1)))
        for colour in ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00')
    )
    ends = []
    for result in comparison.succeeded:
        style: dict[str, Any] = {'color': 'black', 'lw': 2.8}
        if result.name != OURS:
            style = next(others)
        # NaN where there is none, or none on a log scale.
        values = np.array([each.rmse_m or np.nan for each in result.scores or ()], np.float64)
        axes.plot(seconds, values, marker='o' if len(values) <= 12 else None, ms=4.0, **style)
        if np.isfinite(values).any():
            ends.append((float(values[np.isfinite(values)][-1]), result.title, style['color']))
    dress_errors(axes, comparison.rate_hz)
    label_ends(axes, ends)
    _save(figure, path)


def dress_errors(axes: Axes, rate_hz: float) -> None:
    """Give axes of errors in metres against seconds ahead their scales and names."""
    axes.set_yscale('log')
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter('{x:g}')
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel='how far ahead (s)', ylabel='RMS error of the position (m)')
    axes.grid(which='both', alpha=0.25)
    scales = (lambda seconds: seconds * rate_hz, lambda ticks: ticks / rate_hz)
    axes.secondary_xaxis('top', scales).set_xlabel('ticks ahead')


def label_ends(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """
    Write the name of every line at its right end, moved apart where lines end together.

    Parameters
    ----------
    axes
        With a logarithmic ordinate.
    ends
        For each line its last value, its name and its colour.

    """
    low, high = np.log(axes.get_ylim())
    shares = [(math.log(value) - low) / (high - low) for value, _, _ in ends]
    order = np.argsort(shares, kind='stable')
    heights = spread_apart(np.array(shares)[order])
    for height, index in zip(heights, order.tolist(), strict=True):
        value, title, colour = ends[index]
        axes.annotate(
            title,
            xy=(axes.get_xlim()[1], value),
            xycoords='data',
            xytext=(1.04, height),
            textcoords='axes fraction',
            color=colour,
            va='center',
            annotation_clip=False,
            arrowprops={'arrowstyle': '-', 'color': colour, 'lw': 0.6, 'relpos': (0.0, 0.5)},
        )


def spread_apart(shares: Floats, step: float = 0.055) -> Floats:
    """Move sorted heights a step apart, around the middle of those that would overlap."""
    steps = step * np.arange(len(shares))
    # Monotone regression: what is left after the least steps are taken off must not fall.
    blocks: list[list[float]] = []
    for height in (shares - steps).tolist():
        blocks.append([height])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    level = [float(np.mean(block)) for block in blocks for _ in block]
    moved: Floats = np.array(level) + steps
    return moved


def _save(figure: Figure, path: Path) -> None:
    # The layout settles in the second pass only.
    figure.draw_without_rendering()
    # Without the version of matplotlib the same numbers give the same bytes.
    figure.savefig(path, dpi=120, metadata={'Software': None})
