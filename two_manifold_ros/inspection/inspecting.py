# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From a `Recording` to a `Report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from two_manifold_ros.errors import InputError
from two_manifold_ros.inspection.finding import warning
from two_manifold_ros.inspection.imu_findings import imu_findings
from two_manifold_ros.inspection.imu_report import measure_imu
from two_manifold_ros.inspection.lag_findings import HALF_TICK_S, late_sentences
from two_manifold_ros.inspection.position_findings import position_findings
from two_manifold_ros.inspection.position_report import measure_positions
from two_manifold_ros.inspection.report import Report
from two_manifold_ros.inspection.timing_findings import timing_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from two_manifold_ros.recordings.recording import Recording

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
