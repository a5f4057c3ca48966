# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Figures of evaluations, and what all figures of errors in metres share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TYPE_CHECKING, TypeAlias

from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.files import replace_file

if TYPE_CHECKING:
    from two_manifold_ros.evaluation.drives import Fleet
    from two_manifold_ros.evaluation.evaluate import Evaluation
    from two_manifold_ros.model.head import ModelHead

Axes: TypeAlias = Any
"""Axes of a figure, which matplotlib hands out as anything."""

MOST_LISTED = 20
"""Vehicles in the legend of a fleet: more do not fit beside the plots, and the table has them."""

FORMATS = ('.png', '.pdf', '.svg')


def check_path(path: str | Path) -> None:
    """Raise ``InputError``, before anything is computed, if no figure can be written there."""
    if Path(path).suffix.lower() not in FORMATS:
        msg = f'{path}: a figure cannot be drawn into this; use a name in {", ".join(FORMATS)}'
        raise InputError(msg)
    if not Path(path).absolute().parent.is_dir():
        msg = f'The folder of {path} does not exist: make it before drawing.'
        raise InputError(msg)


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; the same numbers give the same bytes of a PNG file."""
    # The layout settles in the second pass only.
    figure.draw_without_rendering()
    kind = Path(path).suffix.lower().removeprefix('.')
    # Without the version of matplotlib in it.
    plain: dict[str, Any] | None = {'Software': None} if kind == 'png' else None
    replace_file(
        path,
        lambda file: figure.savefig(file, format=kind, dpi=120, metadata=plain),
        'figure',
    )


def dress_errors(axes: Axes) -> None:
    """Give axes of errors in metres against seconds ahead their scales and names."""
    axes.set_yscale('log')
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter('{x:g}')
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel='how far ahead (s)', ylabel='RMS error of the position (m)')
    axes.grid(which='both', alpha=0.25)


def draw_evaluation(
    evaluation: Evaluation, model: ModelHead, path: str | Path, title: str = ''
) -> None:
    """
    Write true and filtered track, and the error against the horizon, as PNG, PDF or SVG.

    Raise ``InputError`` as ``check_path`` does.
    """
    check_path(path)
    figure = Figure(figsize=(11.0, 6.0), layout='constrained')
    track, errors = figure.subplots(1, 2)
    _draw_track(track, evaluation, model)
    _draw_errors(errors, evaluation, model)
    for axes in (track, errors):
        # Where it hides no data.
        axes.legend(loc='upper center', bbox_to_anchor=(0.5, -0.13), ncols=2)
    if title:
        figure.suptitle(title)
    save(figure, path)


def _draw_track(axes: Axes, evaluation: Evaluation, model: ModelHead) -> None:
    true: dict[str, Any] = {'color': '0.75', 'lw': 6.0}
    # Of estimates that were valid and of the others: lighter ones, and lines to the truth.
    valid: dict[str, Any] = {'color': 'tab:red', 'mec': 'tab:blue', 'mfc': 'tab:blue', 'lw': 0.7}
    other: dict[str, Any] = {'color': '#fcae91', 'mec': '#9ecae1', 'mfc': '#9ecae1', 'lw': 0.7}
    for run, truth in zip(evaluation.runs, evaluation.truths, strict=True):
        # Wider than the dots on it.
        axes.plot(*truth[:, 0].T, zorder=0.5, **true)
        # What was valid is drawn over what was not.
        for chosen, style in ((~run.published, other), (run.published, valid)):
            # Lines show by how much an estimate on the track is ahead of or behind the vehicle.
            here = run.positions[chosen, 0]
            ends = np.stack([truth[chosen, 0], here, np.full_like(here, np.nan)], axis=1)
            lines = ends.reshape(-1, 2)
            axes.plot(*lines.T, color=style['color'], lw=style['lw'], zorder=1.0)
            axes.plot(*here.T, '.', color=style['mfc'], ms=3.0, zorder=3.0)
    axes.plot([], [], label='true', **true)
    if evaluation.published:
        axes.plot([], [], '.-', label='filtered, and its error', **valid)
    if evaluation.withheld:
        share = 1.0 - evaluation.published / evaluation.ticks
        axes.plot([], [], '.-', label=f'withheld ({100 * share:.1f} % of the ticks)', **other)
    axes.set(xlabel=f'x in {model.frame_id or "the track frame"} (m)', ylabel='y (m)')
    axes.set_title('Position now, from the IMU alone')
    axes.set_aspect('equal', adjustable='datalim')
    axes.grid(alpha=0.3)


def _draw_errors(axes: Axes, evaluation: Evaluation, model: ModelHead) -> None:
    scores = evaluation.scores
    own: dict[str, Any] = {'color': 'tab:blue', 'marker': '.', 'lw': 1.0}
    curves: dict[str, tuple[list[float | None], dict[str, Any]]] = {
        'model, all ticks': (
            [each.model.all.rmse_m for each in scores],
            own | {'marker': 'o', 'lw': 2.0},
        ),
        'all ticks, along the direction of travel': (
            [each.model.along_rmse_m for each in scores],
            own | {'ls': '--'},
        ),
        'all ticks, across it': ([each.model.cross_rmse_m for each in scores], own | {'ls': ':'}),
        'always the mean position': (
            [each.mean.all.rmse_m for each in scores],
            {'color': 'tab:gray', 'marker': 's'},
        ),
        'previous true position': (
            [each.previous.all.rmse_m for each in scores],
            {'color': 'tab:orange', 'marker': '^'},
        ),
    }
    if evaluation.published and evaluation.withheld:
        style = {'color': 'tab:cyan', 'marker': 'x', 'lw': 1.0}
        curves['model, published ticks only'] = [each.model.rmse_m for each in scores], style
    seconds = np.array([each.horizon for each in scores]) / model.rate_hz
    for label, (errors, style) in curves.items():
        # On this scale nothing is zero, as the previous true position is at horizon 0.
        axes.plot(seconds, [error or np.nan for error in errors], label=label, **style)
    dress_errors(axes)


def draw_fleet(fleet: Fleet, path: str | Path) -> None:
    """
    Write the errors of a fleet at each place, and of each drive by vehicle, as PNG, PDF or SVG.

    Raise ``InputError`` as ``check_path`` does.
    """
    check_path(path)
    figure = Figure(figsize=(12.0, 5.5), layout='constrained')
    where, when = figure.subplots(1, 2)
    ticks, published, errors = fleet.at_places.T
    driven = ticks > 0.0
    means = errors[driven] / ticks[driven]
    withheld = 1.0 - published[driven] / ticks[driven]
    # An error of nothing has no logarithm.
    scale = LogNorm(*np.maximum([means.min(), means.max()], [1e-3, 2e-3]))
    dots = where.scatter(
        *fleet.places[driven].T, c=means, s=15.0 + 150.0 * withheld, norm=scale, cmap='viridis'
    )
    bar = figure.colorbar(dots, ax=where, label='mean error there (m), logarithmic')
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    bar.ax.yaxis.set_major_formatter('{x:g}')
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    where.set(xlabel='x (m)', ylabel='y (m)')
    shown = 'the larger a dot, the more is withheld' if withheld.any() else 'all is published'
    where.set_title(f'Where: {shown}', fontsize='medium')
    where.set_aspect('equal', adjustable='datalim')
    where.grid(alpha=0.3)
    for number, name in enumerate(fleet.by('vehicle')):
        own = [each for each in fleet.scores if each.vehicle == name]
        means = [each.mean_m for each in sorted(own, key=lambda each: each.begins_ns)]
        # Beyond ten colours vehicles differ in their markers.
        style = {'color': f'C{number % 10}', 'marker': 'osv^D*'[number // 10 % 6], 'lw': 0.5}
        when.plot(np.arange(1, len(means) + 1), means, label=name, alpha=0.7, **style)
    when.xaxis.set_major_locator(MaxNLocator(integer=True))
    when.set(xlabel='drives of a vehicle, in order of time', ylabel='mean error of a drive (m)')
    when.set_ylim(bottom=0.0)
    when.set_title(
        f'When and which: {len(fleet.scores)} drives, {len(fleet.by("vehicle"))} vehicles',
        fontsize='medium',
    )
    when.grid(which='both', alpha=0.25)
    if len(fleet.by('vehicle')) <= MOST_LISTED:
        figure.legend(loc='outside right upper', title='vehicle', fontsize='small')
    save(figure, path)
