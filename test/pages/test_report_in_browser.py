# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reports in a real browser: what is on them, in light, dark, print and on a phone."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('bokeh', reason='Bokeh is not installed')

from two_manifold_ros.evaluation.evaluate import evaluate
from two_manifold_ros.filtering.status import Status
from two_manifold_ros.inspection.inspecting import inspect_recording
from two_manifold_ros.pages.report import Report
from two_manifold_ros.pages.sections import inspection_sections, run_sections


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


def test_what_is_on_the_page_is_what_was_computed(page, browse):
    evaluation, address = page
    tab = browse(address, ready='track')
    run, truth = evaluation.runs[0], evaluation.truths[0]
    source = 'renderers[2].data_source.data'
    xs = np.array(
        list(tab.page.evaluate(f'Bokeh.documents[0].get_model_by_name("track").{source}.x'))
    )
    np.testing.assert_allclose(xs, run.positions[:, 0, 0], atol=1e-5)
    errors = tab.page.evaluate(
        f'Array.from(Bokeh.documents[0].get_model_by_name("track").{source}.error)'
    )
    expected = np.linalg.norm(run.positions[:, 0] - truth[:, 0], axis=1)
    known = np.isfinite(expected)
    np.testing.assert_allclose(np.array(errors, dtype=float)[known], expected[known], atol=1e-5)
    words = {list(Status)[code].value for code in run.statuses}
    assert {'tracking', 'lost'} <= words
    assert set(tab.value('states', 'y_range.factors')) == words


def test_the_wheel_zooms_the_map(page, browse):
    _, address = page
    tab = browse(address, ready='track')
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
