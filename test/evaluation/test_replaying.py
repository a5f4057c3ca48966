# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Replay writes what the node would publish, once, in order, and the same every time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from two_manifold_ros.errors import InputError
from two_manifold_ros.evaluation.evaluate import estimates_along
from two_manifold_ros.evaluation.replaying import replay
from two_manifold_ros.filtering.filter import Filter
from two_manifold_ros.interface.assessment import CODES
from two_manifold_ros.model.model import Model
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.recording import Recording

highlevel = pytest.importorskip('rosbags.highlevel')

PER_ESTIMATE = {'position', 'odometry', 'predicted_path', 'latent_state', 'markers'}


def write(model: Model, recording: Recording, path: Path) -> dict[str, int]:
    with BagWriter(path) as bag:
        return replay(model, recording, bag)


def messages_of(path: Path) -> dict[str, list[tuple[int, Any]]]:
    found: dict[str, list[tuple[int, Any]]] = {}
    with highlevel.AnyReader([path]) as reader:
        for connection, time, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            found.setdefault(connection.topic, []).append((time, message))
    return found


def test_a_valid_estimate_is_one_message_twice_the_same(slot_car_model, slot_car_laps, tmp_path):
    short = slot_car_laps[1].between(0, 8)
    estimates = estimates_along(Filter(slot_car_model), short, lambda *_: None)
    valid = [each for each, _ in estimates if each.valid]
    written = write(slot_car_model, short, tmp_path / 'bag')
    messages = messages_of(tmp_path / 'bag')
    # Ten ticks a second, of which every other one shows the places.
    particles = sum(each.tick % 2 == 0 for each in valid)
    # From the first tick on, before the window is full.
    others = {'particles': particles, 'diagnostics': 8, 'status': len(valid) + 19}
    others['laps'] = len(valid)
    assert written == dict.fromkeys(PER_ESTIMATE, len(valid)) | others
    counts = {topic: len(rows) for topic, rows in messages.items()}
    assert counts == {f'/{topic}': count for topic, count in written.items()}
    for estimate, (time, message) in zip(valid, messages['/position'], strict=True):
        stamp, pose = message.header.stamp, message.pose.pose
        assert time == stamp.sec * 10**9 + stamp.nanosec == estimate.stamp_ns
        assert message.header.frame_id == 'map'
        assert (pose.position.x, pose.position.y) == tuple(estimate.positions[0])
        covariance = np.reshape(message.pose.covariance, (6, 6))[:2, :2]
        np.testing.assert_array_equal(covariance, estimate.covariances[0])
    # The status states what the estimate does.
    status = messages['/status'][-1][1]
    names = status.layout.dim[0].label.split(',')
    newest = dict(zip(names, status.data.tolist(), strict=True))
    assert newest['status'] == CODES[valid[-1].status]
    assert newest['ellipse_m'] == valid[-1].ellipse_m
    first = {file.name: file.read_bytes() for file in (tmp_path / 'bag').iterdir()}
    (tmp_path / 'bag').rename(tmp_path / 'first')
    write(slot_car_model, short, tmp_path / 'bag')
    assert {file.name: file.read_bytes() for file in (tmp_path / 'bag').iterdir()} == first
    assert len(first) == 2


def test_without_a_valid_estimate_diagnostics_state_the_cause_and_no_tick_leaves_no_bag(
    slot_car_model, slot_car_laps, tmp_path
):
    recording = slot_car_laps[1]
    written = write(slot_car_model, recording.between(0, 1), tmp_path / 'bag')
    assert written == {'diagnostics': 1, 'status': 9}
    with pytest.raises(InputError, match='no tick ends in it'):
        write(slot_car_model, recording.between(0, 0.05), tmp_path / 'none')
    assert [each.name for each in tmp_path.iterdir()] == ['bag']
