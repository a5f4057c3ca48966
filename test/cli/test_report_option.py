# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Pages: ``--report`` of the commands that write one, and `two-manifold view` in a browser."""

from html import escape
import re
import signal
import subprocess
import sys

from command_runs import RUN
import pytest

from two_manifold_ros.cli.verdict import WORDS

pytest.importorskip('bokeh', reason='Bokeh is not installed')


@pytest.mark.parametrize(
    ('line', 'parts'),
    [
        ('inspect {bag}', ('gaps', 'Where it was driven')),
        ('evaluate {model} {bag}', ('When it was unsure, and why', 'How far ahead can it be')),
    ],
)
def test_a_report_is_beside_the_words(line, parts, command, slot_car_bag, model_file, tmp_path):
    page = tmp_path / 'page.html'
    given = line.format(bag=slot_car_bag, model=model_file).split()
    said = command(*given, '--report', page).out
    assert str(page) in said
    html = page.read_text(encoding='utf-8')
    assert f'<title>{slot_car_bag.name}:' in html
    # The verdict is the first line, once, and the first paragraph.
    verdict, then, *others = said.splitlines()
    assert re.search(f': ({"|".join(WORDS)})[.]$', verdict)
    assert then.startswith('Next: ')
    assert not {verdict, then} & set(others)
    assert f'<p>{escape(f"{verdict} {then}")}</p>' in html.partition('<h2')[0]
    assert all(part in html for part in parts)


@pytest.mark.slow
def test_another_process_writes_the_same_bytes(command, slot_car_bag, tmp_path):
    pages = [tmp_path / name for name in ('a.html', 'b.html')]
    given = ['inspect', str(slot_car_bag), '--report']
    command(*given, pages[0])
    program = [sys.executable, '-c', RUN, *given, str(pages[1])]
    subprocess.run(program, check=True, capture_output=True)
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_without_the_library_a_report_is_refused_in_one_sentence(slot_car_bag, tmp_path):
    program = f'import sys; sys.modules["bokeh"] = None; {RUN}'
    given = 'inspect', str(slot_car_bag), '--report', str(tmp_path / 'page.html')
    command = [sys.executable, '-c', program, *given]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert 'pip install bokeh' in line


def test_a_model_is_run_over_a_bag_beside_the_truth(browse, model_file, slot_car_bag):
    before = sorted(slot_car_bag.iterdir())
    given = 'view', '--port', '0', '--no-browser', str(model_file), str(slot_car_bag)
    process = subprocess.Popen(
        [sys.executable, '-c', RUN, *given, '--from', '10'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        assert re.match(r'http://127\.0\.0\.1:\d+/ ', line), line
        tab = browse(line.split()[0])
        tab.until('model("states").data.status.includes("tracking")')
        tab.until('model("error_curve").data.m.length > 100')
        errors = [each for each in tab.columns('error_curve')['m'] if each is not None]
        assert sorted(errors)[len(errors) // 2] < 0.5
        tab.until('model("ellipse").data.x.length && model("truth").data.x.length')
        # Where it begins to track, a path comes with the next picture.
        tab.until('model("path").data.x.length >= 9')
        assert len(tab.columns('route')['xs']) >= 1
        assert tab.value('time', 'end') == pytest.approx(36.5, abs=0.2)
        assert sorted(slot_car_bag.iterdir()) == before
        tab.page.close()
    finally:
        # As Ctrl-C does; it has to end well.
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert 'Traceback' not in said[1]


def test_without_ros_live_says_what_is_missing(command, monkeypatch):
    monkeypatch.setitem(sys.modules, 'two_manifold_ros.nodes.watching', None)
    assert '--live listens to nodes and needs ROS 2' in command.refused('view', '--live')
