# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inspect a `Recording` and render the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import math
from typing import Any, TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.findings import listed, warning
from two_manifold_ros.inspection.imu import imu_findings, measure_imu
from two_manifold_ros.inspection.lag import HALF_TICK_S, late_sentences
from two_manifold_ros.inspection.positions import measure_positions, position_findings
from two_manifold_ros.inspection.timing import timing_findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from two_manifold_ros.inspection.findings import Finding
    from two_manifold_ros.inspection.imu import ImuReport
    from two_manifold_ros.inspection.positions import PositionReport
    from two_manifold_ros.inspection.timing import Timing
    from two_manifold_ros.recordings.recording import Recording


@dataclass(frozen=True)
class Report:
    """
    The report on one recording.

    Parameters
    ----------
    name
        The path as the user gave it.
    imu, positions
        Measurements; no positions if there are none.
    findings
        What they mean, warnings first.
    notes
        What had to be said about reading the bag.

    """

    name: str
    imu: ImuReport
    positions: PositionReport | None
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain dicts, lists and numbers named like the fields; not finite is ``None``."""
        return {key: _plain(value) for key, value in asdict(self).items()}


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


_BAR_WIDTH = 16


def print_report(report: Report, console: Console) -> None:
    """Print a report: streams, intervals, channels, laps, and at last what to do."""
    console.rule(f'[bold]{escape(report.name)}', align='left', characters='=')
    console.print(_streams(report))
    console.print(_intervals(report))
    console.print(_channels(report))
    for line in _gap_lines(report) + _position_lines(report.positions):
        console.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
    console.print()
    _print_findings(report.findings, console)


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
        'duplicate, backward, zero stamps': lambda timing: (
            f'{timing.duplicates}, {timing.backward}, {timing.zero}'
        ),
    }
    for name, text in rows.items():
        table.add_row(name, *(text(timing) for _, _, timing in timings))
    return table


def _intervals(report: Report) -> Table:
    timings = _timings(report)
    table = _table('interval / median', *(f'{word} intervals' for word, _, _ in timings))
    for column in table.columns[1:]:
        column.justify = 'left'
    for bars in zip(*(timing.histogram for _, _, timing in timings), strict=False):
        if any(bar.count for bar in bars):
            table.add_row(
                f'{bars[0].above:g} to {bars[0].up_to:g}',
                *(
                    _bar(bar.count, sum(each.count for each in timing.histogram))
                    for bar, (_, _, timing) in zip(bars, timings, strict=True)
                ),
            )
    return table


def _bar(count: int, total: int) -> str:
    length = -(-_BAR_WIDTH * count // total) if total else 0
    return f'{count:8d} {"#" * length}'


def _channels(report: Report) -> Table:
    table = _table('channel', 'unit', 'mean', 'std', 'lowest', 'highest', '', left=2)
    for channel in report.imu.channels:
        table.add_row(
            channel.name,
            channel.unit,
            f'{channel.mean:.3f}',
            f'{channel.std:.3f}',
            f'{channel.lowest:.3f}',
            f'{channel.highest:.3f}',
            'dead' if channel.dead else '',
        )
    return table


def _gap_lines(report: Report) -> list[str]:
    return [
        f'{word} gaps: {listed(timing.gaps)}'
        for word, _, timing in _timings(report)
        if timing.gaps
    ]


def _position_lines(positions: PositionReport | None) -> list[str]:
    if positions is None:
        return []
    width, height = positions.extent_m
    msgtype = positions.msgtype.replace('/msg/', '/')
    lines = [
        f'positions: {msgtype} in frame {positions.frame_id!r}',
        f'covered: {width:.1f} m x {height:.1f} m, {positions.coverage:.0%} of the IMU time',
    ]
    if positions.laps is not None:
        laps = positions.laps
        lines.append(f'laps: {laps.count:.1f} of {laps.time_s:.2f} s and {laps.length_m:.1f} m')
    told = positions.lag.seconds is not None
    lines.append(
        f'time offset: position stamps {positions.lag}' if told else 'time offset: cannot tell'
    )
    if positions.yaw is not None:
        yaw = positions.yaw
        lines.append(
            f'gyroscope: {yaw.channel} = {yaw.slope:.2f} x course rate (r = {yaw.correlation:.2f})'
        )
    return lines


def _print_findings(findings: tuple[Finding, ...], console: Console) -> None:
    if not findings:
        console.print(Padding('[green]nothing to complain about', (0, 0, 0, 2), expand=False))
        return
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 2))
    for finding in findings:
        style = 'bold yellow' if finding.severity == 'warning' else 'cyan'
        table.add_row(f'[{style}]{finding.severity}', escape(finding.sentence))
    console.print(table)
    console.print()


_SAID_OF_ALL = ('time_offset', 'no_laps', 'few_laps')
"""Findings that count for all recordings together: the lag below, laps in the model's notes."""


def inspect_recording(recording: Recording) -> Report:
    """
    Measure a recording and say what the measurements mean for training.

    Raises
    ------
    InputError
        If there is no finite IMU sample.

    """
    if not len(recording.imu.stamps):
        msg = f'{recording.name} has no IMU samples in this stretch: choose a longer one.'
        raise InputError(msg)
    imu = measure_imu(recording.imu, recording.name)
    findings = [*timing_findings('IMU', imu.timing, 'no window crosses one'), *imu_findings(imu)]
    positions = None
    if recording.positions is not None and len(recording.positions.stamps):
        positions = measure_positions(recording.positions, recording.imu)
        findings += timing_findings('Position', positions.timing, 'they teach no position')
        findings += position_findings(positions, _half_tick_s(imu.timing.rate_hz))
    else:
        findings.append(
            warning(
                'no_positions',
                'There are no positions, so a model can run on this recording but not learn '
                'from it: record a position topic, or name it with --position-topic.',
            ),
        )
    if any(finding.code == 'gyroscope_in_degrees' for finding in findings):
        # The course says the same with more certainty.
        findings = [each for each in findings if each.code != 'gyroscope_too_fast']
    findings.sort(key=lambda finding: finding.severity != 'warning')
    return Report(recording.name, imu, positions, tuple(findings), recording.notes)


def training_warnings(
    recordings: Sequence[Recording], rate_hz: float | None = None
) -> Iterator[str]:
    """
    Yield what should be known before training on these recordings, a sentence each.

    Parameters
    ----------
    recordings
        Of one setup.
    rate_hz
        Ticks per second of the model, if known.

    Raises
    ------
    InputError
        If a recording has no finite IMU sample.

    """
    reports = [inspect_recording(recording) for recording in recordings]
    for report in reports:
        for finding in report.findings:
            if finding.severity == 'warning' and finding.code not in _SAID_OF_ALL:
                yield f'{report.name}: {finding.sentence}'
    located = [(report, report.positions) for report in reports if report.positions is not None]
    slowest = min((report.imu.timing.rate_hz for report in reports), default=0.0)
    yield from late_sentences(
        [report.name for report, _ in located],
        [positions.lag for _, positions in located],
        0.5 / rate_hz if rate_hz else _half_tick_s(slowest),
    )


def _half_tick_s(imu_rate_hz: float) -> float:
    return max(HALF_TICK_S, 0.5 / imu_rate_hz) if imu_rate_hz else HALF_TICK_S
