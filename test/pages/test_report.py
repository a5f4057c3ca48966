# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A report as a file: complete, self-contained, and what it shows of recordings and runs."""

from dataclasses import replace
from html.parser import HTMLParser
import re

import numpy as np
import pytest

pytest.importorskip('bokeh', reason='Bokeh is not installed')

from bokeh.layouts import column
from bokeh.models import ColumnDataSource

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.pages.drawing import plot
from two_manifold_ros.pages.report import Report
from two_manifold_ros.pages.sections import inspection_sections, run_sections
from two_manifold_ros.typing import Table

MOST_BYTES = 2_000_000


class Loaded(HTMLParser):
    """Addresses that a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        loading = {'src', 'srcset', 'data', 'poster'} | ({'href'} if tag == 'link' else set())
        self.found += [value for name, value in attrs if name in loading and value]


def small_report() -> Report:
    report = Report('A <title> & more', 'bag.mcap')
    report.section('First')
    report.say('One sentence.', 'Another one, 3 < 4.')
    report.findings([('warning', 'The clock is wrong: set it.'), ('info', 'Nothing to do.')])
    report.table('Numbers', ['name', 'value'], [['a & b', '1.5']])
    report.section('Second')
    drawn = plot('time (s)', 'error (m)', name='curve')
    drawn.line([0.0, 1.0], [2.0, 3.0])
    report.figure('A curve', drawn, 'Lower is better.')
    report.show(['As printed.', Table('', ['n'], [['12']])])
    return report


def test_a_report_has_all_parts_in_their_order_and_loads_nothing():
    html = small_report().html()
    parts = ['A &lt;title&gt; &amp; more', 'bag.mcap', 'First', '3 &lt; 4', 'set it', 'a &amp; b',
             'Second', 'A curve', 'Lower is better', 'As printed', '12']  # fmt: skip
    places = [html.rindex(part) for part in parts]
    assert places == sorted(places)
    parser = Loaded()
    parser.feed(html)
    assert not parser.found
    assert not re.search(r'@import|url\(\s*["\']?https?:', html)
    assert len(html) < MOST_BYTES


def test_what_is_drawn_is_in_single_precision_which_is_seen_by_nobody():
    drawn = plot('x', 'y')
    columns = {
        't': np.ones(2),
        'ring': [np.ones(3)] * 2,
        'count': np.arange(2),
        'state': ['a', 'b'],
    }
    source = ColumnDataSource(dict(columns))
    drawn.line('t', 't', source=source)
    Report('title').figure('A curve', column(drawn), 'Lower is better.')
    assert source.data['t'].dtype == source.data['ring'][0].dtype == np.float32
    assert source.data['count'] is columns['count']
    assert source.data['state'] == columns['state']


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

    times_imu = {'stamps': on(imu.stamps), 'receive_stamps': on(imu.receive_stamps)}
    hour = replace(
        laps,
        imu=replace(imu, samples=np.tile(imu.samples, (more, 1)), **times_imu),
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
