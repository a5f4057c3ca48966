# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold replay`."""

import json
from pathlib import Path

import pytest

from two_manifold_ros.cli.main import main
from two_manifold_ros.recordings import reading
from two_manifold_ros.recordings.reading import read_recording

highlevel = pytest.importorskip('rosbags.highlevel')


pytestmark = pytest.mark.usefixtures('no_progress')


def test_the_bag_holds_what_the_json_counts(
    model_file: Path, slot_car_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / 'replayed'
    arguments = [str(model_file), str(slot_car_bag), '-o', str(output)]
    assert main(['replay', *arguments, '--json']) == 0
    captured = capsys.readouterr()
    assert not captured.err
    content = json.loads(captured.out)
    assert content['bag'] == str(output)
    samples = len(read_recording(str(slot_car_bag)).imu.stamps)
    assert content['messages']['position'] == samples - 1 - 19
    with highlevel.AnyReader([output]) as reader:
        counts = {each.topic.strip('/'): each.msgcount for each in reader.connections}
        durable = {
            each.topic: [qos.durability.name for qos in each.ext.offered_qos_profiles]
            for each in reader.connections
        }
    assert counts == content['messages']
    assert durable['/markers'] == ['TRANSIENT_LOCAL']
    assert 'TRANSIENT_LOCAL' not in durable['/position']


def test_positions_are_not_read(
    model_file: Path, slot_car_bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, 'position_decoder', None)
    arguments = [str(model_file), str(slot_car_bag), '-o', str(tmp_path / 'bag')]
    assert main(['replay', *arguments, '--json']) == 0


def test_a_table_for_people(
    model_file: Path, slot_car_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['replay', str(model_file), str(slot_car_bag), '-o', str(tmp_path / 'bag')]) == 0
    text = capsys.readouterr().out
    for words in ('/position', 'geometry_msgs/msg/PoseWithCovarianceStamped', '/diagnostics'):
        assert words in text


def test_an_existing_bag_is_kept(
    model_file: Path, slot_car_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / 'bag').mkdir()
    arguments = ['replay', str(model_file), str(slot_car_bag), '-o', str(tmp_path / 'bag')]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert 'exists already' in error
    assert len(error.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [tmp_path / 'bag']


@pytest.mark.parametrize(
    ('options', 'words'), [(['--imu-topic', '/reference'], '--imu-topic'), ([], 'does not exist')]
)
def test_bad_input_leaves_no_bag(
    options: list[str],
    words: str,
    model_file: Path,
    slot_car_bag: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bag = slot_car_bag if options else tmp_path / 'none'
    arguments = ['replay', str(model_file), str(bag), '-o', str(tmp_path / 'bag'), *options]
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1
    assert not list(tmp_path.iterdir())
