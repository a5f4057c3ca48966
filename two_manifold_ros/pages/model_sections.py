# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sections of a report about a model that was trained, and about methods that were compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bokeh.models import ColumnDataSource
import numpy as np

from two_manifold_ros.filtering.estimate import half_axis
from two_manifold_ros.interface.drawn_track import DrawnTrack
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.pages.drawing import (
    add_hover,
    CURVES,
    dots_by_value,
    dress_legend,
    evenly,
    FREE_TOOLS,
    GREY,
    map_plot,
    plot,
    worst_of_bins,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.comparison.comparing import Comparison
    from two_manifold_ros.model.head import TrainedModel
    from two_manifold_ros.pages.report import Report
    from two_manifold_ros.typing import Floats

MOST_PLACES = 3_000
"""Points of a track or of a map: neighbours touch each other on a page of this width."""

MOST_READINGS = 600
"""Points of what is read from the states of each method; there may be two dozen of them."""


def model_sections(
    report: Report,
    model: TrainedModel,
    tables: Sequence[tuple[str, Sequence[str], Sequence[Sequence[str]]]],
) -> None:
    """Add what was learned, with tables of title, header and rows."""
    report.section('The model')
    for title, header, rows in tables:
        report.table(title.capitalize(), header, rows)
    if notes := model.summary['notes']:
        report.findings([('info', note) for note in notes])
    _map(report, model)


def _map(report: Report, model: TrainedModel) -> None:
    drawn = map_plot(model.track, name='map')
    runs = DrawnTrack(model.track, MOST_PLACES).runs
    lines = ColumnDataSource({'x': [run[:, 0] for run in runs], 'y': [run[:, 1] for run in runs]})
    drawn.multi_line('x', 'y', source=lines, color=GREY, line_alpha=0.6)
    if not isinstance(model, RouteModel):
        report.figure('The route', drawn, 'Positions of the training.')
        return
    readout = model.route.readout
    spreads = readout.factors[0] * np.ascontiguousarray(readout.covariances[:, 0])
    axes = np.array([half_axis(each) for each in spreads])
    some = worst_of_bins(axes, MOST_PLACES)
    span = float(np.quantile(axes, 0.02)) + 1e-6, float(np.quantile(axes, 0.98)) + 2e-6
    x, y = readout.targets[some, 0].T
    source = ColumnDataSource({'x': x, 'y': y, 'axis': axes[some], 'place': some})
    dots = dots_by_value(drawn, source, 'axis', span, '95 % ellipse (m)', log=True, size=5)
    add_hover(drawn, [dots], {'place': '@place', '95 % ellipse': '@axis{0.000} m'})
    report.figure(
        'The map of the route',
        drawn,
        'Grey: positions of the training; points: places of the map. Where they are yellow laps '
        'passed far from each other, so that the vehicle is known less well there even when the '
        'place is certain.',
    )


def comparison_sections(report: Report, comparison: Comparison) -> None:
    """Add how methods compare."""
    report.section('Errors of all methods')
    seconds = np.array(comparison.horizons) / comparison.rate_hz
    drawn = plot(
        'how far ahead (s)', 'RMSE of the position (m)', 420, y_axis_type='log', name='errors',
        tools=FREE_TOOLS,
    )  # fmt: skip
    # The colours are fewer than the methods: dashes distinguish those of one colour.
    dashes = ('solid', 'dashed', 'dotted')
    for number, result in enumerate(comparison.succeeded):
        errors = [each.all.rmse_m or np.nan for each in result.scores or ()]
        source = ColumnDataSource({'s': seconds, 'm': errors})
        line = drawn.line(
            's', 'm', source=source, color=CURVES[number % len(CURVES)], line_width=2,
            line_dash=dashes[number // len(CURVES) % len(dashes)], legend_label=result.title,
        )  # fmt: skip
        add_hover(drawn, [line], {result.title: '@m{0.000} m', 'ahead': '@s{0.0} s'})
    dress_legend(drawn)
    report.figure(
        'Error against how far ahead',
        drawn,
        'All methods on the same ticks, published or not; lower is better. A click on a name '
        'hides its curve, which makes room for the others.',
    )
    report.section('What the states hold')
    _readings(report, comparison)


def _readings(report: Report, comparison: Comparison) -> None:
    read = [each for each in comparison.succeeded if each.linear is not None]
    if not read:
        report.say('No method has states that positions could be read from.')
        return
    true = np.concatenate(comparison.tracks)
    drawn = map_plot(true, name='readings')
    some = evenly(len(true), MOST_PLACES)
    drawn.line(*true[some].T, color=GREY, line_width=4, line_alpha=0.5)
    few = evenly(len(true), MOST_READINGS)
    best = min(read, key=comparison.reading_rmse_m)
    for number, result in enumerate(read):
        places: Floats = np.concatenate(comparison.readings(result))[few]
        dots = drawn.scatter(
            places[:, 0], places[:, 1], size=4,
            color=CURVES[number % len(CURVES)],
            legend_label=f'{result.title}: {comparison.reading_rmse_m(result):.2f} m',
        )  # fmt: skip
        # All at once would hide each other.
        dots.visible = result is best
    dress_legend(drawn)
    report.figure(
        'Positions read linearly from the states',
        drawn,
        'Grey is the true track; a click on a name shows or hides what a linear regression reads '
        'from the state of that method, with its RMSE. It is no prediction.',
    )
