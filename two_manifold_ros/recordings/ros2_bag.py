# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Read and write bags by ROS's own library `rosbag2_py`, where `rosbags` is not installed.

A robot with ROS from apt has it, and needs nothing from pip. Damaged bags and those of ROS 1 are
left to `rosbags`.
"""

from __future__ import annotations

from errno import EIO
from typing import Any, TYPE_CHECKING

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message
import rosbag2_py

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_topics import printable, Topic
from two_manifold_ros.recordings.ros_messages import message_class, to_message

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self


_STORAGE = {'.mcap': 'mcap', '.db3': 'sqlite3'}
_ROSBAGS = 'which only the Python package rosbags reads: install it with pip install rosbags.'


class Ros2Bag:
    """
    A context manager over a bag that `rosbag2_py` reads, in the order of recording.

    Parameters
    ----------
    path
        A rosbag2 folder, or one ``.mcap`` or ``.db3`` file.

    Raises
    ------
    InputError
        If the bag is missing, damaged, or of a kind that the library does not read.

    """

    def __init__(self, path: Path) -> None:
        self.path: Path | str = path
        self._place = path
        self.notes: list[str] = []
        if not path.exists():
            msg = f'{path} does not exist: check the path of the bag.'
            raise InputError(msg)
        if path.suffix == '.bag':
            msg = f'{path} is a bag of ROS 1, {_ROSBAGS}'
            raise InputError(msg)

    def __enter__(self) -> Self:
        try:
            place = self._place
            storage = _STORAGE.get(place.suffix, '') if place.is_file() else ''
            self._options = rosbag2_py.StorageOptions(uri=str(place), storage_id=storage)
            self._metadata = rosbag2_py.Info().read_metadata(str(place), storage)
            self._open()
        # Its errors are those of its plugins, of many types.
        except Exception as error:
            raise self._damaged(error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Do nothing: each reader closes its files when it is no longer used."""

    @property
    def topics(self) -> list[Topic]:
        """All topics, in the order of their names."""
        found = [
            Topic(
                printable(each.topic_metadata.name),
                printable(each.topic_metadata.type),
                each.message_count,
                printable(each.topic_metadata.serialization_format),
            )
            for each in self._metadata.topics_with_message_count
        ]
        return sorted(found, key=lambda each: each.name)

    @property
    def seconds(self) -> float:
        """How long the bag lasts by the account of its metadata, s."""
        # A timedelta, or one of ROS's own durations, by the release.
        duration = self._metadata.duration
        whole = getattr(duration, 'total_seconds', None)
        return float(whole() if whole else 1e-9 * duration.nanoseconds)

    def messages(self, topics: Collection[Topic]) -> Iterator[tuple[str, int, bytes]]:
        """Yield topic name, receive time in ns and serialised message, in the order received."""
        if not topics:
            return
        found = 0
        try:
            reader = self._open()
            reader.set_filter(rosbag2_py.StorageFilter(topics=[each.name for each in topics]))
            while reader.has_next():
                name, raw, received = reader.read_next()
                found += 1
                yield name, received, raw
        except Exception as error:
            raise self._damaged(error) from error
        counted = sum(each.count for each in topics)
        if found < counted:
            # No damage: some recorders count what they drop.
            note = (
                f'{self.path} holds {found} messages on {" and ".join(t.name for t in topics)}, '
                f'and its metadata count {counted}: the others were dropped by its recorder or '
                f'lost since; copy it again if that is new.'
            )
            self.notes.append(note)

    def decode(self, raw: bytes, msgtype: str) -> Any:  # noqa: ANN401 - a message of any type
        """
        Return the message object of serialised bytes.

        Raises
        ------
        InputError
            If the package of its type is not installed.

        """
        return deserialize_message(raw, _class_of(msgtype))

    def decoder_of(self, topic: Topic) -> Callable[[bytes, str], Any]:  # noqa: ARG002 - as others
        """Return `decode`: packages that are installed define all types."""
        return self.decode

    def _open(self) -> Any:  # noqa: ANN401 - the library has no types
        kind = (
            rosbag2_py.SequentialCompressionReader
            if self._metadata.compression_format
            else rosbag2_py.SequentialReader
        )
        reader = kind()
        reader.open(self._options, rosbag2_py.ConverterOptions('', ''))
        return reader

    def _damaged(self, error: Exception) -> InputError:
        if isinstance(error, InputError):
            return error
        reason = ' '.join(str(error).split())[:200].rstrip('.') or type(error).__name__
        return InputError(
            f'{self.path} is damaged, cut short or not supported ({reason}): copy it again, or '
            f'try "ros2 bag reindex" on its folder, or "mcap recover" on an .mcap file.'
        )


