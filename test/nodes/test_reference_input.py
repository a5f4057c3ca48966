# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reference messages of every type, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.serialization import serialize_message
from updater_feed import small_session

from two_manifold_ros.nodes.publishing import to_message
from two_manifold_ros.nodes.updater_node import ReferenceInput
from two_manifold_ros.recordings.decoding import east_north
from two_manifold_ros.recordings.recording import GeodeticOrigin

if TYPE_CHECKING:
    from two_manifold_ros.interface.topics import Message

PLACE = {'x': 1.5, 'y': -2.5, 'z': 9.0}
FIELDS = {
    'geometry_msgs/msg/PoseStamped': {'pose': {'position': PLACE}},
    'geometry_msgs/msg/PoseWithCovarianceStamped': {'pose': {'pose': {'position': PLACE}}},
    'geometry_msgs/msg/PointStamped': {'point': PLACE},
    'geometry_msgs/msg/TransformStamped': {'transform': {'translation': PLACE}},
    'nav_msgs/msg/Odometry': {'pose': {'pose': {'position': PLACE}}},
}
FIX = 'sensor_msgs/msg/NavSatFix'


def raw(msgtype: str, seconds: int, fields: Message) -> bytes:
    header = {'stamp': {'sec': seconds, 'nanosec': 5}, 'frame_id': 'track'}
    return serialize_message(to_message(msgtype, {'header': header, **fields}))


def fix(latitude: float, longitude: float, altitude: float, status: int = 0) -> Message:
    return {
        'latitude': latitude,
        'longitude': longitude,
        'altitude': altitude,
        'status': {'status': status},
    }


@pytest.mark.parametrize('msgtype', FIELDS)
def test_every_type(msgtype: str) -> None:
    session = small_session()
    seen = []
    session.on_position.append(lambda *each: seen.append(each))
    positions = ReferenceInput(session)
    assert not positions.take(b'before its type is known')
    positions.begin(msgtype)
    assert positions.take(raw(msgtype, 7, FIELDS[msgtype]))
    assert seen == [(7_000_000_005, 1.5, -2.5)]
    assert session.head.frame_id == 'track'
    assert not positions.take(b'\x00\x01')
    assert not positions.take(raw(msgtype, 7, FIELDS[msgtype]))
    assert (
        positions.counts() == {'used': 1, 'malformed': 1, 'out_of_order': 1} or positions.counts()
    )


def test_fixes_are_positions_in_the_plane_of_the_first_one() -> None:
    session = small_session()
    seen = []
    session.on_position.append(lambda _, x, y: seen.append((x, y)))
    positions = ReferenceInput(session)
    positions.begin(FIX)
    assert not positions.take(raw(FIX, 1, fix(50.0, 10.0, 100.0, status=-1)))
    assert not positions.take(raw(FIX, 2, fix(np.nan, 10.0, 100.0)))
    assert positions.take(raw(FIX, 3, fix(50.0, 10.0, 100.0)))
    assert positions.take(raw(FIX, 4, fix(50.0001, 10.0002, np.nan)))
    origin = GeodeticOrigin(50.0, 10.0, 100.0)
    assert session.head.origin == origin
    assert seen[0] == (0.0, 0.0)
    there = east_north(np.array([50.0001]), np.array([10.0002]), np.array([100.0]), origin)
    assert seen[1] == pytest.approx(there[0])
    assert positions.counts() == {'used': 2, 'no_fix': 2}
    assert session.head.frame_id == 'map'


def test_an_origin_that_is_known_stays() -> None:
    session = small_session()
    session.head = replace(session.head, origin=GeodeticOrigin(50.0, 10.0, 0.0))
    seen = []
    session.on_position.append(lambda _, x, y: seen.append((x, y)))
    positions = ReferenceInput(session)
    positions.begin(FIX)
    assert positions.take(raw(FIX, 1, fix(50.001, 10.0, 0.0)))
    assert seen[0] == pytest.approx((0.0, 111.2), abs=0.5)


def test_it_knows_how_long_nothing_could_be_used() -> None:
    msgtype, now = 'geometry_msgs/msg/PointStamped', [0.0]
    positions = ReferenceInput(small_session(), lambda: now[0])
    positions.begin(msgtype)
    assert np.isnan(positions.silence_s)
    positions.take(raw(msgtype, 7, FIELDS[msgtype]))
    now[0] = 6.0
    positions.take(raw(msgtype, 7, FIELDS[msgtype]))
    assert positions.silence_s == pytest.approx(6.0)
