# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sections of a report about a recording, a model that was trained, and runs of a filter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bokeh.models import ColumnDataSource, LinearColorMapper
import numpy as np

from two_manifold_ros.filtering.estimate import half_axis
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.inspection.inspecting import describe
from two_manifold_ros.inspection.motion import lap_spans, put_together, way_driven
from two_manifold_ros.inspection.streams import advancing
from two_manifold_ros.interface.drawn_track import DrawnTrack
from two_manifold_ros.interface.status import CODES
from two_manifold_ros.model.model import RouteModel
from two_manifold_ros.pages.drawing import (
    add_hover,
    add_scale,
    BLUE,
    CURVES,
    dots_by_value,
    dress_legend,
    envelope,
    evenly,
    FREE_TOOLS,
    GREEN,
    GREY,
    map_plot,
    ORANGE,
    outlines,
    plot,
    SCALE,
    SILENT_S,
    SKY,
    STATUS_COLOURS,
    stretches,
    VERMILION,
    worst_of_bins,
)
from two_manifold_ros.recordings.recording import IMU_CHANNELS
from two_manifold_ros.ticks.segments import usable_samples
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bokeh.plotting import figure

    from two_manifold_ros.evaluation.evaluate import Evaluation, FilterRun
    from two_manifold_ros.evaluation.scores import HorizonScore
    from two_manifold_ros.inspection.inspecting import Report as Inspection
    from two_manifold_ros.inspection.motion import Together
    from two_manifold_ros.model.head import ModelHead, TrainedModel
    from two_manifold_ros.pages.report import Report
    from two_manifold_ros.recordings.recording import ImuStream, Recording
    from two_manifold_ros.typing import Floats, Ints

MOST_POINTS = 1_400
"""Points of a curve: both extremes of each column of a plot 700 wide; more would not be seen."""

MOST_DRAWN = 4
"""Recordings whose plots are in a report, which would be more than 2 MB with more of them."""

PHASES = 120
"""Parts of a lap in the picture of laps: bends of most routes take several of them."""

MOST_ROWS = 120
"""Rows of that picture: with PHASES 80 kB of a report; of more laps some stand for others."""

MOST_TICKS = 3_000
"""Points of a map, and ticks that are drawn of all recordings together, the worst of each stretch;
twice as many take 0.3 MB more of the 2 MB that a report may have."""

MOST_ELLIPSES = 150
"""Ellipses on the maps together; with many more they cover the estimates."""

MOST_STRETCHES = 1_500
"""Bars of states: as many as pixels; of a filter that flickers more the ticks drawn decide."""

_WORDS = [each.value for each in Status]


def short_name(name: str) -> str:
    """Return the last part of the path of a recording."""
    return Path(name).name or name


def model_sections(report: Report, model: TrainedModel, about: Table) -> None:
    """Add what was learned, and the map of a route."""
    report.section('The model')
    report.show([about])
    report.findings([('info', note) for note in model.summary['notes']])
    drawn = map_plot(model.track, name='map')
    runs = DrawnTrack(model.track, MOST_TICKS).runs
    lines = ColumnDataSource({'x': [run[:, 0] for run in runs], 'y': [run[:, 1] for run in runs]})
    drawn.multi_line('x', 'y', source=lines, color=GREY, line_alpha=0.6)
    if not isinstance(model, RouteModel):
        report.figure('The route', drawn, 'Positions of the training.')
        return
    readout = model.route.readout
    spreads = readout.factors[0] * np.ascontiguousarray(readout.covariances[:, 0])
    axes = np.array([half_axis(each) for each in spreads])
    some = worst_of_bins(axes, MOST_TICKS)
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


def inspection_sections(
    report: Report, inspections: Sequence[Inspection], recordings: Sequence[Recording]
) -> None:
    """Add a section for each recording; of many only the first have plots."""
    for number, (found, recording) in enumerate(zip(inspections, recordings, strict=True)):
        report.section(f'Recording {short_name(found.name)}')
        rows = [(each.severity, each.sentence) for each in found.findings]
        report.findings(rows + [('info', note) for note in found.notes])
        report.show(describe(found))
        if number >= MOST_DRAWN:
            report.say(f'The first {MOST_DRAWN} recordings are drawn.')
            continue
        both = None
        if recording.positions is not None:
            both = put_together(recording.positions, recording.imu)
        if both is not None:
            _speed_on_the_map(report, both)
            _speed_by_lap(report, both)
        _signals(report, recording.imu)


