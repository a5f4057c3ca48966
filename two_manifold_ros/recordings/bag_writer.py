# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Write a rosbag2, with messages that are built from values by name."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
import tempfile
from typing import Any, Literal, TYPE_CHECKING

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_typestore, Stores

from two_manifold_ros.errors import bags_wanted, InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from types import TracebackType

    from typing_extensions import Self


_PLAIN: dict[str, type] = {'string': str, 'bool': bool, 'float32': float, 'float64': float}
_DTYPES = {'bool': 'bool_', 'byte': 'uint8', 'char': 'uint8'}


class MessageBuilder:
    """
    Turn nested dicts named like the ROS fields into serialised messages.

    Fields that the dict does not name keep the default of ROS: zero, empty or false, and no
    rotation. Arrays of numbers may be lists or arrays of any shape; they are flattened in
    row-major order. A ``byte`` field takes an int or, as in rclpy, ``bytes`` of length one.
    """

    def __init__(self) -> None:
        self.typestore: Any = get_typestore(Stores.ROS2_JAZZY)
        # Fields and defaults of each type, put together once: a log has many of a type.
        self._known: dict[str, tuple[dict[str, tuple[Nodetype, Any]], dict[str, Any]]] = {}

    def serialise(self, msgtype: str, values: Mapping[str, Any]) -> bytes:
        """Return the little-endian CDR bytes; ``ValueError`` names an unknown type or field."""
        return bytes(self.typestore.serialize_cdr(self._message(msgtype, values), msgtype))

    def _message(self, msgtype: str, values: Mapping[str, Any]) -> object:
        if msgtype not in self.typestore.fielddefs:
            msg = f'The message type {msgtype!r} is not one of ROS 2 Jazzy.'
            raise ValueError(msg)
        if msgtype not in self._known:
            fields: dict[str, tuple[Nodetype, Any]] = dict(self.typestore.fielddefs[msgtype][1])
            defaults = {name: self._value(*each, None) for name, each in fields.items()}
            if msgtype == 'geometry_msgs/msg/Quaternion':
                # Of the types that are written here the only number that is not zero by default.
                defaults['w'] = 1.0
            self._known[msgtype] = fields, defaults
        fields, defaults = self._known[msgtype]
        if unknown := values.keys() - fields.keys():
            msg = f'{msgtype} has no field {min(unknown)!r}: it has {", ".join(fields)}.'
            raise ValueError(msg)
        given = {name: self._value(*fields[name], value) for name, value in values.items()}
        return self.typestore.types[msgtype](**{**defaults, **given})

    def _value(self, kind: Nodetype, detail: Any, value: Any) -> Any:  # noqa: ANN401 - of a field
        """Return what a message holds of a value in a field of a kind; ``None`` is its default."""
        if kind == Nodetype.NAME:
            return self._message(detail, value or {})
        if kind == Nodetype.BASE:
            make = _PLAIN.get(detail[0], int)
            return (
                make() if value is None else make(*value if isinstance(value, bytes) else [value])
            )
        (item_kind, item), length = detail
        count = length if kind == Nodetype.ARRAY else 0
        if item_kind == Nodetype.BASE and item[0] != 'string':
            dtype = np.dtype(_DTYPES.get(item[0], item[0]))
            return np.zeros(count, dtype) if value is None else np.asarray(value, dtype).ravel()
        return [self._value(item_kind, item, each) for each in value or [None] * count]


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
    durability, which ``ros2 bag play`` then keeps for late subscribers. ``InputError`` says why
    the bag cannot be written.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        storage: Storage = 'mcap',
        latched: Collection[str] = (),
    ) -> None:
        self._target, self._storage, self._latched = Path(path), storage, latched
        self._types: dict[str, str] = {}
        self._connections: dict[str, Any] = {}
        # Reading this module must not need the library: a robot may have none.
        with bags_wanted(to_write=True):
            from rosbags import interfaces, rosbag2  # noqa: PLC0415

            from two_manifold_ros.recordings.bag_writer import (  # noqa: PLC0415
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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
            msg = (
                f'{self._target}: the bag cannot be written ({error.strerror}); make room, or '
                'choose another folder'
            )
            raise InputError(msg) from error

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
