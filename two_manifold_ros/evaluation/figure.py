# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of an evaluation: true and filtered track, and the error against the horizon."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.evaluation.evaluate import Evaluation, FilterRun, HorizonScore
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Bools, Floats


def draw_evaluation(
    evaluation: Evaluation, model: ModelHead, path: str | Path, title: str = ''
) -> None:
    """
    Write the picture as PNG, PDF or SVG, whichever the path ends in.

    Raises
    ------
    InputError
        If the path ends in something else.
    ModuleNotFoundError
        Without matplotlib, which is an offline extra.

    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - an offline extra, slow to import

    formats = ('.png', '.pdf', '.svg')
    if Path(path).suffix.lower() not in formats:
        msg = f'{path}: a figure cannot be drawn into this; use a name in {", ".join(formats)}'
        raise InputError(msg)
    figure = Figure(figsize=(11.0, 6.0), layout='constrained')
    track, errors = figure.subplots(1, 2)
    _draw_track(track, evaluation, model)
    _draw_errors(errors, evaluation, model)
    if title:
        figure.suptitle(title)
    figure.savefig(
        path, dpi=120, metadata={'Software': None} if str(path).endswith('.png') else None
    )


def _draw_track(axes: Any, evaluation: Evaluation, model: ModelHead) -> None:  # noqa: ANN401
    # Of estimates that were valid and of the others: lighter ones, and lines to the truth.
    valid: dict[str, Any] = {'color': 'tab:red', 'mec': 'tab:blue', 'mfc': 'tab:blue', 'lw': 0.7}
    other: dict[str, Any] = {'color': '#fcae91', 'mec': '#9ecae1', 'mfc': '#9ecae1', 'lw': 0.7}
    for run, truth in zip(evaluation.runs, evaluation.truths, strict=True):
        axes.plot(*truth[:, 0].T, color='black', lw=1.0, zorder=2.0)
        # What was valid is drawn over what was not.
        for chosen, style in ((~run.published, other), (run.published, valid)):
            lines = _lines_to_true(run, truth, chosen)
            axes.plot(*lines.T, color=style['color'], lw=style['lw'], zorder=1.0)
            axes.plot(*run.positions[chosen, 0].T, '.', color=style['mfc'], ms=3.0, zorder=3.0)
    axes.plot([], [], color='black', lw=1.0, label='true')
    if evaluation.published:
        axes.plot([], [], '.-', label='filtered, and its error', **valid)
    if evaluation.withheld:
        share = 1.0 - evaluation.published / evaluation.ticks
        axes.plot([], [], '.-', label=f'withheld ({100 * share:.1f} % of the ticks)', **other)
    axes.set(xlabel=f'x in {model.frame_id or "the track frame"} (m)', ylabel='y (m)')
    axes.set_title('Position now, from the IMU alone')
    axes.set_aspect('equal', adjustable='datalim')
    _finish(axes)


def _finish(axes: Any, which: str = 'major') -> None:  # noqa: ANN401
    """Draw a grid, and the legend where it hides no data."""
    axes.legend(loc='upper center', bbox_to_anchor=(0.5, -0.13), ncols=2)
    axes.grid(which=which, alpha=0.3)


def _lines_to_true(run: FilterRun, truth: Floats, chosen: Bools) -> Floats:
    """
    Return lines from true positions to filtered ones, a row of NaN after each: (3 n, 2).

    On the track an estimate may still be ahead of or behind the vehicle; they show by how much.
    """
    ends = [truth[chosen, 0], run.positions[chosen, 0], np.full((chosen.sum(), 2), np.nan)]
    return np.stack(ends, axis=1).reshape(-1, 2)


def _draw_errors(axes: Any, evaluation: Evaluation, model: ModelHead) -> None:  # noqa: ANN401
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415 - as above

    scores = evaluation.scores
    seconds = np.array([each.horizon for each in scores]) / model.rate_hz
    own: dict[str, Any] = {'color': 'tab:blue', 'marker': '.', 'lw': 1.0}
    curves: list[tuple[str, Callable[[HorizonScore], float | None], dict[str, Any]]] = [
        ('model, all ticks', lambda each: each.model.all.rmse_m, own | {'marker': 'o', 'lw': 2.0}),
        (
            'all ticks, along the direction of travel',
            lambda each: each.model.along_rmse_m,
            own | {'ls': '--'},
        ),
        ('all ticks, across it', lambda each: each.model.cross_rmse_m, own | {'ls': ':'}),
        (
            'always the mean position',
            lambda each: each.mean.all.rmse_m,
            {'color': 'tab:gray', 'marker': 's'},
        ),
        (
            'last true position',
            lambda each: each.previous.all.rmse_m,
            {'color': 'tab:orange', 'marker': '^'},
        ),
    ]
    if evaluation.published and evaluation.withheld:
        style = {'color': 'tab:cyan', 'marker': 'x', 'lw': 1.0}
        curves.insert(3, ('model, valid ticks only', lambda each: each.model.rmse_m, style))
    for label, error, style in curves:
        # On this scale nothing is zero, as the last true position is at horizon 0.
        numbers = np.array([error(each) or np.nan for each in scores])
        axes.plot(seconds, numbers, label=label, **style)
    axes.set_yscale('log')
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter('{x:g}')
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel='horizon (s)', ylabel='RMS error (m)')
    axes.set_title('Error against horizon')
    _finish(axes, 'both')