def _known_speed(both: Together) -> Floats:
    """Return the speed at the points of the grid (G,), m/s, NaN where it is not known."""
    speed: Floats = np.linalg.norm(both.motion.velocities, axis=1)
    return np.where(both.motion.known, speed, np.nan)


def _speed_on_the_map(report: Report, both: Together) -> None:
    motion, speed = both.motion, _known_speed(both)
    chosen = evenly(len(speed), MOST_POINTS)
    x, y = motion.positions[chosen].T
    columns = {'x': x, 'y': y, 'speed': speed[chosen], 't': motion.seconds[chosen]}
    drawn = map_plot(motion.positions, 440, name='drive')
    span = float(np.nanmin(speed)), float(np.nanmax(speed))
    dots = dots_by_value(drawn, ColumnDataSource(columns), 'speed', span, 'speed (m/s)', size=4)
    add_hover(drawn, [dots], {'time': '@t{0.0} s', 'speed': '@speed{0.00} m/s'})
    report.figure(
        'Where it was driven',
        drawn,
        'Positions, smoothed; yellow is fast. One route, driven again and again, is what can be '
        'learned. Zoom with the wheel, drag to move.',
    )


def lap_rows(both: Together, spans: Floats) -> Floats:
    """Return the speed over the parts of each lap (n, 2): (n, PHASES), NaN where unknown."""
    speed, way = _known_speed(both), way_driven(both.motion)
    rows = np.full((len(spans), PHASES), np.nan)
    marks = np.interp(spans, both.motion.seconds, way)
    for lap, (begin, end) in enumerate(marks.tolist()):
        inside = (way >= begin) & (way <= end)
        if end > begin and np.count_nonzero(inside) > 1:
            asked = begin + (end - begin) * (np.arange(PHASES) + 0.5) / PHASES
            rows[lap] = np.interp(asked, way[inside], speed[inside])
    return rows


def _speed_by_lap(report: Report, both: Together) -> None:
    spans = lap_spans(both.motion)
    if len(spans) < 2:
        return
    laps, rows = len(spans), lap_rows(both, spans)
    # Of neighbours the one that is least like the usual lap is seen.
    unlike = np.nanmax(np.abs(rows - np.nanmedian(rows, axis=0)), axis=1)
    rows = rows[worst_of_bins(unlike, MOST_ROWS)]
    colours = LinearColorMapper(
        palette=SCALE, low=float(np.nanmin(rows)), high=float(np.nanmax(rows)),
        nan_color='rgba(0,0,0,0)',
    )  # fmt: skip
    drawn = plot(
        'distance along the lap (%)', 'lap', int(np.clip(18 * len(rows), 180, 520)),
        x_range=(0.0, 100.0), y_range=(laps + 0.5, 0.5), name='laps', tools=FREE_TOOLS,
    )  # fmt: skip
    image = drawn.image(image=[rows], x=0.0, y=0.5, dw=100.0, dh=float(laps), color_mapper=colours)
    add_scale(drawn, colours, 'speed (m/s)')
    add_hover(drawn, [image], {'lap': '$y{0}', 'along': '$x{0} %', 'speed': '@image{0.00} m/s'})
    report.figure(
        'Which lap was different',
        drawn,
        'Each row is a lap, yellow is fast; a row unlike the rows around it was driven '
        f'differently there. Of more than {MOST_ROWS} laps the oddest of neighbours are drawn.',
    )
    times = spans[:, 1] - spans[:, 0]
    report.say(
        f'{laps} whole laps without gaps from one passage of a gate to the next, the median '
        f'{np.median(times):.2f} s, the fastest {times.min():.2f} s, the slowest '
        f'{times.max():.2f} s (lap {times.argmax() + 1}).'
    )


