# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Read bags by `rosbag2_py`, which a robot with ROS from apt has, where `rosbags` is missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, TYPE_CHECKING

import rosbag2_py

from two_manifold_ros.errors import InputError
from two_manifold_ros.recordings.bag_topics import damaged, printable, Topic
from two_manifold_ros.recordings.ros_messages import deserialise

if TYPE_CHECKING:
    from typing_extensions import Self


_STORAGE = {'.mcap': 'mcap', '.db3': 'sqlite3'}


class Ros2Bag:
    """A context manager over a bag of ROS 2 that `rosbag2_py` reads, in the order of recording."""

    decode = staticmethod(deserialise)

    def __init__(self, path: Path) -> None:
        self.path: Path | str = path
        self._place = path
        self.notes: list[str] = []
        if not path.exists() or path.suffix == '.bag':
            cure = 'pip install rosbags for bags of ROS 1' if path.exists() else 'check the path'
            raise InputError(f'{path} is no bag that rosbag2_py reads: {cure}.')

    def __enter__(self) -> Self:
        try:
            place = str(self._place)
            storage = _STORAGE.get(self._place.suffix, '') if self._place.is_file() else ''
            self._options = rosbag2_py.StorageOptions(uri=place, storage_id=storage)
            self._metadata = rosbag2_py.Info().read_metadata(place, storage)
            self._open()
        # Its errors are those of its plugins, of many types.
        except Exception as error:
            raise damaged(self.path, error) from error
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: each reader closes its files when it is no longer used."""

    @property
    def topics(self) -> list[Topic]:
        """All topics, in the order of their names."""
        found = []
        for each in self._metadata.topics_with_message_count:
            of = each.topic_metadata
            name, msgtype, form = map(printable, (of.name, of.type, of.serialization_format))
            found.append(Topic(name, msgtype, each.message_count, form))
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
        missing = sum(each.count for each in topics)
        try:
            reader = self._open()
            reader.set_filter(rosbag2_py.StorageFilter(topics=[each.name for each in topics]))
            while reader.has_next():
                name, raw, received = reader.read_next()
                missing -= 1
                yield name, received, raw
        except Exception as error:
            raise damaged(self.path, error) from error
        if missing > 0:
            note = 'messages that its metadata count are missing: dropped by its recorder, or lost'
            self.notes.append(f'{self.path}: {missing} {note}.')

    def decoder_of(self, topic: Topic) -> Callable[[bytes, str], Any]:  # noqa: ARG002 - as others
        """Return what decodes messages of any topic: packages that are installed define types."""
        return deserialise

    def _open(self) -> Any:  # noqa: ANN401 - the library has no types
        packed = 'Compression' if self._metadata.compression_format else ''
        reader = getattr(rosbag2_py, f'Sequential{packed}Reader')()
        reader.open(self._options, rosbag2_py.ConverterOptions('', ''))
        return reader
