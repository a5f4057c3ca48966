# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of an evaluation: true and filtered track, and the error against the horizon."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.evaluation.evaluate import Evaluation, FilterRun
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.typing import Bools, Floats


FORMATS = ('.png', '.pdf', '.svg')

TRUE = 'black'
TOLD, WITHHELD = 'tab:blue', '#9ecae1'
"""Of estimates on the track: the lighter colour for those that were not valid."""

TOLD_ERROR, WITHHELD_ERROR = 'tab:red', '#fcae91'
"""Of the lines from them to the true positions."""

MEAN, PREVIOUS = 'tab:gray', 'tab:orange'

BELOW: dict[str, Any] = {'loc': 'upper center', 'bbox_to_anchor': (0.5, -0.13), 'ncols': 2}
"""Where a legend hides nothing."""


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

    if Path(path).suffix.lower() not in FORMATS:
        msg = f'{path}: a figure cannot be drawn into this; use a name in {", ".join(FORMATS)}'
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
    parts = list(zip(evaluation.runs, evaluation.truths, strict=True))
    for run, truth in parts:
        axes.plot(*truth[:, 0].T, color=TRUE, lw=1.0, zorder=2.0)
        # What was told is drawn over what was not.
        for told, error, dot in (
            (~run.told, WITHHELD_ERROR, WITHHELD),
            (run.told, TOLD_ERROR, TOLD),
        ):
            axes.plot(*_lines_to_true(run, truth, told).T, color=error, lw=0.7, zorder=1.0)
            axes.plot(*run.positions[told, 0].T, '.', color=dot, ms=3.0, zorder=3.0)
    axes.plot([], [], color=TRUE, lw=1.0, label='true')
    if evaluation.told:
        style = {'color': TOLD_ERROR, 'mec': TOLD, 'mfc': TOLD, 'lw': 0.7}
        axes.plot([], [], '.-', label='filtered, and its error', **style)
    if evaluation.withheld:
        share = 1.0 - evaluation.told / evaluation.ticks
        label = f'withheld ({100 * share:.1f} % of the ticks)'
        style = {'color': WITHHELD_ERROR, 'mec': WITHHELD, 'mfc': WITHHELD, 'lw': 0.7}
        axes.plot([], [], '.-', label=label, **style)
    axes.set(xlabel=f'x in {model.frame_id or "the track frame"} (m)', ylabel='y (m)')
    axes.set_title('Position now, from the IMU alone')
    axes.set_aspect('equal', adjustable='datalim')
    axes.legend(**BELOW)
    axes.grid(alpha=0.3)


def _lines_to_true(run: FilterRun, truth: Floats, chosen: Bools) -> Floats:
    """
    Return lines from true positions to filtered ones, a row of NaN after each: (3 n, 2).

    On the track an estimate may still be ahead of or behind the vehicle; they show by how much.
    """
    ends = [truth[chosen, 0], run.positions[chosen, 0], np.full((chosen.sum(), 2), np.nan)]
    return np.stack(ends, axis=1).reshape(-1, 2)


def _draw_errors(axes: Any, evaluation: Evaluation, model: ModelHead) -> None:  # noqa: ANN401
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415 - as above

    seconds = np.array([each.horizon for each in evaluation.scores]) / model.rate_hz
    curves: list[tuple[str, list[float | None], dict[str, Any]]] = [
        (
            'model, all ticks',
            [each.model.all.rmse_m for each in evaluation.scores],
            {'color': TOLD, 'marker': 'o', 'lw': 2.0},
        ),
        (
            'all ticks, along the direction of travel',
            [each.model.along_rmse_m for each in evaluation.scores],
            {'color': TOLD, 'marker': '.', 'ls': '--', 'lw': 1.0},
        ),
        (
            'all ticks, across it',
            [each.model.cross_rmse_m for each in evaluation.scores],
            {'color': TOLD, 'marker': '.', 'ls': ':', 'lw': 1.0},
        ),
        (
            'always the mean position',
            [each.mean.all.rmse_m for each in evaluation.scores],
            {'color': MEAN, 'marker': 's'},
        ),
        (
            'last true position',
            [each.previous.all.rmse_m for each in evaluation.scores],
            {'color': PREVIOUS, 'marker': '^'},
        ),
    ]
    if evaluation.told and evaluation.withheld:
        values = [each.model.rmse_m for each in evaluation.scores]
        style = {'color': 'tab:cyan', 'marker': 'x', 'lw': 1.0}
        curves.insert(3, ('model, valid ticks only', values, style))
    for label, values, style in curves:
        # On this scale nothing is zero, as the last true position is at horizon 0.
        numbers = np.array([value or np.nan for value in values])
        axes.plot(seconds, numbers, label=label, **style)
    axes.set_yscale('log')
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter('{x:g}')
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel='horizon (s)', ylabel='RMS error (m)')
    axes.set_title('Error against horizon')
    axes.legend(**BELOW)
    axes.grid(which='both', alpha=0.3)
