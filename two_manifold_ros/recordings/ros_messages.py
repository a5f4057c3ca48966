# Copyright 2026 The two_manifold_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Decode messages of an IMU, and make messages of ROS's own classes from dictionaries."""

from __future__ import annotations

from functools import cache
import importlib
import re
from struct import Struct
from typing import Any, TYPE_CHECKING, TypeAlias

import numpy as np

from two_manifold_ros.errors import InputError
from two_manifold_ros.names import frame_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_ENCAPSULATION = 4
# Doubles of an Imu before each vector: orientation 4, covariance 9; then 3 and 9 more.
_ANGULAR_VELOCITY = 8 * 13
_LINEAR_ACCELERATION = 8 * 25
# stamp and length of frame_id, a vector and its first covariance; by the byte order in the
# encapsulation.
_CDR = {
    b'\x00\x00': (Struct('>iII'), Struct('>dddd')),
    b'\x00\x01': (Struct('<iII'), Struct('<dddd')),
}
NOT_GIVEN = -1.0
"""First covariance of a field that a message does not give, as ``sensor_msgs/Imu`` defines."""


# Stamp and frame as of `Decode`; x, y, z and the first covariance of two vectors.
Four: TypeAlias = tuple[float, float, float, float]
ImuFields: TypeAlias = tuple[int, str, Four, Four]


def _imu_fields_cdr(raw: bytes) -> ImuFields:
    """
    Decode a ``sensor_msgs/Imu`` in CDR, five times faster than a general decoder.

    The layout has one variable part, ``frame_id``; the doubles behind it are aligned to eight
    bytes counted from the end of the encapsulation. ``InputError`` says that it is not plain CDR.
    """
    layout = _CDR.get(raw[:2])
    if layout is None:
        msg = (
            f'An Imu message starts with {raw[:4].hex()}, which is not plain CDR: record it '
            f'again with a middleware that uses CDR.'
        )
        raise InputError(msg)
    header, vector = layout
    seconds, nanoseconds, length = header.unpack_from(raw, _ENCAPSULATION)
    text = _ENCAPSULATION + header.size
    doubles = text + length + -(header.size + length) % 8
    frame_id = frame_name(raw[text : text + length - 1].decode('utf-8', 'replace'))
    force: Any = vector.unpack_from(raw, doubles + _LINEAR_ACCELERATION)
    rate: Any = vector.unpack_from(raw, doubles + _ANGULAR_VELOCITY)
    return seconds * 1_000_000_000 + nanoseconds, frame_id, force, rate


class ImuDecoder:
    """
    Decode the messages of one IMU, as `Decode`: specific force, then angular rate.

    Some drivers send each field in messages of its own. A field of zeros that a message marks as
    ``NOT_GIVEN`` is held from the last message that gave it. Other values are taken as they are:
    some drivers mark what they give.
    """

    def __init__(self, fields: Callable[[bytes], ImuFields] = _imu_fields_cdr) -> None:
        self._fields = fields
        self._count = 0
        self._given: list[Four | None] = [None, None]
        # Messages in which a field was held.
        self._held = [0, 0]

    def __call__(self, raw: bytes) -> tuple[int, str, tuple[float, ...]]:
        """Decode one message."""
        stamp, frame_id, force, rate = self._fields(raw)
        self._count += 1
        return stamp, frame_id, self._value(0, force)[:3] + self._value(1, rate)[:3]

    def _value(self, index: int, field: Four) -> Four:
        given = self._given[index]
        if field[3] != NOT_GIVEN or any(field[:3]):
            self._given[index] = field
        elif given is not None:
            self._held[index] += 1
            return given
        return field

    def notes(self, topic: str) -> list[str]:
        """Return a sentence for each field that some messages of the topic do not give."""
        return [
            f'{held} of {self._count} messages on {topic} mark their {name} as not given '
            '(covariance[0] is -1): the last one that was given counts there; have the driver '
            'give both fields in each message.'
            for held, name in zip(self._held, ('acceleration', 'angular rate'), strict=True)
            if held
        ]


@cache
def message_class(msgtype: str) -> Any:  # noqa: ANN401 - a generated class
    """Return the class of a type such as ``nav_msgs/msg/Path`` or ``nav_msgs/Path``."""
    package, _, name = msgtype.partition('/')
    return getattr(importlib.import_module(f'{package}.msg'), name.rpartition('/')[2])


def to_message(msgtype: str, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
    """Return the rclpy message with these fields; those that are not named keep their defaults."""
    message = message_class(msgtype)()
    fill(message, msgtype, fields)
    return message


def fill(message: object, msgtype: str, fields: Mapping[str, Any]) -> None:
    """
    Fill a message in place.

    Messages that are published often are filled again and again: making their parts each time
    costs as much again.
    """
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
