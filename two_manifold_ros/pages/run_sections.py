# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sections of a report about runs of a filter: where, how sure, how far ahead, lap by lap."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from bokeh.models import BasicTicker, ColumnDataSource
import numpy as np

from two_manifold_ros.filtering.estimate import half_axis
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.inspection.motion import lap_spans, put_together
from two_manifold_ros.interface.status import CODES
from two_manifold_ros.pages.drawing import (
    add_hover,
    BLUE,
    dots_by_value,
    dress_legend,
    evenly,
    FREE_TOOLS,
    GREEN,
    GREY,
    map_plot,
    ORANGE,
    outlines,
    plot,
    SILENT_S,
    SKY,
    STATUS_COLOURS,
    stretches,
    VERMILION,
    worst_of_bins,
)
from two_manifold_ros.pages.recording_sections import MOST_DRAWN, odd_ones, short_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bokeh.plotting import figure

    from two_manifold_ros.evaluation.evaluate import Evaluation, FilterRun
    from two_manifold_ros.evaluation.scores import HorizonScore
    from two_manifold_ros.model.head import ModelHead
    from two_manifold_ros.pages.report import Report
    from two_manifold_ros.recordings.recording import Recording
    from two_manifold_ros.typing import Floats, Ints

MOST_TICKS = 3_000
"""Ticks that are drawn of all recordings together, the worst of each stretch; twice as many take
0.3 MB more of the 2 MB that a report may have."""

MOST_ELLIPSES = 150
"""Ellipses on the maps together; with many more they cover the estimates."""

MOST_STRETCHES = 1_500
"""Bars of states: as many as pixels; of a filter that flickers more the ticks drawn decide."""


def run_sections(
    report: Report,
    evaluation: Evaluation,
    recordings: Sequence[Recording],
    model: ModelHead,
    tables: Iterable[tuple[str, Sequence[str], Sequence[Sequence[str]]]] = (),
) -> list[int]:
    """
    Add what a run of the filter over each recording was like, and how far ahead it is right.

    Tables are of title, header and rows.

    Returned are the numbers of the recordings that are drawn, those with the largest errors.
    """
    if evaluation.withheld:
        report.findings([('info', f'{evaluation.describe_withheld()}.')])
    report.section('How far ahead can it be trusted')
    _horizons(report, evaluation.scores, model)
    for table in tables:
        report.table(*table)
    shown = _shown(evaluation)
    for index in shown:
        recording, run = recordings[index], evaluation.runs[index]
        report.section(f'Drive {short_name(recording.name)}')
        _drive(report, run, evaluation.truths[index], recording, len(shown))
        _laps(report, run, evaluation.truths[index], recording)
    if len(shown) < len(recordings):
        report.say(
            f'Drawn are the {len(shown)} of {len(recordings)} recordings with the largest errors.'
        )
    return shown


def _shown(evaluation: Evaluation) -> list[int]:
    """Return which recordings are drawn, in their order: those with the largest errors."""
    errors = [
        np.sqrt(np.nanmean(np.square(_errors(run, truth)))) if np.isfinite(truth).any() else 0.0
        for run, truth in zip(evaluation.runs, evaluation.truths, strict=True)
    ]
    return sorted(np.argsort(errors)[::-1][:MOST_DRAWN].tolist())


def _errors(run: FilterRun, truth: Floats) -> Floats:
    """Return how far the present positions are from the true ones, metres (T,)."""
    away: Floats = np.linalg.norm(run.positions[:, 0] - truth[:, 0], axis=1)
    return away


def _seconds(run: FilterRun, recording: Recording) -> Floats:
    """Return the ends of the ticks (T,), seconds from the first IMU stamp."""
    since_ns: Floats = (run.stamps - recording.imu.first_stamp).astype(np.float64)
    return since_ns * 1e-9


