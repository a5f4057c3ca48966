# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Build serialised messages from plain nested dictionaries, and write bags, without ROS."""

from __future__ import annotations

import re
from typing import Any, TYPE_CHECKING

import numpy as np
from rosbags.interfaces import (
    Nodetype,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_DTYPES = {'bool': 'bool_', 'byte': 'uint8', 'char': 'uint8'}

_MEMBER = re.compile(r'\s*([A-Za-z][\w/]*(?:<=\d+)?(?:\[(?:<=)?\d*\])?)\s+([A-Za-z]\w*)\s*(=?)')
_SEPARATOR = re.compile(r'=+\s*$')
_NESTED = re.compile(r'MSG: [A-Za-z][\w/]*\s*$')


def types_with(store: Stores, definition: str | None, msgtype: str) -> Any:  # noqa: ANN401 - as above
    """
    Return the types of a release of ROS, and a type with those in it that a bag defines.

    The library makes Python code of a definition, so nothing but names and sizes of members gets
    there: no constants, defaults or comments.
    """
    types: Any = get_typestore(store)
    if msgtype in types.fielddefs:
        return types
    lines = []
    for line in (definition or '').splitlines():
        member = _MEMBER.match(line)
        if _SEPARATOR.match(line) or _NESTED.match(line):
            lines.append(line.rstrip())
        elif member and not member.group(3):
            lines.append(f'{member.group(1)} {member.group(2)}')
    if not lines:
        msg = 'no definition'
        raise ValueError(msg)
    found = get_types_from_msg('\n'.join(lines), msgtype)
    types.register({name: each for name, each in found.items() if name not in types.fielddefs})
    return types


class MessageBuilder:
    """
    Turn nested dicts named like the ROS fields into serialised messages.

    Fields that the dict does not name keep the default of ROS: zero, empty or false, and no
    rotation. Arrays of numbers may be lists or arrays of any shape; they are flattened in
    row-major order. A ``byte`` field takes an int or, as in rclpy, ``bytes`` of length one.
    """

    def __init__(self) -> None:
        self.typestore: Any = get_typestore(Stores.ROS2_JAZZY)
        # Of each type the kinds of its fields, and its defaults.
        self._known: dict[str, tuple[dict[str, Any], dict[str, object]]] = {}

    def serialise(self, msgtype: str, values: Mapping[str, Any]) -> bytes:
        """Return the little-endian CDR bytes; ``ValueError`` names an unknown type or field."""
        return bytes(self.typestore.serialize_cdr(self._message(msgtype, values), msgtype))

    def _message(self, msgtype: str, values: Mapping[str, Any]) -> object:
        if msgtype not in self._known:
            if msgtype not in self.typestore.fielddefs:
                msg = f'The message type {msgtype!r} is not one of ROS 2 Jazzy.'
                raise ValueError(msg)
            kinds = dict(self.typestore.fielddefs[msgtype][1])
            defaults = {name: self._value(kind, None) for name, kind in kinds.items()}
            if msgtype == 'geometry_msgs/msg/Quaternion':
                # Of the types that are written here the only number that is not zero by default.
                defaults['w'] = 1.0
            self._known[msgtype] = kinds, defaults
        kinds, defaults = self._known[msgtype]
        if not kinds.keys() >= values.keys():
            unknown = values.keys() - kinds
            msg = f'{msgtype} has no field {min(unknown)!r}: it has {", ".join(kinds)}.'
            raise ValueError(msg)
        given = {name: self._value(kinds[name], value) for name, value in values.items()}
        made: object = self.typestore.types[msgtype](**{**defaults, **given})
        return made

    def _value(self, description: Any, given: Any) -> object:  # noqa: ANN401 - as above
        """Return the value of a field, its default if none is given."""
        kind, detail = description
        if kind == Nodetype.NAME:
            return self._message(detail, given or {})
        if kind == Nodetype.BASE:
            return _scalar(detail[0], given)
        item, length = detail
        count = length if kind == Nodetype.ARRAY else 0
        if item[0] == Nodetype.BASE and item[1][0] != 'string':
            dtype = _DTYPES.get(item[1][0], item[1][0])
            return np.zeros(count, dtype) if given is None else np.asarray(given, dtype).ravel()
        return [self._value(item, each) for each in ([None] * count if given is None else given)]


def _scalar(base: str, given: Any) -> object:  # noqa: ANN401 - as above
    kind = {'string': str, 'bool': bool, 'float32': float, 'float64': float}.get(base, int)
    if given is None:
        return kind()
    return given[0] if base == 'byte' and isinstance(given, bytes) else kind(given)


def open_writer(path: Path, storage: str) -> Writer:
    """Return a writer by the library `rosbags` of a new bag, metadata version 9."""
    writer = Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    if storage == 'mcap':
        writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    writer.open()
    return writer


def latching() -> Qos:
    """Return the offer of a publisher that keeps its last message for late subscribers."""
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
