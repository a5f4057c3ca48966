# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A report as a file, and in a real browser: complete, self-contained, true; what is drawn."""

from dataclasses import replace
from itertools import pairwise
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
from other_recordings import multiplied_imu
import pytest

pytest.importorskip('bokeh', reason='Bokeh is not installed')

from bokeh.layouts import column
from bokeh.models import ColumnDataSource

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.filtering.tracker import half_axis
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.pages import drawing
from two_manifold_ros.pages.report import Figure, Heading, page_of, write_page
from two_manifold_ros.pages.sections import inspection_sections, run_sections
from two_manifold_ros.typing import Table

MOST_BYTES = 2_000_000


def test_a_page_has_all_parts_in_their_order_loads_nothing_and_draws_in_single_precision():
    drawn = drawing.plot('time (s)', 'error (m)', name='curve')
    columns = {'t': np.ones(2), 'ring': [np.ones(3)] * 2, 'n': np.arange(2), 'state': ['a'] * 2}
    source = ColumnDataSource(dict(columns))
    drawn.line('t', 't', source=source)
    parts = [
        Heading('First'), 'One sentence. Another one, 3 < 4.',
        Table('Numbers', ['name', 'value'], [['a & b', '1.5']]), Heading('Second'),
        Figure('A curve', column(drawn), 'Lower is better.'), Table('', ['n'], [['12']]),
    ]  # fmt: skip
    html = page_of('A <title> & more', 'bag.mcap', parts)
    shown = ['A &lt;title&gt; &amp; more', 'bag.mcap', 'First', '3 &lt; 4', 'a &amp; b',
             'Second', 'A curve', 'Lower is better', '12']  # fmt: skip
    places = [html.rindex(part) for part in shown]
    assert places == sorted(places)
    tags = re.sub(r'<script>.*?</script>', '', html, flags=re.DOTALL)
    assert not re.search(r'<link\b[^>]*\bhref=|<[^>]*\b(?:src|srcset|data|poster)=', tags)
    assert not re.search(r'@import|url\(\s*["\']?https?:', html)
    assert len(html) < MOST_BYTES
    assert source.data['t'].dtype == source.data['ring'][0].dtype == np.float32
    assert source.data['n'] is columns['n']
    assert source.data['state'] == columns['state']


def words_of(html: str) -> str:
    """Return what a page says, without its library, tags and data."""
    body = re.sub(r'<script.*?</script>', '', html.partition('<main>')[2], flags=re.DOTALL)
    return ' '.join(re.sub(r'<[^>]+>', ' ', body).split())


def test_two_hours_of_driving_are_two_megabytes_at_most(slot_car_model, slot_car_laps):
    """Of the same laps over and over: what counts is how much there is of it."""
    laps = slot_car_laps[1]
    lasts_ns = int(np.ptp(laps.imu.stamps)) + 10**8
    times = 7_200 * 10**9 // lasts_ns + 1

    def repeated(part: Any, *names: str) -> Any:  # noqa: ANN401 - of several classes
        changed = {name: np.concatenate([getattr(part, name)] * times) for name in names}
        for name in {'stamps', 'receive_stamps'}.intersection(names):
            changed[name] += np.repeat(np.arange(times) * lasts_ns, len(part.stamps))
        return replace(part, **changed)

    evaluation = evaluate(slot_car_model, [laps])
    names = 'stamps', 'positions', 'covariances', 'published', 'statuses', 'causes'
    run = repeated(evaluation.runs[0], *names)
    truth = np.concatenate([evaluation.truths[0]] * times)
    imu = repeated(laps.imu, 'stamps', 'receive_stamps', 'samples')
    hour = replace(laps, imu=imu, positions=repeated(laps.positions, 'stamps', 'positions'))
    found = replace(evaluation, runs=(run,), truths=(truth,))
    parts = *run_sections(found, [hour]), *inspection_sections([inspect_recording(hour)], [hour])
    assert len(page_of('an hour', '', parts).encode()) <= MOST_BYTES
    many = [replace(laps, name=f'drive {number}') for number in range(9)]
    html = page_of('many', '', run_sections(evaluate(slot_car_model, many), many))
    assert len(html.encode()) <= MOST_BYTES
    assert '4 of 9 recordings' in words_of(html)


