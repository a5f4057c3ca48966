# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make IMU samples and satellite fixes of what a logger recorded, and write them into a bag."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import merge
from operator import itemgetter
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import ACCELERATIONS, Channel, FIX_ROLES, IMU_ROLES, listed, Log
from two_manifold_ros.loggers.places import NOT_ON_EARTH
from two_manifold_ros.recordings.bag_writer import BagWriter
from two_manifold_ros.recordings.recording import (
    acceleration_unit,
    FASTEST_RATE,
    fastest_rate,
    GRAVITY,
    usual_gap_ns,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from two_manifold_ros.typing import Bools, Floats, Ints

IMU_TOPIC, FIX_TOPIC, POSE_TOPIC = '/imu', '/gps/fix', '/pose'


@dataclass(frozen=True)
class Drive:
    """
    What is written into a bag.

    Parameters
    ----------
    imu_stamps, imu : (N,) int64, (N, 6) float64
        Nanoseconds; specific force in m/s^2, then angular rate in rad/s.
    fix_stamps, fixes : (M,) int64, (M, 3) float64
        Nanoseconds; degrees north and east, and metres.
    pose_stamps, poses : (K,) int64, (K, 2) float64
        Nanoseconds; x and y in metres.
    notes
        What was assumed and left out, as sentences.

    """

    imu_stamps: Ints
    imu: Floats
    fix_stamps: Ints
    fixes: Floats
    pose_stamps: Ints
    poses: Floats
    notes: tuple[str, ...]


def drive_of(log: Log) -> Drive:
    """
    Return the IMU samples and fixes of a log.

    Raises
    ------
    InputError
        If it has neither accelerations nor angular rates.

    """
    notes = list(log.notes)
    measured = {role: log.channels[role] for role in IMU_ROLES if role in log.channels}
    if not measured:
        out_of = f' out of {listed(log.unread)}' if log.unread else ''
        msg = (
            f'{log.place}: no column is known to hold accelerations or angular rates, and '
            "positions alone are not enough; name them by --columns 'ax=COLUMN:UNIT,gz=COLUMN:"
            f"UNIT,...'{out_of}, or record with a logger or phone whose IMU is exported too"
        )
        raise InputError(msg)
    if log.axes == 'satellites':
        notes.append(
            'the accelerations were computed from satellite positions by the logger, there is no '
            'accelerometer: a model needs satellites in each later drive too'
        )
    fix_stamps, fixes, more = _fixes(log.channels, log.place)
    poses = Channel(np.zeros(0, np.int64), np.zeros((0, 2)))
    if {'x', 'y'} <= set(log.channels):
        if len(fix_stamps):
            more.append('x and y are left out: the file has satellite positions too')
        else:
            poses, more = _poses(log.channels)
    notes += more
    stamps, imu, more = _samples(measured, log)
    return Drive(stamps, imu, fix_stamps, fixes, poses.stamps, poses.values, (*notes, *more))


def _samples(measured: Mapping[str, Channel], log: Log) -> tuple[Ints, Floats, list[str]]:
    """Return all channels at the stamps of the one with most values, others between their own."""
    reference = max(measured.values(), key=lambda each: len(each.stamps))
    stamps = np.unique(reference.stamps)
    again = len(reference.stamps) - len(stamps)
    words = f'{again} of {len(reference.stamps)} IMU samples have the time of another one'
    if again > len(stamps):
        msg = f'{log.place}: {words}; record or name a time with more decimals'
        raise InputError(msg)
    notes = [f'{words} and are left out'] if again else []
    imu = np.zeros((len(stamps), len(IMU_ROLES)))
    there = np.ones(len(stamps), dtype=np.bool_)
    for column, role in enumerate(IMU_ROLES):
        if role in measured:
            imu[:, column], known = _at(measured[role], stamps)
            there &= known
    missing = [role for role in IMU_ROLES if role not in measured]
    upright = log.axes != 'sensor' or {'accel_x', 'accel_y'} <= set(measured)
    if 'accel_z' in missing and upright:
        imu[:, ACCELERATIONS.index('accel_z')] = GRAVITY
    if missing:
        up = f'{GRAVITY} m/s^2' if upright else '0'
        put = ', '.join(f'{role} {up if role == "accel_z" else "0"}' for role in missing)
        notes.append(f'channels that are not found are constant: {put}')
    if not there.all():
        left = int((~there).sum())
        notes.append(f'{left} of {len(stamps)} IMU samples lack a channel and are left out')
    if not there.any():
        msg = f'{log.place}: no time has all channels of the IMU; import its files one by one'
        raise InputError(msg)
    if not set(missing) & set(ACCELERATIONS):
        notes += _of_gravity(imu[there])
    # As `inspect` says it, beyond the range of usual gyroscopes.
    if fastest_rate(imu[there]) > FASTEST_RATE:
        notes.append(
            'the angular rates look like deg/s or counts, not rad/s: name their unit with '
            "--columns 'gx=COLUMN:deg/s,...'"
        )
    return stamps[there], imu[there], notes


def _of_gravity(imu: Floats) -> list[str]:
    """Return a note where gravity shows that samples (N, 6) are not in m/s^2, or lack it."""
    weight = float(np.linalg.norm(imu[:, :3].mean(axis=0)))
    unit = acceleration_unit(imu)
    if unit == 'removed':
        words = 'the logger left gravity out, and none was put in'
    elif unit == 'g':
        words = "they look like g: name their unit with --columns 'ax=COLUMN:g,...'"
    elif weight > 2.0 * GRAVITY:
        thousandths = ' (or mg)' if 900.0 < weight < 1300.0 else ''
        words = (
            f'they look like counts{thousandths}: multiply them by the scale of the sensor, or '
            'name their unit with --columns'
        )
    else:
        return []
    return [f'the mean acceleration is {weight:.2f}, as m/s^2: {words}']


def _poses(channels: Mapping[str, Channel]) -> tuple[Channel, list[str]]:
    """Return positions in metres, each once as `_fixes` does."""
    x, y = channels['x'], channels['y']
    stamps, first, second = np.intersect1d(x.stamps, y.stamps, return_indices=True)
    places = np.stack([x.values[first], y.values[second]], axis=1)
    new = _new(stamps, places)
    left = int((~new).sum())
    notes = [f'{left} of {len(new)} positions repeat the last and are left out'] if left else []
    return Channel(stamps[new], places[new]), notes


def _at(channel: Channel, stamps: Ints) -> tuple[Floats, Bools]:
    """Return values (N,) at stamps, between the channel's own, and which of them are near some."""
    order = np.argsort(channel.stamps, kind='stable')
    own, values = channel.stamps[order], channel.values[order]
    start = int(own[0])
    between = np.interp((stamps - start).astype(np.float64), (own - start).astype(float), values)
    before = np.clip(np.searchsorted(own, stamps, side='right') - 1, 0, None)
    after = np.clip(np.searchsorted(own, stamps), None, len(own) - 1)
    inside = (stamps >= own[0]) & (stamps <= own[-1])
    known: Bools = inside & (own[after] - own[before] <= usual_gap_ns(own))
    return between, known


def _fixes(channels: Mapping[str, Channel], place: str) -> tuple[Ints, Floats, list[str]]:
    """Return valid fixes, each once: loggers repeat the last one until there is another."""
    if not {'latitude', 'longitude'} <= set(channels):
        return np.zeros(0, np.int64), np.zeros((0, 3)), ['there are no positions in the file']
    north, east = channels['latitude'], channels['longitude']
    stamps, first, second = np.intersect1d(north.stamps, east.stamps, return_indices=True)
    degrees = np.stack([north.values[first], east.values[second]], axis=1)
    height = channels.get('altitude')
    altitude = np.zeros(len(stamps))
    if height is not None and len(height.stamps):
        order = np.argsort(height.stamps, kind='stable')
        altitude = np.interp(stamps, height.stamps[order], height.values[order])
    on_earth = (np.abs(degrees) <= (90.0, 180.0)).all(axis=1) & (degrees != 0.0).any(axis=1)
    notes = []
    if degrees.any() and not on_earth.any():
        msg = f'{place}: none of the {len(stamps)} positions {NOT_ON_EARTH}'
        raise InputError(msg)
    if not on_earth.all():
        left = int((~on_earth).sum())
        notes.append(f'{left} of {len(stamps)} positions are zero or not on earth, and left out')
    stamps, degrees, altitude = stamps[on_earth], degrees[on_earth], altitude[on_earth]
    new = _new(stamps, degrees)
    if not new.all():
        notes.append(
            f'{int((~new).sum())} of {len(new)} positions repeat the last and are left out'
        )
    return stamps[new], np.column_stack([degrees, altitude])[new], notes


_STANDING_NS = 1_000_000_000
"""Receivers have a fix a second at least: the same place after that is no repetition."""


def _new(stamps: Ints, degrees: Floats) -> Bools:
    """Return which positions (N,) are new, or have been the same for a second."""
    new = np.ones(len(stamps), dtype=np.bool_)
    at, places, kept = stamps.tolist(), degrees.tolist(), 0
    for index in range(1, len(at)):
        if places[index] == places[kept] and at[index] - at[kept] < _STANDING_NS:
            new[index] = False
        else:
            kept = index
    return new


def write_drive(drive: Drive, path: str | Path) -> dict[str, int]:
    """
    Write a drive into a new bag and return how many messages each topic has.

    Raises
    ------
    InputError
        If the bag cannot be written.

    """
    stamps = (drive.imu_stamps, drive.fix_stamps, drive.pose_stamps)
    if min(each[0] for each in stamps if len(each)) < 0:
        msg = f'{path}: the drive begins before 1970; correct the date in the file'
        raise InputError(msg)
    counts: dict[str, int] = {}
    with BagWriter(path) as bag:
        for stamp, topic, msgtype, content in merge(
            _imu_messages(drive), _fix_messages(drive), _pose_messages(drive), key=itemgetter(0)
        ):
            bag.write(topic, msgtype, stamp, content)
            counts[topic] = counts.get(topic, 0) + 1
    return counts


_Message: TypeAlias = tuple[int, str, str, dict[str, Any]]
"""Stamp, topic, type and content."""


def _imu_messages(drive: Drive) -> Iterator[_Message]:
    for stamp, sample in zip(drive.imu_stamps.tolist(), drive.imu, strict=True):
        force, rate = sample[:3].tolist(), sample[3:].tolist()
        content: dict[str, Any] = {
            'header': _header(stamp, 'imu'),
            # No orientation: see the comment in the message.
            'orientation_covariance': [-1.0, *[0.0] * 8],
            'linear_acceleration': dict(zip('xyz', force, strict=True)),
            'angular_velocity': dict(zip('xyz', rate, strict=True)),
        }
        yield stamp, IMU_TOPIC, 'sensor_msgs/msg/Imu', content


def _fix_messages(drive: Drive) -> Iterator[_Message]:
    for stamp, place in zip(drive.fix_stamps.tolist(), drive.fixes, strict=True):
        content: dict[str, Any] = {
            'header': _header(stamp, 'gps'),
            'status': {'status': 0, 'service': 1},
            **dict(zip(FIX_ROLES, place.tolist(), strict=True)),
        }
        yield stamp, FIX_TOPIC, 'sensor_msgs/msg/NavSatFix', content


def _pose_messages(drive: Drive) -> Iterator[_Message]:
    for stamp, place in zip(drive.pose_stamps.tolist(), drive.poses, strict=True):
        content: dict[str, Any] = {
            'header': _header(stamp, 'map'),
            'pose': {
                'position': dict(zip('xyz', [*place.tolist(), 0.0], strict=True)),
                'orientation': {'x': 0.0, 'y': 0.0, 'z': 0.0, 'w': 1.0},
            },
        }
        yield stamp, POSE_TOPIC, 'geometry_msgs/msg/PoseStamped', content


def _header(stamp: int, frame: str) -> dict[str, object]:
    seconds, rest = divmod(stamp, 1_000_000_000)
    return {'stamp': {'sec': seconds, 'nanosec': rest}, 'frame_id': frame}
