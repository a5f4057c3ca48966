# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A report as a file: complete, self-contained, the same bytes every time."""

from html.parser import HTMLParser
import re

import numpy as np
import pytest

pytest.importorskip('bokeh', reason='Bokeh is not installed')

from bokeh.layouts import column
from bokeh.models import ColumnDataSource

from two_manifold_ros.errors import InputError
from two_manifold_ros.pages.drawing import plot
from two_manifold_ros.pages.report import check_report_path, Report
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


def test_the_same_report_has_the_same_bytes():
    assert small_report().html() == small_report().html()


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


@pytest.mark.parametrize('name', ['report.png', 'report', 'no/such/folder/report.html'])
def test_a_path_that_is_none_for_a_report_is_refused(tmp_path, name):
    with pytest.raises(InputError, match=r'html|does not exist'):
        check_report_path(tmp_path / name)
