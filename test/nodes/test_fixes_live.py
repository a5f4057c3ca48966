# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Position fixes over DDS: of a person, a sensor and a satellite receiver."""

from dataclasses import replace
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from ros_talk import Process
from sensor_msgs.msg import NavSatFix

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.messages import header, planar_covariance, pose_fields, Topics
from two_manifold_ros.model.model_file import load_model, save_model
from two_manifold_ros.nodes.live_input import Transforms
from two_manifold_ros.recordings.recording import GeodeticOrigin
from two_manifold_ros.recordings.ros_messages import to_message
from two_manifold_ros.recordings.satellite_fixes import latitude_longitude
from two_manifold_ros.simulation.slot_car_run import TRACK_FRAME

SURE = planar_covariance(0.01 * np.eye(2), 0.01)


@pytest.fixture
def courses(drive):
    return np.arctan2(*np.gradient(drive.positions[:, :2], axis=0).T[::-1])


def test_a_click_and_a_command_make_a_car_tracked_at_once_and_garbage_nothing(
    talk, follow, model_path, drive, courses
):
    health, feed = follow(model_path)
    clicks = talk.publisher(PoseWithCovarianceStamped, 'initialpose')

    def click(frame: str = '', **spoiled: object) -> None:
        """Say where the car is, as rviz does: by a clock that is not that of the IMU."""
        pose = pose_fields(drive.positions[feed.sent], courses[feed.sent])
        given = {'pose': pose, 'covariance': SURE, **spoiled}
        fields = {'header': header(10**18, frame), 'pose': given}
        clicks.publish(to_message(Topics.INITIAL_POSE.msgtype, fields))

    feed.send(30)
    health.until('filling')
    click(pose=pose_fields([np.nan, 0.0], 0.0))
    click(covariance=-SURE)
    clicks.publish(b'\x00\x01\x00\x00garbage')
    click('elsewhere')
    health.until_value('fixes_other_frame', '1')
    assert 'the package tf2_ros_py is missing' in health.values['fixes_trouble']
    counts = [health.values[f'fixes_{each}'] for each in ('received', 'refused', 'malformed')]
    assert counts == ['4', '2', '1']
    assert 'fixes_agreeing' not in health.values
    click(TRACK_FRAME)
    feed.send(20)
    health.until_value('fixes_agreeing', '1')
    assert health.values['status'] == 'tracking'
    for sample, key in ((feed.sent + 200, 'fixes_contradicting'), (feed.sent, 'fixes_agreeing')):
        at = [f'{each:.3f}' for each in drive.positions[sample, :2]]
        turned = f'{np.degrees(courses[sample]):.1f}'
        words = ['place', *at, '--heading', turned, '--within', '0.05']
        told = Process([sys.executable, '-m', 'two_manifold_ros', *words], None)
        assert told.ended() == 0, told.said
        feed.send(10)
        health.until_value(key, '1' if key == 'fixes_contradicting' else '2')
    assert health.values['callback_errors'] == '0'


def test_positions_of_a_sensor_lead_until_they_end_and_bad_ones_are_said(
    talk, follow, model_path, drive
):
    health, feed = follow(model_path, fix_topic='reference')
    feed.reference, feed.every = talk.publisher(PoseStamped, 'reference'), 10
    feed.send(40)
    talk.until(lambda: int(health.values.get('fixes_agreeing', 0)) > 1, 'fixes that agree')
    feed.send(20)
    health.until_value('status', 'tracking')
    feed.send(200, positions=False)
    health.until('tracking')
    ahead_ns = int(drive.stamps_ns[feed.sent]) + 600 * 10**9
    for stamp_ns, words in ((0, 'the stamp is zero'), (ahead_ns, '10 minutes after the newest')):
        fields = {'header': header(stamp_ns, ''), 'pose': pose_fields(drive.positions[0], 0.0)}
        feed.reference.publish(to_message('geometry_msgs/msg/PoseStamped', fields))
        talk.rest(0.2)
        feed.send(10, positions=False)
        health.until(words)
    assert (health.values['fixes_refused'], health.values['fixes_ahead']) == ('1', '1')


def test_satellite_fixes_are_on_the_plane_of_the_map_whatever_their_frame(
    talk, follow, model_path, drive, tmp_path
):
    origin = GeodeticOrigin(48.1, 11.5, 520.0)
    save_model(replace(load_model(model_path), origin=origin), tmp_path / 'placed.npz')
    health, feed = follow(tmp_path / 'placed.npz', fix_topic='gps/fix')
    receiver = talk.publisher(NavSatFix, 'gps/fix')
    feed.send(30)
    latitude, longitude = latitude_longitude(drive.positions[[feed.sent], :2], origin)[0]
    fields = {
        'header': header(int(drive.stamps_ns[feed.sent]), 'antenna'), 'status': {'status': 0},
        'latitude': latitude, 'longitude': longitude, 'altitude': np.nan,
        'position_covariance_type': 2, 'position_covariance': 0.01 * np.eye(3).ravel(),
    }  # fmt: skip
    receiver.publish(to_message('sensor_msgs/msg/NavSatFix', fields))
    talk.rest(0.2)
    feed.send(20)
    health.until_value('fixes_agreeing', '1')


def test_a_transform_is_asked_of_tf_and_missed_in_words(monkeypatch):
    class MissingError(Exception):
        pass

    class Buffer:
        def lookup_transform(self, target: str, source: str, _: object) -> SimpleNamespace:
            if (target, source) != ('map', 'odom'):
                raise MissingError
            there = SimpleNamespace(x=2.0, y=-1.0, z=0.0)
            turned = pose_fields([0.0, 0.0], 0.5)['orientation']
            moved = SimpleNamespace(translation=there, rotation=SimpleNamespace(**turned))
            return SimpleNamespace(transform=moved)

    listened = []
    tf = SimpleNamespace(
        Buffer=Buffer,
        TransformException=MissingError,
        TransformListener=lambda *given: listened.append(given),
    )
    monkeypatch.setitem(sys.modules, 'tf2_ros', tf)
    transforms = Transforms('the node')
    assert listened == []
    assert transforms.find('odom', 'map') == pytest.approx((2.0, -1.0, 0.5))
    with pytest.raises(InputError, match='no transform from wheels to map came yet'):
        transforms.find('wheels', 'map')
    assert len(listened) == 1
