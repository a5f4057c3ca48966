# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Write a rosbag2 without ROS."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
import shutil
import tempfile
from typing import Any, Literal, TYPE_CHECKING

from two_manifold_ros.errors import InputError, rosbags_wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from types import TracebackType

    from rosbags.interfaces import Connection, Qos
    from rosbags.rosbag2 import Writer
    from typing_extensions import Self


Storage = Literal['mcap', 'sqlite3']


class BagWriter:
    """
    A context manager that writes one rosbag2 folder (metadata version 9).

    The bag is written beside the target and moved there when the block ends without an
    exception, so a broken run leaves nothing behind; one that is killed leaves a hidden folder.

    Parameters
    ----------
    path
        Folder to make; its parent has to exist.
    storage
        ``mcap`` (chunks compressed with zstd) or ``sqlite3``.
    latched
        Topics offered with transient-local durability, which ``ros2 bag play`` then keeps for
        late subscribers.

    Raises
    ------
    InputError
        If the target exists, its parent does not, or `rosbags` is missing; from the block, if
        the disk is full or cannot be written.

    """

    def __init__(
        self,
        path: str | Path,
        *,
        storage: Storage = 'mcap',
        latched: Collection[str] = (),
    ) -> None:
        with rosbags_wanted():
            # A robot has no rosbags: reading this module must not need it.
            from two_manifold_ros.recordings.message_building import MessageBuilder  # noqa: PLC0415

        self._target = Path(path)
        self._storage = storage
        self._latched = frozenset(latched)
        self._builder = MessageBuilder()
        self._connections: dict[str, Connection] = {}
        self._refuse_bad_target()

    def _refuse_bad_target(self) -> None:
        if self._target.exists():
            msg = f'{self._target} exists already: remove it or choose another name for the bag.'
            raise InputError(msg)
        if not self._target.parent.is_dir():
            msg = f'The folder {self._target.parent} does not exist: make it before writing a bag.'
            raise InputError(msg)

    def __enter__(self) -> Self:
        with self._writing():
            self._workspace = Path(tempfile.mkdtemp(prefix='.bag-', dir=self._target.parent))
            try:
                self._writer = _writer(self._workspace / self._target.name, self._storage)
                self._writer.open()
            except BaseException:
                self._clear_up()
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            with self._writing():
                self._writer.__exit__(kind, error, traceback)
                if kind is None:
                    (self._workspace / self._target.name).rename(self._target)
        finally:
            self._clear_up()

    def _clear_up(self) -> None:
        shutil.rmtree(self._workspace, ignore_errors=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            msg = (
                f'{self._target}: the bag cannot be written ({error.strerror}); make room, or '
                'choose another folder'
            )
            raise InputError(msg) from error

    def write(self, topic: str, msgtype: str, stamp_ns: int, message: Mapping[str, Any]) -> None:
        """
        Write one message given as a nested dict with the field names of ROS.

        Parameters
        ----------
        topic, msgtype
            Such as ``/imu`` and ``sensor_msgs/msg/Imu``.
        stamp_ns
            Receive time, nanoseconds.
        message
            Fields that are not named keep the default of ROS; see `MessageBuilder`.

        Raises
        ------
        ValueError
            If a field or type is unknown, or the topic was started with another type.

        """
        self.write_raw(topic, msgtype, stamp_ns, self._builder.serialise(msgtype, message))

    def write_raw(self, topic: str, msgtype: str, stamp_ns: int, cdr_bytes: bytes) -> None:
        """Write one message that is serialised already; parameters as in `write`."""
        connection = self._connections.get(topic)
        if connection is None:
            with self._writing():
                connection = self._writer.add_connection(
                    topic,
                    msgtype,
                    typestore=self._builder.typestore,
                    offered_qos_profiles=[_latching()] if topic in self._latched else [],
                )
            self._connections[topic] = connection
        if connection.msgtype != msgtype:
            msg = f'{topic} holds {connection.msgtype}; {msgtype} cannot be written to it.'
            raise ValueError(msg)
        with self._writing():
            self._writer.write(connection, stamp_ns, cdr_bytes)


def _writer(path: Path, storage: Storage) -> Writer:
    from rosbags.rosbag2 import (  # noqa: PLC0415 - as in the constructor
        CompressionFormat,
        CompressionMode,
        StoragePlugin,
        Writer,
    )

    writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    if storage == 'mcap':
        writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    return writer


def _latching() -> Qos:
    """Return the offer of a publisher that keeps its last message for late subscribers."""
    from rosbags.interfaces import (  # noqa: PLC0415 - as in the constructor
        Qos,
        QosDurability,
        QosHistory,
        QosLiveliness,
        QosReliability,
        QosTime,
    )

    forever = QosTime(9223372036, 854775807)
    return Qos(
        QosHistory.KEEP_LAST,
        1,
        QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL,
        forever,
        forever,
        QosLiveliness.AUTOMATIC,
        forever,
        avoid_ros_namespace_conventions=False,
    )
