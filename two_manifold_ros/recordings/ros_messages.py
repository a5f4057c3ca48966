# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Make messages of ROS's own classes, from serialised bytes or from dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
import importlib
import re
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message

from two_manifold_ros.errors import InputError


@cache
def message_class(msgtype: str) -> Any:  # noqa: ANN401 - a generated class
    """Return the class of a type such as ``nav_msgs/msg/Path`` or ``nav_msgs/Path``."""
    package, _, name = msgtype.partition('/')
    return getattr(importlib.import_module(f'{package}.msg'), name.rpartition('/')[2])


def deserialise(raw: bytes, msgtype: str) -> Any:  # noqa: ANN401 - as above
    """Return the message of bytes; ``InputError`` if the package of its type is not installed."""
    try:
        kind = message_class(msgtype)
    except (ImportError, AttributeError) as error:
        package = msgtype.partition('/')[0].replace('_', '-')
        raise InputError(
            f'{msgtype} is not known here: install its package, ros-$ROS_DISTRO-{package}, and '
            'source the setup file of ROS.'
        ) from error
    return deserialize_message(raw, kind)


def to_message(msgtype: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
    """Return the rclpy message with these fields; those that are not named keep their defaults."""
    message = message_class(msgtype)()
    fill(message, msgtype, fields)
    return message


def fill(message: object, msgtype: str, fields: Mapping[str, Any]) -> None:
    """Fill a message in place, as making the parts of one that is published often costs time."""
    kinds = _field_types(msgtype)
    for name, value in fields.items():
        kind = kinds[name]
        if isinstance(value, np.ndarray) and value.ndim != 1:
            # Rclpy counts its entries only, and would send memory behind it.
            msg = f'{msgtype}.{name} is flat, but was given an array of shape {value.shape}'
            raise ValueError(msg)
        if isinstance(value, dict):
            fill(getattr(message, name), kind, value)
        elif '/' in kind:
            setattr(message, name, [to_message(kind, each) for each in value])
        else:
            setattr(message, name, bytes([value]) if kind == 'octet' else value)


@cache
def _field_types(msgtype: str) -> dict[str, str]:
    """Return the type of each field, of its entries where it is an array."""
    kinds = message_class(msgtype).get_fields_and_field_types()
    entry = re.compile(r'^(?:sequence<([^,>]+).*|(.+)\[\d+\])')
    return {name: entry.sub(r'\1\2', kind) for name, kind in kinds.items()}
