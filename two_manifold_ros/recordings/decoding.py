# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decode serialised messages into arrays of stamps and numbers."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from operator import attrgetter
from struct import Struct
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.recording import GeodeticOrigin, PositionStream

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from two_manifold_ros.recordings.bag import Bag, Topic
    from two_manifold_ros.typing import Floats, Ints


# WGS84: equatorial radius in metres, and first eccentricity squared from the flattening.
_RADIUS_M = 6_378_137.0
_FLATTENING = 1 / 298.257223563
_ECCENTRICITY_2 = _FLATTENING * (2 - _FLATTENING)


def earth_centred(latitude_deg: Floats, longitude_deg: Floats, altitude_m: Floats) -> Floats:
    """
    Return earth-centred, earth-fixed coordinates.

    Parameters
    ----------
    latitude_deg, longitude_deg, altitude_m : (N,) float64
        On and above the WGS84 ellipsoid.

    Returns
    -------
    (N, 3) float64
        Metres.

    """
    latitude, longitude = np.radians(latitude_deg), np.radians(longitude_deg)
    normal = _RADIUS_M / np.sqrt(1 - _ECCENTRICITY_2 * np.sin(latitude) ** 2)
    across = (normal + altitude_m) * np.cos(latitude)
    up = (normal * (1 - _ECCENTRICITY_2) + altitude_m) * np.sin(latitude)
    return np.stack([across * np.cos(longitude), across * np.sin(longitude), up], axis=-1)


def east_north(
    latitude_deg: Floats,
    longitude_deg: Floats,
    altitude_m: Floats,
    origin: GeodeticOrigin,
) -> Floats:
    """
    Return positions in the plane tangent to the ellipsoid at the origin.

    Parameters
    ----------
    latitude_deg, longitude_deg, altitude_m : (N,) float64
        On and above the WGS84 ellipsoid.
    origin
        Where both coordinates are zero.

    Returns
    -------
    (N, 2) float64
        Metres east and north.

    """
    centre = earth_centred(
        np.array([origin.latitude_deg]),
        np.array([origin.longitude_deg]),
        np.array([origin.altitude_m]),
    )
    away = earth_centred(latitude_deg, longitude_deg, altitude_m) - centre
    latitude, longitude = np.radians([origin.latitude_deg, origin.longitude_deg])
    east = np.array([-np.sin(longitude), np.cos(longitude), 0.0])
    north = np.array(
        [
            -np.sin(latitude) * np.cos(longitude),
            -np.sin(latitude) * np.sin(longitude),
            np.cos(latitude),
        ]
    )
    projected: Floats = away @ np.stack([east, north], axis=1)
    return projected


GEODETIC = 'sensor_msgs/msg/NavSatFix'
NO_FIX = -1
# The header names the antenna; the positions are in a plane fixed to the earth.
FRAME = 'map'


class NoFixError(InputError):
    """Not one message of a satellite receiver is a valid fix."""


def positions_of_fixes(
    collected: Collected,
    stamps: Ints,
    origin: GeodeticOrigin | None,
) -> tuple[PositionStream, list[str]]:
    """
    Project the valid fixes to the tangent plane at the origin, by default the first valid fix.

    A fix without altitude is taken at the height of the origin.

    Parameters
    ----------
    collected
        Latitude and longitude in degrees, altitude in metres and status of each fix, (M, 4).
    stamps : (M,) int64
        Nanoseconds.
    origin
        Origin of another recording of the same route.

    Raises
    ------
    NoFixError
        If no fix is valid.

    """
    latitude, longitude, altitude, status = collected.numbers.T
    valid = np.isfinite(latitude) & np.isfinite(longitude) & (status != NO_FIX)
    if not valid.any():
        msg = (
            f'{collected.topic.name} in {collected.path} holds {len(valid)} messages but no '
            f'valid fix: choose another recording or another topic with --position-topic.'
        )
        raise NoFixError(msg)
    if origin is None:
        first = int(np.argmax(valid))
        height = float(altitude[first]) if np.isfinite(altitude[first]) else 0.0
        origin = GeodeticOrigin(float(latitude[first]), float(longitude[first]), height)
    altitude = np.where(np.isfinite(altitude), altitude, origin.altitude_m)
    stream = PositionStream(
        topic=collected.topic.name,
        frame_id=FRAME,
        msgtype=collected.topic.msgtype,
        stamps=stamps[valid],
        positions=east_north(latitude[valid], longitude[valid], altitude[valid], origin),
        origin=origin,
    )
    dropped = int((~valid).sum())
    if not dropped:
        return stream, []
    note = (
        f'{dropped} of {len(valid)} messages on {collected.topic.name} are no valid fix and are '
        f'left out.'
    )
    return stream, [note]


