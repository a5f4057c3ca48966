# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sections of a report about a recording: findings, drive, laps, intervals, vibration, lag."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from bokeh.models import ColumnDataSource, LinearColorMapper
import numpy as np

from two_manifold_ros.inspection.lag import gyroscope_lag
from two_manifold_ros.inspection.motion import lap_spans, put_together, way_driven
from two_manifold_ros.inspection.timing import advancing
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
    map_plot,
    plot,
    SCALE,
    VERMILION,
    worst_of_bins,
)
from two_manifold_ros.recordings.recording import IMU_CHANNELS, usual_gap_ns
from two_manifold_ros.ticks.segments import usable_samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from two_manifold_ros.inspection.inspecting import Report as Inspection
    from two_manifold_ros.inspection.motion import Motion, Together
    from two_manifold_ros.pages.report import Report
    from two_manifold_ros.recordings.recording import ImuStream, Recording
    from two_manifold_ros.typing import Bools, Floats, Ints

MOST_POINTS = 1_400
"""Points of a curve: both extremes of each column of a plot 700 wide; more would not be seen."""

MOST_DRAWN = 4
"""Recordings whose plots are in a report, which would be more than 2 MB with more of them."""

FEWEST_SAMPLES, MOST_SAMPLES = 64, 1_000_000
"""Of a spectrum: with fewer it has no shape, and more take seconds and show the same."""

PHASES = 120
"""Parts of a lap in the picture of laps: bends of most routes take several of them."""

MOST_ROWS = 120
"""Rows of that picture: with PHASES 80 kB of a report; of more laps some stand for others."""

ODD = 3.5
"""
Deviation from the median, in normal standard deviations estimated from the median deviation, from
which a lap is marked. Iglewicz and Hoaglin (1993) recommend it; half as much marks usual laps.
"""

FEWEST_JUDGED = 8
"""Laps below which none is marked: of three that are alike by law one would be in a third of all
drives."""

LEAST_SPREAD = 0.01
"""Share of the median below which a spread counts as this: nobody looks for a lap by less."""

NONE_ODD = 'None is unlike the others in time'


def inspection_sections(
    report: Report, inspections: Sequence[Inspection], recordings: Sequence[Recording]
) -> None:
    """Add a section for each recording; of many only the first have plots."""
    for number, (found, recording) in enumerate(zip(inspections, recordings, strict=True)):
        report.section(f'Recording {short_name(found.name)}')
        if found.name != short_name(found.name):
            report.say(found.name)
        _findings(report, found)
        if number >= MOST_DRAWN:
            report.say(f'The first {MOST_DRAWN} recordings are drawn.')
            continue
        both = None
        if recording.positions is not None:
            both = put_together(recording.positions, recording.imu)
        if both is not None:
            _drive(report, both)
            _laps(report, both)
        _signals(report, recording.imu)
        _intervals(report, recording)
        _spectra(report, recording.imu)
        if both is not None:
            _lag(report, found, both)


def short_name(name: str) -> str:
    """Return the last part of the path of a recording."""
    return Path(name).name or name


def _findings(report: Report, found: Inspection) -> None:
    rows = [(each.severity, each.sentence) for each in found.findings]
    report.findings(rows + [('info', note) for note in found.notes])
    positions = found.positions
    streams = [('IMU', found.imu.topic, found.imu.timing)]
    if positions is not None:
        streams.append(('positions', positions.topic, positions.timing))
    report.table(
        'Topics',
        ['', 'topic', 'messages', 'duration (s)', 'rate (Hz)', 'gaps'],
        [
            [
                name,
                topic,
                f'{t.count}',
                f'{t.duration_s:.1f}',
                f'{t.rate_hz:.1f}',
                f'{len(t.gaps)}',
            ]
            for name, topic, t in streams
        ],
    )


def known_speed(motion: Motion) -> Floats:
    """Return the speed at the points of the grid (G,), m/s, NaN where it is not known."""
    speed: Floats = np.linalg.norm(motion.velocities, axis=1)
    return np.where(motion.known, speed, np.nan)


def _drive(report: Report, both: Together) -> None:
    motion = both.motion
    speed = known_speed(motion)
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


