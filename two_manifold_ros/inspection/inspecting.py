# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Inspect a `Recording` for defects, before training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
import math
from typing import Any, TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.fleet import spread
from two_manifold_ros.inspection.findings import Finding, findings_of
from two_manifold_ros.inspection.lag import late_sentences
from two_manifold_ros.inspection.positions import measure_positions, PositionReport
from two_manifold_ros.inspection.streams import ImuReport, listed, measure_imu
from two_manifold_ros.recordings.reading import read_recording, ReadingOptions
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from two_manifold_ros.recordings.recording import Recording


@dataclass(frozen=True)
class Report:
    """Measurements of one recording, findings with warnings first, and notes of reading it."""

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


def inspect_bags(
    paths: Sequence[str],
    options: ReadingOptions,
    client: Any = None,  # noqa: ANN401 - of an extra
    done: Callable[[float], None] = lambda _: None,
    refused: Callable[[str, InputError], None] | None = None,
) -> list[Report]:
    """Read bags and inspect them, see `fleet.spread`; ``refused`` gets those it cannot read."""
    found = spread(partial(_inspected, options), paths, client, done)
    reports = []
    for path, each in zip(paths, found, strict=True):
        if isinstance(each, Report):
            reports.append(each)
        elif refused is None:
            raise InputError(each)
        else:
            refused(path, InputError(each))
    return reports


def _inspected(options: ReadingOptions, path: str) -> Report | str:
    try:
        return inspect_recording(read_recording(path, options))
    except InputError as error:
        # Returned as it is, it would end the work on all bags.
        return str(error)


def inspect_recording(recording: Recording) -> Report:
    """Measure a recording and find what is wrong; ``InputError`` says that no sample is finite."""
    if not len(recording.imu.stamps):
        msg = f'{recording.name} has no IMU samples in this stretch: choose a longer one.'
        raise InputError(msg)
    imu = measure_imu(recording.imu, recording.name)
    positions = None
    if recording.positions is not None and len(recording.positions.stamps):
        positions = measure_positions(recording.positions, recording.imu)
    findings = list(findings_of(imu, positions, _half_tick_s(imu.timing.rate_hz)))
    if any(finding.code == 'gyroscope_in_degrees' for finding in findings):
        # The course shows the same with more certainty.
        findings = [each for each in findings if each.code != 'gyroscope_too_fast']
    findings.sort(key=lambda finding: finding.severity != 'warning')
    return Report(recording.name, imu, positions, tuple(findings), recording.notes)


def training_warnings(reports: Sequence[Report], rate_hz: float | None = None) -> Iterator[str]:
    """Yield sentences to know before training a model of this rate on recordings of one setup."""
    for name, finding, count in folded_warnings(reports):
        # These count for all recordings together: the lag below, laps in the model's notes.
        if finding.code not in {'time_offset', 'no_laps', 'few_laps'}:
            others = f' and {count - 1} more' if count > 1 else ''
            yield f'{name}{others}: {finding.sentence}'
    located = [(report, report.positions) for report in reports if report.positions is not None]
    slowest = min((report.imu.timing.rate_hz for report in reports), default=0.0)
    yield from late_sentences(
        [report.name for report, _ in located],
        [positions.lag for _, positions in located],
        0.5 / rate_hz if rate_hz else _half_tick_s(slowest),
    )


def folded_warnings(reports: Sequence[Report]) -> list[tuple[str, Finding, int]]:
    """Return of each kind of warning the first report, its finding, and the count of reports."""
    folded: dict[str, tuple[str, Finding, int]] = {}
    for report in reports:
        for each in report.findings:
            if each.severity == 'warning':
                name, finding, count = folded.get(each.code, (report.name, each, 0))
                folded[each.code] = name, finding, count + 1
    return list(folded.values())


def _half_tick_s(imu_rate_hz: float) -> float:
    """Return half a tick of the usual 20 Hz or of a slower IMU, below which no lag shows."""
    return max(0.025, 0.5 / imu_rate_hz) if imu_rate_hz else 0.025


def describe(report: Report) -> Iterator[str | Table]:
    """Yield streams, channels, gaps and laps of a recording; its findings are left to others."""
    positions = report.positions
    named = [('IMU', report.imu.topic, report.imu.timing)]
    named += [] if positions is None else [('position', positions.topic, positions.timing)]
    timings = [timing for _, _, timing in named]
    rows = {
        'messages': [f'{each.count}' for each in timings],
        'first, s after the first IMU stamp': [f'{each.start_s:.2f}' for each in timings],
        'duration, s': [f'{each.duration_s:.2f}' for each in timings],
        'rate, Hz (median)': [f'{each.rate_hz:.2f}' for each in timings],
        'interval deviation, ms (std)': [f'{1e3 * each.jitter_std_s:.2f}' for each in timings],
        'gaps': [f'{len(each.gaps)}' for each in timings],
        'duplicate, backward, zero, wild stamps': [
            f'{each.duplicates}, {each.backward}, {each.zero}, {each.wild}' for each in timings
        ],
    }
    header = ['', *(f'{word}\n{topic}' for word, topic, _ in named)]
    yield Table(report.name, header, [[name, *cells] for name, cells in rows.items()])
    yield Table(
        '',
        ['channel', 'unit', 'mean', 'std', 'lowest', 'highest', ''],
        [
            [
                each.name,
                each.unit,
                *(f'{value:.3f}' for value in (each.mean, each.std, each.lowest, each.highest)),
                'dead' if each.dead else '',
            ]
            for each in report.imu.channels
        ],
    )
    for word, _, timing in named:
        if timing.gaps:
            yield f'{word} gaps: {listed(timing.gaps)}'
    if positions is None:
        return
    width, height = positions.extent_m
    msgtype = positions.msgtype.replace('/msg/', '/')
    yield f'positions: {msgtype} in frame {positions.frame_id!r}'
    yield f'covered: {width:.1f} m x {height:.1f} m, {positions.coverage:.0%} of the IMU time'
    laps = positions.laps
    if laps is not None and laps.resolved:
        yield (
            f'laps: {laps.count:.1f} of {laps.time_s:.2f} s and {laps.length_m:.1f} m, one '
            f'{laps.apart_m:.2f} m beside the next'
        )
    known = positions.lag.seconds is not None
    yield f'time offset: position stamps {positions.lag}' if known else 'time offset: unknown'


def describe_all(reports: Sequence[Report]) -> Iterator[str | Table]:
    """Yield a line for each of many reports, then each kind of warning with its first sentence."""
    rows = []
    for each in reports:
        timing, positions = each.imu.timing, each.positions
        laps = None if positions is None else positions.laps
        warnings = dict.fromkeys(one.code for one in each.findings if one.severity == 'warning')
        rows.append(
            [
                each.name,
                f'{timing.duration_s / 60.0:.1f}',
                f'{timing.rate_hz:.0f}',
                '-' if positions is None else f'{positions.timing.rate_hz:.1f}',
                f'{len(timing.gaps)}',
                f'{laps.count:.1f}' if laps is not None and laps.resolved else '-',
                ', '.join(warnings),
            ]
        )
    yield Table('', ['bag', 'min', 'IMU Hz', 'position Hz', 'gaps', 'laps', 'warnings'], rows)
    for name, finding, count in sorted(folded_warnings(reports), key=lambda each: -each[2]):
        yield f'{finding.code}: {count} of {len(reports)} bags; {name}: {finding.sentence}'
    minutes = sum(each.imu.timing.duration_s for each in reports) / 60.0
    yield f'{len(reports)} bags of {minutes:.1f} min; two-manifold inspect BAG has all of one'
