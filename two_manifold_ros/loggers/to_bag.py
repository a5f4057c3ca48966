# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make IMU samples and satellite fixes of what a logger recorded, and write them into a bag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.loggers.log import Channel, FIX_ROLES, IMU_ROLES, listed, Log
from two_manifold_ros.recordings.bag_writer import BagWriter, header_of
from two_manifold_ros.recordings.recording import GRAVITY, usual_gap_ns
from two_manifold_ros.typing import Floats, Ints


@dataclass(frozen=True)
class Drive:
    """What to write into a bag, and what was assumed and left out, as sentences."""

    imu: Channel  # (N, 6) specific force in m/s^2, then angular rate in rad/s
    fixes: Channel  # (M, 3) degrees north and east, and metres
    poses: Channel  # (K, 2) x and y in metres
    notes: tuple[str, ...]


def drive_of(log: Log) -> Drive:
    """Return the IMU samples and positions of a log, refuse one with nothing of an IMU."""
    measured = {role: log.channels[role] for role in IMU_ROLES if role in log.channels}
    if not measured:
        out_of = f' out of {listed(log.unread)}' if log.unread else ''
        raise InputError(
            f'{log.place}: no column is known to hold accelerations or angular rates of a sensor, '
            'and positions, or accelerations computed from them, are not enough; name them by '
            f"--columns 'ax=COLUMN:UNIT,gz=COLUMN:UNIT,...'{out_of}, or record with a logger or "
            'phone whose IMU is exported too'
        )
    notes = list(log.notes)
    poses = Channel(np.zeros(0, np.int64), np.zeros((0, 2)))
    fixes = _fixes(log.channels, log.place, notes)
    if {'x', 'y'} <= {*log.channels}:
        if len(fixes.stamps):
            notes.append('x and y are left out: the file has satellite positions too')
        else:
            poses = _each_once(*_both(log.channels, 'x', 'y'), notes)
    return Drive(_samples(measured, log.place, notes), fixes, poses, tuple(notes))


def _samples(measured: Mapping[str, Channel], place: str, notes: list[str]) -> Channel:
    """Return all channels at the stamps of the one with most values, others between their own."""
    reference = max(measured.values(), key=lambda each: len(each.stamps)).stamps
    stamps = np.unique(reference)
    # Of a channel that is not measured, at rest on level ground.
    imu = np.tile([0.0, 0.0, GRAVITY, 0.0, 0.0, 0.0], (len(stamps), 1))
    there = np.ones(len(stamps), dtype=np.bool_)
    for column, role in enumerate(IMU_ROLES):
        if role in measured:
            # Between its own values, and near some.
            order = np.argsort(measured[role].stamps, kind='stable')
            own, values = measured[role].stamps[order], measured[role].values[order]
            since, known = (stamps - own[0]).astype(float), (own - own[0]).astype(float)
            imu[:, column] = np.interp(since, known, values)
            before = np.clip(np.searchsorted(own, stamps, side='right') - 1, 0, None)
            after = np.clip(np.searchsorted(own, stamps), None, len(own) - 1)
            there &= (stamps >= own[0]) & (stamps <= own[-1])
            there &= own[after] - own[before] <= usual_gap_ns(own)
    again, left = len(reference) - len(stamps), int((~there).sum())
    words = f'{again} of {len(reference)} IMU samples have the time of another one'
    rest = dict.fromkeys(IMU_ROLES, '0') | {'accel_z': f'{GRAVITY} m/s^2'}
    constant = [f'{role} {value}' for role, value in rest.items() if role not in measured]
    if again > len(stamps):
        raise InputError(f'{place}: {words}; record or name a time with more decimals')
    if left == len(stamps):
        msg = f'{place}: no time has all channels of the IMU; import its files one by one'
        raise InputError(msg)
    constant_words = f'channels that are not found are constant: {", ".join(constant)}'
    notes += [f'{words} and are left out'] * bool(again) + [constant_words] * bool(constant)
    notes += [f'{left} of {len(stamps)} IMU samples lack a channel and are left out'] * bool(left)
    return Channel(stamps[there], imu[there])


