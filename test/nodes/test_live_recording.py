# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A recording made of live messages."""

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

import numpy as np
from rclpy.serialization import serialize_message
from two_manifold_ros.nodes.subscriptions import LiveRecording

from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.publishing import to_message

STAMP = {'sec': 7, 'nanosec': 5}
HEADER = {'stamp': STAMP, 'frame_id': 'arena'}
PLACE = {'x': 1.5, 'y': -2.5, 'z': 9.0}
REFERENCES = {
    'geometry_msgs/msg/PoseStamped': {'pose': {'position': PLACE}},
    'geometry_msgs/msg/PoseWithCovarianceStamped': {'pose': {'pose': {'position': PLACE}}},
    'geometry_msgs/msg/PointStamped': {'point': PLACE},
    'geometry_msgs/msg/TransformStamped': {'transform': {'translation': PLACE}},
    'nav_msgs/msg/Odometry': {'pose': {'pose': {'position': PLACE}}},
}


def raw(msgtype: str, fields: dict[str, object]) -> bytes:
    return serialize_message(to_message(msgtype, {'header': HEADER, **fields}))


@pytest.fixture
def live() -> LiveRecording:
    live = LiveRecording('/imu', '/reference')
    live.add_imu(100, raw('sensor_msgs/msg/Imu', {'angular_velocity': {'z': 3.0}}))
    return live


@pytest.mark.parametrize('msgtype', REFERENCES)
def test_every_type_of_reference(live: LiveRecording, msgtype: str) -> None:
    live.begin_reference(msgtype)
    live.add_reference(101, raw(msgtype, REFERENCES[msgtype]))
    recording = live.recording(use_receive_time=False)
    assert recording.positions is not None
    np.testing.assert_array_equal(recording.positions.positions, [[1.5, -2.5]])
    assert recording.positions.stamps.tolist() == [7_000_000_005]
    assert recording.positions.frame_id == 'arena'
    np.testing.assert_array_equal(recording.imu.samples, [[0, 0, 0, 0, 0, 3]])
    assert recording.imu.stamps.tolist() == [7_000_000_005]


def test_satellite_fixes_are_projected(live: LiveRecording) -> None:
    live.begin_reference('sensor_msgs/msg/NavSatFix')
    for latitude in (50.0, 50.001):
        fix = {'latitude': latitude, 'longitude': 8.0, 'altitude': 100.0}
        live.add_reference(101, raw('sensor_msgs/msg/NavSatFix', fix))
    positions = live.recording(use_receive_time=False).positions
    assert positions is not None
    assert positions.origin is not None
    assert positions.positions[1] == pytest.approx([0.0, 111.2], abs=0.2)


def test_receive_times_on_request(live: LiveRecording) -> None:
    live.begin_reference('geometry_msgs/msg/PointStamped')
    live.add_reference(101, raw('geometry_msgs/msg/PointStamped', {'point': PLACE}))
    recording = live.recording(use_receive_time=True)
    assert recording.positions is not None
    assert (recording.imu.stamps.tolist(), recording.positions.stamps.tolist()) == ([100], [101])
    assert any('Receive times' in note for note in recording.notes)


def test_malformed_messages_are_counted(live: LiveRecording) -> None:
    live.begin_reference('geometry_msgs/msg/PointStamped')
    live.add_imu(100, b'\x00\x01\x00\x00')
    live.add_reference(100, b'\x00\x01')
    assert (live.imu_count, live.reference_count, live.malformed) == (1, 0, 2)


def test_what_is_missing_is_named(live: LiveRecording) -> None:
    with pytest.raises(InputError, match='No position came on /reference'):
        live.recording(use_receive_time=False)
    with pytest.raises(InputError, match='No IMU message came on /imu'):
        LiveRecording('/imu', '/reference').recording(use_receive_time=False)
