# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Build serialised messages from plain nested dictionaries, without ROS."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_typestore, Stores

if TYPE_CHECKING:
    from collections.abc import Mapping

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
