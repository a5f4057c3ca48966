# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The picture of an evaluation: true and predicted track, error against horizon."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TYPE_CHECKING

import numpy as np

from two_manifold_ros.errors import InputError

if TYPE_CHECKING:
    from two_manifold_ros.evaluation.evaluate import Evaluation
    from two_manifold_ros.model.head import ModelHead

FORMATS = ('.png', '.pdf', '.svg')

TRUE, ERROR = 'black', 'tab:red'
MODEL, MEAN, PREVIOUS = 'tab:blue', 'tab:gray', 'tab:orange'


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
    figure = Figure(figsize=(11.0, 5.0), layout='constrained')
    track, errors = figure.subplots(1, 2)
    _draw_track(track, evaluation, model)
    _draw_errors(errors, evaluation, model)
    if title:
        figure.suptitle(title)
    figure.savefig(
        path, dpi=120, metadata={'Software': None} if str(path).endswith('.png') else None
    )


def _draw_track(axes: Any, evaluation: Evaluation, model: ModelHead) -> None:  # noqa: ANN401
    for index, (run, truth) in enumerate(zip(evaluation.runs, evaluation.truths, strict=True)):
        first = index == 0
        axes.plot(*truth[:, 0].T, color=TRUE, lw=1.0, label='true' if first else None)
        # On the track a point may still be ahead of or behind the vehicle: show by how much.
        error = np.stack([truth[:, 0], run.positions[:, 0], np.full_like(truth[:, 0], np.nan)])
        error = error.transpose(1, 0, 2).reshape(-1, 2)
        axes.plot(*error.T, color=ERROR, lw=0.7, label='error (to true)' if first else None)
        axes.plot(
            *run.positions[:, 0].T, '.', color=MODEL, ms=3.0, label='filtered' if first else None
        )
    axes.set(xlabel=f'x in {model.frame_id or "the track frame"} (m)', ylabel='y (m)')
    axes.set_title('Position now, from the IMU alone')
    axes.set_aspect('equal', adjustable='datalim')
    axes.legend(loc='best')
    axes.grid(alpha=0.3)


def _draw_errors(axes: Any, evaluation: Evaluation, model: ModelHead) -> None:  # noqa: ANN401
    seconds = np.array([each.horizon for each in evaluation.scores]) / model.rate_hz
    for name, words, colour, marker in (
        ('model', 'model', MODEL, 'o'),
        ('mean', 'always the mean position', MEAN, 's'),
        ('previous', 'last true position', PREVIOUS, '^'),
    ):
        values = [getattr(each, name).rmse_m for each in evaluation.scores]
        numbers = np.array([np.nan if value is None else value for value in values])
        axes.plot(seconds, numbers, color=colour, marker=marker, label=words)
    axes.set(xlabel='horizon (s)', ylabel='RMS error (m)', ylim=(0.0, None))
    axes.set_title('Error against horizon')
    axes.legend(loc='best')
    axes.grid(alpha=0.3)
