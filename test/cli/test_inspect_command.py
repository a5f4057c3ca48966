# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold inspect` as people and as machines see it."""

from collections.abc import Callable
import json
from pathlib import Path
import threading

import pytest

from two_manifold_ros.cli import inspect
from two_manifold_ros.cli.main import main
from two_manifold_ros.inspection.inspecting import inspect_recording, Report
from two_manifold_ros.recordings.recording import Recording

pytest.importorskip('rosbags')
pytest.importorskip('rich')


pytestmark = pytest.mark.usefixtures('no_progress')


def test_people_get_tables_and_advice(
    ellipse_bag: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['inspect', str(ellipse_bag)]) == 0
    output = capsys.readouterr()
    assert output.err == ''
    for text in ('/imu', '/pose', '100.00', '25.00', 'linear_acceleration.z', 'laps: 6.0 of 8.'):
        assert text in output.out
    assert 'nothing to complain about' in output.out
    assert max(map(len, output.out.splitlines())) <= 120


def test_findings_are_shown_whole(
    tmp_path: Path,
    drive: Callable[..., Recording],
    write_bag: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    bag = write_bag(tmp_path / 'late [1]', drive(late_s=0.2))
    assert main(['inspect', str(bag)]) == 0
    words = ' '.join(capsys.readouterr().out.split())
    assert 'late [1]' in words
    assert 'warning The stamps of the positions are 0.20' in words
    assert 'time offset: position stamps 0.20' in words
    assert words.endswith('and stamp camera images when they are taken.')


def test_machines_get_one_object(ellipse_bag: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['inspect', str(ellipse_bag), str(ellipse_bag), '--json']) == 0
    content = json.loads(capsys.readouterr().out)
    assert list(content) == ['recordings']
    assert [each['name'] for each in content['recordings']] == [str(ellipse_bag)] * 2


def test_progress_is_reported_while_inspecting(
    ellipse_bag: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []

    def measure(recording: Recording) -> Report:
        seen.append(any(thread.name == 'progress' for thread in threading.enumerate()))
        return inspect_recording(recording)

    monkeypatch.setattr(inspect, 'inspect_recording', measure)
    assert main(['inspect', str(ellipse_bag), '--json']) == 0
    assert seen == [True]


def test_the_options_reach_the_reading(
    ellipse_bag: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = str(ellipse_bag)
    assert main(['inspect', bag, '--imu-topic', '/none']) == 2
    assert '/none, which is not there' in capsys.readouterr().err
    assert main(['inspect', bag, '--position-topic', '/imu']) == 2
    assert 'name a topic of type geometry_msgs/PoseStamped' in capsys.readouterr().err
    assert main(['inspect', bag, '--use-receive-time', '--json']) == 0
    output = capsys.readouterr()
    assert output.err == 'two-manifold: note: Receive times are used, as asked.\n'
    assert json.loads(output.out)['recordings'][0]['notes'] == [
        'Receive times are used, as asked.'
    ]


def test_bad_input_is_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['inspect', str(tmp_path / 'none')]) == 2
    output = capsys.readouterr()
    assert output.out == ''
    assert output.err == (
        f'two-manifold: error: {tmp_path}/none does not exist: check the path of the bag.\n'
    )


def test_every_real_recording_gets_a_report(
    recordings_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bags = [str(file.parent) for file in recordings_folder.glob('f1tenth_*/**/metadata.yaml')]
    # Recordings are added to the folder now and then.
    assert len(bags) >= 16
    assert main(['inspect', *bags]) == 0
    output = capsys.readouterr().out
    assert all(bag in output for bag in bags)


def test_a_damaged_bag_is_read_as_far_as_it_goes_if_asked(
    tmp_path: Path, ellipse_bag: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / 'bag.mcap'
    file.write_bytes((ellipse_bag / 'ellipse.mcap').read_bytes()[:-20])
    assert main(['inspect', str(file)]) == 2
    assert 'read what is left of it with --salvage' in capsys.readouterr().err
    assert main(['inspect', '--salvage', '--json', str(file)]) == 0
    captured = capsys.readouterr()
    (report,) = json.loads(captured.out)['recordings']
    assert report['imu']['timing']['count'] == 4800
    assert 'bytes cannot be read, and 6000 messages of 48.0 s are used' in captured.err
