# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decode live messages: a recording for the trainer, reference positions for the updater."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
import math
from pathlib import Path
from time import monotonic
from typing import Any, cast, NamedTuple, TYPE_CHECKING

import numpy as np
from rclpy.serialization import deserialize_message

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.messages import Topics
from two_manifold_ros.nodes.publishing import message_class
from two_manifold_ros.recordings.decoding import (
    Collected,
    decode_imu_cdr,
    position_decoder,
)
from two_manifold_ros.recordings.reading import time_base
from two_manifold_ros.recordings.recording import ImuStream, Recording
from two_manifold_ros.recordings.satellite_fixes import (
    east_north,
    fixes_agree,
    FRAME,
    GEODETIC,
    origin_at,
    valid_fixes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.recordings.decoding import Decode
    from two_manifold_ros.recordings.recording import GeodeticOrigin


class LiveTopic(NamedTuple):
    """Name and type of a topic that is subscribed."""

    name: str
    msgtype: str


def deserialise(raw: bytes, msgtype: str) -> Any:  # noqa: ANN401 - a generated class
    """Return the message, whose fields have the same names as those from a bag."""
    return deserialize_message(raw, message_class(msgtype))


class LiveRecording:
    """
    Collect messages of an IMU and of a reference, decoded as they come.

    Parameters
    ----------
    imu_topic, reference_topic
        Full names.

    """

    def __init__(self, imu_topic: str, reference_topic: str) -> None:
        topic = LiveTopic(imu_topic, Topics.IMU.msgtype)
        self._imu = Collected(Path('live'), topic, decode_imu_cdr)
        self._reference_topic = reference_topic
        self._reference: Collected | None = None
        self.imu_count = self.reference_count = self.malformed = 0

    def start_reference(self, msgtype: str) -> None:
        """Accept references of a type from now on."""
        topic = LiveTopic(self._reference_topic, msgtype)
        decode = position_decoder(deserialise, msgtype)
        self._reference = Collected(Path('live'), topic, decode)

    def add_imu(self, received_ns: int, raw: bytes) -> None:
        """Add one serialised ``sensor_msgs/Imu``."""
        self.imu_count += self._add(self._imu, received_ns, raw)

    def add_reference(self, received_ns: int, raw: bytes) -> None:
        """Add one serialised reference."""
        if self._reference is not None:
            self.reference_count += self._add(self._reference, received_ns, raw)

    def _add(self, collected: Collected, received_ns: int, raw: bytes) -> int:
        try:
            collected.add(received_ns, raw)
        except InputError:
            self.malformed += 1
            return 0
        return 1

    def recording(self, *, use_receive_time: bool) -> Recording:
        """
        Return the recording until now.

        Raises
        ------
        InputError
            If no IMU message or no reference came yet, or no satellite fix is valid.

        """
        imu, reference = self._imu, self._reference
        if not self.imu_count:
            msg = f'No IMU message came on {imu.topic.name} yet: remap imu to the driver.'
            raise InputError(msg)
        if reference is None or not self.reference_count:
            msg = f'No position came on {self._reference_topic} yet: remap reference to its topic.'
            raise InputError(msg)
        (imu_stamps, stamps), notes = time_base([imu, reference], use_receive_time)
        notes += [*imu.notes, *reference.notes]
        stream = ImuStream(
            topic=imu.topic.name,
            frame_id=imu.frames[0],
            stamps=imu_stamps,
            samples=imu.numbers,
            receive_stamps=imu.received,
        )
        positions, more = reference.positions(stamps, None)
        notes += more
        return Recording('live topics', stream, positions, tuple(notes))


class ReferenceInput:
    """
    Decode positions; satellite fixes become positions in the plane of the session's origin.

    Where the session has no origin yet, the first valid fix that the next one agrees with is it.
    Positions that cannot have the origin of those that the session knows are not used.

    Parameters
    ----------
    session
        Session that takes them.
    clock
        Seconds, never going back.

    """

    def __init__(self, session: UpdaterSession, clock: Callable[[], float] = monotonic) -> None:
        self._session = session
        self._clock = clock
        self._used_s = math.nan
        self._decode: Decode | None = None
        self._geodetic = False
        # A fix until the next one agrees with it: its stamp, latitude, longitude and altitude.
        self._waiting: tuple[int, tuple[float, ...]] | None = None
        self._refused: Counter[str] = Counter()

    def start(self, msgtype: str) -> None:
        """Take messages of a type from now on."""
        self._geodetic = msgtype == GEODETIC
        self._waiting = None
        self._decode = position_decoder(deserialise, msgtype)

    @property
    def silence_s(self) -> float:
        """Seconds since a position was used; NaN if none ever was."""
        return self._clock() - self._used_s

    def counts(self) -> Counter[str]:
        """Return how many were used, and how many were not by cause."""
        return self._refused + self._session.learner.reference.counters

    def take(self, raw: bytes) -> bool:
        """Take one serialised message; return whether its position is used."""
        if self._decode is None:
            return False
        try:
            stamp_ns, frame_id, numbers = self._decode(raw)
        # Bytes that are no message of this type make a decoder raise almost anything.
        except Exception:  # noqa: BLE001 - counted, and reported in the diagnostics
            self._refused['malformed'] += 1
            return False
        if not self._session.fits_origin(geodetic=self._geodetic):
            self._refused['other_origin'] += 1
            return False
        if not self._geodetic:
            x, y = numbers
            return self._use(stamp_ns, frame_id, x, y)
        *fix, status = numbers
        if not valid_fixes(*np.array([[fix[0]], [fix[1]], [status]])):
            self._refused['no_fix'] += 1
            return False
        return self._take_fix(stamp_ns, tuple(fix))

    def _use(self, stamp_ns: int, frame_id: str, x: float, y: float) -> bool:
        used = self._session.take_position(stamp_ns, frame_id, x, y)
        if used:
            self._used_s = self._clock()
        return used

    def _take_fix(self, stamp_ns: int, fix: tuple[float, ...]) -> bool:
        """Take a valid fix: latitude and longitude in degrees, altitude in metres."""
        session, before = self._session, self._waiting
        if session.head.origin is None:
            if before is not None and stamp_ns == before[0]:
                # A copy is no witness of what it was copied from.
                self._refused['duplicate_stamp'] += 1
                return False
            self._waiting = stamp_ns, fix
            if before is None:
                return False
            if not fixes_agree(before[1], fix):
                self._refused['no_fix'] += 1
                return False
            session.head = replace(session.head, origin=origin_at(*before[1]))
            if not session.stamps_on_arrival:
                self._use(before[0], FRAME, *self._project(before[1]))
        self._waiting = None
        # The header names the antenna; the positions are in a plane fixed to the earth.
        return self._use(stamp_ns, FRAME, *self._project(fix))

    def _project(self, fix: tuple[float, ...]) -> tuple[float, float]:
        """Return metres east and north of the session's origin."""
        origin = cast('GeodeticOrigin', self._session.head.origin)
        # At the height of the origin, as `positions_of_fixes` does.
        latitude, longitude, _ = fix
        there = np.array([latitude]), np.array([longitude]), np.array([origin.altitude_m])
        ((east, north),) = east_north(*there, origin).tolist()
        return east, north
