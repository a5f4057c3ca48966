# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Build serialised messages from plain nested dictionaries, without ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import get_typestore, Stores

Convert: TypeAlias = Callable[..., Any]

_DTYPES = {'bool': 'bool_', 'byte': 'uint8', 'char': 'uint8'}


class MessageBuilder:
    """
    Turn nested dicts named like the ROS fields into serialised messages.

    Fields that the dict does not name keep the default of ROS: zero, empty or false, and no
    rotation. Arrays of numbers may have any shape; they are flattened in row-major order. A
    ``byte`` field takes an int or, as in rclpy, ``bytes`` of length one.
    """

    def __init__(self) -> None:
        self.typestore: Any = get_typestore(Stores.ROS2_JAZZY)
        self._converters: dict[str, Convert] = {}

    def serialise(self, msgtype: str, values: Mapping[str, Any]) -> bytes:
        """Return the little-endian CDR bytes; ``ValueError`` names an unknown type or field."""
        return bytes(self.typestore.serialize_cdr(self._message(msgtype)(values), msgtype))

    def _message(self, msgtype: str) -> Convert:
        """Return what makes a message of a dict, put together once: a log has many of a type."""
        if msgtype not in self._converters:
            if msgtype not in self.typestore.fielddefs:
                raise ValueError(f'The message type {msgtype!r} is not one of ROS 2 Jazzy.')
            fields = self.typestore.fielddefs[msgtype][1]
            known = {name: self._field(*each) for name, each in fields}
            defaults = {name: default for name, (_, default) in known.items()}
            if msgtype == 'geometry_msgs/msg/Quaternion':
                # Of the types that are written here the only number that is not zero by default.
                defaults['w'] = 1.0
            create = self.typestore.types[msgtype]

            def convert(values: Mapping[str, Any]) -> object:
                if not known.keys() >= values.keys():
                    unknown = values.keys() - known
                    msg = f'{msgtype} has no field {min(unknown)!r}: it has {", ".join(known)}.'
                    raise ValueError(msg)
                given = {name: known[name][0](value) for name, value in values.items()}
                return create(**{**defaults, **given})

            self._converters[msgtype] = convert
        return self._converters[msgtype]

    def _field(self, kind: Nodetype, detail: Any) -> tuple[Convert, object]:  # noqa: ANN401 - as above
        """Return what converts the value of a field, and its default."""
        if kind == Nodetype.NAME:
            nested = self._message(detail)
            return nested, nested({})
        if kind == Nodetype.BASE:
            plain = _PLAIN.get(detail[0], int)
            return plain, plain(0) if plain is not str else ''
        item, length = detail
        count = length if kind == Nodetype.ARRAY else 0
        if item[0] == Nodetype.BASE and item[1][0] != 'string':
            dtype = np.dtype(_DTYPES.get(item[1][0], item[1][0]))
            return lambda values: np.asarray(values, dtype).ravel(), np.zeros(count, dtype)
        convert, default = self._field(*item)
        return lambda values: [convert(value) for value in values], [default] * count


def _byte(value: int | bytes) -> int:
    return value[0] if isinstance(value, bytes) else int(value)


_PLAIN: dict[str, Convert] = {
    'string': str, 'bool': bool, 'float32': float, 'float64': float, 'byte': _byte,
}  # fmt: skip