def _horizons(report: Report, scores: Sequence[HorizonScore], model: ModelHead) -> None:
    seconds = [each.horizon / model.rate_hz for each in scores]
    drawn = plot(
        'how far ahead (s)', 'error of the position (m)', 340, y_axis_type='log', name='horizons',
        tools=FREE_TOOLS,
    )  # fmt: skip
    curves = {
        'this model, RMSE': ([each.model.all.rmse_m for each in scores], BLUE, 'solid', 'circle'),
        'this model, 95 %': ([each.model.all.p95_m for each in scores], SKY, 'dotted', 'diamond'),
        'this model, median': (
            [each.model.all.median_m for each in scores], GREEN, 'dashed', 'inverted_triangle',
        ),
        'always the mean position': (
            [each.mean.all.rmse_m for each in scores], GREY, 'solid', 'square',
        ),
        'the true position now, kept': (
            [each.previous.all.rmse_m for each in scores], ORANGE, 'solid', 'triangle',
        ),
    }  # fmt: skip
    for label, (errors, colour, dash, marker) in curves.items():
        # On this scale nothing is zero, as the true position now is.
        source = ColumnDataSource({'s': seconds, 'm': [each or np.nan for each in errors]})
        drawn.line('s', 'm', source=source, color=colour, line_dash=dash, line_width=2,
                   legend_label=label)  # fmt: skip
        dots = drawn.scatter('s', 'm', source=source, size=8, color=colour, marker=marker,
                             legend_label=label)  # fmt: skip
        add_hover(drawn, [dots], {label: '@m{0.000} m, @s{0.0} s ahead'})
    dress_legend(drawn)
    report.figure(
        'Error against how far ahead',
        drawn,
        'Over all ticks, published or not. Where the blue line meets the grey one the prediction '
        'says no more than where the route is. A click on a name hides its curve.',
    )


