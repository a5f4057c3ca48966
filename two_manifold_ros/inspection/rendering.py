# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Render reports of an inspection for a terminal: one in full, many as a table."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from two_manifold_ros.inspection.inspecting import folded_warnings
from two_manifold_ros.inspection.timing import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from two_manifold_ros.inspection.inspecting import Report
    from two_manifold_ros.inspection.positions import PositionReport
    from two_manifold_ros.inspection.timing import Timing


def print_report(report: Report, console: Console) -> None:
    """Print a report: streams, channels, laps and findings."""
    console.rule(f'[bold]{escape(report.name)}', align='left', characters='=')
    console.print(_streams(report))
    console.print(_channels(report))
    gaps = [f'{word} gaps: {listed(each.gaps)}' for word, _, each in _timings(report) if each.gaps]
    for line in gaps + _position_lines(report.positions):
        console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 2))
    for finding in report.findings:
        style = 'bold yellow' if finding.severity == 'warning' else 'cyan'
        table.add_row(f'[{style}]{finding.severity}', escape(finding.sentence))
    console.print()
    console.print(table)
    console.print()


def print_reports(reports: Sequence[Report], console: Console) -> None:
    """Print a line for each of many reports, then each kind of warning with its first sentence."""
    folder = _folder_of([each.name for each in reports])
    table = _table('bag', 'min', 'IMU Hz', 'position Hz', 'gaps', 'laps', 'warnings')
    table.columns[0].overflow = table.columns[-1].overflow = 'fold'
    table.columns[-1].justify = 'left'
    for each in reports:
        timing, positions = each.imu.timing, each.positions
        laps = None if positions is None else positions.laps
        warnings = dict.fromkeys(one.code for one in each.findings if one.severity == 'warning')
        table.add_row(
            escape(each.name.removeprefix(folder)),
            f'{timing.duration_s / 60.0:.1f}',
            f'{timing.rate_hz:.0f}',
            '-' if positions is None else f'{positions.timing.rate_hz:.1f}',
            f'{len(timing.gaps)}',
            f'{laps.count:.1f}' if laps is not None and laps.resolved else '-',
            ', '.join(warnings),
        )
    if folder:
        console.print(Padding(Text(f'bags in {folder}'), (0, 0, 0, 2), expand=False))
    console.print(table)
    for name, (finding, *_), count in sorted(folded_warnings(reports), key=lambda each: -each[2]):
        words = f'{finding.code}: {count} of {len(reports)} bags; '
        words += f'{name.removeprefix(folder)}: {finding.sentence}'
        console.print(Padding(Text(words), (0, 0, 1, 2), expand=False))
    minutes = sum(each.imu.timing.duration_s for each in reports) / 60.0
    words = f'{len(reports)} bags of {minutes:.1f} min; two-manifold inspect BAG has all of one'
    console.print(Padding(Text(words), (0, 0, 0, 2), expand=False))


def _folder_of(names: Sequence[str]) -> str:
    """Return the longest folder, with a slash, that all names begin with."""
    parts = zip(*(name.split('/')[:-1] for name in names), strict=False)
    alike = itertools.takewhile(lambda each: len(set(each)) == 1, parts)
    return ''.join(f'{each[0]}/' for each in alike)


def _table(*columns: str, left: int = 1) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(column, justify='left' if index < left else 'right')
    return table


def _timings(report: Report) -> list[tuple[str, str, Timing]]:
    rows = [('IMU', report.imu.topic, report.imu.timing)]
    if report.positions is not None:
        rows.append(('position', report.positions.topic, report.positions.timing))
    return rows


def _streams(report: Report) -> Table:
    timings = _timings(report)
    table = _table('', *(word for word, _, _ in timings))
    table.add_row('topic', *(escape(topic) for _, topic, _ in timings))
    rows: dict[str, Callable[[Timing], str]] = {
        'messages': lambda timing: f'{timing.count}',
        'first, s after the first IMU stamp': lambda timing: f'{timing.start_s:.2f}',
        'duration, s': lambda timing: f'{timing.duration_s:.2f}',
        'rate, Hz (median)': lambda timing: f'{timing.rate_hz:.2f}',
        'interval deviation, ms (std)': lambda timing: f'{1e3 * timing.jitter_std_s:.2f}',
        'interval deviation, ms (99 %)': lambda timing: f'{1e3 * timing.jitter_p99_s:.2f}',
        'gaps': lambda timing: f'{len(timing.gaps)}',
        'duplicate, backward, zero, wild stamps': lambda timing: (
            f'{timing.duplicates}, {timing.backward}, {timing.zero}, {timing.wild}'
        ),
    }
    for name, text in rows.items():
        table.add_row(name, *(text(timing) for _, _, timing in timings))
    return table


def _channels(report: Report) -> Table:
    table = _table('channel', 'unit', 'mean', 'std', 'lowest', 'highest', '', left=2)
    for channel in report.imu.channels:
        numbers = channel.mean, channel.std, channel.lowest, channel.highest
        dead = 'dead' if channel.dead else ''
        table.add_row(channel.name, channel.unit, *(f'{each:.3f}' for each in numbers), dead)
    return table


def _position_lines(positions: PositionReport | None) -> list[str]:
    if positions is None:
        return []
    width, height = positions.extent_m
    msgtype = positions.msgtype.replace('/msg/', '/')
    lines = [
        f'positions: {msgtype} in frame {positions.frame_id!r}',
        f'covered: {width:.1f} m x {height:.1f} m, {positions.coverage:.0%} of the IMU time',
    ]
    laps = positions.laps
    if laps is not None and laps.resolved:
        lines.append(
            f'laps: {laps.count:.1f} of {laps.time_s:.2f} s and {laps.length_m:.1f} m, one '
            f'{laps.apart_m:.2f} m beside the next'
        )
    known = positions.lag.seconds is not None
    lines.append(
        f'time offset: position stamps {positions.lag}' if known else 'time offset: unknown'
    )
    return lines