# From serialised bytes to the stamp in ns, the frame_id and the numbers.
Decode: TypeAlias = Callable[[bytes], tuple[int, str, tuple[float, ...]]]

_POSITION_FIELD = {
    'geometry_msgs/msg/PoseStamped': 'pose.position',
    'geometry_msgs/msg/PoseWithCovarianceStamped': 'pose.pose.position',
    'geometry_msgs/msg/PointStamped': 'point',
    'geometry_msgs/msg/TransformStamped': 'transform.translation',
    'nav_msgs/msg/Odometry': 'pose.pose.position',
}
_ENCAPSULATION = 4
# Doubles of an Imu before each vector: orientation 4, covariance 9; then 3 and 9 more.
_ANGULAR_VELOCITY = 8 * 13
_LINEAR_ACCELERATION = 8 * 25
# stamp and length of frame_id, one vector; by the byte order in the encapsulation.
_CDR = {
    b'\x00\x00': (Struct('>iII'), Struct('>ddd')),
    b'\x00\x01': (Struct('<iII'), Struct('<ddd')),
}


def imu_decoder(bag: Bag, topic: Topic) -> Decode:
    """Return the decoder of ``sensor_msgs/Imu``: specific force, then angular rate."""
    if topic.serialisation == 'cdr':
        return decode_imu_cdr

    def decode(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
        message = bag.decode(raw, topic.msgtype)
        force, rate = message.linear_acceleration, message.angular_velocity
        return *_header(message), (force.x, force.y, force.z, rate.x, rate.y, rate.z)

    return decode


def decode_imu_cdr(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
    """
    Decode a ``sensor_msgs/Imu`` in CDR, five times faster than a general decoder.

    The layout has one variable part, ``frame_id``; the doubles behind it are aligned to eight
    bytes counted from the end of the encapsulation.

    Raises
    ------
    InputError
        If the encapsulation is not plain CDR.

    """
    layout = _CDR.get(raw[:2])
    if layout is None:
        msg = (
            f'An Imu message begins with {raw[:4].hex()}, which is not plain CDR: record it '
            f'again with a middleware that uses CDR.'
        )
        raise InputError(msg)
    header, vector = layout
    seconds, nanoseconds, length = header.unpack_from(raw, _ENCAPSULATION)
    text = _ENCAPSULATION + header.size
    doubles = text + length + -(header.size + length) % 8
    frame_id = raw[text : text + length - 1].decode('utf-8', 'replace')
    force = vector.unpack_from(raw, doubles + _LINEAR_ACCELERATION)
    rate = vector.unpack_from(raw, doubles + _ANGULAR_VELOCITY)
    return seconds * 1_000_000_000 + nanoseconds, frame_id, force + rate


def position_decoder(bag: Bag, topic: Topic) -> Decode:
    """Return the decoder of a topic with positions: x and y in metres."""
    position_of = attrgetter(_POSITION_FIELD[topic.msgtype])

    def decode(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
        message = bag.decode(raw, topic.msgtype)
        position = position_of(message)
        return *_header(message), (position.x, position.y)

    return decode


def fix_decoder(bag: Bag, topic: Topic) -> Decode:
    """Return the decoder of ``NavSatFix``: latitude, longitude, altitude, status."""

    def decode(raw: bytes) -> tuple[int, str, tuple[float, ...]]:
        fix = bag.decode(raw, topic.msgtype)
        numbers = (fix.latitude, fix.longitude, fix.altitude, float(fix.status.status))
        return *_header(fix), numbers

    return decode


def _header(message: object) -> tuple[int, str]:
    header = message.header  # type: ignore[attr-defined]  # every type here is stamped
    return header.stamp.sec * 1_000_000_000 + header.stamp.nanosec, header.frame_id


_PROGRESS_EVERY = 5000
_MOST_FRAMES = 10


class Collected:
    """What was gathered of one topic."""

    def __init__(self, path: Path, topic: Topic, decode: Decode) -> None:
        self.path = path
        self.topic = topic
        self.frames: list[str] = []
        self.passed_over = 0
        self._decode = decode
        self._stamps = array('q')
        self._received = array('q')
        self._numbers = array('d')

    def add(self, received: int, raw: bytes) -> None:
        """Decode one message that the bag received at that time, in nanoseconds."""
        try:
            stamp, frame_id, numbers = self._decode(raw)
            # Neither has taken it yet if the other cannot.
            times = array('q', (stamp, received))
        except InputError:
            raise
        # Damaged bytes make a decoder raise almost anything.
        except Exception as error:
            msg = (
                f'A message on {self.topic.name} in {self.path} cannot be decoded ({error}): '
                f'the bag is damaged, copy it again or read what is left of it with --salvage.'
            )
            raise InputError(msg) from error
        self._stamps.append(times[0])
        self._received.append(times[1])
        self._numbers.extend(numbers)
        # A longer list would take time and say no more.
        if len(self.frames) < _MOST_FRAMES and frame_id not in self.frames:
            self.frames.append(frame_id)

    @property
    def stamps(self) -> Ints:
        """Header stamps (N,), nanoseconds."""
        return np.array(self._stamps, dtype=np.int64)

    @property
    def received(self) -> Ints:
        """Receive times (N,), nanoseconds."""
        return np.array(self._received, dtype=np.int64)

    @property
    def numbers(self) -> Floats:
        """Decoded numbers (N, c)."""
        return np.array(self._numbers, dtype=np.float64).reshape(len(self._stamps), -1)

    @property
    def notes(self) -> list[str]:
        """Sentences on what was passed over, and on frames that do not belong together."""
        notes = []
        if self.passed_over:
            note = f'{self.passed_over} messages on {self.topic.name} are damaged and left out.'
            notes.append(note)
        if len(self.frames) < 2:
            return notes
        names = ', '.join(repr(frame) for frame in self.frames)
        note = (
            f'{self.topic.name} changes its frame_id ({names}): its messages are read as if '
            f'they were all in the first.'
        )
        return [*notes, note]


def collect(
    bag: Bag,
    decoders: Mapping[Topic, Decode],
    progress: Callable[[float], None],
    *,
    salvage: bool = False,
) -> list[Collected]:
    """
    Read the messages of these topics and no others; one result per topic, in their order.

    ``progress`` is called now and then with the share of messages read, in [0, 1]. Where asked to
    ``salvage``, messages that cannot be decoded are passed over and counted.

    Raises
    ------
    InputError
        If the bag is damaged, or nothing of a topic can be decoded.

    """
    collected = {
        topic.name: Collected(bag.path, topic, decode) for topic, decode in decoders.items()
    }
    total = sum(topic.count for topic in decoders)
    for number, (name, received, raw) in enumerate(bag.messages(list(decoders))):
        try:
            collected[name].add(received, raw)
        except InputError:
            if not salvage:
                raise
            collected[name].passed_over += 1
        if number % _PROGRESS_EVERY == 0:
            progress(number / total)
    for each in collected.values():
        if not each.frames:
            msg = (
                f'{bag.path} holds no whole message on {each.topic.name}: choose another topic or '
                f'recording.'
            )
            raise InputError(msg)
    return list(collected.values())
