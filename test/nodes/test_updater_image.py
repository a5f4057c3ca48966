# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A camera in the place of the IMU: pictures of a wall while a cart goes round."""

from __future__ import annotations

from array import array

from image_message import make_image
import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image
from updater_feed import SMALL, tpsr_session

from two_manifold_ros.adapting.stream_memory import make_head
from two_manifold_ros.interface.image_values import channel_names
from two_manifold_ros.nodes.live_input import image_decoder

GRID = 4, 3
FRAMES_HZ = 25
LAP_S = 6.0


def raw_image(
    pixels: np.ndarray, encoding: str, frame_id: str = 'cam', stamp_ns: int = 5_000_000_007
) -> bytes:
    """Return a serialised image."""
    fields = vars(make_image(pixels, encoding, frame=frame_id, stamp_ns=stamp_ns))
    header = fields.pop('header')
    message = Image(**{**fields, 'data': array('B', fields['data'])})
    message.header.frame_id = header.frame_id
    message.header.stamp.sec, message.header.stamp.nanosec = header.stamp.sec, header.stamp.nanosec
    return serialize_message(message)


def frame(angle: float, rng: np.random.Generator) -> np.ndarray:
    """Return what a camera sees in a direction: stripes that differ all around."""
    height, width = 12, 16
    columns = angle + np.linspace(-0.6, 0.6, width)
    rows = np.linspace(0.0, 1.0, height)[:, None]
    wall = 0.5 + 0.2 * np.sin(3 * columns) + 0.2 * np.cos(2 * columns + 2.0 * rows)
    noisy = wall + 0.01 * rng.standard_normal(wall.shape)
    return np.clip(255 * noisy, 0, 255).astype(np.uint8)[..., None]


def test_it_learns_where_the_camera_is() -> None:
    rng = np.random.Generator(np.random.PCG64(2))
    head = make_head(SMALL.horizons, names=channel_names(*GRID))
    session = tpsr_session(head, image_decoder(*GRID))
    errors = []
    angle = 0.0
    for index in range(70 * FRAMES_HZ):
        angle += 2 * np.pi / LAP_S / FRAMES_HZ * (1.0 + 0.2 * np.sin(index / 40.0))
        stamp = 10**9 + index * 10**9 // FRAMES_HZ
        place = 2.0 * np.cos(angle), 2.0 * np.sin(angle)
        raw = raw_image(frame(angle, rng), 'mono8', 'camera', stamp)
        errors += [np.linalg.norm(each.positions[0] - place) for each in session.take(raw)]
        session.take_position(stamp, 'map', *place)
    assert session.head.imu_frame_id == 'camera'
    assert len(errors) > 300
    # Always to say the middle would err by 2 m.
    assert np.sqrt(np.mean(np.square(errors[-100:]))) < 0.5


def test_an_image_that_cannot_be_used_is_reported_and_costs_nothing() -> None:
    head = make_head(SMALL.horizons, names=channel_names(*GRID))
    session = tpsr_session(head, image_decoder(*GRID))
    pixels = np.zeros((12, 16, 1), np.uint8)
    assert session.take(raw_image(pixels, 'jpeg')) == []
    assert "images are encoded as 'jpeg'" in session.fault
    assert session.take(raw_image(pixels, 'mono8')[:30]) == []
    assert session.take(raw_image(pixels, 'mono8')) == []
    assert session.counts()['malformed'] == 2
    assert session.counts()['used'] == 1