def _class_of(msgtype: str) -> Any:  # noqa: ANN401 - a generated class
    try:
        return message_class(msgtype)
    except (ImportError, AttributeError) as error:
        package = msgtype.partition('/')[0]
        msg = (
            f'{msgtype} is not known here: install its package, ros-$ROS_DISTRO-'
            f'{package.replace("_", "-")}, and source the setup file of ROS.'
        )
        raise InputError(msg) from error


_LATCHED = """
- history: 1
  depth: 1
  reliability: 1
  durability: 1
  deadline: {sec: 9223372036, nsec: 854775807}
  lifespan: {sec: 9223372036, nsec: 854775807}
  liveliness: 1
  liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}
  avoid_ros_namespace_conventions: false
"""
"""Keep last 1, reliable, transient local; in numbers, which every release reads."""


class Ros2Storage:
    """
    Write one bag by `rosbag2_py`; see `BagWriter`.

    Parameters
    ----------
    storage
        ``mcap`` or ``sqlite3``; where the plugin for MCAP is not installed, SQLite is used.
    latched
        Topics offered with transient-local durability.

    """

    def __init__(self, storage: str, latched: Collection[str]) -> None:
        self._storage, self._latched = storage, latched
        self._writer: Any = None
        self._topics = 0

    def open(self, path: Path) -> None:
        """Make the folder of the bag."""
        known = rosbag2_py.get_registered_writers()
        storage = self._storage if self._storage in known else 'sqlite3'
        options = rosbag2_py.StorageOptions(
            uri=str(path),
            storage_id=storage,
            storage_preset_profile='zstd_fast' if storage == 'mcap' else '',
        )
        self._writer = rosbag2_py.SequentialWriter()
        _as_os_error(self._writer.open, options, rosbag2_py.ConverterOptions('cdr', 'cdr'))

    def add(self, topic: str, msgtype: str) -> None:
        """Add a topic."""
        text = _LATCHED if topic in self._latched else ''
        described = {'name': topic, 'type': msgtype, 'serialization_format': 'cdr'}
        try:
            # From Jazzy on topics have numbers, and profiles are objects.
            make = getattr(rosbag2_py, 'to_rclcpp_qos_vector', None)
            profiles = make(text, 8) if make and text else []
            metadata = rosbag2_py.TopicMetadata(
                id=self._topics, offered_qos_profiles=profiles, **described
            )
        except TypeError:
            metadata = rosbag2_py.TopicMetadata(offered_qos_profiles=text, **described)
        self._topics += 1
        _as_os_error(self._writer.create_topic, metadata)

    def write(self, topic: str, stamp_ns: int, cdr_bytes: bytes) -> None:
        """Write a serialised message of a topic that was added."""
        _as_os_error(self._writer.write, topic, cdr_bytes, stamp_ns)

    def serialise(self, msgtype: str, fields: Mapping[str, Any]) -> bytes:
        """Return the CDR bytes of a message; see `MessageBuilder`."""
        _class_of(msgtype)
        return bytes(serialize_message(to_message(msgtype, _flat(fields))))

    def close(self) -> None:
        """Write what is left, and the metadata."""
        writer, self._writer = self._writer, None
        # Before Jazzy it is the end of the object that closes the bag.
        _as_os_error(getattr(writer, 'close', lambda: None))


def _as_os_error(call: Any, *arguments: object) -> None:  # noqa: ANN401 - untyped, as above
    try:
        call(*arguments)
    except RuntimeError as error:
        raise OSError(EIO, ' '.join(str(error).split())) from error


def _flat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields whose arrays are flat, as ROS's classes want them."""
    return {name: _flat_value(value) for name, value in fields.items()}


def _flat_value(value: Any) -> Any:  # noqa: ANN401 - whatever a message holds
    if isinstance(value, dict):
        return _flat(value)
    if isinstance(value, np.ndarray):
        return value.ravel()
    if isinstance(value, list):
        return [_flat_value(each) for each in value]
    return value
