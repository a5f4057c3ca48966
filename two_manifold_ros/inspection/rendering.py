# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What inspections show, in tables and sentences: one in full, many in a line each."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from two_manifold_ros.inspection.inspecting import folded_warnings
from two_manifold_ros.inspection.timing import listed
from two_manifold_ros.typing import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.inspection.inspecting import Report


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
        'interval deviation, ms (99 %)': [f'{1e3 * each.jitter_p99_s:.2f}' for each in timings],
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
    # The longest folder, with a slash, that all names begin with.
    parts = zip(*(each.name.split('/')[:-1] for each in reports), strict=False)
    alike = itertools.takewhile(lambda each: len(set(each)) == 1, parts)
    folder = ''.join(f'{each[0]}/' for each in alike)
    rows = []
    for each in reports:
        timing, positions = each.imu.timing, each.positions
        laps = None if positions is None else positions.laps
        warnings = dict.fromkeys(one.code for one in each.findings if one.severity == 'warning')
        rows.append(
            [
                each.name.removeprefix(folder),
                f'{timing.duration_s / 60.0:.1f}',
                f'{timing.rate_hz:.0f}',
                '-' if positions is None else f'{positions.timing.rate_hz:.1f}',
                f'{len(timing.gaps)}',
                f'{laps.count:.1f}' if laps is not None and laps.resolved else '-',
                ', '.join(warnings),
            ]
        )
    title = f'bags in {folder}' if folder else ''
    yield Table(title, ['bag', 'min', 'IMU Hz', 'position Hz', 'gaps', 'laps', 'warnings'], rows)
    for name, (finding, *_), count in sorted(folded_warnings(reports), key=lambda each: -each[2]):
        words = f'{finding.code}: {count} of {len(reports)} bags; '
        yield f'{words}{name.removeprefix(folder)}: {finding.sentence}'
    minutes = sum(each.imu.timing.duration_s for each in reports) / 60.0
    yield f'{len(reports)} bags of {minutes:.1f} min; two-manifold inspect BAG has all of one'
