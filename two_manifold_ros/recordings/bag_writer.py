# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Write a rosbag2."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
import tempfile
from typing import Any, Literal, TYPE_CHECKING

from two_manifold_ros.errors import bags_wanted, InputError

if TYPE_CHECKING:
    from typing_extensions import Self


Storage = Literal['mcap', 'sqlite3']


def header_of(stamp_ns: int, frame_id: str) -> dict[str, Any]:
    """Return a ``std_msgs/msg/Header``."""
    seconds, rest = divmod(stamp_ns, 1_000_000_000)
    return {'stamp': {'sec': seconds, 'nanosec': rest}, 'frame_id': frame_id}


class BagWriter:
    """
    A context manager that writes one rosbag2 folder (metadata version 9) by `rosbags`.

    The bag is written beside the target and moved there when the block ends without an
    exception, so a broken run leaves nothing behind; one that is killed leaves a hidden folder.
    ``mcap`` is compressed with zstd. Topics that are ``latched`` are offered with transient-local
    durability, which ``ros2 bag play`` then keeps for late subscribers.
    """

    def __init__(
        self, path: str | Path, *, storage: Storage = 'mcap', latched: Collection[str] = ()
    ) -> None:
        self._target, self._storage, self._latched = Path(path), storage, latched
        self._types: dict[str, str] = {}
        self._connections: dict[str, Any] = {}
        # Reading this module must not need the library: a robot may have none.
        with bags_wanted(to_write=True):
            from rosbags import interfaces, rosbag2  # noqa: PLC0415

            from two_manifold_ros.recordings.message_building import (  # noqa: PLC0415
                MessageBuilder,
            )

        self._builder, self._library = MessageBuilder(), rosbag2
        forever = interfaces.QosTime(9223372036, 854775807)
        # Of a publisher that keeps its last message for late subscribers.
        self._latching = [
            interfaces.Qos(
                history=interfaces.QosHistory.KEEP_LAST,
                depth=1,
                reliability=interfaces.QosReliability.RELIABLE,
                durability=interfaces.QosDurability.TRANSIENT_LOCAL,
                deadline=forever,
                lifespan=forever,
                liveliness=interfaces.QosLiveliness.AUTOMATIC,
                liveliness_lease_duration=forever,
                avoid_ros_namespace_conventions=False,
            )
        ]
        if self._target.exists():
            msg = f'{self._target} exists already: remove it or choose another name for the bag.'
            raise InputError(msg)
        if not self._target.parent.is_dir():
            msg = f'The folder {self._target.parent} does not exist: make it before writing a bag.'
            raise InputError(msg)

    def __enter__(self) -> Self:
        with self._writing():
            # A signal may come before the block begins: then it is removed when the process ends.
            self._folder = tempfile.TemporaryDirectory(
                prefix='.bag-', dir=self._target.parent, ignore_cleanup_errors=True
            )
            self._written = Path(self._folder.name, self._target.name)
            try:
                plugin = self._library.StoragePlugin[self._storage.upper()]
                self._writer = self._library.Writer(
                    self._written, version=9, storage_plugin=plugin
                )
                if self._storage == 'mcap':
                    self._writer.set_compression(
                        self._library.CompressionMode.STORAGE, self._library.CompressionFormat.ZSTD
                    )
                self._writer.open()
            except BaseException:
                self._folder.cleanup()
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with self._writing():
                self._writer.close()
                if kind is None:
                    self._written.rename(self._target)
        finally:
            self._folder.cleanup()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f'{self._target}: the bag cannot be written ({error.strerror}); make room, or '
                'choose another folder'
            ) from error

    def write(self, topic: str, msgtype: str, stamp_ns: int, message: Mapping[str, Any]) -> None:
        """Write one message given as a nested dict of its fields, see `MessageBuilder`."""
        self.write_raw(topic, msgtype, stamp_ns, self._builder.serialise(msgtype, message))

    def write_raw(self, topic: str, msgtype: str, stamp_ns: int, cdr_bytes: bytes) -> None:
        """Write one message that is serialised already, received at ``stamp_ns``."""
        if self._types.setdefault(topic, msgtype) != msgtype:
            msg = f'{topic} holds {self._types[topic]}; {msgtype} cannot be written to it.'
            raise ValueError(msg)
        with self._writing():
            if topic not in self._connections:
                self._connections[topic] = self._writer.add_connection(
                    topic,
                    msgtype,
                    typestore=self._builder.typestore,
                    offered_qos_profiles=self._latching * (topic in self._latched),
                )
            self._writer.write(self._connections[topic], stamp_ns, cdr_bytes)