@pytest.fixture(scope='module')
def page(slot_car_model, slot_car_laps, tmp_path_factory):
    """Return evaluation, inspection and the file of the report of a drive with a broken part."""
    broken = multiplied_imu(slot_car_laps[1], 12.0, 18.0, (5.0,) * 6)
    evaluation, found = evaluate(slot_car_model, [broken]), inspect_recording(broken)
    path = tmp_path_factory.mktemp('reports') / 'report.html'
    parts = *run_sections(evaluation, [broken]), *inspection_sections([found], [broken])
    write_page(path, 'A drive', 'slot car', parts)
    return evaluation, found, path


def test_a_page_shows_causes_findings_and_what_to_look_at(page):
    evaluation, found, path = page
    words, run = words_of(path.read_text(encoding='utf-8')), evaluation.runs[0]
    for code, cause in set(zip(run.statuses.tolist(), run.causes, strict=True)):
        assert not cause or (cause in words and list(Status)[code].value in words)
    expected = [each.sentence for each in found.findings] + ['Where it was driven', 'gaps']
    expected += [str(found.imu.timing.count), str(found.positions.lag)]
    assert [each for each in expected if each not in words] == []


def test_what_is_on_the_page_is_what_was_computed_and_the_wheel_zooms_the_map(page, browse):
    evaluation, _, path = page
    tab = browse(path.as_uri(), ready='track')
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
    tab.page.locator('figure').first.hover()
    tab.page.mouse.wheel(0, -400)
    tab.until(f'model("track").x_range.end - model("track").x_range.start < {0.9 * before}')


def test_on_a_phone_nothing_is_wider_than_the_page(page, browse):
    tab = browse(page[-1].as_uri(), width=390, height=844, ready='track')
    tab.page.wait_for_timeout(500)
    assert tab.page.evaluate('document.documentElement.scrollWidth') <= 391
    assert tab.value('errors', 'inner_width') > 150


SERIES = arrays(np.float64, st.integers(1, 300), elements=st.floats(-1e3, 1e3) | st.just(np.nan))


def test_an_outline_is_where_the_mahalanobis_distance_is_that_of_95_percent():
    covariances = np.array([[[4.0, 1.0], [1.0, 2.0]], [[0.01, 0.0], [0.0, 9.0]]])
    positions = np.array([[1.0, 2.0], [-3.0, 0.5]])
    rings = drawing.outlines(positions, covariances, 2000)
    for position, covariance, ring in zip(positions, covariances, rings, strict=True):
        away = ring - position
        squared = np.einsum('ni,ij,nj->n', away, np.linalg.inv(covariance), away)
        np.testing.assert_allclose(squared, -2.0 * np.log(0.05))
        assert np.linalg.norm(away, axis=1).max() == pytest.approx(half_axis(covariance), rel=1e-4)
        np.testing.assert_allclose(ring[0], ring[-1])


@given(SERIES, st.integers(2, 50))
def test_what_is_drawn_in_few_points_hides_no_peak(values, most):
    chosen = drawing.worst_of_bins(values, most)
    assert len(chosen) <= most
    assert np.array_equal(chosen, np.unique(chosen))
    if np.isfinite(values).any():
        assert np.nanmax(values[chosen]) == np.nanmax(values)
    rows = np.stack([values, -values], axis=1)
    seconds, curves = drawing.envelope(np.arange(len(values), dtype=float), rows, most)
    assert len(curves) == len(seconds) <= most
    assert (np.diff(seconds) >= 0).all()
    if np.isfinite(values).any():
        np.testing.assert_array_equal(np.nanmax(curves, axis=0), np.nanmax(rows, axis=0))
        np.testing.assert_array_equal(np.nanmin(curves, axis=0), np.nanmin(rows, axis=0))


@given(st.lists(st.integers(0, 3), max_size=60), st.integers(1, 50))
def test_stretches_are_the_runs_of_equal_codes_and_what_is_drawn_evenly_has_both_ends(codes, most):
    parts = drawing.stretches(codes)
    assert [code for first, last in parts for code in codes[first:last]] == codes
    assert all(len(set(codes[first:last])) == 1 for first, last in parts)
    for (_, last), (first, _) in pairwise(parts):
        assert last == first
        assert codes[last - 1] != codes[first]
    count, chosen = len(codes), drawing.evenly(len(codes), most)
    assert len(chosen) == min(count, most)
    assert np.array_equal(chosen, np.unique(chosen))
    if count and most > 1:
        assert chosen[[0, -1]].tolist() == [0, count - 1]
