# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decode live messages: a recording for the trainer, reference positions for the updater."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
import math
from pathlib import Path
from time import monotonic
from typing import cast, TYPE_CHECKING

import numpy as np
from rclpy.serialization import deserialize_message

from two_manifold_ros.errors import InputError
from two_manifold_ros.interface.messages import Topics
from two_manifold_ros.nodes.publishing import message_class
from two_manifold_ros.recordings.decoding import (
    Collected,
    decode_imu_cdr,
    east_north,
    fix_decoder,
    FRAME,
    GEODETIC,
    NO_FIX,
    position_decoder,
    positions_of_fixes,
)
from two_manifold_ros.recordings.reading import time_base
from two_manifold_ros.recordings.recording import (
    GeodeticOrigin,
    ImuStream,
    PositionStream,
    Recording,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from two_manifold_ros.adapting.updater_session import UpdaterSession
    from two_manifold_ros.recordings.bag import Bag, Topic
    from two_manifold_ros.recordings.decoding import Decode


@dataclass(frozen=True)
class LiveTopic:
    """Stand-in for the topic of a bag, whose class needs rosbags, which a robot does not have."""

    name: str
    msgtype: str

    def decoder(self) -> Decode:
        """Return the decoder of an IMU, or of positions of any type."""
        if self.msgtype == Topics.IMU.msgtype:
            return decode_imu_cdr
        make = fix_decoder if self.msgtype == GEODETIC else position_decoder
        return make(cast('Bag', self), cast('Topic', self))

    @staticmethod
    def decode(raw: bytes, msgtype: str) -> object:
        """Return the message with the fields that any decoder gives it, as a bag does."""
        return deserialize_message(raw, message_class(msgtype))

    def collected(self) -> Collected:
        """Return an empty collection of its messages."""
        return Collected(Path('live'), cast('Topic', self), self.decoder())


class LiveRecording:
    """
    Collect messages of an IMU and of a reference, decoded as they come.

    Parameters
    ----------
    imu_topic, reference_topic
        Full names.

    """

    def __init__(self, imu_topic: str, reference_topic: str) -> None:
        self._imu = LiveTopic(imu_topic, Topics.IMU.msgtype).collected()
        self._reference_topic = reference_topic
        self._reference: Collected | None = None
        self.imu_count = self.reference_count = self.malformed = 0

    def start_reference(self, msgtype: str) -> None:
        """Accept references of a type from now on."""
        self._reference = LiveTopic(self._reference_topic, msgtype).collected()

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
        Return what was recorded until now.

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
        if reference.topic.msgtype == GEODETIC:
            positions, more = positions_of_fixes(reference, stamps, None)
            notes += more
        else:
            positions = PositionStream(
                topic=reference.topic.name,
                frame_id=reference.frames[0],
                msgtype=reference.topic.msgtype,
                stamps=stamps,
                positions=reference.numbers,
            )
        return Recording('live topics', stream, positions, tuple(notes))


class ReferenceInput:
    """
    Decode positions; satellite fixes become positions in the plane of the session's origin.

    Where the session has no origin yet, the first valid fix is it.

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
        self._refused: Counter[str] = Counter()

    def start(self, msgtype: str) -> None:
        """Take messages of a type from now on."""
        self._geodetic = msgtype == GEODETIC
        self._decode = LiveTopic('reference', msgtype).decoder()

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
        if self._geodetic:
            found = self._project(*numbers)
            if found is None:
                self._refused['no_fix'] += 1
                return False
            # The header names the antenna; the positions are in a plane fixed to the earth.
            frame_id, numbers = FRAME, found
        x, y = numbers
        used = self._session.take_position(stamp_ns, frame_id, x, y)
        if used:
            self._used_s = self._clock()
        return used

    def _project(
        self, latitude: float, longitude: float, altitude: float, status: float
    ) -> tuple[float, float] | None:
        """Return metres east and north of the origin, ``None`` if the fix is not valid."""
        session = self._session
        if status == NO_FIX or not (math.isfinite(latitude) and math.isfinite(longitude)):
            return None
        origin = session.head.origin
        if origin is None:
            height = altitude if math.isfinite(altitude) else 0.0
            origin = GeodeticOrigin(latitude, longitude, height)
            session.head = replace(session.head, origin=origin)
        if not math.isfinite(altitude):
            altitude = origin.altitude_m
        fix = np.array([latitude]), np.array([longitude]), np.array([altitude])
        ((east, north),) = east_north(*fix, origin).tolist()
        return east, north