def _drive(
    report: Report, run: FilterRun, truth: Floats, recording: Recording, drives: int
) -> None:
    errors = _errors(run, truth)
    seconds = _seconds(run, recording)
    axes = np.array([half_axis(each) for each in np.ascontiguousarray(run.covariances[:, 0])])
    chosen = worst_of_bins(errors, MOST_TICKS // drives)
    source = _source(run, errors, seconds, axes, chosen)
    track = _track(run, truth, errors, chosen, source, MOST_ELLIPSES // drives)
    report.figure(
        'Where it was, and where it was thought to be',
        track,
        'Grey is the true route; each point is an estimate, yellow where it is far off, a cross '
        'where it was withheld. Ellipses hold the truth with 95 %. Point at one to see time and '
        'cause, zoom with the wheel; points chosen here are chosen below too.',
    )
    time = _error_plot(source, seconds)
    states = _state_plot(run, seconds, chosen, time)
    usual = CODES[Status.TRACKING]
    if (run.statuses == usual).all():
        report.say('It was never unsure: all of the drive it was tracking.')
    report.figure(
        'When it was unsure, and why',
        states,
        'One row for each state; point at a bar to see its cause. Between the first and the last '
        'bar of tracking there should be few others.',
    )
    report.figure(
        'Error over time',
        time,
        'Blue: how far the position is off; orange: half the long axis of the 95 % ellipse, which '
        'should mostly be above it. The largest error of each stretch is drawn, so more points '
        'than one in twenty may lie above; the share of all is in the summary.',
    )
    _causes(report, run, seconds)


def _source(
    run: FilterRun, errors: Floats, seconds: Floats, axes: Floats, chosen: Ints
) -> ColumnDataSource:
    """Return the ticks that all plots of a drive share, so that a choice in one shows in all."""
    words = [each.value for each in Status]
    columns = {
        'x': run.positions[chosen, 0, 0],
        'y': run.positions[chosen, 0, 1],
        'error': errors[chosen],
        't': seconds[chosen],
        # No line joins what a hole in the recording parts.
        'axis': np.where(np.diff(holes(seconds)[chosen], prepend=0) > 0, np.nan, axes[chosen]),
    }
    return ColumnDataSource(
        {
            **{name: values.astype(np.float32) for name, values in columns.items()},
            'state': [words[code] for code in run.statuses[chosen].tolist()],
            'cause': [run.causes[index] for index in chosen.tolist()],
            'marker': ['circle' if each else 'x' for each in run.published[chosen].tolist()],
        }
    )


def holes(seconds: Floats) -> Ints:
    """Return how many holes in the recording lie before each of the increasing times (n,)."""
    passed: Ints = np.cumsum(np.diff(seconds, prepend=seconds[:1]) > SILENT_S)
    return passed


def _track(
    run: FilterRun,
    truth: Floats,
    errors: Floats,
    chosen: Ints,
    source: ColumnDataSource,
    rings: int,
) -> figure:
    drawn = map_plot(
        np.concatenate([truth[:, 0], run.positions[:, 0]]),
        name='track',
        tools='pan,box_zoom,box_select,tap,reset,save',
    )
    drawn.line(
        truth[chosen, 0, 0].astype(np.float32), truth[chosen, 0, 1].astype(np.float32),
        color=GREY, line_width=5, line_alpha=0.45,
    )  # fmt: skip
    published = np.flatnonzero(run.published)
    few = published[evenly(len(published), rings)]
    ovals = outlines(run.positions[few, 0], run.covariances[few, 0])
    drawn.patches(
        [oval[:, 0].astype(np.float32) for oval in ovals],
        [oval[:, 1].astype(np.float32) for oval in ovals],
        fill_color=None, line_color=BLUE, line_alpha=0.3, name='ellipses',
    )  # fmt: skip
    known = errors[np.isfinite(errors)]
    low, high = np.quantile(known, (0.05, 0.99)).tolist() if len(known) else (0.01, 1.0)
    dots = dots_by_value(
        drawn, source, 'error', (max(low, 1e-3), max(high, 2e-3)), 'error (m)', log=True,
        marker='marker', size=5, hover_color=VERMILION, nonselection_alpha=0.08, name='estimates',
    )  # fmt: skip
    add_hover(
        drawn,
        [dots],
        {
            'time': '@t{0.0} s',
            'error': '@error{0.000} m',
            'ellipse': '@axis{0.000} m',
            'state': '@state @cause',
        },
    )
    return drawn


def _error_plot(source: ColumnDataSource, seconds: Floats) -> figure:
    drawn = plot(
        'time (s)', 'error (m)', 260, y_axis_type='log', name='errors',
        x_range=(float(seconds[0]), float(seconds[-1]) + 1e-3) if len(seconds) else (0.0, 1.0),
        tools='xpan,xwheel_zoom,box_zoom,xbox_select,reset,save',
    )  # fmt: skip
    drawn.line('t', 'axis', source=source, color=ORANGE, line_width=1.2)
    dots = drawn.scatter('t', 'error', source=source, marker='marker', size=4, color=BLUE,
                         hover_color=VERMILION, nonselection_alpha=0.08)  # fmt: skip
    add_hover(
        drawn, [dots], {'time': '@t{0.0} s', 'error': '@error{0.000} m', 'state': '@state @cause'}
    )
    return drawn


def _state_plot(run: FilterRun, seconds: Floats, chosen: Ints, beside: figure) -> figure:
    # A change of the cause is a change as well.
    numbers = {cause: number for number, cause in enumerate(dict.fromkeys(run.causes))}
    codes = run.statuses * len(numbers) + np.array(
        [numbers[each] for each in run.causes], dtype=np.int64
    )
    # And a hole in the recording is in no state.
    codes += holes(seconds) * len(Status) * len(numbers)
    ticks = np.arange(len(codes))
    parts = stretches(codes)
    if len(parts) > MOST_STRETCHES:
        ticks = chosen
        parts = stretches(codes[chosen])
    words = [each.value for each in Status]
    step_s = float(np.median(np.diff(seconds[ticks]))) if len(ticks) > 1 else 0.0
    rows = list(dict.fromkeys(words[code] for code in sorted(set(run.statuses.tolist()))))
    bars: dict[str, list[Any]] = {name: [] for name in ('left', 'right', 'y', 'colour', 'cause')}
    for first, last in parts:
        state = words[int(run.statuses[ticks[first]])]
        bars['left'].append(float(seconds[ticks[first]]))
        bars['right'].append(float(seconds[ticks[last - 1]]) + step_s)
        bars['y'].append(state)
        bars['colour'].append(STATUS_COLOURS[Status(state)])
        bars['cause'].append(run.causes[ticks[first]] or 'all is well')
    drawn = plot(
        'time (s)', '', 70 + 26 * max(len(rows), 1), y_range=rows[::-1] or ['-'], name='states',
        x_range=beside.x_range, tools='xpan,xwheel_zoom,reset,save', active_drag='xpan',
    )  # fmt: skip
    source = ColumnDataSource(bars)
    shown = drawn.hbar(
        y='y', left='left', right='right', height=0.7, color='colour', source=source
    )
    add_hover(drawn, [shown], {'': '@y: @cause', 'from': '@left{0.0} s', 'until': '@right{0.0} s'})
    return drawn


def _causes(report: Report, run: FilterRun, seconds: Floats) -> None:
    """Add how long each state and cause lasted, and what helps."""
    words = [each.value for each in Status]
    usual = CODES[Status.TRACKING]
    found: dict[tuple[str, str], int] = {}
    first_s: dict[tuple[str, str], float] = {}
    for code, cause, at_s in zip(run.statuses.tolist(), run.causes, seconds.tolist(), strict=True):
        if code != usual or cause:
            found[words[code], cause] = found.get((words[code], cause), 0) + 1
            first_s.setdefault((words[code], cause), at_s)
    if not found:
        return
    report.table(
        'All that was not plain tracking',
        ['state', 'cause', 'share of the ticks', 'first at (s)', 'what it means, and what helps'],
        [
            [
                state,
                cause,
                f'{100 * count / len(run.causes):.1f} %',
                f'{first_s[state, cause]:.1f}',
                run.reasons.get(cause, '').partition(': ')[2],
            ]
            for (state, cause), count in sorted(found.items(), key=lambda item: -item[1])
        ],
    )


def _laps(report: Report, run: FilterRun, truth: Floats, recording: Recording) -> None:
    both = put_together(recording.positions, recording.imu) if recording.positions else None
    spans = lap_spans(both.motion) if both else np.empty((0, 2))
    if len(spans) < 2:
        return
    errors = _errors(run, truth)
    seconds = _seconds(run, recording)
    times, means, worst, published = [], [], [], []
    for begin, end in spans.tolist():
        here = (seconds >= begin) & (seconds < end) & np.isfinite(errors)
        times.append(end - begin)
        means.append(float(np.sqrt(np.mean(np.square(errors[here])))) if here.any() else np.nan)
        worst.append(float(errors[here].max()) if here.any() else np.nan)
        published.append(float(np.mean(run.published[here])) if here.any() else np.nan)
    odd = odd_ones(np.array(times)) | odd_ones(np.array(means))
    drawn = plot('lap', 'RMSE (m)', 200, name='laps', y_axis_type='log',
                 tools=FREE_TOOLS)  # fmt: skip
    drawn.xaxis.ticker = BasicTicker(min_interval=1)
    source = ColumnDataSource(
        {
            'lap': list(range(1, len(spans) + 1)),
            'rmse': means,
            'worst': worst,
            'time': times,
            'published': [100 * each for each in published],
            'colour': [VERMILION if each else GREEN for each in odd],
            'marker': ['diamond' if each else 'circle' for each in odd],
        }
    )
    dots = drawn.scatter('lap', 'rmse', source=source, size=9, color='colour', marker='marker')
    add_hover(
        drawn,
        [dots],
        {
            'lap': '@lap',
            'time': '@time{0.00} s',
            'RMSE': '@rmse{0.000} m',
            'largest': '@worst{0.000} m',
            'published': '@published{0.0} %',
        },
    )
    report.figure(
        'Which lap was different',
        drawn,
        f'One point for each of {len(spans)} laps. A lap with a gap in the positions, or of '
        'another length than usual by these, as where they jump, is left out; the command laps, '
        'which times by the IMU, may have it. Red diamonds are laps unlike the others in time or '
        'error, of eight laps and more; point at one for its numbers.',
    )
