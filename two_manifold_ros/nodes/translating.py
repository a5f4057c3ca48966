# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From plain nested dicts to rclpy messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
import importlib
import re
from typing import Any, TypeAlias

# Messages are generated classes without types of their own.
Convert: TypeAlias = Callable[[Any], Any]

_REPEATED = re.compile(r'sequence<(?P<sequence>[^,>]+)(, \d+)?>|(?P<array>.+)\[\d+\]')


def message_class(msgtype: str) -> Any:  # noqa: ANN401 - a generated class
    """Return the class of a type such as ``nav_msgs/msg/Path`` or ``nav_msgs/Path``."""
    package, _, name = msgtype.partition('/')
    return getattr(importlib.import_module(f'{package}.msg'), name.rpartition('/')[2])


def to_message(msgtype: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
    """
    Return the rclpy message with these fields; those that are not named keep their defaults.

    Raises
    ------
    KeyError
        If the type has no such field.

    """
    return _message_converter(msgtype)(fields)


@cache
def _message_converter(msgtype: str) -> Convert:
    create = message_class(msgtype)
    converters = {
        name: _field_converter(kind) for name, kind in create.get_fields_and_field_types().items()
    }

    def convert(fields: Mapping[str, Any]) -> object:
        message = create()
        for name, value in fields.items():
            converter = converters[name]
            setattr(message, name, value if converter is None else converter(value))
        return message

    return convert


def _field_converter(kind: str) -> Convert | None:
    """Return how a field is converted, or nothing where rclpy takes the value as it is."""
    if kind == 'octet':
        return lambda value: bytes([value])
    repeated = _REPEATED.fullmatch(kind)
    if repeated is None:
        return _message_converter(kind) if '/' in kind else None
    each = _field_converter(repeated['sequence'] or repeated['array'])
    return None if each is None else lambda values: [each(value) for value in values]
