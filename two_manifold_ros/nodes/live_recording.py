# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A recording made from live topics instead of from a bag."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast, TYPE_CHECKING

from rclpy.serialization import deserialize_message

from two_manifold_ros.errors import InputError
from two_manifold_ros.nodes.translating import message_class
from two_manifold_ros.recordings.collecting import Collected
from two_manifold_ros.recordings.decoding import decode_imu_cdr, fix_decoder, position_decoder
from two_manifold_ros.recordings.fixes import GEODETIC, positions_of_fixes
from two_manifold_ros.recordings.recording import ImuStream, PositionStream, Recording
from two_manifold_ros.recordings.time_base import time_base

if TYPE_CHECKING:
    from two_manifold_ros.recordings.bag import Bag
    from two_manifold_ros.recordings.bag import Topic as BagTopic
    from two_manifold_ros.typing import Ints


@dataclass(frozen=True)
class LiveTopic:
    """What the decoders of bags ask of a topic, which a live one has too."""

    name: str
    msgtype: str


class LiveTypes:
    """What the decoders of bags ask of a bag: general decoding."""

    @staticmethod
    def decode(raw: bytes, msgtype: str) -> object:
        """Return the message with the fields that any decoder gives it."""
        return deserialize_message(raw, message_class(msgtype))


class LiveRecording:
    """
    Messages of an IMU and of a reference, decoded as they come.

    Parameters
    ----------
    imu_topic, reference_topic
        Full names.

    """

    def __init__(self, imu_topic: str, reference_topic: str) -> None:
        self._imu = _collected(imu_topic, 'sensor_msgs/msg/Imu')
        self._reference_topic = reference_topic
        self._reference: Collected | None = None
        self.imu_count = self.reference_count = self.malformed = 0

    def begin_reference(self, msgtype: str) -> None:
        """Accept references of a type from now on."""
        self._reference = _collected(self._reference_topic, msgtype)

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
        if not self.imu_count:
            msg = f'No IMU message came on {self._imu.topic.name} yet: remap imu to the driver.'
            raise InputError(msg)
        if self._reference is None or not self.reference_count:
            msg = f'No position came on {self._reference_topic} yet: remap reference to its topic.'
            raise InputError(msg)
        times, notes = time_base([self._imu, self._reference], use_receive_time)
        for each in (self._imu, self._reference):
            notes += each.notes
        imu = ImuStream(
            topic=self._imu.topic.name,
            frame_id=self._imu.frames[0],
            stamps=times[0],
            samples=self._imu.numbers,
            receive_stamps=self._imu.received,
        )
        positions, more = _positions(self._reference, times[1])
        return Recording('live topics', imu, positions, tuple(notes + more))


def _positions(reference: Collected, stamps: Ints) -> tuple[PositionStream, list[str]]:
    if reference.topic.msgtype == GEODETIC:
        return positions_of_fixes(reference, stamps, None)
    stream = PositionStream(
        topic=reference.topic.name,
        frame_id=reference.frames[0],
        msgtype=reference.topic.msgtype,
        stamps=stamps,
        positions=reference.numbers,
    )
    return stream, []


def _collected(name: str, msgtype: str) -> Collected:
    # Importing the classes of bags needs rosbags, which a robot does not have.
    topic = cast('BagTopic', LiveTopic(name, msgtype))
    if msgtype == 'sensor_msgs/msg/Imu':
        return Collected(Path('live'), topic, decode_imu_cdr)
    decoder = fix_decoder if msgtype == GEODETIC else position_decoder
    return Collected(Path('live'), topic, decoder(cast('Bag', LiveTypes()), topic))
