# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold view` over bags, in a process of its own and with a real browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
import re
import signal
import subprocess
import sys

import pytest

pytest.importorskip('bokeh', reason='bokeh, which draws pages, is not installed')

import browsing

from two_manifold_ros.__main__ import main

browse, browser = browsing.browse, browsing.browser
View = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def view() -> Iterator[View]:
    """Start the command, and end it as Ctrl-C does; it has to end well."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, '-m', 'two_manifold_ros', 'view', '--port', '0', '--no-browser']
        process = subprocess.Popen(
            [*command, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        assert 'Traceback' not in said[1]


def address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert re.match(r'http://127\.0\.0\.1:\d+/ ', line), line
    return line.split()[0]


def test_a_model_is_run_over_a_bag_beside_the_truth(view, browse, model_file, slot_car_bag):
    tab = browse(address(view(model_file, slot_car_bag)))
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


def test_a_part_of_a_bag_is_shown_without_a_model(view, browse, slot_car_bag):
    before = sorted(Path(slot_car_bag).iterdir())
    tab = browse(address(view(slot_car_bag, '--from', '10', '--until', '20')))
    tab.until('model("imu").data.t.length > 10')
    assert tab.value('time', 'end') == pytest.approx(10.0, abs=0.2)
    assert tab.text('.banner b') == 'recording'
    tab.until('model("truth").data.x.length === 1')
    assert sorted(Path(slot_car_bag).iterdir()) == before, 'the folder of a bag is not touched'


def test_what_a_filter_published_into_a_bag_is_shown(
    view, browse, model_file, slot_car_bag, tmp_path
):
    replayed = tmp_path / 'replayed'
    assert main(['replay', str(model_file), str(slot_car_bag), '-o', str(replayed)]) == 0
    tab = browse(address(view(replayed)))
    tab.until('model("states").data.status.includes("tracking")')
    tab.until('model("ellipse").data.x.length && model("path").data.x.length >= 9')
    assert len(tab.columns('route')['xs']) >= 1
    assert 'filter_node' in tab.value('robot', 'options')


def test_a_bag_with_nothing_to_show_is_refused(command, tmp_path):
    from two_manifold_ros.recordings.bag_writer import BagWriter  # noqa: PLC0415 - an extra

    pytest.importorskip('rosbags')
    with BagWriter(tmp_path / 'bag') as bag:
        bag.write('/words', 'std_msgs/msg/String', 1, {'data': 'a'})
    said = command('view', tmp_path / 'bag', '--port', '0', '--no-browser', status=2)
    assert 'holds neither an IMU nor the topics of a filter node' in said.err


def test_without_ros_live_says_what_is_missing(command, monkeypatch):
    monkeypatch.setitem(sys.modules, 'two_manifold_ros.nodes.watching', None)
    refused = command.with_arguments('view').refused('--live')
    assert '--live listens to nodes and needs ROS 2' in refused