def _laps(report: Report, both: Together) -> None:
    spans = lap_spans(both.motion)
    if len(spans) < 2:
        return
    times = spans[:, 1] - spans[:, 0]
    odd = odd_ones(times)
    rows = lap_rows(both, spans)
    _raster(report, rows)
    report.say(
        f'{len(times)} whole laps without gaps from one passage of a gate to the next, the median '
        f'{np.median(times):.2f} s, the fastest {times.min():.2f} s, the slowest '
        f'{times.max():.2f} s.',
        'Unlike the others in time: '
        + ', '.join(f'lap {lap + 1} ({times[lap]:.2f} s)' for lap in np.flatnonzero(odd))
        + '.'
        if odd.any()
        else f'{NONE_ODD}.'
        if len(times) >= FEWEST_JUDGED
        else f'Of fewer than {FEWEST_JUDGED} none is marked.',
    )


def odd_ones(values: Floats) -> Bools:
    """Return which of the values (n,) deviate from the median like no usual one, see ``ODD``."""
    if np.count_nonzero(np.isfinite(values)) < FEWEST_JUDGED:
        return np.zeros(len(values), dtype=np.bool_)
    away = np.abs(values - np.nanmedian(values))
    # The median deviation of a normal variable is .6745 standard deviations.
    usual = float(np.nanmedian(away)) / 0.6745
    odd: Bools = away > ODD * max(usual, LEAST_SPREAD * float(np.nanmedian(np.abs(values))))
    return odd


def lap_rows(both: Together, spans: Floats) -> Floats:
    """Return the speed over the parts of each lap (n, 2): (n, PHASES), NaN where unknown."""
    motion = both.motion
    speed, way = known_speed(motion), way_driven(motion)
    rows = np.full((len(spans), PHASES), np.nan)
    marks = np.interp(spans, motion.seconds, way)
    for lap, (begin, end) in enumerate(marks.tolist()):
        inside = (way >= begin) & (way <= end)
        if end > begin and np.count_nonzero(inside) > 1:
            asked = begin + (end - begin) * (np.arange(PHASES) + 0.5) / PHASES
            rows[lap] = np.interp(asked, way[inside], speed[inside])
    return rows


def _raster(report: Report, rows: Floats) -> None:
    laps = len(rows)
    # Of neighbours the one that is least like the usual lap is seen.
    unlike = np.nanmax(np.abs(rows - np.nanmedian(rows, axis=0)), axis=1)
    rows = rows[worst_of_bins(unlike, MOST_ROWS)]
    colours = LinearColorMapper(
        palette=SCALE, low=float(np.nanmin(rows)), high=float(np.nanmax(rows)),
        nan_color='rgba(0,0,0,0)',
    )  # fmt: skip
    drawn = plot(
        'distance along the lap (%)', 'lap', int(np.clip(18 * len(rows), 180, 520)),
        x_range=(0.0, 100.0), y_range=(laps + 0.5, 0.5), name='laps',
        tools=FREE_TOOLS,
    )  # fmt: skip
    image = drawn.image(
        image=[rows], x=0.0, y=0.5, dw=100.0, dh=float(laps),
        color_mapper=colours,
    )  # fmt: skip
    add_scale(drawn, colours, 'speed (m/s)')
    add_hover(drawn, [image], {'lap': '$y{0}', 'along': '$x{0} %', 'speed': '@image{0.00} m/s'})
    report.figure(
        'Which lap was different',
        drawn,
        'Each row is a lap, yellow is fast; a row unlike the rows around it was driven '
        f'differently there. Of more than {MOST_ROWS} laps the oddest of neighbours are drawn.',
    )


def _clock(imu: ImuStream) -> tuple[Floats, Floats]:
    """Return seconds from the first stamp (n,) and samples (n, c), finite and in order."""
    usable, samples = usable_samples(imu.samples)
    good = usable & advancing(imu.stamps)
    return (imu.stamps[good] - imu.first_stamp) / 1e9, samples[good]


def _signals(report: Report, imu: ImuStream) -> None:
    seconds, samples = _clock(imu)
    groups = {'specific force (m/s²)': [0, 1, 2], 'angular rate (rad/s)': [3, 4, 5]}
    first = None
    for unit, columns in groups.items():
        drawn = plot('time (s)', unit, 220, **({'x_range': first.x_range} if first else {}))
        first = first or drawn
        x, rows = envelope(seconds, samples[:, columns], MOST_POINTS)
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


