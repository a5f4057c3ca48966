# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sections of a report about a recording, a model that was trained, and runs of a filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from bokeh.models import ColumnDataSource, DataRange1d
import numpy as np

from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.tracker import half_axis
from two_manifold_ros.inspection.inspecting import describe
from two_manifold_ros.inspection.inspecting import Report as Inspection
from two_manifold_ros.inspection.motion import Motion, put_together
from two_manifold_ros.inspection.streams import advancing
from two_manifold_ros.interface.assessment import CODES
from two_manifold_ros.pages import drawing
from two_manifold_ros.pages.report import Figure, Heading, Part
from two_manifold_ros.recordings.recording import IMU_CHANNELS, ImuStream, Recording
from two_manifold_ros.ticks.segments import usable_samples
from two_manifold_ros.typing import Floats, Ints, Table

if TYPE_CHECKING:
    from bokeh.plotting import figure

    from two_manifold_ros.evaluation.evaluate import Evaluation, FilterRun

MOST_POINTS = 1_400
"""Points of a curve: both extremes of each column of a plot 700 wide; more would not be seen."""

MOST_DRAWN = 4
"""Recordings whose plots are in a report, which would be more than 2 MB with more of them."""

MOST_TICKS = 3_000
"""Ticks that are drawn of all recordings together, the worst of each stretch, in some 0.3 MB."""

_WORDS = [each.value for each in Status]


def inspection_sections(
    inspections: Sequence[Inspection], recordings: Sequence[Recording]
) -> Iterator[Part]:
    """Yield a section for each recording; the first ones, which are given, are drawn."""
    for found, recording in itertools.zip_longest(inspections, recordings):
        yield Heading(f'Recording {Path(found.name).name}')
        yield from (f'{each.severity}: {each.sentence}' for each in found.findings)
        yield from (f'note: {note}' for note in found.notes)
        yield from describe(found)
        if recording is None:
            yield f'The first {len(recordings)} recordings are drawn.'
            continue
        if recording.positions is not None:
            motion = put_together(recording.positions, recording.imu)
            yield from () if motion is None else (_speed_on_the_map(motion),)
        yield from _signals(recording.imu)


def _speed_on_the_map(motion: Motion) -> Figure:
    chosen = drawing.evenly(len(motion.speed), MOST_POINTS)
    speed = np.where(motion.known, motion.speed, np.nan)
    x, y = motion.positions[chosen].T
    columns = {'x': x, 'y': y, 'speed': speed[chosen], 't': motion.seconds[chosen]}
    drawn = drawing.map_plot(440, name='drive')
    span = float(np.nanmin(speed)), float(np.nanmax(speed))
    dots = drawing.dots_by_value(
        drawn, ColumnDataSource(columns), 'speed', span, 'speed (m/s)', size=4
    )
    drawing.add_hover(drawn, [dots], {'time': '@t{0.0} s', 'speed': '@speed{0.00} m/s'})
    return Figure(
        'Where it was driven',
        drawn,
        'Positions, smoothed; yellow is fast. One route, driven again and again, is what can be '
        'learned. Zoom with the wheel, drag to move.',
    )


def _signals(imu: ImuStream) -> Iterator[Figure]:
    usable, samples = usable_samples(imu.samples)
    good = usable & advancing(imu.stamps)
    x, rows = drawing.envelope(
        (imu.stamps[good] - imu.first_stamp) / 1e9, samples[good], MOST_POINTS
    )
    shared = DataRange1d(range_padding=0.0)
    for quantity, unit, first in (('specific force', 'm/s²', 0), ('angular rate', 'rad/s', 3)):
        drawn = drawing.plot('time (s)', f'{quantity} ({unit})', 220, x_range=shared)
        for colour, column in zip(drawing.CURVES, range(first, first + 3), strict=False):
            axis = IMU_CHANNELS[column].rpartition('.')[2]
            drawn.line(x, rows[:, column], color=colour, legend_label=axis, line_width=1.2)
        # Above the plot it leaves room on a phone; a click hides a curve.
        drawn.legend[0].update(
            orientation='horizontal', click_policy='hide', border_line_alpha=0.0
        )
        drawn.add_layout(drawn.legend[0], 'above')
        yield Figure(
            f'IMU: {quantity}',
            drawn,
            'What the IMU measured, highest and lowest value of each stretch; flat parts are '
            'standstill or a dead channel. Drag over a part to zoom.',
        )


def run_sections(
    evaluation: Evaluation, recordings: Sequence[Recording], tables: Iterable[Table] = ()
) -> Iterator[Part]:
    """Yield what a run of the filter over each recording was like, and how far ahead it holds."""
    if evaluation.withheld:
        yield f'{evaluation.describe_withheld()}.'
    yield Heading('How far ahead can it be trusted')
    yield from tables
    errors = [
        np.linalg.norm(run.positions[:, 0] - truth[:, 0], axis=1)
        for run, truth in zip(evaluation.runs, evaluation.truths, strict=True)
    ]
    means = [np.nanmean(np.square(each)) if np.isfinite(each).any() else 0.0 for each in errors]
    shown = sorted(np.argsort(means)[::-1][:MOST_DRAWN].tolist())
    for index in shown:
        recording, run = recordings[index], evaluation.runs[index]
        yield Heading(f'Drive {Path(recording.name).name}')
        seconds = (run.stamps - recording.imu.first_stamp).astype(np.float64) * 1e-9
        yield from _drive(run, evaluation.truths[index], errors[index], seconds, len(shown))
    if len(shown) < len(recordings):
        count = f'{len(shown)} of {len(recordings)}'
        yield f'Drawn are the {count} recordings with the largest errors.'