def _signals(report: Report, imu: ImuStream) -> None:
    usable, samples = usable_samples(imu.samples)
    good = usable & advancing(imu.stamps)
    seconds = (imu.stamps[good] - imu.first_stamp) / 1e9
    groups = {'specific force (m/s²)': [0, 1, 2], 'angular rate (rad/s)': [3, 4, 5]}
    first = None
    for unit, columns in groups.items():
        drawn = plot('time (s)', unit, 220, **({'x_range': first.x_range} if first else {}))
        first = first or drawn
        x, rows = envelope(seconds, samples[good][:, columns], MOST_POINTS)
        for colour, column, y in zip(CURVES, columns, rows.T, strict=False):
            axis = IMU_CHANNELS[column].rpartition('.')[2]
            drawn.line(x, y, color=colour, legend_label=axis, line_width=1.2)
        dress_legend(drawn)
        report.figure(
            f'IMU: {unit.partition(" (")[0]}',
            drawn,
            'What the IMU measured, highest and lowest value of each stretch; flat parts are '
            'standstill or a dead channel. Drag over a part to zoom.',
        )


def run_sections(
    report: Report,
    evaluation: Evaluation,
    recordings: Sequence[Recording],
    model: ModelHead,
    tables: Iterable[Table] = (),
) -> list[int]:
    """
    Add what a run of the filter over each recording was like, and how far ahead it is right.

    Returned are the numbers of the recordings that are drawn, those with the largest errors.
    """
    if evaluation.withheld:
        report.findings([('info', f'{evaluation.describe_withheld()}.')])
    report.section('How far ahead can it be trusted')
    _horizons(report, evaluation.scores, model)
    report.show(tables)
    errors = [
        np.linalg.norm(run.positions[:, 0] - truth[:, 0], axis=1)
        for run, truth in zip(evaluation.runs, evaluation.truths, strict=True)
    ]
    means = [np.nanmean(np.square(each)) if np.isfinite(each).any() else 0.0 for each in errors]
    shown = sorted(np.argsort(means)[::-1][:MOST_DRAWN].tolist())
    for index in shown:
        recording, run = recordings[index], evaluation.runs[index]
        report.section(f'Drive {short_name(recording.name)}')
        seconds = (run.stamps - recording.imu.first_stamp).astype(np.float64) * 1e-9
        _drive(report, run, evaluation.truths[index], errors[index], seconds, len(shown))
    if len(shown) < len(recordings):
        report.say(
            f'Drawn are the {len(shown)} of {len(recordings)} recordings with the largest errors.'
        )
    return shown


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
    report: Report, run: FilterRun, truth: Floats, errors: Floats, seconds: Floats, drives: int
) -> None:
    """Add a drive with errors (T,) at times (T,), one of so many ``drives`` in the report."""
    axes = np.array([half_axis(each) for each in np.ascontiguousarray(run.covariances[:, 0])])
    chosen = worst_of_bins(errors, MOST_TICKS // drives)
    # All plots of a drive share the ticks, so that a choice in one shows in all.
    source = ColumnDataSource(
        {
            'x': run.positions[chosen, 0, 0],
            'y': run.positions[chosen, 0, 1],
            'error': errors[chosen],
            't': seconds[chosen],
            # No line joins what a hole in the recording parts.
            'axis': np.where(np.diff(holes(seconds)[chosen], prepend=0) > 0, np.nan, axes[chosen]),
            'state': [_WORDS[code] for code in run.statuses[chosen].tolist()],
            'cause': [run.causes[index] for index in chosen.tolist()],
            'marker': ['circle' if each else 'x' for each in run.published[chosen].tolist()],
        }
    )
    report.figure(
        'Where it was, and where it was thought to be',
        _track(run, truth, errors, chosen, source, MOST_ELLIPSES // drives),
        'Grey is the true route; each point is an estimate, yellow where it is far off, a cross '
        'where it was withheld. Ellipses hold the truth with 95 %. Point at one to see time and '
        'cause, zoom with the wheel; points chosen here are chosen below too.',
    )
    time = plot(
        'time (s)', 'error (m)', 260, y_axis_type='log', name='errors',
        x_range=(float(seconds[0]), float(seconds[-1]) + 1e-3) if len(seconds) else (0.0, 1.0),
        tools='xpan,xwheel_zoom,box_zoom,xbox_select,reset,save',
    )  # fmt: skip
    time.line('t', 'axis', source=source, color=ORANGE, line_width=1.2)
    dots = time.scatter('t', 'error', source=source, marker='marker', size=4, color=BLUE,
                        hover_color=VERMILION, nonselection_alpha=0.08)  # fmt: skip
    add_hover(
        time, [dots], {'time': '@t{0.0} s', 'error': '@error{0.000} m', 'state': '@state @cause'}
    )
    if (run.statuses == CODES[Status.TRACKING]).all():
        report.say('It was never unsure: all of the drive it was tracking.')
    report.figure(
        'When it was unsure, and why',
        _state_plot(run, seconds, chosen, time),
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
    report.show(_causes(run, seconds))


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
    drawn.line(*truth[chosen, 0].T, color=GREY, line_width=5, line_alpha=0.45)
    published = np.flatnonzero(run.published)
    few = published[evenly(len(published), rings)]
    ovals = outlines(run.positions[few, 0], run.covariances[few, 0])
    drawn.patches(
        *map(list, ovals.transpose(2, 0, 1)),
        fill_color=None, line_color=BLUE, line_alpha=0.3, name='ellipses',
    )  # fmt: skip
    known = errors[np.isfinite(errors)]
    low, high = np.quantile(known, (0.05, 0.99)).tolist() if len(known) else (0.01, 1.0)
    dots = dots_by_value(
        drawn, source, 'error', (max(low, 1e-3), max(high, 2e-3)), 'error (m)', log=True,
        marker='marker', size=5, hover_color=VERMILION, nonselection_alpha=0.08, name='estimates',
    )  # fmt: skip
    shown = {'time': '@t{0.0} s', 'error': '@error{0.000} m', 'ellipse': '@axis{0.000} m'}
    add_hover(drawn, [dots], {**shown, 'state': '@state @cause'})
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
    step_s = float(np.median(np.diff(seconds[ticks]))) if len(ticks) > 1 else 0.0
    rows = [_WORDS[code] for code in sorted(set(run.statuses.tolist()))]
    firsts = [int(ticks[first]) for first, _ in parts]
    states = [_WORDS[run.statuses[first]] for first in firsts]
    source = ColumnDataSource(
        {
            'left': [float(seconds[first]) for first in firsts],
            'right': [float(seconds[ticks[last - 1]]) + step_s for _, last in parts],
            'y': states,
            'colour': [STATUS_COLOURS[Status(each)] for each in states],
            'cause': [run.causes[first] or 'all is well' for first in firsts],
        }
    )
    drawn = plot(
        'time (s)', '', 70 + 26 * max(len(rows), 1), y_range=rows[::-1] or ['-'], name='states',
        x_range=beside.x_range, tools='xpan,xwheel_zoom,reset,save', active_drag='xpan',
    )  # fmt: skip
    shown = drawn.hbar(
        y='y', left='left', right='right', height=0.7, color='colour', source=source
    )
    add_hover(drawn, [shown], {'': '@y: @cause', 'from': '@left{0.0} s', 'until': '@right{0.0} s'})
    return drawn


def _causes(run: FilterRun, seconds: Floats) -> list[Table]:
    """Return how long each state and cause lasted, and what helps; nothing if it only tracked."""
    found: dict[tuple[str, str], list[float]] = {}
    for code, cause, at_s in zip(run.statuses.tolist(), run.causes, seconds.tolist(), strict=True):
        if code != CODES[Status.TRACKING] or cause:
            found.setdefault((_WORDS[code], cause), []).append(at_s)
    header = [
        'state', 'cause', 'share of the ticks', 'first at (s)', 'what it means, and what helps',
    ]  # fmt: skip
    rows = [
        [
            state,
            cause,
            f'{100 * len(times) / len(run.causes):.1f} %',
            f'{times[0]:.1f}',
            run.reasons.get(cause, '').partition(': ')[2],
        ]
        for (state, cause), times in sorted(found.items(), key=lambda item: -len(item[1]))
    ]
    return [Table('All that was not plain tracking', header, rows)] if rows else []
