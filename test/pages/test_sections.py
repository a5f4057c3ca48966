# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What reports show of recordings, runs, models and comparisons."""

from dataclasses import replace
import re

import numpy as np
import pytest

pytest.importorskip('bokeh', reason='Bokeh is not installed')

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.pages.report import Report
from two_manifold_ros.pages.sections import (
    inspection_sections,
    run_sections,
)

MOST_BYTES = 2_000_000


@pytest.fixture
def laps(slot_car_laps):
    """Return laps that the model was not trained on."""
    return slot_car_laps[1]


def words_of(report: Report) -> str:
    """Return what a page says, without its library, tags and data."""
    body = report.html().partition('<main>')[2]
    body = re.sub(r'<script.*?</script>', '', body, flags=re.DOTALL)
    return ' '.join(re.sub(r'<[^>]+>', ' ', body).split())


def test_an_inspection_shows_findings_laps_and_what_to_look_at(laps):
    report = Report('recorded')
    found = inspect_recording(laps)
    inspection_sections(report, [found], [laps])
    words = words_of(report)
    for finding in found.findings:
        assert finding.sentence in words
    for title in ('Where it was driven', 'gaps'):
        assert title in words
    assert str(found.imu.timing.count) in words
    assert str(found.positions.lag) in words


def test_a_run_shows_its_scores_and_its_causes(slot_car_model, laps):
    evaluation = evaluate(slot_car_model, [laps])
    report = Report('run')
    run_sections(report, evaluation, [laps])
    words = words_of(report)
    run = evaluation.runs[0]
    for code, cause in zip(run.statuses, run.causes, strict=True):
        if cause:
            assert cause in words
            assert list(Status)[code].value in words


def test_an_hour_of_driving_is_two_megabytes_at_most(slot_car_model, laps):
    # The same laps over and over: of an hour what counts is how much there is of it.
    evaluation = evaluate(slot_car_model, [laps])
    run, times = evaluation.runs[0], 72_000 // len(evaluation.runs[0].stamps) + 1
    long = replace(
        run,
        stamps=run.stamps[0] + 50_000_000 * np.arange(times * len(run.stamps)),
        positions=np.tile(run.positions, (times, 1, 1)),
        covariances=np.tile(run.covariances, (times, 1, 1, 1)),
        published=np.tile(run.published, times),
        statuses=np.tile(run.statuses, times),
        causes=run.causes * times,
    )
    imu, positions = laps.imu, laps.positions
    lasts = imu.stamps[-1] - imu.stamps[0] + 10**8
    more = 3_600 * 10**9 // int(lasts) + 1

    def on(stamps: np.ndarray) -> np.ndarray:
        return np.concatenate([stamps + index * lasts for index in range(more)])

    hour = replace(
        laps,
        imu=replace(
            imu,
            stamps=on(imu.stamps),
            receive_stamps=on(imu.receive_stamps),
            samples=np.tile(imu.samples, (more, 1)),
        ),
        positions=replace(
            positions,
            stamps=on(positions.stamps),
            positions=np.tile(positions.positions, (more, 1)),
        ),
    )
    truth = np.tile(evaluation.truths[0], (times, 1, 1))
    report = Report('an hour')
    run_sections(report, replace(evaluation, runs=(long,), truths=(truth,)), [hour])
    inspection_sections(report, [inspect_recording(hour)], [hour])
    assert len(report.html().encode()) <= MOST_BYTES


def test_many_recordings_fit_as_well(slot_car_model, laps):
    many = [replace(laps, name=f'drive {number}') for number in range(9)]
    evaluation = evaluate(slot_car_model, many)
    report = Report('many')
    run_sections(report, evaluation, many)
    assert len(report.html().encode()) <= MOST_BYTES
    assert '4 of 9 recordings' in words_of(report)