def _drive(
    run: FilterRun, truth: Floats, errors: Floats, seconds: Floats, drives: int
) -> Iterator[Part]:
    """Yield a drive with errors (T,) at times (T,), one of so many ``drives`` in the report."""
    axes = np.array([half_axis(each) for each in np.ascontiguousarray(run.covariances[:, 0])])
    chosen = drawing.worst_of_bins(errors, MOST_TICKS // drives)
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
    yield Figure(
        'Where it was, and where it was thought to be',
        # With many more ellipses on the maps they cover the estimates.
        _track(run, truth, errors, chosen, source, 150 // drives),
        'Grey is the true route; each point is an estimate, yellow where it is far off, a cross '
        'where it was withheld. Ellipses hold the truth with 95 %. Point at one to see time and '
        'cause, zoom with the wheel; points chosen here are chosen below too.',
    )
    time = drawing.plot(
        'time (s)', 'error (m)', 260, y_axis_type='log', name='errors',
        x_range=(float(seconds[0]), float(seconds[-1]) + 1e-3) if len(seconds) else (0.0, 1.0),
        tools='xpan,xwheel_zoom,box_zoom,xbox_select,reset,save',
    )  # fmt: skip
    time.line('t', 'axis', source=source, color=drawing.ORANGE, line_width=1.2)
    dots = time.scatter('t', 'error', source=source, marker='marker', size=4, color=drawing.BLUE,
                        hover_color=drawing.VERMILION, nonselection_alpha=0.08)  # fmt: skip
    drawing.add_hover(
        time, [dots], {'time': '@t{0.0} s', 'error': '@error{0.000} m', 'state': '@state @cause'}
    )
    yield Figure(
        'When it was unsure, and why',
        _state_plot(run, seconds, chosen, time),
        'One row for each state; point at a bar to see its cause. Between the first and the last '
        'bar of tracking there should be few others.',
    )
    yield Figure(
        'Error over time',
        time,
        'Blue: how far the position is off; orange: half the long axis of the 95 % ellipse, which '
        'should mostly be above it. The largest error of each stretch is drawn, so more points '
        'than one in twenty may lie above; the share of all is in the summary.',
    )
    yield from _causes(run, seconds)


def holes(seconds: Floats) -> Ints:
    """Return how many holes in the recording lie before each of the increasing times (n,)."""
    passed: Ints = np.cumsum(np.diff(seconds, prepend=seconds[:1]) > drawing.SILENT_S)
    return passed


def _track(
    run: FilterRun,
    truth: Floats,
    errors: Floats,
    chosen: Ints,
    source: ColumnDataSource,
    rings: int,
) -> figure:
    drawn = drawing.map_plot(name='track', tools='pan,wheel_zoom,box_select,tap,reset,save')
    drawn.line(*truth[chosen, 0].T, color=drawing.GREY, line_width=5, line_alpha=0.45)
    published = np.flatnonzero(run.published)
    few = published[drawing.evenly(len(published), rings)]
    ovals = drawing.outlines(run.positions[few, 0], run.covariances[few, 0])
    drawn.patches(
        *map(list, ovals.transpose(2, 0, 1)),
        fill_color=None, line_color=drawing.BLUE, line_alpha=0.3, name='ellipses',
    )  # fmt: skip
    known = errors[np.isfinite(errors)]
    low, high = np.quantile(known, (0.05, 0.99)).tolist() if len(known) else (0.01, 1.0)
    dots = drawing.dots_by_value(
        drawn, source, 'error', (max(low, 1e-3), max(high, 2e-3)), 'error (m)', log=True,
        marker='marker', size=5, hover_color=drawing.VERMILION, nonselection_alpha=0.08,
        name='estimates',
    )  # fmt: skip
    shown = {'time': '@t{0.0} s', 'error': '@error{0.000} m', 'ellipse': '@axis{0.000} m'}
    drawing.add_hover(drawn, [dots], {**shown, 'state': '@state @cause'})
    return drawn


def _state_plot(run: FilterRun, seconds: Floats, chosen: Ints, beside: figure) -> figure:
    # A change of the cause is a change as well, and a hole in the recording is in no state.
    states = run.statuses.tolist(), run.causes, holes(seconds).tolist()
    codes = list(zip(*states, strict=True))
    parts = drawing.stretches([codes[each] for each in chosen.tolist()])
    step_s = float(np.median(np.diff(seconds[chosen]))) if len(chosen) > 1 else 0.0
    firsts = [int(chosen[first]) for first, _ in parts]
    words = [_WORDS[run.statuses[first]] for first in firsts]
    source = ColumnDataSource(
        {
            'left': [float(seconds[first]) for first in firsts],
            'right': [float(seconds[chosen[last - 1]]) + step_s for _, last in parts],
            'y': words,
            'colour': [drawing.STATUS_COLOURS[Status(each)] for each in words],
            'cause': [run.causes[first] or 'all is well' for first in firsts],
        }
    )
    rows = [_WORDS[code] for code in sorted(set(run.statuses.tolist()), reverse=True)] or ['-']
    drawn = drawing.plot(
        'time (s)', '', 70 + 26 * len(rows), y_range=rows, name='states',
        x_range=beside.x_range, tools='xpan,xwheel_zoom,reset,save', active_drag='xpan',
    )  # fmt: skip
    shown = drawn.hbar(
        y='y', left='left', right='right', height=0.7, color='colour', source=source
    )
    drawing.add_hover(
        drawn, [shown], {'': '@y: @cause', 'from': '@left{0.0} s', 'until': '@right{0.0} s'}
    )
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
