# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laps of an ellipse, and bags of them or of any messages."""

from pathlib import Path
from typing import Any

import numpy as np

from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording

IMU, POSE = 'sensor_msgs/msg/Imu', 'geometry_msgs/msg/PoseStamped'
START_NS = 1_700_000_000_000_000_000

Row = tuple[str, str, int, dict[str, Any] | bytes]


def drive(seconds: float = 48.0, lap_s: float = 8.0, late_s: float = 0.0) -> Recording:
    """Drive an ellipse of 4 m x 2 m; the stamps of the positions are late by ``late_s``."""
    elapsed_ns = np.arange(round(seconds * 100)) * 10_000_000
    omega = 2 * np.pi / lap_s
    angle = omega * elapsed_ns / 1e9
    position = np.stack([2 * np.cos(angle), np.sin(angle)], axis=1)
    velocity = omega * np.stack([-2 * np.sin(angle), np.cos(angle)], axis=1)
    acceleration = -(omega**2) * position
    speed = np.linalg.norm(velocity, axis=1)
    forward = velocity / speed[:, None]
    left = np.stack([-forward[:, 1], forward[:, 0]], axis=1)
    noise = np.random.default_rng(0).normal(scale=0.02, size=(len(angle), 6))
    along, across = (acceleration * forward).sum(axis=1), (acceleration * left).sum(axis=1)
    still = np.zeros(len(angle))
    seen = along, across, np.full(len(angle), 9.81), still, still, across / speed
    samples = noise + np.stack(seen, axis=1)
    stamps = START_NS + elapsed_ns
    late = stamps[::4] + round(late_s * 1e9)
    return Recording(
        name='ellipse',
        imu=ImuStream('/imu', 'imu_link', stamps, samples, stamps),
        positions=PositionStream('/pose', 'map', POSE, late, position[::4]),
    )


def write_bag(path: Path, recording: Recording, **options: Any) -> Path:  # noqa: ANN401 - passed on
    """Write with the `BagWriter`, which takes the options; receive times are the stamps."""
    return write_messages(path, *rows_of(recording), **options)


def rows_of(recording: Recording) -> list[Row]:
    """Return the messages of a recording in the order of their stamps."""
    imu, positions = recording.imu, recording.positions
    rows: list[Row] = [
        (imu.topic, IMU, stamp, stamped(stamp, imu.frame_id) | imu_fields(sample))
        for stamp, sample in zip(imu.stamps.tolist(), imu.samples.tolist(), strict=True)
    ]
    if positions is not None:
        known = zip(positions.stamps.tolist(), positions.positions.tolist(), strict=True)
        for stamp, xy in known:
            pose = {'position': dict(zip('xy', xy, strict=True)), 'orientation': {'w': 1.0}}
            message = stamped(stamp, positions.frame_id) | {'pose': pose}
            rows.append((positions.topic, POSE, stamp, message))
    return sorted(rows, key=lambda row: row[2])


def write_messages(path: Path, *rows: Row, **options: Any) -> Path:  # noqa: ANN401 - passed on
    """Write topics, types, receive times, and fields or bytes of messages."""
    with BagWriter(path, **options) as bag:
        for topic, msgtype, stamp, message in rows:
            write = bag.write_raw if isinstance(message, bytes) else bag.write
            write(topic, msgtype, stamp, message)
    return path


def imu_fields(sample: list[float]) -> dict[str, Any]:
    return {
        'linear_acceleration': dict(zip('xyz', sample[:3], strict=True)),
        'angular_velocity': dict(zip('xyz', sample[3:], strict=True)),
    }


def stamped(stamp: int, frame_id: str = '') -> dict[str, Any]:
    """Return the field of a stamped message, of a stamp in nanoseconds."""
    seconds, nanoseconds = divmod(stamp, 1_000_000_000)
    return {'header': {'stamp': {'sec': seconds, 'nanosec': nanoseconds}, 'frame_id': frame_id}}


def pack_bag(bag: Path, target: Path, storage: object, mode: str) -> Path:
    """Copy a bag message by message with the options of rosbags' own writer; return the copy."""
    from rosbags import rosbag2  # noqa: PLC0415 - an extra
    from rosbags.typesys import get_typestore, Stores  # noqa: PLC0415 - as above

    types = get_typestore(Stores.ROS2_JAZZY)
    writer = rosbag2.Writer(target, version=8, storage_plugin=storage)
    writer.set_compression(rosbag2.CompressionMode[mode], rosbag2.CompressionFormat.ZSTD)
    with rosbag2.Reader(bag) as reader, writer:
        for connection in reader.connections:
            copy = writer.add_connection(connection.topic, connection.msgtype, typestore=types)
            for _, stamp, raw in reader.messages([connection]):
                writer.write(copy, stamp, raw)
    return target
