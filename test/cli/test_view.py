# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold view` over bags, in a process of its own and with a real browser."""

import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip('bokeh', reason='bokeh, which draws pages, is not installed')

import browsing

browse, browser = browsing.browse, browsing.browser


def test_a_model_is_run_over_a_bag_beside_the_truth(browse, model_file, slot_car_bag):
    before = sorted(slot_car_bag.iterdir())
    command = [sys.executable, '-m', 'two_manifold_ros', 'view', '--port', '0', '--no-browser']
    process = subprocess.Popen(
        [*command, str(model_file), str(slot_car_bag), '--from', '10'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert re.match(r'http://127\.0\.0\.1:\d+/ ', line), line
        tab = browse(line.split()[0])
        tab.until('model("states").data.status.includes("tracking")')
        tab.until('model("error_curve").data.m.length > 100')
        errors = [each for each in tab.columns('error_curve')['m'] if each is not None]
        assert sorted(errors)[len(errors) // 2] < 0.5
        tab.until('model("ellipse").data.x.length && model("truth").data.x.length')
        # Where it begins to track, a path comes with the next picture.
        tab.until('model("ahead").data.ahead.length')
        assert tab.columns('ahead')['ahead'] == ['+0.5 s', '+1 s', '+1.5 s', '+2 s']
        assert len(tab.columns('path')['x']) >= 9
        assert len(tab.columns('route')['xs']) >= 1
        assert tab.value('time', 'end') == pytest.approx(36.5, abs=0.2)
        assert sorted(slot_car_bag.iterdir()) == before, 'the folder of a bag is not touched'
        tab.page.close()
    finally:
        # As Ctrl-C does; it has to end well.
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert 'Traceback' not in said[1]


def test_without_ros_live_says_what_is_missing(command, monkeypatch):
    monkeypatch.setitem(sys.modules, 'two_manifold_ros.nodes.watching', None)
    refused = command.with_arguments('view').refused('--live')
    assert '--live listens to nodes and needs ROS 2' in refused