def _intervals(report: Report, recording: Recording) -> None:
    drawn = plot('time (s)', 'interval (ms)', 220, y_axis_type='log')
    streams: list[tuple[str, Ints, str]] = [('IMU', recording.imu.stamps, BLUE)]
    if recording.positions is not None:
        streams.append(('positions', recording.positions.stamps, VERMILION))
    for name, stamps, colour in streams:
        kept = stamps[advancing(stamps)]
        if len(kept) < 2:
            continue
        steps = np.diff(kept) / 1e6
        seconds = (kept[1:] - recording.imu.first_stamp) / 1e9
        chosen = worst_of_bins(steps, MOST_POINTS)
        drawn.scatter(
            seconds[chosen], steps[chosen], size=4, color=colour,
            marker='circle' if name == 'IMU' else 'triangle', legend_label=name,
        )  # fmt: skip
    dress_legend(drawn)
    report.figure(
        'Gaps',
        drawn,
        'The longest interval of each stretch of time. One level line is a steady stream; points '
        'far above it are gaps, over which no window is learned.',
    )


def _spectra(report: Report, imu: ImuStream) -> None:
    # Half a second to load.
    from scipy.signal import welch  # noqa: PLC0415

    seconds, samples = _clock(imu)
    if len(seconds) < FEWEST_SAMPLES:
        return
    step_s = float(np.median(np.diff(seconds)))
    # The longest stretch without a gap, and of hours a part: vibration is the same in all of it.
    breaks = np.flatnonzero(np.diff(seconds) > usual_gap_ns(imu.stamps) * 1e-9) + 1
    parts = pairwise([0, *breaks.tolist(), len(seconds)])
    first, last = max(parts, key=lambda part: part[1] - part[0])
    seconds, samples = seconds[first:last], samples[first:last]
    if len(seconds) < FEWEST_SAMPLES:
        return
    count = min(MOST_SAMPLES, int((seconds[-1] - seconds[0]) / step_s) + 1)
    even = seconds[0] + step_s * np.arange(count)
    drawn = plot(
        'frequency (Hz)', 'amplitude density (unit/√Hz)', 260, x_axis_type='log',
        y_axis_type='log', name='spectra', tools=FREE_TOOLS,
    )  # fmt: skip
    for colour, column in zip(CURVES, range(samples.shape[1]), strict=False):
        signal = np.interp(even, seconds, samples[:, column])
        if np.ptp(signal) == 0.0:
            # A dead channel has no spectrum, and its zero no logarithm.
            continue
        power = welch(signal, 1.0 / step_s, nperseg=min(1024, len(even)))
        drawn.line(
            power[0][1:], np.sqrt(power[1][1:]), color=colour,
            line_dash='solid' if column < 3 else 'dashed', legend_label=IMU_CHANNELS[column],
        )  # fmt: skip
    dress_legend(drawn)
    report.figure(
        'Vibration',
        drawn,
        'How strong each frequency is. The drive is at the left, below a few hertz; a narrow peak '
        'further right is vibration of motor or mount, which ticks average out if it is above '
        'half their rate.',
    )


def _lag(report: Report, found: Inspection, both: Together) -> None:
    motion = both.motion
    axis = IMU_CHANNELS.index(gyroscope_lag(both).name)
    drawn = plot('time (s)', 'rate of turn (rad/s)', 240, name='lag')
    for name, values, colour, dash in (
        ('gyroscope', both.imu[:, axis], BLUE, 'solid'),
        ('course of the positions', motion.course_rate, VERMILION, 'dashed'),
    ):
        # The whole drive is too long for few points: a part shows the lag as well.
        drawn.line(
            motion.seconds[:MOST_POINTS], values[:MOST_POINTS],
            color=colour, line_dash=dash, line_width=1.5, legend_label=name,
        )  # fmt: skip
    dress_legend(drawn)
    if found.positions is not None:
        report.say(f'Stamps of the positions are {found.positions.lag}.')
    report.figure(
        'Do positions lag behind the IMU?',
        drawn,
        f'The start of the drive: {IMU_CHANNELS[axis]} and the rate of turn of the positions '
        'should rise and fall together; a curve that is always to the right is late. '
        'Opposite signs are an IMU that is upside down.',
    )
