# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold replay`."""

from pathlib import Path

from command_runs import Command
import pytest

from two_manifold_ros.recordings import reading
from two_manifold_ros.recordings.reading import read_recording

highlevel = pytest.importorskip('rosbags.highlevel')


def test_the_bag_holds_what_the_json_counts(
    model_file: Path,
    slot_car_bag: Path,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = tmp_path / 'replayed'
    samples = len(read_recording(str(slot_car_bag)).imu.stamps)
    # Positions are not read.
    monkeypatch.setattr(reading, 'position_decoder', None)
    content = command.json('replay', model_file, slot_car_bag, '-o', output)
    assert content['bag'] == str(output)
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


def test_a_table_for_people_and_an_existing_bag_is_kept(
    model_file: Path, slot_car_bag: Path, tmp_path: Path, command: Command
) -> None:
    arguments = 'replay', model_file, slot_car_bag, '-o', tmp_path / 'bag'
    text = command(*arguments).out
    for words in ('/position', 'geometry_msgs/msg/PoseWithCovarianceStamped', '/diagnostics'):
        assert words in text
    before = {path: path.read_bytes() for path in (tmp_path / 'bag').iterdir()}
    assert 'exists already' in command.refused(*arguments)
    assert {path: path.read_bytes() for path in (tmp_path / 'bag').iterdir()} == before
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
    command: Command,
) -> None:
    bag = slot_car_bag if options else tmp_path / 'none'
    line = command.refused('replay', model_file, bag, '-o', tmp_path / 'bag', *options)
    assert words in line
    assert not list(tmp_path.iterdir())
