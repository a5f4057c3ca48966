# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for `rosbag2_py`, over `rosbags`: what of its interface Humble and Jazzy have.

The wheels that the tests run on do not hold the library. Its classes take arguments of the names
that the bindings of either release declare, and refuse others with a TypeError as they do.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace

from rosbags import rosbag2


@dataclass
class StorageOptions:
    uri: str
    storage_id: str = ''


@dataclass
class ConverterOptions:
    input_serialization_format: str
    output_serialization_format: str


@dataclass
class StorageFilter:
    topics: list[str] = field(default_factory=list)


class Info:
    def read_metadata(self, uri: str, storage_id: str) -> SimpleNamespace:
        path = Path(uri)
        folder_fits = path.is_dir() and (path / 'metadata.yaml').exists()
        if not folder_fits and not (path.is_file() and storage_id in {'mcap', 'sqlite3'}):
            msg = f'No plugin detected that could open {path}'
            raise RuntimeError(msg)
        with rosbag2.Reader(path) as reader:
            topics = []
            for each in reader.connections:
                form = each.ext.serialization_format
                of = SimpleNamespace(name=each.topic, type=each.msgtype, serialization_format=form)
                topics.append(SimpleNamespace(topic_metadata=of, message_count=each.msgcount))
            return SimpleNamespace(
                topics_with_message_count=topics,
                compression_format=reader.compression_format or '',
            )


class SequentialReader:
    compressed = False

    def open(self, storage: StorageOptions, converter: ConverterOptions) -> None:
        assert converter == ConverterOptions('', '')
        metadata = Info().read_metadata(storage.uri, storage.storage_id)
        if bool(metadata.compression_format) != self.compressed:
            msg = 'No storage could be initialized from the inputs.'
            raise RuntimeError(msg)
        self._path = Path(storage.uri)

    def set_filter(self, storage_filter: StorageFilter) -> None:
        self._rows = self._read(storage_filter.topics)

    def _read(self, topics: list[str]) -> Iterator[tuple[str, bytes, int]]:
        with rosbag2.Reader(self._path) as reader:
            wanted = [each for each in reader.connections if each.topic in topics]
            for connection, stamp, raw in reader.messages(wanted):
                yield connection.topic, bytes(raw), stamp

    def has_next(self) -> bool:
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
    kinds = (ConverterOptions, Info, SequentialCompressionReader, SequentialReader)
    module.__dict__.update(
        {kind.__name__: kind for kind in (*kinds, StorageFilter, StorageOptions)}
    )
    return module