def _fixes(channels: Mapping[str, Channel], place: str, notes: list[str]) -> Channel:
    """Return latitude, longitude and altitude (M, 3) of valid fixes, each once."""
    if not {'latitude', 'longitude'} <= {*channels}:
        notes.append('there are no positions in the file')
        return Channel(np.zeros(0, np.int64), np.zeros((0, 3)))
    stamps, degrees = _both(channels, *FIX_ROLES[:2])
    on_earth = (np.abs(degrees) <= (90.0, 180.0)).all(axis=1) & (degrees != 0.0).any(axis=1)
    if degrees.any() and not on_earth.any():
        raise InputError(
            f'{place}: none of the {len(stamps)} positions is on earth: name latitude and '
            "longitude and their unit by --columns 'lat=COLUMN:degE7,lon=COLUMN:degE7' (or deg, "
            "rad, min), metres on a map by 'x=COLUMN,y=COLUMN'; write degrees and minutes "
            '(ddmm.mmmm) as degrees'
        )
    if left := int((~on_earth).sum()):
        notes.append(f'{left} of {len(stamps)} positions are zero or not on earth, and left out')
    found = _each_once(stamps[on_earth], degrees[on_earth], notes)
    altitude = np.zeros(len(found.stamps))
    if 'altitude' in channels:
        height = channels['altitude']
        # No road on earth is as high.
        if abs(usual := float(np.median(height.values))) > 9000.0:
            cure = "state its unit, as in --columns 'altitude=COLUMN:mm'"
            msg = f'{place}: the usual altitude is {usual:.0f} m, above all ground; {cure}'
            raise InputError(msg)
        order = np.argsort(height.stamps, kind='stable')
        altitude = np.interp(found.stamps, height.stamps[order], height.values[order])
    return Channel(found.stamps, np.column_stack([found.values, altitude]))


def _both(channels: Mapping[str, Channel], *roles: str) -> tuple[Ints, Floats]:
    """Return the stamps that two channels share, and their values (N, 2) there."""
    one, other = (channels[role] for role in roles)
    stamps, first, second = np.intersect1d(one.stamps, other.stamps, return_indices=True)
    return stamps, np.stack([one.values[first], other.values[second]], axis=1)


def _each_once(stamps: Ints, places: Floats, notes: list[str]) -> Channel:
    """Return positions (N, 2) each once: loggers repeat the last one until there is another."""
    kept, at, rows = [0][: len(stamps)], stamps.tolist(), places.tolist()
    for index in range(1, len(at)):
        # Receivers have a fix a second at least: the same place after that is no repetition.
        if rows[index] != rows[kept[-1]] or at[index] - at[kept[-1]] >= 1_000_000_000:
            kept.append(index)
    if left := len(stamps) - len(kept):
        notes.append(f'{left} of {len(stamps)} positions repeat the last and are left out')
    return Channel(stamps[kept], places[kept])


def write_drive(drive: Drive, path: str | Path) -> dict[str, int]:
    """Write a drive into a new bag and return how many messages each topic has."""
    streams = (
        ('/imu', 'sensor_msgs/msg/Imu', 'imu', drive.imu),
        ('/gps/fix', 'sensor_msgs/msg/NavSatFix', 'gps', drive.fixes),
        ('/pose', 'geometry_msgs/msg/PoseStamped', 'map', drive.poses),
    )
    rows = sorted((stamp, number, row) for number, (*_, channel) in enumerate(streams)
                  for row, stamp in enumerate(channel.stamps.tolist()))  # fmt: skip
    if rows[0][0] < 0:
        raise InputError(f'{path}: the drive begins before 1970; correct the date in the file')
    with BagWriter(path) as bag:
        for stamp, number, row in rows:
            topic, msgtype, frame, channel = streams[number]
            values = channel.values[row].tolist()
            fields: dict[str, Any] = {'header': header_of(stamp, frame)}
            if topic == '/imu':
                # No orientation: see the comment in the message.
                fields['orientation_covariance'] = [-1.0, *[0.0] * 8]
                fields['linear_acceleration'] = dict(zip('xyz', values[:3], strict=True))
                fields['angular_velocity'] = dict(zip('xyz', values[3:], strict=True))
            elif topic == '/pose':
                fields['pose'] = {'position': dict(zip('xy', values, strict=True))}
            else:
                fields |= dict(zip(FIX_ROLES, values, strict=True))
                fields['status'] = {'status': 0, 'service': 1}
            bag.write(topic, msgtype, stamp, fields)
    return {topic: len(each.stamps) for topic, _, _, each in streams if len(each.stamps)}
