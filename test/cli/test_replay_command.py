# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`two-manifold replay`."""

from pathlib import Path

from command_runs import Command
import pytest

from two_manifold_ros.recordings import reading
from two_manifold_ros.recordings.reading import read_recording

highlevel = pytest.importorskip('rosbags.highlevel')


@pytest.fixture
def replay(command: Command, model_file: Path, tmp_path: Path) -> Command:
    """Return the command that writes what the model says of a bag."""
    return command.with_arguments('replay', model_file, '-o', tmp_path / 'bag')


def test_the_bag_holds_what_the_json_counts(slot_car_bag, tmp_path, replay, monkeypatch):
    output = tmp_path / 'bag'
    samples = len(read_recording(str(slot_car_bag)).imu.stamps)
    # Positions are not read.
    monkeypatch.setattr(reading, 'position_decoder', None)
    content = replay.json(slot_car_bag)
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


def test_a_table_for_people_and_an_existing_bag_is_kept(slot_car_bag, tmp_path, replay):
    text = replay(slot_car_bag).out
    for words in ('/position', 'geometry_msgs/msg/PoseWithCovarianceStamped', '/diagnostics'):
        assert words in text
    before = {path: path.read_bytes() for path in (tmp_path / 'bag').iterdir()}
    assert 'exists already' in replay.refused(slot_car_bag)
    assert {path: path.read_bytes() for path in (tmp_path / 'bag').iterdir()} == before
    assert list(tmp_path.iterdir()) == [tmp_path / 'bag']
