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
Fill: TypeAlias = Callable[[Any, Any], None]

_REPEATED = re.compile(r'sequence<(?P<sequence>[^,>]+)(, \d+)?>|(?P<array>.+)\[\d+\]')


@cache
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
    message = message_class(msgtype)()
    filler(msgtype)(message, fields)
    return message


@cache
def filler(msgtype: str) -> Fill:
    """
    Return the function that fills a message of this type in place.

    Messages that are published often are filled again and again: making all their parts anew
    would cost as much again.
    """
    kinds = message_class(msgtype).get_fields_and_field_types()
    fillers = {name: _field_filler(name, kind) for name, kind in kinds.items()}

    def fill(message: object, fields: Mapping[str, Any]) -> None:
        for name, value in fields.items():
            fillers[name](message, value)

    return fill


def _field_filler(name: str, kind: str) -> Fill:
    if '/' in kind and not _REPEATED.fullmatch(kind):
        fill_part = filler(kind)
        return lambda message, value: fill_part(getattr(message, name), value)
    convert = _value_converter(kind)
    if convert is None:
        return lambda message, value: setattr(message, name, value)
    return lambda message, value: setattr(message, name, convert(value))


def _value_converter(kind: str) -> Convert | None:
    """Return how a value is converted, or nothing where rclpy takes it as it is."""
    if kind == 'octet':
        return lambda value: bytes([value])
    repeated = _REPEATED.fullmatch(kind)
    if repeated is None:
        return (lambda value: to_message(kind, value)) if '/' in kind else None
    each = _value_converter(repeated['sequence'] or repeated['array'])
    return None if each is None else lambda values: [each(value) for value in values]
