# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for `rosbag2_py`, over `rosbags`: what of its interface Humble and Jazzy have.

The wheels that the tests run on do not hold the library. Its classes take arguments of the names
and types that the bindings of either release declare, and refuse others with a TypeError as they
do.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from rosbags import rosbag2
from rosbags.interfaces import Qos
from rosbags.rosbag2.metadata import parse_qos
from rosbags.typesys import get_typestore, Stores

TYPES = get_typestore(Stores.ROS2_JAZZY)


class StorageOptions:
    def __init__(
        self, uri: str, storage_id: str = '', *, storage_preset_profile: str = ''
    ) -> None:
        self.uri, self.storage_id = Path(uri), storage_id
        self.preset = storage_preset_profile


class ConverterOptions:
    def __init__(self, input_serialization_format: str, output_serialization_format: str) -> None:
        self.formats = {input_serialization_format, output_serialization_format}


class StorageFilter:
    def __init__(self, topics: Iterable[str] = ()) -> None:
        self.topics = list(topics)


class HumbleTopicMetadata:
    def __init__(
        self,
        name: str,
        type: str,  # noqa: A002 - named as in the library
        serialization_format: str,
        offered_qos_profiles: str = '',
    ) -> None:
        assert isinstance(offered_qos_profiles, str)
        self.name, self.type, self.serialization_format = name, type, serialization_format
        self.offered = parse_qos(offered_qos_profiles) if offered_qos_profiles else []


class JazzyTopicMetadata:
    def __init__(
        self,
        id: int,  # noqa: A002 - named as in the library
        name: str,
        type: str,  # noqa: A002 - as above
        serialization_format: str,
        offered_qos_profiles: Iterable[Qos] = (),
    ) -> None:
        assert not isinstance(offered_qos_profiles, str)
        self.id, self.name, self.type = id, name, type
        self.serialization_format, self.offered = serialization_format, list(offered_qos_profiles)


class Info:
    def read_metadata(self, uri: str, storage_id: str) -> SimpleNamespace:
        path = Path(uri)
        if path.is_dir() and not (path / 'metadata.yaml').exists():
            msg = f'Could not find metadata in bag directory {path}'
            raise RuntimeError(msg)
        if path.is_file() and storage_id not in {'mcap', 'sqlite3'}:
            msg = f'No plugin detected that could open file {path}'
            raise RuntimeError(msg)
        with rosbag2.Reader(path) as reader:
            topics = [
                SimpleNamespace(
                    topic_metadata=SimpleNamespace(
                        name=each.topic,
                        type=each.msgtype,
                        serialization_format=each.ext.serialization_format,
                    ),
                    message_count=each.msgcount,
                )
                for each in reader.connections
            ]
            return SimpleNamespace(
                topics_with_message_count=topics,
                compression_format=reader.compression_format or '',
            )


class SequentialReader:
    compressed = False

    def open(self, storage: StorageOptions, converter: ConverterOptions) -> None:
        assert converter.formats <= {'', 'cdr'}
        metadata = Info().read_metadata(str(storage.uri), storage.storage_id)
        if bool(metadata.compression_format) != self.compressed:
            msg = 'No storage could be initialized from the inputs.'
            raise RuntimeError(msg)
        self._path, self._topics = storage.uri, []
        self._rows: Iterator[tuple[str, bytes, int]] | None = None

    def set_filter(self, storage_filter: StorageFilter) -> None:
        self._topics = storage_filter.topics

    def _read(self) -> Iterator[tuple[str, bytes, int]]:
        with rosbag2.Reader(self._path) as reader:
            wanted = [each for each in reader.connections if each.topic in self._topics]
            for connection, stamp, raw in reader.messages(wanted):
                yield connection.topic, bytes(raw), stamp

    def has_next(self) -> bool:
        if self._rows is None:
            self._rows = self._read()
        self._next = next(self._rows, None)
        return self._next is not None

    def read_next(self) -> tuple[str, bytes, int]:
        assert self._next is not None
        return self._next


class SequentialCompressionReader(SequentialReader):
    compressed = True


class _Writer:
    """The rows of a writer; what ends it differs from release to release."""

    def open(self, storage: StorageOptions, converter: ConverterOptions) -> None:
        assert converter.formats == {'cdr'}
        plugin = rosbag2.StoragePlugin[storage.storage_id.upper()]
        try:
            self._writer = rosbag2.Writer(storage.uri, version=9, storage_plugin=plugin)
            self._writer.open()
        except OSError as error:
            raise RuntimeError(str(error)) from error
        self._topics: dict[str, Any] = {}

    def create_topic(self, metadata: Any) -> None:  # noqa: ANN401 - of either release
        self._topics[metadata.name] = self._writer.add_connection(
            metadata.name, metadata.type, typestore=TYPES, offered_qos_profiles=metadata.offered
        )

    def write(self, topic: str, message: bytes, stamp: int) -> None:
        assert isinstance(message, bytes)
        self._writer.write(self._topics[topic], stamp, message)


class HumbleWriter(_Writer):
    def __del__(self) -> None:
        # After a failure the folder is gone by then.
        with suppress(OSError):
            self._writer.close()


class JazzyWriter(_Writer):
    def close(self) -> None:
        self._writer.close()


def stand_in(release: str, storages: Iterable[str] = ('mcap', 'sqlite3')) -> ModuleType:
    """Return the module as it is in ``humble`` or ``jazzy``, with plugins for these storages."""
    module = ModuleType('rosbag2_py')
    module.__dict__.update(
        ConverterOptions=ConverterOptions,
        Info=Info,
        SequentialCompressionReader=SequentialCompressionReader,
        SequentialReader=SequentialReader,
        SequentialWriter=HumbleWriter if release == 'humble' else JazzyWriter,
        StorageFilter=StorageFilter,
        StorageOptions=StorageOptions,
        TopicMetadata=HumbleTopicMetadata if release == 'humble' else JazzyTopicMetadata,
        get_registered_writers=lambda: set(storages),
    )
    if release != 'humble':
        module.__dict__['to_rclcpp_qos_vector'] = lambda text, _: parse_qos(text)
    return module
