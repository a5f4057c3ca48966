# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A report as a file, and in a real browser: complete, self-contained, and true to its run."""

from dataclasses import replace
from html.parser import HTMLParser
import re
from typing import Any

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
    def repeated(part: Any, times: int, lasts_ns: int, *names: str) -> Any:  # noqa: ANN401
        changed = {
            name: np.concatenate([getattr(part, name) + lap * lasts_ns for lap in range(times)])
            for name in ('stamps', 'receive_stamps')
            if hasattr(part, name)
        }
        for name in names:
            changed[name] = np.concatenate([getattr(part, name)] * times)
        return replace(part, **changed)

    evaluation = evaluate(slot_car_model, [laps])
    run, imu = evaluation.runs[0], laps.imu
    times = 72_000 // len(run.stamps) + 1
    names = 'positions', 'covariances', 'published', 'statuses'
    long = repeated(run, times, 50_000_000 * len(run.stamps), *names)
    long = replace(long, causes=run.causes * times)
    truth = np.tile(evaluation.truths[0], (times, 1, 1))
    lasts_ns = int(imu.stamps[-1] - imu.stamps[0]) + 10**8
    of_hour = 3_600 * 10**9 // lasts_ns + 1, lasts_ns
    hour = replace(
        laps,
        imu=repeated(imu, *of_hour, 'samples'),
        positions=repeated(laps.positions, *of_hour, 'positions'),
    )
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


@pytest.fixture(scope='module')
def page(slot_car_model, slot_car_laps, tmp_path_factory):
    """Return the evaluation of a drive with a broken stretch, and the file of its report."""
    laps = slot_car_laps[1]
    samples = laps.imu.samples.copy()
    third = len(samples) // 3
    samples[third : third + 60] *= 5.0
    broken = replace(laps, imu=replace(laps.imu, samples=samples))
    evaluation = evaluate(slot_car_model, [broken])
    report = Report('A drive', 'slot car')
    run_sections(report, evaluation, [broken])
    inspection_sections(report, [inspect_recording(broken)], [broken])
    path = tmp_path_factory.mktemp('reports') / 'report.html'
    report.write(path)
    return evaluation, path.as_uri()


def test_what_is_on_the_page_is_what_was_computed_and_the_wheel_zooms_the_map(page, browse):
    evaluation, address = page
    tab = browse(address, ready='track')
    run, truth = evaluation.runs[0], evaluation.truths[0]
    source = 'Bokeh.documents[0].get_model_by_name("track").renderers[2].data_source.data'
    xs, errors = (
        np.array(tab.page.evaluate(f'Array.from({source}.{name})'), dtype=float)
        for name in ('x', 'error')
    )
    np.testing.assert_allclose(xs, run.positions[:, 0, 0], atol=1e-5)
    expected = np.linalg.norm(run.positions[:, 0] - truth[:, 0], axis=1)
    known = np.isfinite(expected)
    np.testing.assert_allclose(errors[known], expected[known], atol=1e-5)
    words = {list(Status)[code].value for code in run.statuses}
    assert {'tracking', 'lost'} <= words
    assert set(tab.value('states', 'y_range.factors')) == words
    before = tab.value('track', 'x_range.end') - tab.value('track', 'x_range.start')
    tab.page.evaluate("document.getElementById('s2').scrollIntoView()")
    place = tab.page.locator('#s2 ~ figure').first.bounding_box()
    tab.page.mouse.move(place['x'] + place['width'] / 2, place['y'] + place['height'] / 2)
    tab.page.mouse.wheel(0, -400)
    tab.until(f'model("track").x_range.end - model("track").x_range.start < {0.9 * before}')


def test_on_a_phone_nothing_is_wider_than_the_page(page, browse):
    _, address = page
    tab = browse(address, width=390, height=844, ready='track')
    tab.page.wait_for_timeout(500)
    assert tab.page.evaluate('document.documentElement.scrollWidth') <= 391
    assert tab.value('errors', 'inner_width') > 150
