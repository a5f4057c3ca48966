# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for `rosbag2_py`, over `rosbags`: what of its interface Humble and Jazzy have.

The wheels that the tests run on do not hold the library. Its classes take arguments of the names
and types that the bindings of either release declare, and refuse others with a TypeError as they
do.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

from rosbags import rosbag2
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


def stand_in() -> ModuleType:
    """Return the module."""
    module = ModuleType('rosbag2_py')
    module.__dict__.update(
        ConverterOptions=ConverterOptions,
        Info=Info,
        SequentialCompressionReader=SequentialCompressionReader,
        SequentialReader=SequentialReader,
        StorageFilter=StorageFilter,
        StorageOptions=StorageOptions,
    )
    return module
